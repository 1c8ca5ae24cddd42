"""Which brokers a roll restarts at the same time: the module, and the action with the stages."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.action import kafka_sets as action
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import canary
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.snapshot import Snapshot
from ansible_collections.millrace.streaming.plugins.modules import kafka_sets as module

from tests.unit.actions.bare_task import Tasks
from tests.unit.cluster import small
from tests.unit.operations.gate_cases import partition, state

CLUSTER = small.kafka(4, 2)
CONTROLLERS = {"names": ["c1", "c2"], "most": 1}
PAIRS = [{"names": ["b1", "b3"], "most": 4}, {"names": ["b2", "b4"], "most": 4}]
SHARED = state(partitions=(partition(replicas=(1, 3, 2)),))
CANARY = state(partitions=(partition(canary.TOPIC, replicas=(1, 3, 2)),))


def divide(
    monkeypatch: pytest.MonkeyPatch, snapshot: Snapshot | None, *stages: dict[str, Any]
) -> dict[str, Any]:
    """Return what the action returns over a cluster, which gives no answer without a snapshot."""

    def answer(name: str, args: dict[str, Any]) -> dict[str, Any]:
        assert name == "kafka_sets"
        assert "bootstrap" in args
        if snapshot is None:
            return {"failed": True, "msg": "no broker answers"}
        cluster: Any = SimpleNamespace(read=lambda: snapshot)
        fake: Any = SimpleNamespace(params=args)
        return module.work(fake, cluster)

    tasks = Tasks(monkeypatch, CLUSTER, module=answer)
    variables = {"inventory_hostname": "c1"}
    return tasks.run(action, {"stages": list(stages)}, variables)


def test_brokers_that_share_no_partition_go_together(monkeypatch: pytest.MonkeyPatch) -> None:
    result = divide(monkeypatch, state(partitions=()), CONTROLLERS, *PAIRS)
    assert result["stages"] == [CONTROLLERS, *PAIRS]
    assert "In 4 steps" in result["lines"][-1]
    assert result["lines"][-1].endswith("c1, c2, b1 + b3, b2 + b4")


def test_brokers_that_a_partition_needs_go_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    result = divide(monkeypatch, SHARED, CONTROLLERS, *PAIRS)
    alone = {"names": ["c1", "c2", "b1", "b3"], "most": 1}
    assert result["stages"] == [alone, PAIRS[1]]


def test_the_topic_of_the_canary_keeps_nobody_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    assert divide(monkeypatch, CANARY, *PAIRS)["stages"] == PAIRS


def test_a_stage_has_its_first_set_and_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = {"names": ["b3", "b1", "b4"], "most": 3}
    result = divide(monkeypatch, SHARED, stage)
    assert result["together"] == ["b3", "b4"]
    assert result["rest"] == {"names": ["b1"], "most": 3}
    assert result["changed"] is False


def test_without_an_answer_of_the_cluster_each_broker_goes_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    result = divide(monkeypatch, None, *PAIRS)
    assert result["stages"] == [{"names": ["b1", "b3", "b2", "b4"], "most": 1}]
    assert "no broker answers" in result["lines"][0]
    assert divide(monkeypatch, None, PAIRS[0])["together"] == ["b1"]
