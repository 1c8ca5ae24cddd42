"""Preferred leaders, evenly spread with the fewest changes of the order of replicas.

The first replica is the preferred leader: Kafka gives it back the lead at a preferred leader
election. A change of order copies nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from .layout import Layout


def spread_leaders(layout: Layout, scope: Iterable[int], changed: frozenset[int]) -> None:
    """Reorder replicas of the partitions in scope so that brokers lead as evenly as they can.

    Two brokers then differ by at most one, unless their replicas do not allow it. Each step hands
    one lead along a shortest chain from a broker with at least two more leaders than the broker
    that has the fewest; without such a chain no other order is more even (as with flows in a
    bipartite graph). In a partition whose leader changes the new one comes first, and the others
    keep their order. Partitions in `changed`, which are reassigned anyway, are taken first.
    """
    table = _Leaders(layout)
    # The last one entered is the first one taken.
    for partition in sorted(scope, key=lambda number: (number in changed, number)):
        table.enter(partition)
    table.level()
    for partition, broker in table.changes():
        replicas = layout.replicas[partition]
        replicas.remove(broker)
        replicas.insert(0, broker)


def leader_of(layout: Layout, partition: int) -> int | None:
    """Return the broker that leads once preferred replicas do, None if no replica can."""
    for broker in candidates(layout, partition):
        return broker
    return None


def candidates(layout: Layout, partition: int) -> list[int]:
    """Return the replicas that may lead after the moves, in order of preference.

    A replica that stays must be in sync now; a new one is, before its reassignment ends (KIP-455).
    """
    in_sync = layout.in_sync(partition)
    before = {layout.number[broker] for broker in layout.partitions[partition].replicas}
    return [
        broker
        for broker in layout.replicas[partition]
        if layout.leads[broker] and (broker in in_sync or broker not in before)
    ]


class _Leaders:
    """Who leads what, and who could lead it instead."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        brokers = range(len(layout.brokers))
        self.count = [0] * len(layout.brokers)
        self.leader: dict[int, int] = {}
        self.first: dict[int, int] = {}
        self.candidates: dict[int, list[int]] = {}
        self.links: list[list[dict[int, None]]] = [[{} for _ in brokers] for _ in brokers]
        """links[u][w]: partitions that u leads and w could lead; used as sets with an order."""

    def enter(self, partition: int) -> None:
        replicas = candidates(self.layout, partition)
        if not replicas:
            return
        self.first[partition] = replicas[0]
        self.candidates[partition] = replicas
        self._lead(partition, replicas[0])

    def level(self) -> None:
        remaining = {broker for broker, leads in enumerate(self.layout.leads) if leads}
        while remaining:
            fewest = min(remaining, key=lambda broker: (self.count[broker], broker))
            if max(self.count) < self.count[fewest] + 2:
                return
            chain = self._chain(fewest)
            if not chain:
                # It stays so: a later chain that helped this broker would have helped now.
                remaining.remove(fewest)
            for giver, taker in chain:
                partition = next(reversed(self.links[giver][taker]))
                self._resign(partition)
                self._lead(partition, taker)

    def changes(self) -> list[tuple[int, int]]:
        return [
            (partition, leader)
            for partition, leader in sorted(self.leader.items())
            if leader != self.first[partition]
        ]

    def _chain(self, fewest: int) -> list[tuple[int, int]]:
        """Return steps (giver, taker) that end at a broker, empty if no broker can spare a lead."""
        following = {fewest: fewest}
        layer = [fewest]
        while layer:
            reached = []
            for taker in layer:
                for giver, links in enumerate(self.links):
                    if giver not in following and links[taker]:
                        following[giver] = taker
                        reached.append(giver)
            most = max(reached, key=lambda broker: (self.count[broker], -broker), default=fewest)
            if self.count[most] >= self.count[fewest] + 2:
                return self._steps(most, fewest, following)
            layer = reached
        return []

    @staticmethod
    def _steps(giver: int, last: int, following: dict[int, int]) -> list[tuple[int, int]]:
        steps = []
        while giver != last:
            steps.append((giver, following[giver]))
            giver = following[giver]
        return steps

    def _lead(self, partition: int, broker: int) -> None:
        self.leader[partition] = broker
        self.count[broker] += 1
        for replica in self.candidates[partition]:
            if replica != broker:
                self.links[broker][replica][partition] = None

    def _resign(self, partition: int) -> None:
        broker = self.leader[partition]
        self.count[broker] -= 1
        for replica in self.candidates[partition]:
            if replica != broker:
                del self.links[broker][replica][partition]
