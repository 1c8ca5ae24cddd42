"""The same weight on each broker, with the fewest bytes moved.

A weight is that of each replica of a partition: its bytes, or 1 where replicas are counted. The
goal is a band around each broker's share. The share of a broker is the mean, as far as racks and
disks allow: a rack that must hold one replica of each partition holds as many bytes as a larger
one.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from .layout import Layout

TOLERANCE = 0.02
"""The part of its share by which a broker may differ from it."""
_STEPS = 60
"""Halvings of an interval: more than the digits of a float."""


@dataclass(frozen=True)
class Band:
    """Which weights of a broker are even enough, and what it had."""

    low: float
    high: float
    share: float


@dataclass(frozen=True)
class Outcome:
    """What levelling did."""

    bound: float
    """The least weight that has to move to reach bands as narrow as those that were reached."""
    uneven: tuple[int, ...] = ()
    """Numbers of brokers that stayed outside of their bands."""


def level(layout: Layout, weights: Mapping[int, int], start: Sequence[float]) -> Outcome:
    """Move replicas of these partitions until each broker's weight is in its band.

    `weights` is partition -> weight of each of its replicas, `start` the weight by broker before
    any move of this plan.

    The band is the share plus or minus the tolerance of one partition: the median weight, or
    `TOLERANCE` of the share where that is more. A broker outside of it, the farthest first,
    receives from those with the most above their share, or gives to those with the most below. It
    stops at the edge of the band, and no move takes another broker out of its own, so what moves
    is what was missing, and for each broker less than one replica more. A broker with few, large
    replicas keeps half of the mean number, so that it has enough to lead.

    Lower bound: what a broker lacks up to the lower edge has to be copied to it, what it has above
    the upper edge has to be copied elsewhere. A copy serves one receiver and one giver, so the
    larger of both sums moves in any plan. Where each rack must hold a fixed number of replicas of
    each partition, and does, as many are copied into a rack as leave it: then this is so for each
    rack, and their bounds add up. A band that was not reached is widened to what was: the bound is
    never that of a state that may not exist.
    """
    leveller = _Leveller(layout, weights)
    separate = list(start) == leveller.load and _racks_are_fixed(layout, weights)
    leveller.run()
    groups: dict[int, list[int]] = defaultdict(list)
    for broker in leveller.bands:
        groups[layout.rack[broker] if separate else 0].append(broker)
    bound = sum(
        least_weight(start, leveller.load, {broker: leveller.bands[broker] for broker in members})
        for members in groups.values()
    )
    return Outcome(bound, tuple(sorted(leveller.outside())))


def least_weight(
    start: Sequence[float], reached: Sequence[float], bands: Mapping[int, Band]
) -> float:
    """Return the least weight that moves among some brokers, as `level` argues."""
    missing = excess = 0.0
    for broker, band in bands.items():
        missing += max(0.0, min(band.low, reached[broker]) - start[broker])
        excess += max(0.0, start[broker] - max(band.high, reached[broker]))
    return max(missing, excess)


def loads(layout: Layout, weights: Mapping[int, int]) -> list[float]:
    """Return the weight on each broker."""
    load = [0.0] * len(layout.brokers)
    for partition, weight in weights.items():
        for broker in layout.replicas[partition]:
            load[broker] += weight
    return load


def median(values: Sequence[float]) -> float:
    """Return the middle one of the values, the upper one of two; 0 without any."""
    return sorted(values)[len(values) // 2] if values else 0.0


class _Leveller:
    def __init__(self, layout: Layout, weights: Mapping[int, int]) -> None:
        self.layout = layout
        self.weights = weights
        self.load = loads(layout, weights)
        self.count = [int(count) for count in loads(layout, dict.fromkeys(weights, 1))]
        tolerance = median(list(weights.values()))
        self.bands = {
            broker: Band(
                share - max(TOLERANCE * share, tolerance),
                share + max(TOLERANCE * share, tolerance),
                share,
            )
            for broker, share in shares(layout, weights, self.load).items()
        }
        self.mean_count = self._mean_counts()
        counts = [layout.count[broker] for broker in layout.receivers]
        self.fewest = sum(counts) / max(1, len(counts)) / 2
        """Replicas that a broker keeps in any case, so that it can lead as many as others."""
        self.pieces: list[list[tuple[int, int]] | None] = [None] * len(layout.brokers)
        self.useless: set[tuple[int, int]] = set()
        """Pairs of giver and receiver that have no replica to move."""

    def run(self) -> None:
        """Move replicas until nothing helps: a plan for the result would move nothing.

        Each move brings a broker nearer to its band, so it ends.
        """
        while self._run_once():
            self.useless.clear()
            self.pieces = [None] * len(self.pieces)

    def _run_once(self) -> bool:
        """Help each broker as far as it goes; returns whether some need another try."""
        active = dict.fromkeys(sorted(self.bands))
        moved = False
        while active:
            farthest = max(active, key=self._distance)
            if self._distance(farthest) <= 0:
                break
            if self._help(farthest):
                moved = True
            else:
                del active[farthest]
        return moved and bool(self.outside())

    def outside(self) -> list[int]:
        return [broker for broker in self.bands if self._distance(broker) > 0]

    def _distance(self, broker: int) -> float:
        """Return the weight by which a broker is outside of its band, negative inside."""
        band = self.bands[broker]
        return max(band.low - self.load[broker], self.load[broker] - band.high)

    def _above(self, broker: int) -> float:
        return self.load[broker] - self.bands[broker].share

    def _help(self, broker: int) -> bool:
        """Move one replica to a broker below its band, or from one above it."""
        receives = self.load[broker] < self.bands[broker].low
        partners = sorted(self.bands, key=self._above, reverse=receives)
        for partner in partners:
            pair = (partner, broker) if receives else (broker, partner)
            if partner == broker or pair in self.useless:
                continue
            partition = self._choose(*pair, self._ideal(broker))
            if partition is None:
                self.useless.add(pair)
                continue
            self._move(partition, *pair)
            return True
        return False

    def _ideal(self, broker: int) -> float:
        """Return the weight of a replica with which a broker gets its share of their number, too.

        It is no more than the distance to the band, so that the last one goes little beyond.
        """
        weight = abs(self._above(broker))
        number = self.count[broker] - self.mean_count[broker]
        same_direction = (number > 0) == (self._above(broker) > 0)
        ideal = weight / abs(number) if same_direction and abs(number) >= 1 else weight
        return min(ideal, self._distance(broker))

    def _choose(self, giver: int, receiver: int, ideal: float) -> int | None:
        """Return the partition whose replica is to move, of the weight nearest to the ideal.

        Both brokers stay inside of their bands, or get nearer to them.
        """
        if self.layout.count[giver] <= self.fewest:
            return None
        most = min(
            self.load[giver] - self.bands[giver].low,
            self.bands[receiver].high - self.load[receiver],
        )
        ideal = min(ideal, most)
        pieces = self._pieces(giver)
        above = bisect_left(pieces, (ideal, -1))
        below = above - 1
        while below >= 0 or above < len(pieces):
            nearer_below = above >= len(pieces) or (
                below >= 0 and ideal - pieces[below][0] <= pieces[above][0] - ideal
            )
            position = below if nearer_below else above
            weight, partition = pieces[position]
            if weight > most:
                above = len(pieces)
                continue
            if self._may_move(partition, giver, receiver):
                del pieces[position]
                return partition
            if nearer_below:
                below -= 1
            else:
                above += 1
        return None

    def _may_move(self, partition: int, giver: int, receiver: int) -> bool:
        layout = self.layout
        return (
            receiver not in layout.replicas[partition]
            and layout.keeps_racks(partition, giver, receiver)
            and layout.fits(receiver, layout.size[partition])
        )

    def _move(self, partition: int, giver: int, receiver: int) -> None:
        self.layout.move(partition, giver, receiver)
        for broker, sign in ((giver, -1), (receiver, 1)):
            self.load[broker] += sign * self.weights[partition]
            self.count[broker] += sign

    def _pieces(self, broker: int) -> list[tuple[int, int]]:
        """Return weight and number of partitions on a broker that may leave it, by weight.

        What brokers receive in the same try is not among them: it moves once.
        """
        pieces = self.pieces[broker]
        if pieces is None:
            by_broker = defaultdict(list)
            for partition, weight in self.weights.items():
                if weight > 0 and self.layout.movable(partition):
                    for holder in self.layout.replicas[partition]:
                        by_broker[holder].append((weight, partition))
            self.pieces = [sorted(by_broker[number]) for number in range(len(self.pieces))]
            pieces = self.pieces[broker]
        return pieces or []

    def _mean_counts(self) -> dict[int, float]:
        """Return the mean number of replicas on the brokers of each broker's rack."""
        by_rack = defaultdict(list)
        for broker in self.bands:
            by_rack[self.layout.rack[broker]].append(self.count[broker])
        return {
            broker: sum(by_rack[self.layout.rack[broker]]) / len(by_rack[self.layout.rack[broker]])
            for broker in self.bands
        }


