"""Why each partition of a plan moves."""

from __future__ import annotations

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.operations.placement import goal
from ansible_collections.millrace.streaming.plugins.module_utils.operations.placement.goal import (
    Goal,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations.placement.plan import (
    Move,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations.placement.reasons import (
    explain,
)

RACKS = {1: "a", 2: "a", 3: "b", 4: None}
HELD = {1: 900, 2: 500, 3: 100}


@pytest.mark.parametrize(
    ("chosen", "before", "after", "reason"),
    [
        (goal.drain([1]), (1, 3), (2, 3), "broker 1 is drained"),
        (goal.drain([1]), (1, 3), (3, 1), "spreads leaders"),
        (goal.replication({"t": 3}), (1,), (1, 2, 3), "1 -> 3 replicas"),
        (goal.replication({"t": 1}), (1, 2), (2,), "2 -> 1 replicas"),
        (goal.racks(), (1, 2), (1, 3), "2 replicas are in rack a"),
        (goal.spread(), (1, 2), (1, 3), "2 replicas are in rack a"),
        (goal.spread(), (1, 3), (2, 3), "broker 2 holds less than broker 1"),
        (goal.topic("t"), (1, 2), (4, 2), "2 replicas are in rack a"),
        (goal.topic("t"), (1, 3), (4, 3), "broker 4 holds less than broker 1"),
        (goal.spread(), (2, 3), (1, 3), "spreads small partitions by number"),
        (goal.hottest(1), (1, 3), (3, 1), "takes traffic from broker 1"),
        (goal.hottest(1), (1, 3), (1, 2), "takes traffic from broker 3"),
    ],
)
def test_a_move_has_a_reason(
    chosen: Goal, before: tuple[int, ...], after: tuple[int, ...], reason: str
) -> None:
    assert explain(Move("t", 0, before, after, 10), chosen, RACKS, HELD) == reason
