"""How fast replicas are copied: what clients leave of networks and disks, or a rate that is set.

The rate is that of `leader.replication.throttled.rate` and `follower.replication.throttled.rate`,
bytes per second of each broker for the throttled replicas (KIP-73). Followers that copy still
receive what producers write meanwhile: below that rate they would never be in sync.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .plan import Move, Problem
from .state import State

SHARE = 0.5
"""The part of what is left that copies take: the other half is for peaks of clients."""
MARGIN = 1.5
"""How many times the rate of producers a copy has to be, so that it ends in time."""
UNMEASURED = 50 * 10**6
"""Bytes per second where neither a network nor a disk is measured: less than half of 1 Gbit/s."""


@dataclass(frozen=True)
class Traffic:
    """What a broker carries at its peak, and could carry; bytes per second."""

    received: float = 0.0
    """From clients and other brokers."""
    sent: float = 0.0
    written: float = 0.0
    """To its disks."""
    network: float | None = None
    """What its network carries each way; None where it is not shown, as on virtual machines."""
    disk: float | None = None
    """What its disks write; None where it is not measured."""


@dataclass(frozen=True)
class Throttle:
    """The rate of a wave."""

    rate: int
    """Bytes per second, of each broker."""
    reason: str
    seconds: float
    """How long the wave takes at least; infinite where it never ends."""
    problems: tuple[Problem, ...] = ()


def choose(
    moves: Iterable[Move],
    state: State,
    traffic: Mapping[int, Traffic],
    explicit: int | None = None,
) -> Throttle:
    """Return the rate at which the moves of a wave are copied.

    `traffic` is by broker; `explicit` is a rate that the operator has set, which is kept.
    """
    copies = _Copies(moves, state)
    least = math.ceil(MARGIN * copies.writes)
    if explicit is not None:
        rate, reason = explicit, "as set"
    else:
        spare, broker = min(
            ((_spare(traffic[number]), number) for number in copies.brokers if number in traffic),
            default=(math.inf, -1),
        )
        if math.isinf(spare):
            rate, reason = max(least, UNMEASURED), "no network or disk is measured"
        else:
            rate = max(0, math.floor(SHARE * spare))
            reason = f"{SHARE:.0%} of what clients leave of broker {broker}"
    problems = []
    if rate < least or rate < 1:
        problems.append(
            Problem(
                "throttle-too-low",
                f"{rate} bytes/s ({reason}) is too little: producers write {copies.writes:.0f}"
                f" bytes/s to what a broker copies; set at least {max(1, least)}, move fewer"
                " partitions at a time, or wait for less traffic",
            )
        )
    return Throttle(rate, reason, copies.seconds(rate), tuple(problems))


def _spare(traffic: Traffic) -> float:
    """Return the bytes per second that a broker's network and disks have left."""
    network = math.inf if traffic.network is None else traffic.network
    disk = math.inf if traffic.disk is None else traffic.disk
    return min(network - traffic.received, network - traffic.sent, disk - traffic.written)


class _Copies:
    """What brokers copy in a wave, as receivers and as leaders."""

    def __init__(self, moves: Iterable[Move], state: State) -> None:
        leaders = {
            (partition.topic, partition.index): partition.leader for partition in state.partitions
        }
        self.load: dict[tuple[str, int], tuple[int, float]] = defaultdict(lambda: (0, 0.0))
        """Direction and broker -> bytes, and bytes per second that producers add."""
        for move in moves:
            for broker in move.added:
                self._add("receives", broker, move.size, move.rate)
                self._add("sends", leaders[move.topic, move.index], move.size, move.rate)

    def _add(self, direction: str, broker: int, size: int, rate: float) -> None:
        old_size, old_rate = self.load[direction, broker]
        self.load[direction, broker] = (old_size + size, old_rate + rate)

    @property
    def brokers(self) -> list[int]:
        """Return the brokers that take part."""
        return sorted({broker for _, broker in self.load})

    @property
    def writes(self) -> float:
        """Return the most that producers write to copies of one broker, bytes per second."""
        return max((rate for _, rate in self.load.values()), default=0.0)

    def seconds(self, throttle: int) -> float:
        """Return how long the slowest broker takes."""
        return max(
            (
                size / (throttle - rate) if throttle > rate else math.inf
                for size, rate in self.load.values()
                if size
            ),
            default=0.0,
        )