def shares(layout: Layout, weights: Mapping[int, int], load: Sequence[float]) -> dict[int, float]:
    """Return the share of each broker that may receive: the mean where racks and disks allow.

    All of them get the same, but for those whose disks have no room for it. A rack's sum is kept
    between what its replicas must be at least and may be at most (`_rack_limits`).
    """
    if not layout.receivers:
        return {}
    limits = {broker: _limit(layout, weights, load[broker], broker) for broker in layout.receivers}
    by_rack = defaultdict(list)
    for broker in layout.receivers:
        by_rack[layout.rack[broker]].append(broker)
    total = sum(load[broker] for broker in layout.receivers)
    rack_limits = _rack_limits(layout, weights, by_rack)

    def rack_sum(rack: int, height: float) -> float:
        least, most = rack_limits[rack]
        filled = sum(min(height, limits[broker]) for broker in by_rack[rack])
        return min(max(filled, least), most)

    height = _solve(lambda height: sum(rack_sum(rack, height) for rack in by_rack), total)
    result = {}
    for rack, members in by_rack.items():
        target = rack_sum(rack, height)
        rack_height = _solve(_filled(members, limits), target)
        for broker in members:
            result[broker] = min(rack_height, limits[broker])
    return dict(sorted(result.items()))


def _filled(members: Sequence[int], limits: Mapping[int, float]) -> Callable[[float], float]:
    return lambda height: sum(min(height, limits[broker]) for broker in members)


