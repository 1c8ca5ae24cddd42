"""A plan as waves: what is moved together, so that nothing is at risk on the way.

Kafka adds the new replicas, waits until all of them are in sync, and only then removes the others
(KIP-455). So both are on their disks during a wave, and the replicas in sync after it are those
before that stay, and the new ones.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from .goal import DISK_SHARE
from .layout import disk_number, disk_room
from .plan import Move, Plan, Problem
from .state import Partition, State


@dataclass(frozen=True)
class Limits:
    """How much a wave may do."""

    disk_share: float = DISK_SHARE
    """The part of each disk that may be in use at any time, 0 to 1."""
    in_flight: int = 20 * 10**9
    """Bytes that a broker sends, and that it receives, in one wave; a larger partition moves
    alone."""
    partitions: int = 500
    """Partitions that are reassigned in one wave."""


@dataclass(frozen=True)
class Schedule:
    """The waves of a plan, in order."""

    waves: tuple[tuple[Move, ...], ...] = ()
    problems: tuple[Problem, ...] = ()
    """Why some moves are in no wave."""


def waves(plan: Plan, state: State, limits: Limits | None = None) -> Schedule:
    """Return the waves of a plan.

    Partitions with the fewest replicas in sync come first, then large ones. Of moves that have to
    wait until others free a disk, those that do not come to it in the end are a problem. Moves that
    change the order alone are in the last waves: they copy nothing, and leaders move once.
    """
    scheduler = _Scheduler(state, limits or Limits())
    copies = [move for move in plan.moves if move.added or move.removed]
    pending, unsafe = scheduler.check(copies)
    result = []
    while pending:
        wave, pending = scheduler.fill(pending)
        if not wave:
            break
        result.append(tuple(wave))
    orders = [move for move in plan.moves if not move.added and not move.removed]
    size = scheduler.limits.partitions
    result += [tuple(orders[start : start + size]) for start in range(0, len(orders), size)]
    return Schedule(tuple(result), tuple(_problems(unsafe, pending, scheduler.limits)))


def in_sync_after(move: Move, partition: Partition) -> int:
    """Return how many replicas are in sync once a move has ended (KIP-455)."""
    staying = set(partition.in_sync) & set(move.after)
    return len(staying | set(move.added))


def is_safe(move: Move, partition: Partition) -> bool:
    """Return whether a move leaves as many replicas in sync as acks=all needs.

    That is min.insync.replicas, which Kafka caps at the number of replicas. A partition that has
    fewer in sync must not lose any.
    """
    required = min(partition.min_isr, len(move.after), len(partition.in_sync))
    return in_sync_after(move, partition) >= required


def _problems(
    unsafe: Iterable[Move], blocked: Iterable[_Copy], limits: Limits
) -> Iterable[Problem]:
    names = tuple(sorted(move.name for move in unsafe))
    if names:
        yield Problem(
            "below-min-isr",
            "fewer replicas than min.insync.replicas would be in sync afterwards: wait until the"
            " replicas that stay are in sync",
            names=names,
        )
    names = tuple(sorted(copy.move.name for copy in blocked))
    if names:
        yield Problem(
            "disk-full",
            f"a disk would be above {limits.disk_share:.0%} until other replicas leave it, and these"
            " wait for the same: add room to one of the brokers, or move fewer partitions",
            names=names,
        )


class _Copy:
    """A move with what it takes, looked up once: waves ask for it again and again."""

    __slots__ = ("disks", "move", "size", "source", "total")

    def __init__(self, move: Move, source: int, disks: list[tuple[int, list[float], int]]) -> None:
        self.move = move
        self.source = source
        """The broker that is copied from."""
        self.disks = disks
        """Broker, bytes that its disks take, and which of them is meant, for each new replica."""
        self.size = move.size
        self.total = move.bytes


class _Scheduler:
    def __init__(self, state: State, limits: Limits) -> None:
        self.limits = limits
        self.brokers = {broker.id: broker for broker in state.all_brokers}
        self.partitions = {
            (partition.topic, partition.index): partition for partition in state.partitions
        }
        self.room = {
            broker.id: disk_room(broker, limits.disk_share) for broker in self.brokers.values()
        }

    def check(self, moves: Iterable[Move]) -> tuple[list[_Copy], list[Move]]:
        """Return the moves that keep enough replicas in sync, in the order in which they are due.

        The second list has those that do not.
        """
        safe: list[Move] = []
        unsafe: list[Move] = []
        for move in moves:
            (safe if is_safe(move, self._partition(move)) else unsafe).append(move)
        copies = [
            _Copy(
                move,
                self._source(move),
                [(broker, self.room[broker], self._disk(move, broker)) for broker in move.added],
            )
            for move in sorted(safe, key=self._due)
        ]
        return copies, unsafe

    def _due(self, move: Move) -> tuple[float, int, str, int]:
        partition = self._partition(move)
        present = [broker for broker in partition.in_sync if self.brokers[broker].present]
        complete = len(present) >= len(partition.replicas)
        spare = math.inf if complete else len(present) - partition.min_isr
        return spare, -move.size, move.topic, move.index

    def fill(self, pending: list[_Copy]) -> tuple[list[Move], list[_Copy]]:
        """Return the next wave, and the moves that wait; disks are as they are after it."""
        wave: list[Move] = []
        waiting: list[_Copy] = []
        sent: dict[int, int] = defaultdict(int)
        received: dict[int, int] = defaultdict(int)
        for copy in pending:
            if len(wave) < self.limits.partitions and self._take(copy, sent, received):
                wave.append(copy.move)
            else:
                waiting.append(copy)
        for move in wave:
            self._free(move)
        return wave, waiting

    def _take(self, copy: _Copy, sent: dict[int, int], received: dict[int, int]) -> bool:
        """Reserve what a move needs; returns False if it has to wait."""
        limit = self.limits.in_flight
        already = sent[copy.source]
        if already and copy.total and already + copy.total > limit:
            return False
        for broker, room, disk in copy.disks:
            if room[disk] < copy.size or (
                received[broker] and received[broker] + copy.size > limit
            ):
                return False
        for broker, room, disk in copy.disks:
            room[disk] -= copy.size
            received[broker] += copy.size
        sent[copy.source] += copy.total
        return True

    def _free(self, move: Move) -> None:
        partition = self._partition(move)
        for broker in move.removed:
            disk = disk_number(partition, self.brokers[broker])
            if disk is not None:
                self.room[broker][disk] += move.size

    def _source(self, move: Move) -> int:
        """Return the broker that new replicas copy from: the leader."""
        partition = self._partition(move)
        return partition.leader if partition.leader >= 0 else partition.replicas[0]

    def _disk(self, move: Move, broker: int) -> int:
        path = dict(move.directories).get(broker)
        paths = sorted(disk.path for disk in self.brokers[broker].disks)
        return paths.index(path) if path in paths else 0

    def _partition(self, move: Move) -> Partition:
        return self.partitions[move.topic, move.index]
