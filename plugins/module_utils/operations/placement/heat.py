"""Even traffic, by other leaders or brokers for the busiest partitions alone.

The traffic of a broker is what producers write to its replicas, and what it sends to followers of
those that it leads: rate times the number of other replicas. Consumers are left out: they read
mostly from leaders, in proportion to the rate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .layout import Layout
from .leaders import candidates, leader_of

TOLERANCE = 0.10
"""The part of the mean by which a broker may be above it."""

LEAST_GAIN = 0.001
"""The part of a broker's traffic that a change has to take away."""


@dataclass(frozen=True)
class Outcome:
    """What cooling did."""

    bound: float
    """The fewest bytes that have to be copied for traffic as even as it became."""
    busy: tuple[int, ...] = ()
    """Numbers of brokers that stayed above the mean by more than the tolerance."""


@dataclass(frozen=True, order=True)
class _Change:
    """Another leader (receiver) for a partition, or another broker (receiver) for a replica."""

    cost: float
    """Bytes for each byte per second that it takes from the busy broker; 0 for a leader."""
    peak: float
    """Traffic of the busier one of both brokers afterwards."""
    partition: int
    receiver: int
    copies: bool


def cool(layout: Layout, count: int) -> Outcome:
    """Change leaders and brokers of the busiest partitions until no broker is too busy.

    The busiest broker first hands a lead to another replica, which copies nothing, or else gives a
    replica to a broker that does not become as busy by it: the one with the fewest bytes for what
    it takes away. This ends when every broker is within the tolerance, or no change makes the
    busier one of two brokers less busy; each change does, so it ends.

    Lower bound: what a broker has above the limit can leave it as leads of the chosen partitions,
    free, and then only as replicas. The fewest bytes are those of the replicas with the most
    traffic a byte (the fractional knapsack). A copy takes a replica from one broker, so the bounds
    of brokers add up. The limit is widened to what was reached.
    """
    busiest = sorted(
        (number for number, partition in enumerate(layout.partitions) if partition.rate > 0),
        key=lambda number: (-layout.partitions[number].rate, number),
    )
    cooler = _Cooler(layout, busiest[:count])
    start = list(cooler.traffic)
    held = [cooler.held(broker) for broker in range(len(layout.brokers))]
    cooler.run()
    bound = sum(
        _least_bytes(layout, held[broker], traffic - max(cooler.limit, cooler.traffic[broker]))
        for broker, traffic in enumerate(start)
    )
    busy = [broker for broker in cooler.serving if cooler.traffic[broker] > cooler.limit]
    return Outcome(bound, tuple(busy))


def _least_bytes(layout: Layout, held: list[tuple[int, bool]], excess: float) -> float:
    """Return the fewest bytes of replicas (partition, led) that take so much traffic away."""
    rates = {partition: layout.partitions[partition].rate for partition, _ in held}
    for partition, led in held:
        if led:
            excess -= rates[partition] * (len(layout.partitions[partition].replicas) - 1)
    total = 0.0
    for partition in sorted(
        rates, key=lambda number: (layout.size[number] / rates[number], number)
    ):
        if excess <= 0:
            break
        total += min(1.0, excess / rates[partition]) * layout.size[partition]
        excess -= rates[partition]
    return total


class _Cooler:
    def __init__(self, layout: Layout, chosen: list[int]) -> None:
        self.layout = layout
        self.chosen = chosen
        self.leader = {partition: leader_of(layout, partition) for partition in chosen}
        self.traffic = [0.0] * len(layout.brokers)
        for number, partition in enumerate(layout.partitions):
            for broker in layout.replicas[number]:
                self.traffic[broker] += partition.rate
            leader = leader_of(layout, number) if partition.rate > 0 else None
            if leader is not None:
                self.traffic[leader] += partition.rate * (len(layout.replicas[number]) - 1)
        self.serving = [broker for broker, leads in enumerate(layout.leads) if leads]
        mean = sum(self.traffic[broker] for broker in self.serving) / max(1, len(self.serving))
        self.limit = (1 + TOLERANCE) * mean

    def held(self, broker: int) -> list[tuple[int, bool]]:
        """Return the chosen partitions on a broker, and whether it leads them."""
        return [
            (partition, self.leader[partition] == broker)
            for partition in self.chosen
            if broker in self.layout.replicas[partition]
        ]

    def run(self) -> None:
        active = list(self.serving)
        while active:
            busiest = max(active, key=lambda broker: (self.traffic[broker], -broker))
            if self.traffic[busiest] <= self.limit:
                return
            changes = [
                change
                for change in (*self._leaders(busiest), *self._moves(busiest))
                if change.peak < (1 - LEAST_GAIN) * self.traffic[busiest]
            ]
            if changes:
                self._apply(busiest, min(changes))
                # What was of no use before may be now.
                active = list(self.serving)
            else:
                active.remove(busiest)

    def _share(self, partition: int, broker: int, *, copies: bool) -> float:
        """Return the traffic that leaves a broker with the lead, or with the replica."""
        rate = self.layout.partitions[partition].rate
        lead = rate * (len(self.layout.replicas[partition]) - 1)
        return (lead if self.leader[partition] == broker else 0.0) + (rate if copies else 0.0)

    def _change(self, partition: int, giver: int, receiver: int, *, copies: bool) -> _Change:
        share = self._share(partition, giver, copies=copies)
        peak = max(self.traffic[giver] - share, self.traffic[receiver] + share)
        useful = min(share, self.traffic[giver] - self.limit)
        cost = self.layout.size[partition] / useful if copies else 0.0
        return _Change(cost, peak, partition, receiver, copies)

    def _leaders(self, broker: int) -> Iterator[_Change]:
        for partition, led in self.held(broker):
            if led:
                for receiver in candidates(self.layout, partition):
                    if receiver != broker:
                        yield self._change(partition, broker, receiver, copies=False)

    def _moves(self, broker: int) -> Iterator[_Change]:
        layout = self.layout
        for partition, _ in self.held(broker):
            if not layout.movable(partition):
                continue
            for receiver in layout.receivers:
                if (
                    receiver not in layout.replicas[partition]
                    and layout.keeps_racks(partition, broker, receiver)
                    and layout.fits(receiver, layout.size[partition])
                ):
                    yield self._change(partition, broker, receiver, copies=True)

    def _apply(self, broker: int, change: _Change) -> None:
        partition, receiver = change.partition, change.receiver
        share = self._share(partition, broker, copies=change.copies)
        self.traffic[broker] -= share
        self.traffic[receiver] += share
        if change.copies:
            self.layout.move(partition, broker, receiver)
        else:
            replicas = self.layout.replicas[partition]
            replicas.remove(receiver)
            replicas.insert(0, receiver)
        if self.leader[partition] == broker:
            self.leader[partition] = receiver
