"""A node that takes its place again: who it is, and how the copy is shown and recorded."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.action import kafka_replace
from ansible_collections.millrace.streaming.plugins.plugin_utils import operation, run
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster import module_options
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import Cluster

from tests.unit.actions.bare_task import Tasks
from tests.unit.cluster import small
from tests.unit.in_process import Answer

CLUSTER = small.kafka(3, 3)
DIRECTORIES = [path for _, path in CLUSTER.kafka["b1"].data_directories]
SAID: list[str] = []


@pytest.fixture
def tasks(local_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> Tasks:
    monkeypatch.setattr(kafka_replace, "die_with_ansible", lambda: None)
    monkeypatch.setattr(module_options, "of_module", of_module)
    monkeypatch.setattr(kafka_replace.ActionModule, "_say", lambda _, text: SAID.append(text))
    SAID.clear()
    operation.current("replace")
    return Tasks(monkeypatch, CLUSTER)


def of_module(_: str, cluster: Cluster, host: str) -> Answer:
    node = cluster.kafka[host]
    roles = {"broker": node.is_broker, "controller": node.is_controller}
    return {"bootstrap": [host], "node": {"id": node.id, **roles}}


def answering(*answers: Answer) -> Callable[[str, Answer], Answer]:
    remaining = list(answers)
    return lambda _name, _options: remaining.pop(0)


def copying(text: str, *, done: bool) -> Answer:
    return {"changed": True, "progress": {"done": done}, "lines": [text], "carried": {"a": text}}


def act(tasks: Tasks, args: dict[str, Any], *, meta: str | None = None, check: bool = False) -> Any:
    found = [{"path": path, "meta": meta} for path in DIRECTORIES]
    variables = {
        "inventory_hostname": "b1",
        run.INSPECTION: {"inspection": {"disks": {"directories": found}}},
    }
    return tasks.run(kafka_replace, {"host": "b2", **args}, variables, check=check)


def test_the_module_gets_the_node_and_works_through_another_host(tasks: Tasks) -> None:
    tasks.module = answering({"lines": ["plan"]}, {"lines": ["plan"]})
    act(tasks, {"state": "throttled", "rate": 7})
    act(tasks, {"state": "throttled", "running": True}, meta="node.id=1")
    (_, empty), (_, formatted) = tasks.calls
    assert empty["bootstrap"] == ["b2"]
    assert (empty["rate"], empty["slice"]) == (7, 0)
    node = {"id": CLUSTER.kafka["b1"].id, "host": "b1", "broker": True, "controller": False}
    assert empty["node"] == {**node, "running": False, "empty": DIRECTORIES}
    assert formatted["node"] == {**node, "running": True, "empty": []}
    # The hosts are configured before the record is written again.
    assert empty["operation"]["quiet_seconds"] == operation.LONG_QUIET_SECONDS


def test_the_copy_is_followed_and_shown_until_it_is_done(tasks: Tasks, tmp_path: Path) -> None:
    tasks.module = answering(copying("1 of 2", done=False), copying("2 of 2", done=True))
    events = tmp_path / "events"
    result = act(tasks, {"state": "refilled", "running": True, "events": str(events)})
    assert (result["changed"], result["lines"], SAID) == (True, ["2 of 2"], ["1 of 2", "2 of 2"])
    assert [options["carried"] for _, options in tasks.calls] == [{}, {"a": "1 of 2"}]
    assert json.loads(events.read_text())["node"] == "b1"
    assert operation.current("")["done"] == ["2 of 2"]
    assert "carried" not in result


def test_a_failed_copy_is_recorded(tasks: Tasks) -> None:
    tasks.module = answering({"failed": True, "msg": "no progress"})
    result = act(tasks, {"state": "refilled"})
    assert (result["failed"], result["changed"]) == (True, True)
    assert operation.current("")["reason"] == "no progress"


def test_check_mode_asks_once(tasks: Tasks) -> None:
    tasks.module = answering({"lines": ["plan"], "changed": True})
    assert act(tasks, {"state": "refilled"}, check=True)["lines"] == ["plan"]
