"""A cluster in memory that knows transactions, for the ledger's worker and its readers."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import (
    Future,
    TopicPartition,
    errors,
)

from tests.unit.apps.ledger import test_ledger_load as plain

MOST = 10
"""Records of each partition that one poll gives."""
WAIT_SECONDS = 0.01
"""How long a poll waits for something new, much less than a reader asks for: tests are short."""


@dataclass
class Open:
    """One transaction as the cluster knows it."""

    ending: str = "open"
    offsets: dict[int, int] = field(default_factory=dict)
    partitions: set[int] = field(default_factory=set)


class Cluster(plain.Cluster):
    """With a second topic, of transactions. `trouble` raises at a step, before or after it."""

    def __init__(self, trouble: Callable[[str, int], None] = lambda *_: None) -> None:
        super().__init__()
        self.lock = threading.Condition()
        self.output: defaultdict[int, list[tuple[Open, bytes | None]]] = defaultdict(list)
        self.offsets: dict[int, int] = {}
        self.steps: Counter[str] = Counter()
        self.latest: Producer | None = None
        self.bug = ""
        self.trouble = trouble

    def step(self, name: str) -> None:
        self.steps[name] += 1
        self.trouble(name, self.steps[name])

    def transactional(self, name: str) -> Any:
        assert name.endswith("-out")
        self.step("init")
        with self.lock:
            if self.latest and self.latest.open:
                self.end(self.latest.open, "aborted")
            self.latest = Producer(self)
        return self.latest

    def consumer(self, group: str | None = None, isolation: str = "read_uncommitted") -> Any:
        return Consumer(self, isolation)

    def end(self, transaction: Open, ending: str) -> None:
        with self.lock:
            if transaction.ending != "open":
                return
            transaction.ending = ending
            for partition in transaction.partitions:
                self.output[partition].append((transaction, None))
            if ending == "committed" and self.bug != "offsets are lost":
                self.offsets.update(transaction.offsets)
            self.lock.notify_all()

    def visible(self, partition: int, isolation: str) -> list[tuple[Open, bytes | None]]:
        """What a reader may pass: all, or up to the first open transaction."""
        log = self.output[partition]
        if isolation == "read_uncommitted" or self.bug == "dirty":
            return log
        return log[: next((i for i, (t, _) in enumerate(log) if t.ending == "open"), len(log))]

    def given(self, transaction: Open, partition: int, isolation: str) -> bool:
        if isolation == "read_uncommitted" or self.bug == "dirty":
            return True
        return transaction.ending == "committed" and not (self.bug == "torn" and partition == 1)


class Producer:
    """As much of a `TransactionalProducer` as the worker uses."""

    def __init__(self, cluster: Cluster) -> None:
        self.open: Open | None = None
        self._cluster = cluster

    def _current(self) -> Open:
        if self._cluster.latest is not self:
            raise errors.ProducerFencedError
        assert self.open
        return self.open

    def begin(self) -> None:
        assert not self.open
        self._cluster.step("begin")
        self.open = Open()

    def send(self, topic: str, value: bytes, partition: int) -> Any:
        future = Future()
        with self._cluster.lock:
            transaction = self._current()
            try:
                self._cluster.step("send")
            except errors.KafkaError as error:
                future.failure(error)
            else:
                self._cluster.output[partition].append((transaction, value))
                transaction.partitions.add(partition)
                self._cluster.lock.notify_all()
                future.success(None)
        result = SimpleNamespace(get=lambda timeout: None)
        if future.failed():
            result.get = lambda timeout: fail_with(future.exception)
        return result

    def add_offsets(self, offsets: Any, group: Any) -> None:
        assert group == "generation 7"
        self._cluster.step("offsets")
        self._current().offsets = {place.partition: end.offset for place, end in offsets.items()}

    def commit(self) -> None:
        self._cluster.step("commit")
        self._cluster.end(self._current(), "committed")
        self.open = None
        self._cluster.step("committed")

    def abort(self) -> None:
        self._cluster.step("abort")
        self._cluster.end(self._current(), "aborted")
        self.open = None

    def close(self) -> None:
        self._cluster.steps["close"] += 1


def fail_with(error: Exception) -> None:
    raise error


class Consumer(plain.Consumer):
    """Of either topic; one that subscribes is in the worker's group or another."""

    def __init__(self, cluster: Cluster, isolation: str) -> None:
        super().__init__(cluster)
        self._all = cluster
        self._isolation = isolation
        self._topic = ""
        self._worker = False

    def assign(self, partitions: Sequence[Any]) -> None:
        self._topic = partitions[0].topic

    def subscribe(self, topics: Sequence[str]) -> None:
        (self._topic,) = topics
        self._worker = self._isolation == "read_committed"

    def assignment(self) -> set[Any]:
        return {TopicPartition(self._topic, partition) for partition in self._next}

    def position(self, place: Any, timeout_ms: int) -> int:
        return self._next[place.partition]

    def poll(self, timeout_ms: int, max_records: int = 0) -> dict[int, list[Any]]:
        if self._worker:
            self._all.step("poll")
        if not self._topic.endswith("-out"):
            polled = super().poll(timeout_ms)
            for partition, rows in polled.items():
                if self._worker:
                    self._next[partition] -= len(rows[MOST:])
                    del rows[MOST:]
            return polled
        made: dict[int, list[Any]] = {}
        with self._all.lock:
            self._all.lock.wait_for(self._is_behind, WAIT_SECONDS)
            for partition, start in self._next.items():
                log = self._all.visible(partition, self._isolation)
                self._next[partition] = len(log)
                made[partition] = [
                    SimpleNamespace(partition=partition, offset=offset, value=value)
                    for offset, (transaction, value) in enumerate(log[start:], start)
                    if value is not None
                    and self._all.given(transaction, partition, self._isolation)
                ]
        return made

    def _is_behind(self) -> bool:
        return any(
            len(self._all.visible(partition, self._isolation)) > start
            for partition, start in self._next.items()
        )

    def end_offsets(self, partitions: Any, timeout_ms: int) -> dict[Any, int]:
        logs = self._all.output if partitions[0].topic.endswith("-out") else self._all.logs
        return {place: len(logs[place.partition]) for place in partitions}

    def committed(self, place: Any, timeout_ms: int) -> int | None:
        if self._worker:
            self._all.step("ask")
            return self._all.offsets.get(place.partition)
        return super().committed(place, timeout_ms)

    def group_metadata(self) -> str:
        return "generation 7"
