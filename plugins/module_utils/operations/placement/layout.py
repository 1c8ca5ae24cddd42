"""A placement while it is being changed: brokers and partitions by number, with their totals."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence

from .goal import DRAIN, Goal
from .state import Broker, Partition, State

SMALL_SHARE = 100
"""A replica smaller than the mean by this factor is spread by number, the others by bytes: moving
it costs next to nothing, and all of them together are at most a hundredth of the bytes."""


class Layout:
    """A placement that changes; numbers are positions in `brokers` (by id) and `partitions`.

    Partitions are sorted by topic and index, so that no result depends on the order of the input.
    """

    def __init__(self, state: State, goal: Goal) -> None:
        """Take the state as it is; `goal` says who leaves, whether racks count and how full."""
        self.brokers: Sequence[Broker] = state.all_brokers
        self.partitions: Sequence[Partition] = sorted(
            state.partitions, key=lambda partition: (partition.topic, partition.index)
        )
        self.number = {broker.id: number for number, broker in enumerate(self.brokers)}
        leaving = goal.brokers if goal.kind == DRAIN else frozenset()
        self.leaving = frozenset(self.number[broker] for broker in leaving)
        self.receivers = [
            number
            for number, broker in enumerate(self.brokers)
            if broker.receives and number not in self.leaving
        ]
        self.leads = [
            broker.present and number not in self.leaving
            for number, broker in enumerate(self.brokers)
        ]
        self.rack = _racks(self.brokers, goal)
        self.replicas = [
            [self.number[broker] for broker in partition.replicas] for partition in self.partitions
        ]
        self.size = [partition.size for partition in self.partitions]
        self.load = [0] * len(self.brokers)
        """Bytes of replicas by broker."""
        self.count = [0] * len(self.brokers)
        """Replicas by broker."""
        for partition, replicas in enumerate(self.replicas):
            for broker in replicas:
                self.load[broker] += self.size[partition]
                self.count[broker] += 1
        self.room = [disk_room(broker, goal.disk_share) for broker in self.brokers]
        """Bytes that each disk still takes, by broker, in the order of `paths`."""
        self.paths = [sorted(disk.path for disk in broker.disks) for broker in self.brokers]
        self.disk: dict[tuple[int, int], int] = {}
        """Partition and broker -> number of the disk, of replicas that were added."""
        replica_count = sum(self.count)
        self.small = sum(self.load) / replica_count / SMALL_SHARE if replica_count else 0.0

    def is_small(self, partition: int) -> bool:
        """Return whether a partition's replicas are spread by number."""
        return self.size[partition] <= self.small

    def racks_of(self, partition: int) -> Counter[int]:
        """Return rack -> replicas of a partition."""
        return Counter(self.rack[broker] for broker in self.replicas[partition])

    def fits(self, broker: int, size: int) -> bool:
        """Return whether a disk of the broker takes so many bytes and stays below its limit."""
        return max(self.room[broker]) >= size

    def keeps_racks(self, partition: int, source: int, receiver: int) -> bool:
        """Return whether a move leaves a partition's replicas in as many racks as before.

        It does if the sum of the squares of replicas by rack does not grow.
        """
        old, new = self.rack[source], self.rack[receiver]
        if old == new:
            return True
        racks = [self.rack[broker] for broker in self.replicas[partition]]
        return racks.count(new) < racks.count(old)

    def choose_receiver(self, partition: int) -> tuple[int | None, str]:
        """Return the broker for one more replica, or None and why: "disk" or "broker".

        It is in a rack that has the fewest replicas of the partition (KIP-36), also where another
        rack had more room; there it is the broker with the fewest bytes, or replicas if the
        partition is small.
        """
        taken, size = self.replicas[partition], self.size[partition]
        racks = self.racks_of(partition)
        first, second = self.load, self.count
        if self.is_small(partition):
            first, second = second, first
        candidates = [broker for broker in self.receivers if broker not in taken]
        if not candidates:
            return None, "broker"
        fewest = min(racks[self.rack[broker]] for broker in candidates)
        fitting = [
            (first[broker], second[broker], broker)
            for broker in candidates
            if racks[self.rack[broker]] == fewest and self.fits(broker, size)
        ]
        return (min(fitting)[2], "") if fitting else (None, "disk")

    def add(self, partition: int, broker: int, position: int | None = None) -> None:
        """Give a partition one more replica, the last in order if no position is given."""
        replicas = self.replicas[partition]
        replicas.insert(len(replicas) if position is None else position, broker)
        self.load[broker] += self.size[partition]
        self.count[broker] += 1
        room = self.room[broker]
        disk = max(range(len(room)), key=lambda number: (room[number], -number))
        room[disk] -= self.size[partition]
        self.disk[partition, broker] = disk

    def remove(self, partition: int, broker: int) -> int:
        """Take a replica away and return its position."""
        replicas = self.replicas[partition]
        position = replicas.index(broker)
        del replicas[position]
        self.load[broker] -= self.size[partition]
        self.count[broker] -= 1
        disk = self.disk.pop((partition, broker), None)
        if disk is None:
            disk = disk_number(self.partitions[partition], self.brokers[broker])
        if disk is not None:
            self.room[broker][disk] += self.size[partition]
        return position

    def move(self, partition: int, source: int, receiver: int) -> None:
        """Replace a replica by one on another broker, which takes its position."""
        self.add(partition, receiver, self.remove(partition, source))

    def in_sync(self, partition: int) -> Collection[int]:
        """Return the brokers whose replicas are in sync now."""
        numbers = (self.number.get(broker) for broker in self.partitions[partition].in_sync)
        return {number for number in numbers if number is not None}

    def movable(self, partition: int) -> bool:
        """Return whether nothing forbids an optional move: its replicas are there and in sync."""
        replicas, in_sync = self.partitions[partition].replicas, self.partitions[partition].isr
        if in_sync is not None and not set(replicas) <= set(in_sync):
            return False
        return all(self.brokers[broker].present for broker in self.replicas[partition])


def disk_number(partition: Partition, broker: Broker) -> int | None:
    """Return which disk of a broker a replica is on, by path; None if nothing shows it."""
    paths = sorted(disk.path for disk in broker.disks)
    if len(paths) <= 1:
        return 0
    path = partition.directories.get(broker.id)
    return paths.index(path) if path in paths else None


def disk_room(broker: Broker, share: float) -> list[float]:
    """Return the bytes that each disk takes, by path; one without limit if none is shown."""
    rooms = []
    for disk in sorted(broker.disks, key=lambda disk: disk.path):
        if disk.cordoned:
            rooms.append(-math.inf)
        elif disk.capacity is None:
            rooms.append(math.inf)
        else:
            rooms.append(math.floor(share * disk.capacity) - disk.used)
    return rooms or [math.inf]


def _racks(brokers: Sequence[Broker], goal: Goal) -> list[int]:
    """Return the number of each broker's rack; the same for all if racks do not count."""
    names = sorted({broker.rack or "" for broker in brokers})
    if not goal.rack_aware:
        return [0] * len(brokers)
    return [names.index(broker.rack or "") for broker in brokers]
