"""Why a partition gets other replicas: a few words for each move of a plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from .goal import DRAIN, HOTTEST, REPLICATION, Goal
from .plan import Move

LEADERS = "spreads leaders"


def explain(
    move: Move, goal: Goal, racks: Mapping[int, str | None], held: Mapping[int, int]
) -> str:
    """Return why a plan for a goal has a move.

    `racks` is broker -> its rack, `held` broker -> bytes of its replicas before all moves.
    """
    if goal.kind == HOTTEST:
        busy = move.removed or move.before[:1]
        return f"takes traffic from broker {_ids(busy)}"
    if not move.added and not move.removed:
        return LEADERS
    if goal.kind == DRAIN:
        return f"broker {_ids(goal.brokers.intersection(move.removed))} is drained"
    if goal.kind == REPLICATION:
        return f"{len(move.before)} -> {len(move.after)} replicas"
    if shared := _shared_racks(move, racks):
        return shared
    least = min((held.get(broker, 0) for broker in move.removed), default=0)
    if all(held.get(broker, 0) < least for broker in move.added):
        return f"broker {_ids(move.added)} holds less than broker {_ids(move.removed)}"
    return "spreads small partitions by number"


def _shared_racks(move: Move, racks: Mapping[int, str | None]) -> str:
    """Return which racks a move leaves that hold several replicas, empty if it repairs none."""
    before, after = (
        Counter(racks.get(broker) for broker in side) for side in (move.before, move.after)
    )
    repaired = sorted(
        rack
        for rack, count in before.items()
        if rack is not None and count > 1 and after[rack] < count
    )
    return f"{before[repaired[0]]} replicas are in rack {repaired[0]}" if repaired else ""


def _ids(brokers: frozenset[int] | tuple[int, ...]) -> str:
    return ", ".join(map(str, sorted(brokers)))
