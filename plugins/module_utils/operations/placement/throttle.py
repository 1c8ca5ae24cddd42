"""How fast replicas are copied: a part of what producers write to brokers now, or a rate that is set.

The rate is that of `leader.replication.throttled.rate` and `follower.replication.throttled.rate`,
bytes per second of each broker for the throttled replicas (KIP-73). Followers that copy still
receive what producers write meanwhile: below that rate they would never be in sync.

What networks and disks could carry is not known: no request of Kafka's protocol tells it, and
virtual machines do not show it. What a broker carries at the moment is known, and a part of that
more is little beside it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .plan import Move, Problem
from .state import State

SHARE = 0.5
"""The part of what producers write to the busiest broker that copies may add to each broker."""
MARGIN = 1.5
"""How many times the rate of producers a copy has to be, so that it ends in time."""
LEAST = 10 * 10**6
"""Bytes per second where producers write little: a tenth of what one slow disk writes."""


@dataclass(frozen=True)
class Throttle:
    """The rate of all waves."""

    rate: int
    """Bytes per second, of each broker."""
    reason: str
    """Why it is this one, for a reader."""
    problems: tuple[Problem, ...] = ()


def choose(waves: Iterable[Sequence[Move]], state: State, explicit: int | None = None) -> Throttle:
    """Return the rate at which the moves of waves are copied.

    `explicit` is a rate that the operator has set, which is kept.
    """
    writes = max((_writes_to_copies(wave, state) for wave in waves), default=0.0)
    needed = math.ceil(MARGIN * writes)
    if explicit is None:
        return _by_traffic(state, needed)
    problems = []
    if explicit < max(1, needed):
        problems.append(
            Problem(
                "throttle-too-low",
                f"{explicit} bytes/s is too little: producers write {writes:.0f} bytes/s to what a"
                f" broker copies at a time; set at least {max(1, needed)}, move fewer partitions,"
                " or wait for less traffic",
            )
        )
    return Throttle(explicit, "as set", tuple(problems))


def _by_traffic(state: State, needed: int) -> Throttle:
    busiest, written = max(
        written_by_broker(state).items(), key=lambda item: (item[1], -item[0]), default=(-1, 0.0)
    )
    share = math.floor(SHARE * written)
    rate = max(LEAST, share, needed)
    if rate == LEAST:
        return Throttle(rate, "the default where producers write little")
    if rate == share:
        return Throttle(rate, f"{SHARE:.0%} of what producers write to broker {busiest}")
    return Throttle(rate, f"{MARGIN} times what producers write to what a broker copies at a time")


def written_by_broker(state: State) -> Mapping[int, float]:
    """Return broker -> bytes per second that producers write to its replicas."""
    written = {broker.id: 0.0 for broker in state.brokers if broker.present}
    for partition in state.partitions:
        for broker in partition.replicas:
            if broker in written:
                written[broker] += partition.rate
    return written


def _writes_to_copies(wave: Iterable[Move], state: State) -> float:
    """Return the most that producers write to what one broker copies in a wave, bytes per second."""
    leaders = {
        (partition.topic, partition.index): partition.leader for partition in state.partitions
    }
    rates: dict[tuple[str, int], float] = defaultdict(float)
    for move in wave:
        for broker in move.added:
            rates["receives", broker] += move.rate
            rates["sends", leaders[move.topic, move.index]] += move.rate
    return max(rates.values(), default=0.0)
