"""Goals that cannot be reached: why, all at once, and the nearest that can be."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.operations.placement import goal
from ansible_collections.millrace.streaming.plugins.module_utils.operations.placement.goal import (
    Goal,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations.placement.planner import (
    plan,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations.placement.state import (
    Broker,
    State,
)

from tests.unit.operations.placement.clusters import brokers, partition, with_use

PAIR = State(brokers(4), (partition(0, 1, 2, 3, min_isr=2), partition(0, 3, topic="b")))
SOME_RACKS = State((*brokers(2, "ab"), Broker(3)), (partition(0, 1, 2),))
FULL = with_use(
    State(
        brokers(4, capacity=1000),
        (
            *(partition(index, 1, 2, size=200) for index in range(3)),
            *(partition(index + 3, 3, 4, size=100) for index in range(3)),
        ),
    )
)
LOST = State((Broker(1), Broker(2), Broker(3, present=False)), (partition(0, 3), partition(1, 1)))
CORDONED = State(tuple(replace(b, cordoned=b.id > 2) for b in brokers(4)), (partition(0, 1, 2),))


@pytest.mark.parametrize(
    ("state", "chosen", "slug", "names", "nearest"),
    [
        (PAIR, goal.drain([2, 4]), "few-brokers", ("a",), goal.drain([2])),
        (PAIR, goal.drain([9, 4]), "unknown-broker", ("9",), goal.drain([4])),
        (PAIR, goal.drain([9]), "unknown-broker", ("9",), None),
        (PAIR, goal.drain([]), "no-names", (), None),
        (PAIR, goal.topic("c", "b"), "unknown-topic", ("c",), goal.topic("b")),
        (PAIR, goal.topic("c"), "unknown-topic", ("c",), None),
        (PAIR, goal.replication({"b": 5}), "few-brokers", ("b",), goal.replication({"b": 4})),
        (PAIR, goal.replication({"a": 1}), "below-min-isr", ("a",), goal.replication({"a": 2})),
        (PAIR, goal.replication({"b": 0}), "no-replica", ("b",), goal.replication({"b": 1})),
        (PAIR, goal.hottest(3), "no-rates", (), goal.spread()),
        (PAIR, goal.hottest(0), "no-count", (), goal.hottest(1)),
        (PAIR, goal.racks(), "no-racks", (), goal.spread()),
        (
            SOME_RACKS,
            goal.spread(),
            "racks-of-some",
            ("3",),
            replace(goal.spread(), rack_aware=False),
        ),
        (
            SOME_RACKS,
            goal.racks(),
            "racks-of-some",
            ("3",),
            replace(goal.spread(), rack_aware=False),
        ),
        (FULL, goal.drain([3, 4]), "disk-full", ("a-5",), goal.drain([3])),
        (FULL, goal.drain([1, 3]), "disk-full", ("a-2", "a-5"), goal.drain([3])),
        (LOST, goal.drain([3]), "no-source", ("a-0",), None),
        (CORDONED, goal.drain([1]), "no-broker", ("a-0",), None),
    ],
)
def test_a_goal_out_of_reach(
    state: State, chosen: Goal, slug: str, names: tuple[str, ...], nearest: Goal | None
) -> None:
    result = plan(state, chosen)
    problems = {problem.slug: problem for problem in result.problems}
    assert slug in problems, problems
    assert not result.moves
    assert problems[slug].names == names
    assert problems[slug].nearest == nearest


def test_the_rack_of_a_drained_broker_does_not_matter() -> None:
    assert not plan(SOME_RACKS, goal.drain([3])).problems


def test_all_problems_are_shown_at_once() -> None:
    state = State((*brokers(3, "ab"), Broker(4)), (partition(0, 1, 2, 3),))
    slugs = [problem.slug for problem in plan(state, goal.drain([1, 2, 9])).problems]
    assert slugs == ["unknown-broker", "racks-of-some", "few-brokers"]


def test_a_problem_is_a_line_with_a_few_of_its_names() -> None:
    state = State((Broker(1), Broker(2, present=False)), tuple(partition(i, 2) for i in range(8)))
    [problem] = plan(state, goal.drain([2])).problems
    assert str(problem).endswith("(a-0, a-1, a-2, a-3, a-4 and 3 more)")
    assert str(replace(problem, names=())) == problem.what


def test_nothing_can_be_placed_where_all_are_cordoned() -> None:
    state = State(tuple(replace(b, cordoned=True) for b in brokers(3)), (partition(0, 1, 2),))
    assert [p.slug for p in plan(state, goal.spread()).problems] == ["no-receiver"]
