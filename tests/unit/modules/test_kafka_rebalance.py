"""The module that moves replicas: what it refuses, and what is left to do when it is run again."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.reassignments import (
    Reassignment,
    Throttles,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations import (
    mover,
    rebalance,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations.mover import Situation
from ansible_collections.millrace.streaming.plugins.module_utils.operations.options import (
    FailedError,
)
from ansible_collections.millrace.streaming.plugins.modules.kafka_rebalance import Rebalance

from tests.unit.operations.test_rebalance import NOTHING, SNAPSHOT, directories

PARAMS: dict[str, Any] = {
    **NOTHING,
    "slice": 0,
    "cancel": False,
    "waves": None,
    "foreign": "refuse",
    "plan_only": True,
    "measure": 0,
    "rate": None,
    "in_flight": None,
    "cordon": True,
    "expect_brokers": [1, 2, 3, 4],
    "expect_voters": [],
    "cluster_id": None,
}


class Cluster:
    def read(self, *, gate: bool = False) -> Any:
        del gate
        return SNAPSHOT


@pytest.fixture
def situation(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, int], Reassignment]:
    """Reassignments that something else has started."""
    foreign: dict[tuple[str, int], Reassignment] = {}
    state = Situation({}, foreign, Throttles())
    monkeypatch.setattr(mover, "situation", lambda *_: state)
    monkeypatch.setattr(mover, "clean_up", lambda *_: (False, []))
    monkeypatch.setattr(mover, "health_problems", lambda *_: [])
    monkeypatch.setattr(mover.Replicas, "failed", lambda *_: {})
    monkeypatch.setattr(rebalance, "read_directories", lambda *_: directories())
    return foreign


def run(**params: Any) -> dict[str, Any]:
    cluster: Any = Cluster()
    return Rebalance({**PARAMS, **params}, cluster, check_mode=True).run()


@pytest.mark.usefixtures("situation")
def test_a_broker_that_has_left_already_needs_no_move() -> None:
    result = run(goal="drain", drain=[9])
    assert (result["changed"], result["waves"]) == (False, [])
    assert result["lines"] == ["Nothing to move: broker 9 is not registered and has no replica"]


@pytest.mark.usefixtures("situation")
def test_a_broker_that_leaves_gives_all_its_replicas_away() -> None:
    result = run(goal="drain", drain=[3])
    assert result["changed"]
    assert result["plan"]["bytes"] > 0
    with pytest.raises(FailedError, match="no broker has this id"):
        run(goal="drain", drain=[3, 9])


@pytest.mark.usefixtures("situation")
def test_options_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(FailedError, match=r"needs topic.*hottest has no effect.*Nothing was moved"):
        run(replication=3, hottest=5)


def test_what_something_else_moves_is_refused_with_the_choice(
    situation: dict[tuple[str, int], Reassignment],
) -> None:
    situation["t", 0] = Reassignment((4, 2), (4,), (1,))
    with pytest.raises(FailedError, match=r"\(t-0\).*adopt, wait or cancel"):
        run()
    assert run(foreign="adopt")["waves"][0][0]["replicas"] == [4, 2]
    assert run(foreign="wait")["waiting"] == "t-0"
