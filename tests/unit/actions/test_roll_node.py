"""The control node's part of a node's restart: what it requests, records and shows."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible import context
from ansible.errors import AnsibleConnectionFailure
from ansible.module_utils.common.collections import ImmutableDict
from ansible_collections.millrace.streaming.plugins.action import roll_node
from ansible_collections.millrace.streaming.plugins.module_utils.host.operation_file import (
    QUIET_SECONDS,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils import operation

from tests.support.wait import wait_for
from tests.unit.actions.bare_task import Tasks
from tests.unit.cluster import small
from tests.unit.module_runner import HANGS_SECONDS
from tests.unit.operations.slices import answer

Answer = dict[str, Any]
NODES = ("k1", "k2", "k3")
CLUSTER = small.cluster(
    {"kafka_brokers": NODES, "kafka_controllers": NODES},
    {name: {"kafka_node_id": id_} for id_, name in enumerate(NODES, start=1)},
    kafka_reboot_timeout=700,
    kafka_start_timeout=130,
)


DONE = answer("done", seconds={"gate": 1.0, "start": 2.0})


class Roll:
    """A roll that is to take k2, then k1."""

    def __init__(self, tasks: Tasks, monkeypatch: pytest.MonkeyPatch) -> None:
        self.tasks, self._monkeypatch = tasks, monkeypatch
        self.reboots: list[str] = []
        record = operation.current("rolling_restart")
        operation.save({**record, "plan": ["k3", "k2", "k1"], "left": ["k2", "k1"], "done": ["k3"]})

    def answers(self, *answers: Answer | Exception, **of_modules: Answer) -> None:
        """Let the host answer kafka_restart so, and other modules with one answer each."""
        remaining = iter(answers)

        def module(name: str, args: Answer) -> Answer:
            del args
            result = next(remaining) if name == "kafka_restart" else of_modules[name]
            if isinstance(result, Exception):
                raise result
            return result

        self.tasks.module = module

    def reboot(self, **result: object) -> None:
        """Let Ansible's own action answer so."""

        def act(_: Any, name: str, arguments: Answer) -> Answer:
            del arguments
            self.reboots.append(name)
            return dict(result)

        self._monkeypatch.setattr(roll_node.ActionModule, "_other_action", act)

    def take(self, node: str = "k2", *, check: bool = False, **options: Any) -> Answer:
        args = {"action": "restart", "node": node, "resume": "rolling_restart", **options}
        return self.tasks.run(roll_node, args, check=check)

    def names(self) -> Iterable[str]:
        """Return the modules that were called."""
        return [name for name, _ in self.tasks.calls]


