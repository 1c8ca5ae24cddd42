"""The module that brings connectors to a group: its requests, what it waits for, what it says."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host import retry
from ansible_collections.millrace.streaming.plugins.module_utils.host.rest import RestError
from ansible_collections.millrace.streaming.plugins.modules import connect_connectors

CLASS = "org.example.OrdersSink"
CONFIG = {"connector.class": CLASS, "topics": "orders", "name": "orders"}
STATES = {"resume": "RUNNING", "pause": "PAUSED", "stop": "STOPPED"}
RETRIED = "If the connector is stopped, this operation can be safely retried."


class FailedError(Exception):
    """What the module fails with."""


@dataclass
class Task:
    """What Ansible gives the module."""

    params: dict[str, Any]
    check_mode: bool = False
    _diff: bool = False

    def fail_json(self, msg: str, **result: Any) -> None:
        raise FailedError(msg, result)


@dataclass
class Clock:
    """Time that passes only where somebody waits."""

    now: float = 0
    at: dict[float, Callable[[], None]] = field(default_factory=dict)
    """What happens when that time has passed."""

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        for when in [moment for moment in self.at if moment <= self.now]:
            self.at.pop(when)()


@dataclass
class Workers:
    """A group with the connector `orders`, and the requests that it has got."""

    config: dict[str, str] | None = None
    state: str = "RUNNING"
    tasks: list[str] = field(default_factory=lambda: ["RUNNING"])
    refused: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    has_status: bool = True
    tasks_follow: bool = True
    sent: list[str] = field(default_factory=list)

    def call(self, method: str, path: str, body: Any = None) -> Any:
        if path == "/connector-plugins":
            return [{"class": CLASS}]
        if path.endswith("/validate"):
            return {"configs": [{"value": {"name": "topics", "errors": self.errors}}]}
        if method == "GET":
            return self._read(path)
        request = f"{method} {path}"
        if self.refused.get(request):
            status, why = self.refused[request].pop(0)
            raise RestError(why, status)
        self.sent.append(request)
        last = path.rpartition("/")[2]
        if last in STATES:
            self.state = STATES[last]
            if self.tasks_follow:
                self.tasks = [] if last == "stop" else [self.state]
        elif path == "/connectors":
            self.config = body["config"]
        elif last == "config":
            self.config = body
        elif request == "DELETE /connectors/orders":
            self.config = None
        return None

    def _read(self, path: str) -> Any:
        if path == "/connectors":
            return ["orders"] if self.config else []
        if path.endswith("/offsets"):
            return {"offsets": [{"offset": 7}]}
        if path == "/connectors/orders":
            return {"config": self.config}
        if not self.config or not self.has_status:
            return {}
        status = {
            "connector": {"state": self.state, "worker_id": "w1"},
            "tasks": [
                {"id": number, "state": task_state, "worker_id": "w1", "trace": "why"}
                for number, task_state in enumerate(self.tasks)
            ],
        }
        return {"orders": {"info": {"config": self.config}, "status": status}}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    fake_clock = Clock()
    for user in (connect_connectors, retry):
        monkeypatch.setattr(user, "time", fake_clock)
    return fake_clock


def run(
    workers: Workers,
    state: str = "running",
    config: Mapping[str, str] = CONFIG,
    *,
    check: bool = False,
    **overrides: Any,
) -> dict[str, Any]:
    connector = {"name": "orders", "config": config, "state": state, "former_user": ""}
    if state == "absent":
        connector = {**connector, "config": {}, "former_user": "orders-sink"}
    params = {
        "only": "",
        "restart": "none",
        "offsets": "none",
        "wait": 60,
        "new_secrets": False,
        "secret_files": ["/secrets/orders"],
    }
    task: Any = Task({**params, "connectors": [connector], **overrides}, check)
    client: Any = workers
    return connect_connectors.run(task, connect_connectors.Group(client))


def test_check_mode_says_what_a_run_does(clock: Clock) -> None:
    for state, before in (("paused", "RUNNING"), ("running", "STOPPED"), ("absent", "RUNNING")):
        workers = Workers(CONFIG, before, [] if before == "STOPPED" else [before])
        planned = run(workers, state, check=True)["actions"]
        assert workers.sent == []
        assert run(workers, state)["actions"] == planned
        assert len(workers.sent) == len(planned) == 1
        assert not run(workers, state)["changed"]


def test_nothing_is_sent_if_the_plugin_refuses(clock: Clock) -> None:
    workers = Workers(CONFIG, errors=["it is wrong"])
    with pytest.raises(FailedError, match="topics: it is wrong"):
        run(workers, config={**CONFIG, "topics": "x"})
    assert workers.sent == []


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize("last", ["resume", "pause", "stop"])
def test_offsets_are_reset_of_a_stopped_connector_which_then_gets_its_state(
    clock: Clock, last: str, check: bool
) -> None:
    workers = Workers(CONFIG)
    early = [(400, "not stopped"), (500, RETRIED)]
    workers.refused = {"DELETE /connectors/orders/offsets": early}
    state = {"resume": "running", "pause": "paused", "stop": "stopped"}[last]
    result = run(workers, state, check=check, only="orders", offsets="reset")
    named = [] if last == "stop" else [f"{last} orders"]
    assert result["actions"] == ["stop orders", "reset the offsets of orders", *named]
    assert result["offsets"] == {"orders": [{"offset": 7}]}
    assert result["changed"]
    assert workers.state == ("RUNNING" if check else STATES[last])


def test_a_reset_that_fails_says_that_the_connector_is_stopped(clock: Clock) -> None:
    workers = Workers(CONFIG)
    workers.refused = {"DELETE /connectors/orders/offsets": [(500, "it cannot")]}
    with pytest.raises(FailedError, match=r"it cannot.*stop orders.*orders is stopped") as failed:
        run(workers, only="orders", offsets="reset")
    result = failed.value.args[1]
    assert (result["changed"], result["actions"]) == (True, ["stop orders"])
    assert run(workers)["actions"] == ["resume orders"]


def test_offsets_of_no_connector_are_not_reset(clock: Clock) -> None:
    workers = Workers()
    with pytest.raises(FailedError, match="nothing to reset"):
        run(workers, only="orders", offsets="reset")
    assert workers.sent == []


def test_a_connector_without_a_status_is_not_created_again(clock: Clock) -> None:
    """A run that was interrupted has created it just now."""
    workers = Workers(CONFIG, has_status=False)

    def start() -> None:
        workers.has_status = True

    clock.at[50] = start
    assert not run(workers)["changed"]
    workers.has_status = False
    with pytest.raises(FailedError, match="orders has no status"):
        run(workers)
    assert workers.sent == []
    run(workers, "absent")
    assert workers.sent == ["DELETE /connectors/orders"]


def test_a_failure_of_before_the_change_does_not_count(clock: Clock) -> None:
    workers = Workers(CONFIG, tasks=["FAILED"])

    def repaired() -> None:
        workers.tasks = ["RUNNING"]

    clock.at[20] = repaired
    assert run(workers, config={**CONFIG, "topics": "x"})["changed"]


def test_a_failure_after_the_change_ends_the_wait(clock: Clock) -> None:
    workers = Workers(CONFIG, tasks=["RUNNING", "FAILED"])

    def failed() -> None:
        workers.tasks = ["FAILED", "RUNNING"]

    clock.at[5] = failed
    with pytest.raises(FailedError, match="task 0 of connector orders has failed"):
        run(workers, config={**CONFIG, "topics": "x"}, wait=1000)
    assert clock.now < 100


def test_tasks_must_have_the_state_too(clock: Clock) -> None:
    workers = Workers(CONFIG, "PAUSED", ["PAUSED"], tasks_follow=False)
    with pytest.raises(FailedError, match="task 0 of connector orders is paused"):
        run(workers)


def test_a_connector_with_nothing_to_do_is_no_error(clock: Clock) -> None:
    assert run(Workers(tasks=[]))["actions"] == ["create orders"]


def test_users_and_files_of_removed_connectors_are_named(clock: Clock) -> None:
    used = {**CONFIG, "connection.password": "${file:/secrets/login:password}"}
    result = run(Workers(used), config=used)
    assert result["kept_files"] == ["/secrets/login", "/secrets/orders"]
    assert result["former_users"] == []
    gone = run(Workers(used), "absent")
    assert gone["kept_files"] == ["/secrets/orders"]
    assert gone["former_users"] == [{"name": "orders-sink", "state": "absent"}]
    assert json.loads(json.dumps(gone)) == gone