def _solve(function: Callable[[float], float], target: float) -> float:
    """Return the least argument from which a growing function is at least the target."""
    low, high = 0.0, 1.0
    while function(high) < target and high < 2.0**80:
        high *= 2
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if function(middle) < target:
            low = middle
        else:
            high = middle
    return high


def _limit(layout: Layout, weights: Mapping[int, int], load: float, broker: int) -> float:
    """Return the most weight that a broker takes; only bytes are limited, by its disks."""
    if not weights or max(weights.values()) <= 1:
        return math.inf
    rooms = (room for room in layout.room[broker] if room > -math.inf)
    # A disk above its limit lowers what its broker is to have.
    return max(0.0, load + sum(rooms))


def _rack_limits(
    layout: Layout, weights: Mapping[int, int], by_rack: Mapping[int, Sequence[int]]
) -> dict[int, tuple[float, float]]:
    """Return the least and the most weight that the receivers of each rack can hold.

    Replicas of a partition are in as many racks as there are: with the smallest c for which
    sum(min(c, brokers)) over the racks is at least their number, a rack holds at most c of them,
    and at least c - 1 as far as it has brokers; c where they just suffice.
    """
    by_number: Counter[int] = Counter()
    receivers = set(layout.receivers)
    for partition, weight in weights.items():
        number = sum(1 for broker in layout.replicas[partition] if broker in receivers)
        by_number[number] += weight
    least, most = dict.fromkeys(by_rack, 0.0), dict.fromkeys(by_rack, 0.0)
    sizes = {rack: len(members) for rack, members in by_rack.items()}
    for number, weight in by_number.items():
        top, exact = _most_in_a_rack(sizes, number)
        for rack, size in sizes.items():
            most[rack] += weight * min(top, size)
            least[rack] += weight * min(top if exact else max(0, top - 1), size)
    return {rack: (least[rack], most[rack]) for rack in by_rack}


def _most_in_a_rack(sizes: Mapping[int, int], number: int) -> tuple[int, bool]:
    """Return the c of `_rack_limits`, and whether every rack then has to hold c."""
    for top in range(number + 1):
        capacity = sum(min(top, size) for size in sizes.values())
        if capacity >= number:
            return top, capacity == number
    return number, False


def _racks_are_fixed(layout: Layout, weights: Mapping[int, int]) -> bool:
    """Return whether each partition has in each rack the only number of replicas that it may."""
    sizes = Counter(layout.rack[broker] for broker in layout.receivers)
    receivers = set(layout.receivers)
    tops = {
        number: _most_in_a_rack(sizes, number)
        for number in {len(layout.replicas[partition]) for partition in weights}
    }
    for partition in weights:
        replicas = layout.replicas[partition]
        top, exact = tops[len(replicas)]
        racks = layout.racks_of(partition)
        if not exact or not receivers.issuperset(replicas):
            return False
        if any(racks[rack] != min(top, size) for rack, size in sizes.items()):
            return False
    return True