@pytest.fixture
def roll(local_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> Roll:
    # It would end this process with its parent.
    monkeypatch.setattr(roll_node, "die_with_ansible", lambda: None)
    monkeypatch.setattr(
        context, "CLIARGS", ImmutableDict({"inventory": ("inv",), "subset": None, "verbosity": 0})
    )
    return Roll(Tasks(monkeypatch, CLUSTER), monkeypatch)


def test_a_node_that_is_done_is_not_taken_again(roll: Roll) -> None:
    assert roll.take("k3") == {"changed": False, "skipped": True}
    assert roll.take("k2", check=True) == {"changed": False, "skipped": True}
    operation.save({**operation.current(""), "reason": "k9: broken"})
    assert roll.take("k2")["skipped"], "nothing after a node that went wrong"
    assert roll.tasks.calls == []


def test_the_record_says_which_node_is_taken_and_which_are_done(roll: Roll) -> None:
    roll.answers(answer("start"), DONE)
    result = roll.take()
    assert result["changed"]
    assert result["seconds"] == {"gate": 1, "start": 2}
    record = operation.current("")
    assert (record["done"], record["left"], record["reason"]) == (["k3", "k2"], ["k1"], "")
    assert record["node"] == ""
    (_, first), (_, second) = roll.tasks.calls
    assert first["operation"]["node"] == "k2"
    assert (first["phase"], second["phase"]) == ("gate", "start")


def test_the_host_gets_the_node_and_which_are_still_to_come(roll: Roll) -> None:
    roll.answers(DONE)
    roll.take(controller_last=True)
    ((_, options),) = roll.tasks.calls
    assert (options["node"]["id"], options["expect_brokers"]) == (2, [1, 2, 3])
    assert (sorted(options["remaining"]), options["controller_last"]) == ([1, 2], True)


def test_a_node_on_which_nothing_was_to_do_is_done_without_a_change(roll: Roll) -> None:
    roll.answers(answer("done", changed=False))
    assert roll.take()["changed"] is False
    assert operation.current("")["left"] == ["k1"]


def test_an_active_controller_is_left_for_the_end(roll: Roll) -> None:
    roll.answers(answer("gate", deferred=True))
    assert roll.take(controller_last=True) == {"changed": False, "deferred": True}
    assert operation.current("")["left"] == ["k2", "k1"]


@pytest.mark.parametrize(
    ("answers", "touched", "name"),
    [
        ([answer("gate", waiting=["lonely-0"], non_retriable=True)], False, "lonely-0"),
        ([answer("ready"), {"failed": True, "msg": "broken"}], True, "broken"),
        ([answer("stop"), AnsibleConnectionFailure("no route")], True, "no route"),
        ([answer("start", start_failed="no such class")], True, "no such class"),
    ],
)
def test_what_goes_wrong_stops_the_roll_and_fails_no_task(
    roll: Roll, answers: list[Answer | Exception], touched: bool, name: str
) -> None:
    """The following tasks restore previous files before they fail."""
    roll.answers(*answers)
    result = roll.take()
    assert "failed" not in result
    assert (result["changed"], result["waiting_nodes"]) == (touched, ["k1"])
    assert "k2" in result["stopped"]
    assert name in result["stopped"]
    assert operation.resume_command("rolling_restart") in result["stopped"]
    record = operation.current("")
    assert (record["left"], record["done"]) == (["k2", "k1"], ["k3"])
    assert name in record["reason"]
    assert operation.ended(record)["state"] == "stopped"


def test_files_that_were_put_back_are_named_for_the_nodes_that_wait(roll: Roll) -> None:
    failed = answer("start", start_failed="no such class", restored=["/etc/a"])
    roll.answers(failed, DONE)
    result = roll.take()
    assert result["restored"] == ["/etc/a"]
    assert result["waiting_nodes"] == ["k1"]


def test_an_upgrade_writes_the_files_of_its_version(roll: Roll) -> None:
    roll.answers(answer("stop"), DONE, service={"changed": True})
    assert roll.take(action="upgrade")["changed"]
    assert roll.names() == ["kafka_restart", "service", "kafka_restart"]
    written = roll.tasks.calls[1][1]
    assert "/etc/kafka/server.properties" in written["files"]
    assert written["restart_marks"]
    assert written["previous"]


@pytest.mark.parametrize(
    ("result", "name"),
    [
        ({"failed": True, "msg": "no space left"}, "no space left"),
        (AnsibleConnectionFailure("no route"), "no route"),
    ],
)
def test_files_that_cannot_be_written_stop_the_roll(roll: Roll, result: Any, name: str) -> None:
    roll.answers(answer("stop"), service=result)
    assert name in roll.take(action="upgrade")["stopped"]


def test_a_reboot_lies_between_two_parts_of_the_restart(roll: Roll) -> None:
    roll.answers(answer("start", changed=True), DONE)
    roll.reboot(changed=True, rebooted=True)
    result = roll.take(action="reboot")
    assert result["changed"]
    assert "reboot" in result["seconds"]
    assert roll.reboots == ["ansible.builtin.reboot"]
    assert [(args["phase"], args["until"]) for _, args in roll.tasks.calls] == [
        ("gate", "start"),
        ("start", "done"),
    ]


def test_a_reboot_extends_the_time_until_the_record_is_stale(roll: Roll) -> None:
    roll.answers(answer("stop"), answer("start"), DONE)
    roll.reboot(changed=True, rebooted=True)
    roll.take(action="reboot")
    quiet = [args["operation"]["quiet_seconds"] for _, args in roll.tasks.calls]
    assert quiet == [QUIET_SECONDS + 700, QUIET_SECONDS + 700, QUIET_SECONDS]


def test_the_last_node_extends_the_time_until_the_record_is_stale(roll: Roll) -> None:
    roll.answers(DONE, DONE)
    for node in ("k2", "k1"):
        roll.take(node)
    quiet = [args["operation"]["quiet_seconds"] for _, args in roll.tasks.calls]
    assert quiet == [QUIET_SECONDS, QUIET_SECONDS + 130]


def test_a_host_that_does_not_come_back_stops_the_roll(roll: Roll) -> None:
    for result in ({"rebooted": True}, {"unreachable": True}):
        operation.save({**operation.current(""), "reason": ""})
        roll.answers(answer("start"))
        roll.reboot(failed=True, msg="timed out", **result)
        assert "timed out" in roll.take(action="reboot")["stopped"]
    assert roll.names() == ["kafka_restart"] * 2


@pytest.mark.parametrize("result", [{"rebooted": False}, {}])
def test_a_host_that_does_not_reboot_gets_its_node_back(roll: Roll, result: Answer) -> None:
    roll.answers(answer("start"), systemd_service={"changed": True})
    roll.reboot(failed=True, msg="no such command", **result)
    assert "no such command" in roll.take(action="reboot")["stopped"]
    name, args = roll.tasks.calls[-1]
    assert (name, args["state"]) == ("systemd_service", "started")


def test_a_restart_is_an_event_of_the_ledger(roll: Roll, tmp_path: Path) -> None:
    events = tmp_path / "events"
    for answers in ([DONE], [answer("done", changed=False)]):
        roll.answers(*answers)
        roll.take("k2" if answers == [DONE] else "k1", events=str(events))
    (event,) = map(json.loads, events.read_text().splitlines())
    assert event["node"] == "k2"
    assert {"start", "end"} <= event.keys()
    assert event["start_seconds"] == 2


def test_a_restart_is_shown_with_its_time_and_what_is_left(
    roll: Roll, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    messages: list[str] = []
    monkeypatch.setattr(roll_node.ActionModule, "_say", lambda _, text: messages.append(text))
    times = iter((100.0, 112.5, 200.0, 210.0))
    without_gate = answer("done", seconds={"start": 9.0})
    monkeypatch.setattr(roll_node, "time", SimpleNamespace(time=lambda: next(times)))
    roll.answers(DONE, without_gate)
    for node in ("k2", "k1"):
        roll.take(node, events=str(tmp_path / "events"))
    first, last = messages
    assert "node 2 of 3" in first
    # The whole restart, its phases, and what the last node may take.
    assert re.findall(r"[\d.]+(?= s\b)", first) == ["12.5", "1.0", "2.0", "12"]
    assert "node 3 of 3" in last
    assert "left" not in last
    events = [json.loads(line) for line in (tmp_path / "events").read_text().splitlines()]
    # What the gate took comes before the change.
    assert [(event["start"], event["end"]) for event in events] == [(101.0, 112.5), (200.0, 210.0)]


# Brokers at the same time


BROKERS = small.kafka(3, 1, {}, kafka_start_timeout=130)
SET = ("b1", "b2")


@pytest.fixture
def of_brokers(local_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> Roll:
    monkeypatch.setattr(roll_node, "die_with_ansible", lambda: None)
    arguments = ImmutableDict({"inventory": ("inv",), "subset": None, "verbosity": 0})
    monkeypatch.setattr(context, "CLIARGS", arguments)
    made = Roll(Tasks(monkeypatch, BROKERS), monkeypatch)
    names = ["b1", "b2", "b3"]
    operation.save({**operation.current(""), "plan": names, "left": names, "done": []})
    return made


def test_a_broker_of_a_set_is_judged_with_the_others(of_brokers: Roll) -> None:
    of_brokers.answers(DONE)
    of_brokers.take("b1", together=list(SET))
    ((_, options),) = of_brokers.tasks.calls
    assert options["others"] == [2]
    assert options["node"]["peers"] == ["b3:9092", "c1:9093"], "none that may be away"
    assert options["operation"]["node"] == "b1, b2"
    record = operation.current("")
    assert (record["node"], record["done"], record["left"]) == ("b2", ["b1"], ["b2", "b3"])


def test_what_another_broker_of_the_set_has_recorded_meanwhile_stays(of_brokers: Roll) -> None:
    def finish_the_other(name: str, args: Answer) -> Answer:
        del name, args
        record = operation.current("")
        operation.save({**record, "done": ["b2"], "left": ["b1", "b3"], "reason": ""})
        return DONE

    of_brokers.tasks.module = finish_the_other
    of_brokers.take("b1", together=list(SET))
    assert operation.current("")["done"] == ["b2", "b1"]
    assert operation.current("")["left"] == ["b3"]


def test_a_broker_whose_set_went_wrong_is_not_stopped_any_more(of_brokers: Roll) -> None:
    failed = answer("start", start_failed="no such class", restored=["/etc/a"])
    stopped = {"gate": 1.0, "stop": 1.0}
    of_brokers.answers(failed, answer("done", seconds=stopped))
    first = of_brokers.take("b1", together=list(SET))
    assert (first["restored"], first["waiting_nodes"]) == (["/etc/a"], ["b3"])
    second = of_brokers.take("b2", together=list(SET))
    assert of_brokers.names() == ["kafka_restart"] * 2, "b2 was not touched"
    assert second["waiting_nodes"] == ["b3", "b2"], "its files are restored like those of b3"
    assert "not stopped" in second["stopped"]
    record = operation.current("")
    assert record["reason"].startswith("b1: ")
    assert "b2" not in record["reason"]
    assert of_brokers.take("b3")["skipped"]


def test_each_broker_of_a_set_that_goes_wrong_is_in_the_record(of_brokers: Roll) -> None:
    def both_fail(name: str, args: Answer) -> Answer:
        del name
        if args["phase"] == "gate":
            return answer("start")
        operation.save({**operation.current(""), "reason": "b2: no such class"})
        return answer("start", start_failed="no such class")

    of_brokers.tasks.module = both_fail
    of_brokers.take("b1", together=list(SET))
    assert [line[:3] for line in operation.current("")["reason"].splitlines()[:2]] == ["b2:", "b1:"]


def test_the_last_set_extends_the_time_until_the_record_is_stale(of_brokers: Roll) -> None:
    of_brokers.answers(DONE, DONE, DONE)
    for node, together in (("b3", ["b3"]), ("b1", list(SET)), ("b2", list(SET))):
        of_brokers.take(node, together=together)
    quiet = [args["operation"]["quiet_seconds"] for _, args in of_brokers.tasks.calls]
    assert quiet == [QUIET_SECONDS, QUIET_SECONDS + 130, QUIET_SECONDS + 130]


def test_a_host_that_is_lost_while_it_reboots_is_no_failure_of_the_task(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def run(**_: Any) -> Answer:
        text = "no route"
        raise AnsibleConnectionFailure(text)

    nothing: Any = SimpleNamespace(transport="ssh")
    loader: Any = SimpleNamespace(
        action_loader=SimpleNamespace(get=lambda *_, **__: SimpleNamespace(run=run))
    )
    task: Any = SimpleNamespace(
        args={}, action="roll_node", async_val=0, copy=lambda: SimpleNamespace(args={})
    )
    made = roll_node.ActionModule(task, nothing, nothing, nothing, nothing, loader)
    made._shared_loader_obj, made.variables = loader, {}
    result = made._other_action("ansible.builtin.reboot", {})
    assert (result["unreachable"], result["msg"]) == (True, "no route")


PROGRAM = f"""
import os, time
from {roll_node.__name__} import die_with_ansible
ready, tell = os.pipe()
child = os.fork()
if child:
    os.read(ready, 1)
    print(child, flush=True)
    os._exit(0)
die_with_ansible()
os.write(tell, b".")
time.sleep({HANGS_SECONDS})
"""


def test_a_worker_ends_with_its_ansible() -> None:
    """It would go on to restart nodes by itself."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        check=True,
        timeout=HANGS_SECONDS,
        text=True,
    )
    worker = int(done.stdout)
    try:
        wait_for(lambda: gone(worker), seconds=10, what="the end of the worker")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(worker, signal.SIGKILL)


def gone(process: int) -> bool:
    """Whether a process has ended, though nobody may have asked for how yet."""
    status = Path(f"/proc/{process}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] == "Z"
