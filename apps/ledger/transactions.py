"""Transactions beside the load: consume, transform and produce, exactly once.

A worker reads the run's topic in a group of its own, writes for each record one to every partition
of another topic, and commits the group's offsets in the same transaction. It aborts some on
purpose, just before their commit. At the first error it closes its producer: a new one with the
same transactional id fences the old one and ends what it began, and the worker continues from the
offsets that are committed then.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.kafka.clients import (
    ANSWER_SECONDS,
    TransactionalProducer,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import (
    OffsetAndMetadata,
    TopicPartition,
    errors,
)

from apps.ledger.clients import Clients, Isolation, reason_of
from apps.ledger.history import Run, Transaction
from apps.ledger.journal import Journal
from apps.ledger.readers import ASK_MS, BACKOFF_SECONDS, POLL_MS, Live, end_offsets, read_all

LOG = logging.getLogger(__name__)
MOST_INPUTS = 200
ABORT_EVERY = 5
FINALS: Mapping[str, Isolation] = {
    "output-final-1": "read_committed",
    "output-final-2": "read_committed",
    "output-uncommitted": "read_uncommitted",
}


class Worker(threading.Thread):
    """Makes one transaction of each poll, and writes down each step before it takes it."""

    def __init__(self, clients: Clients, run: Run, output: Run, journal: Journal) -> None:
        """Prepare to read the topic of `run` and to write that of `output`."""
        super().__init__(name="ledger-transactions", daemon=True)
        self.counts = {"committed": 0, "aborted": 0, "error": 0}
        self._clients = clients
        self._run = run
        self._output = output
        self._journal = journal
        self._consumer = clients.consumer(output.topic, "read_committed")
        self._consumer.subscribe([run.topic])
        self._producer: TransactionalProducer | None = None
        self._number = 0
        self._next: dict[int, int] = {}
        self._ends: Mapping[int, int] | None = None
        self._deadline = float("inf")

    def end_at(self, ends: Mapping[int, int], deadline: float) -> None:
        """Work up to `ends` of the input, for no longer than `deadline` (monotonic seconds)."""
        self._deadline = deadline
        self._ends = ends

    def run(self) -> None:
        """Work until `end_at` was called, and then to that end."""
        try:
            while not self._over():
                self._step_or_drop()
        finally:
            self._drop()
            self._record("done", self._reached())
            self._journal.close()
            self._consumer.close(autocommit=False, timeout_ms=ASK_MS)

    def _over(self) -> bool:
        return self._reached() or time.monotonic() >= self._deadline

    def _reached(self) -> bool:
        ends = self._ends
        return ends is not None and all(self._next.get(p, 0) >= end for p, end in ends.items())

    def _step_or_drop(self) -> None:
        try:
            self._step()
        except (errors.KafkaError, OSError, RuntimeError, ValueError) as error:
            # The last two are the client's own: of its thread, and of a partition just revoked.
            LOG.warning("a transaction failed: %s", reason_of(error))
            self._record("error", reason_of(error))
            self._drop()
            time.sleep(BACKOFF_SECONDS)

    def _step(self) -> None:
        if self._producer is None:
            self._producer = self._clients.transactional(self._output.topic)
            self._resume()
        polled = self._consumer.poll(timeout_ms=POLL_MS, max_records=MOST_INPUTS)
        inputs = [(record.partition, record.offset) for rows in polled.values() for record in rows]
        if inputs:
            self._transact(self._producer, inputs)
        elif self._ends is not None:
            # The last commit may have been done without being answered.
            self._resume()

    def _transact(self, producer: TransactionalProducer, inputs: Sequence[tuple[int, int]]) -> None:
        self._number += 1
        transaction = Transaction(self._number, inputs)
        self._record("begin", self._number, inputs=inputs)
        producer.begin()
        sent = [
            producer.send(self._output.topic, value.encode(), partition)
            for value in transaction.values(self._run.id)
            for partition in range(self._output.partitions)
        ]
        for future in sent:
            future.get(timeout=ANSWER_SECONDS)
        after = {partition: offset + 1 for partition, offset in inputs}
        places = {TopicPartition(self._run.topic, p): offset for p, offset in after.items()}
        offsets = {place: OffsetAndMetadata(offset, "", -1) for place, offset in places.items()}
        producer.add_offsets(offsets, self._consumer.group_metadata())
        if self._number % ABORT_EVERY == 0:
            producer.abort()
            self._record("aborted", self._number)
            self._resume()
        else:
            self._record("commit", self._number)
            producer.commit()
            self._record("committed", self._number)
            self._next.update(after)

    def _resume(self) -> None:
        """Go back to what is committed; a partition that comes later begins there by itself."""
        for place in self._consumer.assignment():
            offset = self._consumer.committed(place, timeout_ms=ASK_MS) or 0
            self._consumer.seek(place, offset)
            self._next[place.partition] = offset

    def _record(self, step: str, value: object, **details: object) -> None:
        self._journal.write([{step: value, "t": time.monotonic(), **details}], durable=True)
        if step in self.counts:
            self.counts[step] += 1

    def _drop(self) -> None:
        if self._producer is not None:
            self._producer.close()
            self._producer = None


class Pipeline:
    """A worker and the readers of its output: one from the beginning, three at the end."""

    def __init__(
        self, clients: Clients, run: Run, output: Run, journal: Callable[[str, Run], Journal]
    ) -> None:
        """Prepare; nothing is read or sent before `start`."""
        self.worker = Worker(clients, run, output, journal("transactions", output))
        self._live = Live(
            clients, output, journal("output-live", output), isolation="read_committed"
        )
        self._clients = clients
        self._output = output
        self._journal = journal

    def start(self) -> None:
        """Begin to work and to read."""
        self.worker.start()
        self._live.start()

    def finish(self, ends: Mapping[int, int], end_seconds: float, read_seconds: float) -> None:
        """Work up to `ends` of the input, and read all of the output.

        Raises:
            TimeoutError: the output's end could not be asked for.

        """
        self.worker.end_at(ends, time.monotonic() + read_seconds)
        self.worker.join()
        made = end_offsets(self._clients, self._output, time.monotonic() + end_seconds)
        self._live.end_at(made, time.monotonic() + read_seconds)
        for name, isolation in FINALS.items():
            journal = self._journal(name, self._output)
            deadline = time.monotonic() + read_seconds
            read_all(self._clients, self._output, journal, made, deadline, isolation)
        self._live.join()

    def counts(self) -> dict[str, Any]:
        """Return how many transactions ended how, and what was read of them so far."""
        return {**self.worker.counts, "read": self._live.progress.read}
