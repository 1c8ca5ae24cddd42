"""What the planner returns: moves, their cost beside the least that could be, and what forbids them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .goal import Goal

SHOWN = 5


@dataclass(frozen=True)
class Move:
    """A partition, and the replicas that it gets: one entry of a reassignment (KIP-455)."""

    topic: str
    index: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    """Brokers in order of preference; the first one is the preferred leader."""
    size: int
    """Bytes of one replica."""
    rate: float = 0.0
    """Bytes per second that producers write to the partition."""
    directories: tuple[tuple[int, str], ...] = ()
    """Broker and path of the disk for new replicas on brokers with several: an
    AlterReplicaLogDirs request before the reassignment decides it (KIP-113)."""

    @property
    def name(self) -> str:
        """Return topic and index as Kafka's tools write them."""
        return f"{self.topic}-{self.index}"

    @property
    def added(self) -> tuple[int, ...]:
        """Return the brokers that copy the partition."""
        return tuple(broker for broker in self.after if broker not in self.before)

    @property
    def removed(self) -> tuple[int, ...]:
        """Return the brokers that delete it."""
        return tuple(broker for broker in self.before if broker not in self.after)

    @property
    def bytes(self) -> int:
        """Return the bytes that are copied; none if only the order changes."""
        return self.size * len(self.added)


@dataclass(frozen=True)
class Problem:
    """Why a goal cannot be reached."""

    slug: str
    what: str
    """A sentence with what, why and what to do."""
    nearest: Goal | None = None
    """The nearest goal that can be reached, as far as this problem goes; None if there is none."""
    names: tuple[str, ...] = ()
    """Partitions, topics or brokers that it is about, sorted."""

    def __str__(self) -> str:
        """Return it as one line with a few of the names."""
        if not self.names:
            return self.what
        hidden = len(self.names) - SHOWN
        few = ", ".join(self.names[:SHOWN]) + (f" and {hidden} more" if hidden > 0 else "")
        return f"{self.what} ({few})"


@dataclass(frozen=True)
class Plan:
    """How a goal is reached; with problems it has no moves."""

    goal: Goal
    moves: tuple[Move, ...] = ()
    """Sorted by topic and index."""
    bound: int = 0
    """The fewest bytes that any plan copies to reach what this one reaches."""
    leaders_before: Mapping[int, int] = field(default_factory=dict)
    """Broker -> partitions that it leads."""
    leaders_after: Mapping[int, int] = field(default_factory=dict)
    """The same once each preferred replica leads."""
    bytes_before: Mapping[int, int] = field(default_factory=dict)
    """Broker -> bytes of its replicas."""
    bytes_after: Mapping[int, int] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    remarks: tuple[str, ...] = ()
    """What stays uneven or untouched, and why."""

    @property
    def bytes(self) -> int:
        """Return the bytes that are copied."""
        return sum(move.bytes for move in self.moves)
