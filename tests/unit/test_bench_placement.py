"""Kafka's assignment in the simulation is that of its documentation."""

from __future__ import annotations

import random
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.operations.placement.state import (
    Broker,
)

from tests.bench.placement import Case, alternated, assigned, generated, greedy, planned

RACKS = {0: "1", 1: "3", 2: "3", 3: "2", 4: "2", 5: "1"}


class First(random.Random):
    """Draws the first of all choices."""

    def randrange(self, *_: Any, **__: Any) -> int:
        return 0


def test_the_second_round_shifts_the_other_replicas() -> None:
    brokers = [Broker(number) for number in range(5)]
    assignment = list(assigned(brokers, 10, 3, First()))
    assert assignment[0] == (0, 1, 2)
    assert assignment[4] == (4, 0, 1)
    assert assignment[5] == (0, 2, 3)
    assert assignment[8] == (3, 0, 1)


def test_replicas_are_in_different_racks() -> None:
    brokers = [Broker(number, rack) for number, rack in RACKS.items()]
    assert alternated(brokers) == [0, 3, 1, 5, 4, 2]
    assignment = list(assigned(brokers, 12, 3, First()))
    assert assignment[0] == (0, 3, 1)
    assert assignment[5] == (2, 0, 3)
    assert assignment[6] == (0, 4, 2)
    assert assignment[11] == (2, 5, 4)


def test_each_kind_plans_what_the_goal_asks_for() -> None:
    for case in (Case(9, 60, added=3), Case(9, 60, drained=(0, 4))):
        state = case.state()
        for kind in (generated, greedy, planned):
            assignment, _ = kind(state, case.goal)
            replicas = [broker for replicas in assignment.values() for broker in replicas]
            assert len(replicas) == 180
            assert case.goal.brokers.isdisjoint(replicas)
            assert all(len({b % 3 for b in placed}) == 3 for placed in assignment.values())


def test_planned_moves_least() -> None:
    case = Case(4, 120, 2, racks=0, added=2, sigma=0.5)
    state = case.state()
    before = {(item.topic, item.index): set(item.replicas) for item in state.partitions}
    size = {(item.topic, item.index): item.size for item in state.partitions}

    def copied(kind: Any) -> int:
        assignment, _ = kind(state, case.goal)
        return sum(size[name] * len(set(r) - before[name]) for name, r in assignment.items())

    assert planned(state, case.goal)[1] <= copied(planned) < copied(generated)
