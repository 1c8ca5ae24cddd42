"""What a change of the placement is to reach; made by the functions at the end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ...formats import goal_options

SPREAD = goal_options.SPREAD
DRAIN = goal_options.DRAIN
REPLICATION = goal_options.REPLICATION
RACKS = goal_options.RACKS
HOTTEST = goal_options.HOTTEST
TOPIC = goal_options.TOPIC
DISK_SHARE = 0.80
"""The part of a disk that may be in use after each step."""


@dataclass(frozen=True)
class Goal:
    """A goal, and the limits that it keeps."""

    kind: str
    """One of the constants above."""
    brokers: frozenset[int] = frozenset()
    """Brokers that are to hold no replica (drain)."""
    factors: Mapping[str, int] = field(default_factory=dict)
    """Topic -> number of replicas (replication)."""
    topics: frozenset[str] = frozenset()
    """Topics whose replicas are spread (topic)."""
    count: int = 0
    """How many partitions may move (hottest)."""
    disk_share: float = DISK_SHARE
    """The part of each disk that may be in use, 0 to 1."""
    rack_aware: bool = True
    """Whether racks count, where brokers have them (KIP-36)."""


def spread() -> Goal:
    """Return the goal of the same bytes on each broker, racks repaired, leaders evenly spread."""
    return Goal(SPREAD)


def drain(brokers: Iterable[int]) -> Goal:
    """Return the goal of no replica on these brokers, which are to be decommissioned."""
    return Goal(DRAIN, brokers=frozenset(brokers))


def replication(factors: Mapping[str, int]) -> Goal:
    """Return the goal of so many replicas of each partition of these topics."""
    return Goal(REPLICATION, factors=dict(factors))


def racks() -> Goal:
    """Return the goal of replicas in different racks, for brokers whose racks were named later."""
    return Goal(RACKS)


def hottest(count: int) -> Goal:
    """Return the goal of even traffic, reached by moving the busiest partitions alone."""
    return Goal(HOTTEST, count=count)


def topic(*names: str) -> Goal:
    """Return the goal of the bytes and leaders of these topics evenly spread, others untouched."""
    return Goal(TOPIC, topics=frozenset(names))
