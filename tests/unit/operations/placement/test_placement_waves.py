"""Waves, their limits, and the rate at which they copy."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.operations.placement import goal
from ansible_collections.millrace.streaming.plugins.module_utils.operations.placement.plan import (
    Move,
    Plan,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations.placement.planner import (
    plan,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations.placement.state import (
    Partition,
    State,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations.placement.throttle import (
    LEAST,
    choose,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations.placement.waves import (
    Limits,
    Schedule,
    is_safe,
    waves,
)

from tests.unit.operations.placement.clusters import brokers, partition, with_use

MB = 10**6


def scheduled(state: State, *afters: tuple[int, ...], limits: Limits) -> Schedule:
    """Return the waves in which the partitions get these replicas."""
    moves = tuple(
        Move(item.topic, item.index, item.replicas, after, item.size, item.rate)
        for item, after in zip(state.partitions, afters, strict=True)
    )
    return waves(Plan(goal.spread(), moves), state, limits)


def names(schedule: Schedule) -> list[list[str]]:
    return [[move.name for move in wave] for wave in schedule.waves]


def test_a_disk_gets_replicas_only_once_others_have_left_it() -> None:
    items = (partition(0, 1, size=700), partition(1, 2, size=700))
    state = with_use(State(brokers(3, capacity=1000), items))
    schedule = scheduled(state, (2,), (3,), limits=Limits())
    assert names(schedule) == [["a-1"], ["a-0"]]
    assert not schedule.problems


def test_replicas_that_wait_for_each_other_are_a_problem() -> None:
    items = (partition(0, 1, size=700), partition(1, 2, size=700))
    state = with_use(State(brokers(2, capacity=1000), items))
    schedule = scheduled(state, (2,), (1,), limits=Limits())
    assert not schedule.waves
    [problem] = schedule.problems
    assert (problem.slug, problem.names) == ("disk-full", ("a-0", "a-1"))


def test_bytes_in_flight_are_limited_by_broker_in_both_directions() -> None:
    items = tuple(partition(index, 1 + index % 2, size=40) for index in range(4))
    state = State(brokers(4), items)
    schedule = scheduled(state, (3,), (4,), (3,), (4,), limits=Limits(in_flight=50))
    assert names(schedule) == [["a-0", "a-1"], ["a-2", "a-3"]]
    schedule = scheduled(state, (3,), (3,), (4,), (4,), limits=Limits(in_flight=50))
    assert names(schedule) == [["a-0", "a-3"], ["a-1", "a-2"]]


def test_a_partition_above_the_limit_moves_alone() -> None:
    state = State(brokers(2), (partition(0, 1, size=400), partition(1, 1, size=1)))
    assert names(scheduled(state, (2,), (2,), limits=Limits(in_flight=50))) == [["a-0"], ["a-1"]]


def test_partitions_with_the_fewest_replicas_in_sync_come_first() -> None:
    items = (
        partition(0, 1, 2, 3, size=90),
        partition(1, 1, 2, 3, size=10, isr=(1, 2), min_isr=1),
        partition(2, 1, 2, 3, size=10, isr=(1,), min_isr=1),
    )
    state = State(brokers(4), items)
    schedule = scheduled(state, (1, 2, 4), (1, 2, 4), (1, 2, 4), limits=Limits(partitions=1))
    assert names(schedule) == [["a-2"], ["a-1"], ["a-0"]]


def test_orders_change_last() -> None:
    state = State(brokers(3), (partition(0, 1, 2), partition(1, 1, 2)))
    schedule = scheduled(state, (2, 1), (1, 3), limits=Limits())
    assert names(schedule) == [["a-1"], ["a-0"]]


@pytest.mark.parametrize(
    ("item", "after", "safe"),
    [
        (partition(0, 1, 2, 3, min_isr=2), (1, 2, 4), True),
        # The replica that stays is not in sync, the one that leaves is: the new one makes up for it.
        (partition(0, 1, 2, 3, isr=(1, 3), min_isr=2), (1, 2, 4), True),
        (partition(0, 1, 2, 3, isr=(1, 3), min_isr=2), (1, 2), False),
        (partition(0, 1, 2, 3, isr=(1, 2), min_isr=2), (1, 2), True),
        # It refuses acks=all already; it must not lose the last one.
        (partition(0, 1, 2, 3, isr=(1,), min_isr=2), (1, 2), True),
        (partition(0, 1, 2, 3, isr=(1,), min_isr=2), (2, 3), False),
    ],
)
def test_enough_replicas_stay_in_sync(item: Partition, after: tuple[int, ...], safe: bool) -> None:
    move = Move(item.topic, item.index, item.replicas, after, item.size)
    assert is_safe(move, item) is safe
    schedule = waves(Plan(goal.spread(), (move,)), State(brokers(4), (item,)))
    assert [problem.slug for problem in schedule.problems] == ([] if safe else ["below-min-isr"])


COPY = State(brokers(3), tuple(partition(i, 1, 2, size=600 * MB, rate=2.0 * MB) for i in range(2)))
MOVES = tuple(Move("a", i, (1, 2), (1, 3), 600 * MB, 2.0 * MB) for i in range(2))
OTHERS = tuple(partition(i, 2, 3, size=MB, topic="b", rate=40.0 * MB) for i in range(2))


def test_the_rate_is_half_of_what_producers_write_to_the_busiest_broker() -> None:
    throttle = choose([MOVES], State(COPY.brokers, (*COPY.partitions, *OTHERS)))
    assert throttle.rate == 42 * MB
    assert throttle.reason == "50% of what producers write to broker 2"
    assert not throttle.problems


def test_the_rate_lets_followers_catch_up() -> None:
    busy = tuple(replace(item, rate=10.0 * MB) for item in COPY.partitions)
    moves = tuple(replace(move, rate=10.0 * MB) for move in MOVES)
    state = State(COPY.brokers, busy)
    # Both are sent by broker 1 and received by broker 3 in one wave, one of them in each of two.
    assert choose([moves], state).rate == 30 * MB
    assert choose([moves[:1], moves[1:]], state).rate == 15 * MB
    assert choose([moves[:1], moves[1:]], state).reason.startswith("1.5 times")


def test_a_rate_that_never_catches_up_is_a_problem() -> None:
    throttle = choose([MOVES], COPY, 4 * MB)
    [problem] = throttle.problems
    assert "at least 6000000" in problem.what
    assert (throttle.rate, throttle.reason) == (4 * MB, "as set")
    assert not choose([MOVES], COPY, 6 * MB).problems
    assert choose([], COPY, 0).problems


def test_where_producers_write_little_the_rate_is_moderate() -> None:
    assert choose([MOVES], COPY).rate == LEAST
    assert choose([], State((), ())).rate == LEAST


def test_waves_of_a_plan_have_all_its_moves() -> None:
    state = State(brokers(4), tuple(partition(i, i % 3 + 1, (i + 1) % 3 + 1) for i in range(9)))
    result = plan(state, goal.spread())
    schedule = waves(result, state, Limits(partitions=2))
    assert sum(len(wave) for wave in schedule.waves) == len(result.moves) > 0
