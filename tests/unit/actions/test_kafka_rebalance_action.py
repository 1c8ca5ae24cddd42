"""Moving replicas slice by slice: what the control node keeps, shows and records."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.action import cluster_lock, kafka_rebalance
from ansible_collections.millrace.streaming.plugins.plugin_utils import operation
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster import module_options
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import Cluster

from tests.unit.actions.bare_task import Tasks
from tests.unit.actions.test_roll_plan import node
from tests.unit.cluster import small
from tests.unit.in_process import Answer

CLUSTER = small.kafka(3, 3)
PLAN: Answer = {
    "changed": True,
    "plan": {"bytes": 7},
    "waves": [[{"topic": "t"}]],
    "rate": 5,
    "lines": ["the plan"],
}


def moving(text: str, *, done: bool) -> Answer:
    return {"changed": True, "progress": {"done": done}, "lines": [text], "carried": {"gate": text}}


@pytest.fixture
def tasks(local_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> Tasks:
    monkeypatch.setattr(kafka_rebalance, "die_with_ansible", lambda: None)
    monkeypatch.setattr(module_options, "of_module", lambda *_: {"bootstrap": ["b:1"]})
    monkeypatch.setattr(kafka_rebalance.ActionModule, "_say", lambda _, text: SAID.append(text))
    SAID.clear()
    operation.current("rebalance")
    return Tasks(monkeypatch, CLUSTER)


SAID: list[str] = []


def answering(*answers: Answer) -> Callable[[str, Answer], Answer]:
    remaining = list(answers)
    return lambda _name, _options: remaining.pop(0)


def test_waves_are_planned_once_and_moved_in_slices(tasks: Tasks, tmp_path: Path) -> None:
    tasks.module = answering(
        PLAN, moving("wave 1", done=False), moving("wave 2", done=False), moving("moved", done=True)
    )
    events = tmp_path / "events"
    result = tasks.run(kafka_rebalance, {"topics": ["t"], "events": str(events)})
    assert (result["changed"], result["plan"]) == (True, {"bytes": 7})
    assert result["lines"] == ["the plan", "moved"]
    assert SAID == ["the plan", "wave 1", "wave 2", "moved"]
    first, second, third, _ = [options for _, options in tasks.calls]
    assert first["plan_only"]
    assert "waves" not in first
    assert (second["waves"], second["rate"], second["carried"]) == (PLAN["waves"], 5, {})
    assert third["carried"] == {"gate": "wave 1"}
    assert all(options["operation"]["what"] == "rebalance" for _, options in tasks.calls)
    assert json.loads(events.read_text())["phase"] == "kafka_rebalance"


def test_check_mode_only_plans(tasks: Tasks) -> None:
    tasks.module = answering(PLAN)
    assert tasks.run(kafka_rebalance, {}, check=True)["lines"] == ["the plan"]


@pytest.mark.parametrize("check", [True, False])
def test_the_plan_is_written_before_anything_moves(
    check: bool, tasks: Tasks, tmp_path: Path
) -> None:
    tasks.module = answering(PLAN, {"failed": True, "msg": "no progress"})
    path = tmp_path / "plan.json"
    tasks.run(kafka_rebalance, {"json": str(path)}, check=check)
    assert json.loads(path.read_text()) == {"bytes": 7}
    assert all("json" not in options for _, options in tasks.calls)


def test_nothing_to_move_ends_with_the_plan(tasks: Tasks) -> None:
    tasks.module = answering({**PLAN, "waves": [], "changed": False})
    assert not tasks.run(kafka_rebalance, {})["changed"]


def test_it_waits_for_what_something_else_moves(tasks: Tasks) -> None:
    waiting = {"changed": False, "waiting": "t-0", "lines": ["waiting for t-0"]}
    tasks.module = answering(waiting, waiting, {**PLAN, "waves": []})
    tasks.run(kafka_rebalance, {"foreign": "wait"})
    assert SAID == ["waiting for t-0", "waiting for t-0"]


def test_a_failure_is_recorded(tasks: Tasks) -> None:
    tasks.module = answering(PLAN, {"failed": True, "msg": "no progress"})
    result = tasks.run(kafka_rebalance, {})
    assert (result["failed"], result["changed"]) == (True, True)
    assert operation.current("")["reason"] == "no progress"


# The lock


def judge(tasks: Tasks, nodes: dict[str, Any], **options: Any) -> Answer:
    return tasks.run(cluster_lock, {"nodes": nodes, **options})


def test_the_lock_is_taken_and_another_broker_works(tasks: Tasks) -> None:
    names = list(CLUSTER.kafka)
    result = judge(tasks, {name: node() for name in names})
    assert (result["lock"], result["refused"]) == ("taken", "")
    assert result["host"] == next(n for n in names if CLUSTER.kafka[n].is_broker)


def test_another_operation_that_lives_refuses_it(tasks: Tasks) -> None:
    held = {"id": "x", "what": "rolling_restart", "state": "running", "age": 1.0}
    nodes = {name: node(holder=held, previous_operation=held) for name in CLUSTER.kafka}
    assert "rolling_restart" in judge(tasks, nodes)["refused"]


def test_a_lock_that_is_taken_over_is_known_to_the_record(tasks: Tasks) -> None:
    """Where the dead operation has worked without the lock, its record is replaced too."""
    dead = {"id": "x", "what": "replace", "state": "running", "age": 4000.0}
    nodes = {name: node(holder=dead, previous_operation=dead) for name in CLUSTER.kafka}
    assert judge(tasks, nodes)["lock"] == "abandoned"
    assert judge(tasks, {name: node() for name in CLUSTER.kafka})["lock"] == "taken"
    assert operation.current("")["took_over"] == "x"


def test_who_is_no_node_cannot_leave(tasks: Tasks) -> None:
    nodes = {name: node() for name in CLUSTER.kafka}
    refused = judge(tasks, nodes, leaving="nobody")["refused"]
    assert "nobody is not a Kafka host of the inventory" in refused


@pytest.mark.parametrize(("leaving", "controller"), [("c1", True), ("b1", False)])
def test_a_node_can_leave_and_does_not_work_itself(
    tasks: Tasks, leaving: str, controller: bool
) -> None:
    result = judge(tasks, {name: node() for name in CLUSTER.kafka}, leaving=leaving)
    assert result["refused"] == ""
    assert (result["controller"], result["broker"]) == (controller, not controller)
    assert result["vote_ends_first"]
    assert result["host"] != leaving


def combined(*names: str, **settings: object) -> Cluster:
    return small.cluster(
        {"kafka_brokers": list(names), "kafka_controllers": list(names)},
        {name: {"kafka_node_id": id_, **settings} for id_, name in enumerate(names, start=1)},
    )


def test_a_static_quorum_and_an_only_controller_keep_their_members() -> None:
    three = ("k1", "k2", "k3")
    assert cluster_lock.refusal(combined(*three), "k1", "k2") == ""
    static = combined(*three, kafka_quorum="static")
    assert "is a controller of a static quorum" in cluster_lock.refusal(static, "k1", "k2")
    assert "only controller" in cluster_lock.refusal(combined("k1"), "k1", "k2")
    assert "no other broker" in cluster_lock.refusal(combined(*three), "", "")


def test_before_4_1_a_controller_is_stopped_first() -> None:
    old = combined("k1", "k2", "k3", kafka_version="3.9.2")
    assert cluster_lock.departure(old, "k1") == {
        "node_id": 1,
        "broker": True,
        "controller": True,
        "vote_ends_first": False,
    }


def test_the_only_host_of_the_play_is_replaced_from_another_broker(tasks: Tasks) -> None:
    names = [name for name in CLUSTER.kafka if name != "b1"]
    others = [{"item": name, **node()} for name in names]
    result = judge(tasks, {"b1": node()}, other_nodes=others, replaced="b1")
    assert (result["lock"], result["refused"], result["host"]) == ("taken", "", "b2")
    none = [answer for answer in others if str(answer["item"]).startswith("c")]
    refused = judge(tasks, {"b1": node()}, other_nodes=none, replaced="b1")["refused"]
    assert "no other broker of the inventory can be reached" in refused
