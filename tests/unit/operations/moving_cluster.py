"""A cluster whose reassignments take their time, for the tests of the mover."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ansible_collections.millrace.streaming.plugins.module_utils.kafka import reassignments
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.reassignments import (
    Name,
    Reassignment,
    Throttles,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.snapshot import (
    Broker,
    Partition,
    Snapshot,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations.mover import Replicas

from tests.unit.operations.gate_cases import HEALTHY

SIZE = 100


class KilledError(Exception):
    """The process of the mover is gone."""


@dataclass
class MovingCluster(Replicas):
    """It copies `speed` bytes to each new replica with each tick of its clock."""

    partitions: dict[Name, Partition]
    speed: int = 50
    brokers: tuple[int, ...] = (1, 2, 3, 4)
    down: set[int] = field(default_factory=set)
    now: float = 1000.0
    moving: dict[Name, Reassignment] = field(default_factory=dict)
    copied: dict[tuple[int, Name], int] = field(default_factory=dict)
    topics: dict[str, Mapping[str, str]] = field(default_factory=dict)
    rate: int | None = None
    broker_rates: dict[int, int] = field(default_factory=dict)
    """Those that single brokers have."""
    log: list[str] = field(default_factory=list)
    """The changes, in their order."""
    kill_at: int | None = None
    """After how many changes the mover is killed."""
    unthrottled: set[Name] = field(default_factory=set)
    """Partitions that were moved without a throttle."""
    below_min_isr: set[Name] = field(default_factory=set)
    refused: dict[Name, str] = field(default_factory=dict)

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds
        for name, move in list(self.moving.items()):
            entries = self.topics.get(name[0], {}).get(reassignments.FOLLOWER_REPLICAS, "")
            if self.rate is None or not all(f"{name[1]}:{b}" in entries for b in move.adding):
                self.unthrottled.add(name)
            for broker in {*move.adding} - self.down:
                size = self.copied.get((broker, name), 0) + self.speed
                self.copied[broker, name] = min(SIZE, size)
            if all(self.copied.get((broker, name), 0) == SIZE for broker in move.adding):
                self._complete(name, move)

    def _complete(self, name: Name, move: Reassignment) -> None:
        del self.moving[name]
        before = self.partitions[name]
        leader = before.leader if before.leader in move.target else move.target[0]
        self.partitions[name] = replace(
            before, replicas=move.target, isr=move.target, leader=leader
        )
        if self.partitions[name].under_min_isr:
            self.below_min_isr.add(name)

    def _change(self, text: str) -> None:
        if self.kill_at is not None and len(self.log) >= self.kill_at:
            raise KilledError
        self.log.append(text)

    # What the mover calls.

    def snapshot(self) -> Snapshot:
        return replace(
            HEALTHY,
            brokers=tuple(Broker(b, fenced=b in self.down) for b in self.brokers),
            partitions=tuple(self.partitions[name] for name in sorted(self.partitions)),
        )

    def failed(self, snapshot: Snapshot) -> dict[int, list[str]]:
        del snapshot
        return {}

    def ongoing(self) -> dict[Name, Reassignment]:
        return dict(self.moving)

    def sizes(self, brokers: Iterable[int]) -> dict[int, dict[Name, int]]:
        return {
            broker: {name: size for (b, name), size in self.copied.items() if b == broker}
            for broker in brokers
        }

    def alter(self, targets: Mapping[Name, Sequence[int] | None]) -> dict[Name, str]:
        self._change("cancel" if None in targets.values() else "start")
        for name, target in targets.items():
            if name in self.refused:
                continue
            part = self.partitions[name]
            if target is None:
                move = self.moving.pop(name, None)
                if move:
                    self.partitions[name] = replace(part, replicas=move.former)
                continue
            adding = tuple(broker for broker in target if broker not in part.isr)
            removing = tuple(broker for broker in part.isr if broker not in target)
            move = Reassignment(tuple(target), adding, removing)
            self.partitions[name] = replace(part, replicas=(*target, *removing))
            self.moving[name] = move
            if not adding:
                self._complete(name, move)
        return {name: text for name, text in self.refused.items() if name in targets}

    def choose_disks(self, broker: int, paths: Mapping[Name, str]) -> dict[Name, str]:
        self._change(f"disks of {broker}: {sorted(paths.values())}")
        return {}

    def throttles(self, topics: Iterable[str], brokers: Iterable[int]) -> Throttles:
        del brokers
        rates = {} if self.rate is None else dict.fromkeys(reassignments.RATES, str(self.rate))
        single = {
            broker: dict.fromkeys(reassignments.RATES, str(rate))
            for broker, rate in self.broker_rates.items()
        }
        return Throttles({t: self.topics[t] for t in topics if t in self.topics}, rates, single)

    def throttle_topics(self, values: Mapping[str, Mapping[str, str] | None]) -> dict[str, str]:
        for topic, keys in values.items():
            self._change(f"throttle {topic}" if keys else f"unthrottle {topic}")
            if keys:
                self.topics[topic] = keys
            else:
                self.topics.pop(topic, None)
        return {}

    def throttle_rate(self, rate: int | None) -> str:
        self._change(f"rate {rate}")
        self.rate = rate
        return ""

    def remove_rates(self, broker: int) -> str:
        self._change(f"rate of {broker} removed")
        del self.broker_rates[broker]
        return ""

    def elect(self, names: Iterable[Name]) -> dict[Name, str]:
        self._change("elect")
        for name in names:
            part = self.partitions[name]
            self.partitions[name] = replace(part, leader=part.replicas[0])
        return {}


def cluster(count: int = 4, *, topic: str = "t", **options: object) -> MovingCluster:
    """Return a cluster whose partitions are on brokers 1, 2 and 3; broker 4 is empty."""
    parts = {
        (topic, index): Partition(topic, index, 1, (1, 2, 3), (1, 2, 3), 2)
        for index in range(count)
    }
    return MovingCluster(parts, **options)  # type: ignore[arg-type]  # those of the class
