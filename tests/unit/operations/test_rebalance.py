"""From what is read of a cluster to a plan: state, goal, waves, and the lines for a reader."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.formats import goal_options
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.reassignments import (
    LogDir,
    Reassignment,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.snapshot import (
    Broker,
    Partition,
    Snapshot,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations import (
    mover,
    rebalance,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations.placement import goal

from tests.unit.operations.gate_cases import HEALTHY

MEGA = 10**6
SNAPSHOT = replace(
    HEALTHY,
    brokers=(Broker(1, rack="a"), Broker(2, rack="b"), Broker(3, rack="c"), Broker(4, rack="a")),
    partitions=tuple(
        Partition("t", index, 1 + index % 3, (1 + index % 3, 1 + (index + 1) % 3), (1, 2, 3), 1)
        for index in range(12)
    ),
)
NOTHING: dict[str, Any] = {
    "goal": None,
    "topics": [],
    "drain": [],
    "hottest": 0,
    "replication": 0,
}


def directories(snapshot: Snapshot = SNAPSHOT, size: int = MEGA) -> dict[int, tuple[LogDir, ...]]:
    held: dict[int, dict[tuple[str, int], int]] = {broker.id: {} for broker in snapshot.brokers}
    for part in snapshot.partitions:
        for broker in part.replicas:
            held[broker][part.topic, part.index] = size + (broker != part.leader)
    return {
        broker: (LogDir("/d1", total=100 * MEGA, usable=60 * MEGA, sizes=sizes),)
        for broker, sizes in held.items()
    }


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, goal.spread()),
        ({"topics": ["a", "b"]}, goal.topic("a", "b")),
        ({"drain": [3]}, goal.drain([3])),
        ({"hottest": 5}, goal.hottest(5)),
        ({"topics": ["a"], "replication": 3}, goal.replication({"a": 3})),
        ({"goal": "racks"}, goal.racks()),
    ],
)
def test_the_goal_follows_from_the_options(options: dict[str, Any], expected: goal.Goal) -> None:
    assert rebalance.goal_of({**NOTHING, **options}) == expected


@pytest.mark.parametrize(
    ("options", "problems"),
    [
        ({}, []),
        ({"topics": ["a"]}, []),
        ({"topics": ["a"], "replication": 3}, []),
        ({"goal": "racks"}, []),
        ({"goal": "topic"}, ["the goal topic needs topic"]),
        ({"replication": 3}, ["the goal replication needs topic"]),
        ({"goal": "hottest"}, ["the goal hottest needs hottest"]),
        ({"goal": "spread", "topics": ["a"]}, ["topic has no effect on the goal spread"]),
        (
            {"hottest": 5, "topics": ["a"], "goal": "racks"},
            ["hottest has no effect", "topic has no effect"],
        ),
        (
            {"replication": 3, "hottest": 5},
            ["the goal replication needs topic", "hottest has no effect"],
        ),
    ],
)
def test_options_that_contradict_each_other(options: dict[str, Any], problems: list[str]) -> None:
    found = goal_options.problems({**NOTHING, **options})
    assert len(found) == len(problems)
    for (text, _), beginning in zip(found, problems, strict=True):
        assert text.startswith(beginning)


def test_the_size_of_a_partition_is_that_of_its_leader() -> None:
    state = rebalance.state_of(SNAPSHOT, directories(), {}, {("t", 0): 7.0})
    first = state.partitions[0]
    assert (first.size, first.rate, first.directories) == (MEGA, 7.0, {1: "/d1", 2: "/d1"})
    assert state.brokers[0].disks[0].used == 40 * MEGA


def test_a_reassignment_on_its_way_counts_as_complete() -> None:
    moving = {("t", 0): Reassignment((4, 2), (4,), (1,))}
    state = rebalance.state_of(SNAPSHOT, directories(), moving, {})
    assert state.partitions[0].replicas == (4, 2)


@pytest.mark.parametrize(
    ("listed", "cordoned"),
    [
        ((LogDir("/a", cordoned=True),), True),
        ((LogDir("/a", cordoned=True), LogDir("/b")), False),
        ((LogDir("/a", failed=True), LogDir("/b", cordoned=True)), True),
        ((), False),
    ],
)
def test_a_broker_is_cordoned_if_no_directory_takes_replicas(
    listed: tuple[LogDir, ...], cordoned: bool
) -> None:
    state = rebalance.state_of(SNAPSHOT, {1: listed}, {}, {})
    assert state.brokers[0].cordoned is cordoned


def test_a_plan_has_waves_a_rate_and_lines() -> None:
    state = rebalance.state_of(SNAPSHOT, directories(), {}, {})
    plan = rebalance.make_plan(state, goal.drain([3]), rate=MEGA, in_flight=2 * MEGA)
    assert not plan.problems
    assert plan.rate == MEGA
    assert plan.data["bytes"] == plan.data["least_bytes"] == 8 * MEGA
    assert len(plan.waves) == plan.data["waves"] > 1
    text = "\n".join(plan.lines)
    assert "drain broker 3: moves 8.0 MB of 8 partitions, the least is 8.0 MB" in text
    assert "broker 4: leads 0 -> 4 partitions" in text or "broker 4: leads 0 -> 3" in text
    assert all(3 not in move.replicas for wave in plan.waves for move in wave)


def test_what_is_on_its_way_is_the_first_wave() -> None:
    moving = {("t", 0): Reassignment((4, 2), (4,), (1,))}
    state = rebalance.state_of(SNAPSHOT, directories(), moving, {})
    first = mover.adopted(moving, {("t", 0): MEGA})
    plan = rebalance.make_plan(state, goal.spread(), adopted=first)
    assert list(plan.waves[0]) == first
    assert plan.lines[0] == "1 partitions are on their way already: 1.0 MB"


def test_a_goal_that_is_reached_needs_no_wave() -> None:
    state = rebalance.state_of(SNAPSHOT, directories(), {}, {})
    plan = rebalance.make_plan(state, goal.topic())
    assert plan.problems or not plan.waves
    again = rebalance.make_plan(state, goal.racks())
    assert (again.waves, again.problems) == ((), ())
    assert "is reached" in again.lines[-1]


def test_a_goal_that_cannot_be_reached_says_why() -> None:
    state = rebalance.state_of(SNAPSHOT, directories(), {}, {})
    plan = rebalance.make_plan(state, goal.drain([2, 3, 4]))
    assert plan.waves == ()
    assert plan.problems


def test_each_move_has_its_reason() -> None:
    state = rebalance.state_of(SNAPSHOT, directories(), {}, {})
    plan = rebalance.make_plan(state, goal.drain([3]))
    moves = plan.data["moves"]
    copied = {move["reason"] for move in moves if set(move["after"]) - set(move["before"])}
    assert copied == {"broker 3 is drained"}
    assert {move["reason"] for move in moves} <= {*copied, "spreads leaders"}
    assert any(line.endswith("MB): broker 3 is drained") for line in plan.lines)
    assert "10.0 MB/s into and out of each broker (the default where producers" in plan.lines[1]


def test_only_a_nearest_goal_that_can_be_chosen_is_named() -> None:
    state = rebalance.state_of(SNAPSHOT, directories(), {}, {})
    [problem] = rebalance.make_plan(state, goal.drain([2, 3, 4])).problems
    assert problem.endswith("The nearest that can be reached: drain broker 2, 3.")
    brokers = (*state.brokers[:3], replace(state.brokers[3], rack=None))
    [problem] = rebalance.make_plan(replace(state, brokers=brokers), goal.racks()).problems
    assert "set kafka_rack of each broker" in problem
    assert "nearest" not in problem


def test_replicas_of_internal_topics_after_growth_from_one_broker() -> None:
    names = ("__consumer_offsets", "__transaction_state", "__share_group_state", "_schemas")
    alone = tuple(Partition(name, index, 1, (1,), (1,), 1) for name in names for index in range(6))
    snapshot = replace(SNAPSHOT, partitions=alone)
    state = rebalance.state_of(snapshot, directories(snapshot), {}, {})
    plan = rebalance.make_plan(state, goal.replication(dict.fromkeys(names, 3)))
    assert not plan.problems
    targets = {move.name: move.replicas for wave in plan.waves for move in wave}
    assert len(targets) == len(alone)
    racks = {broker.id: broker.rack for broker in state.brokers}
    assert all({racks[broker] for broker in after} == {"a", "b", "c"} for after in targets.values())
    assert {move["reason"] for move in plan.data["moves"]} == {"1 -> 3 replicas"}
    # Broker 4 is in the rack of broker 1, whose replicas stay.
    assert plan.data["leaders_after"] == {"1": 8, "2": 8, "3": 8, "4": 0}


def test_the_traffic_is_how_fast_leaders_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([0.0, 2.0])
    monkeypatch.setattr(rebalance, "read_directories", lambda *_: directories(size=3 * MEGA))
    slept: list[float] = []
    cluster: Any = None
    rates = rebalance.measure(cluster, SNAPSHOT, directories(), 2, slept.append, times.__next__)
    assert slept == [2]
    assert set(rates.values()) == {MEGA}
