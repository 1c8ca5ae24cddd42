"""The consumers of a ledger: each writes down what it is given, in its order.

Two live ones, one without a group that also samples the log's start and end, and one in a group
that commits what it was given; at the end two fresh ones read everything again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.kafka.clients import connections
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import (
    OffsetAndMetadata,
    TopicPartition,
    errors,
)

from apps.ledger.clients import Clients, Isolation, reason_of
from apps.ledger.history import Run
from apps.ledger.journal import Journal

LOG = logging.getLogger(__name__)
POLL_MS = 500
BACKOFF_SECONDS = 0.5
ASK_MS = 5_000
SAMPLE_SECONDS = 2.0
COMMIT_SECONDS = 1.0
STUCK_SECONDS = 30.0
"""How long a client may give nothing although there is more to read: its own limits are shorter."""
READ_BACK_EVERY = 5
"""Commits after which the group's offsets are read back."""


class Progress:
    """How far one reader got, for its own loop and for who watches it."""

    def __init__(self, journal: Journal, topic: str, *, markers: bool = False) -> None:
        """Begin with nothing read; with `markers` the topic has those of transactions too."""
        self.read = 0
        self.next: dict[int, int] = {}
        self._journal = journal
        self._topic = topic
        self._markers = markers

    def poll(self, consumer: Any) -> None:
        """Record what one poll returns; an error is recorded, and followed by a pause."""
        try:
            batches = consumer.poll(timeout_ms=POLL_MS)
        except (errors.KafkaError, OSError) as error:
            self.record(error)
            time.sleep(BACKOFF_SECONDS)
            return
        rows = [
            (record.partition, record.offset, record.value.decode(errors="replace"))
            for records in batches.values()
            for record in records
        ]
        if rows:
            self._journal.write([{"reads": rows, "t": time.monotonic()}])
            self.next.update({partition: offset + 1 for partition, offset, _ in rows})
            self.read += len(rows)
        if self._markers:
            self._pass_markers(consumer)

    def _pass_markers(self, consumer: Any) -> None:
        # A marker, or an aborted record, has an offset and is never given.
        try:
            for place in consumer.assignment():
                position = consumer.position(place, timeout_ms=ASK_MS)
                if position is not None:
                    self.next[place.partition] = position
        except (errors.KafkaError, OSError) as error:
            self.record(error)

    def reached(self, ends: Mapping[int, int]) -> bool:
        """Whether every record below `ends` was given, as far as it is for this reader."""
        return all(self.next.get(partition, 0) >= end for partition, end in ends.items())

    def places(self) -> dict[Any, int]:
        """Return how far each partition was given, in the client's terms."""
        return {TopicPartition(self._topic, p): offset for p, offset in self.next.items()}

    def record(self, error: Exception) -> None:
        """Write down an error."""
        LOG.warning("%s", reason_of(error))
        self._journal.write([{"error": reason_of(error), "t": time.monotonic()}])

    def finish(self, ends: Mapping[int, int] | None) -> None:
        """Write down how far there was to read, and whether that was reached."""
        lines: list[dict[str, Any]] = []
        if ends is not None:
            lines = [{"ends": list(ends.items())}, {"done": self.reached(ends)}]
        self._journal.write(lines)
        self._journal.close()


class Live(threading.Thread):
    """A consumer beside the load, in a thread of its own."""

    def __init__(
        self,
        clients: Clients,
        run: Run,
        journal: Journal,
        group: str | None = None,
        isolation: Isolation | None = None,
    ) -> None:
        """Read the run's topic: all partitions by itself, or as the only member of a group.

        With an isolation the topic is one of transactions.
        """
        super().__init__(name=f"ledger-{group or 'assign'}", daemon=True)
        self.progress = Progress(journal, run.topic, markers=isolation is not None)
        self._clients = clients
        self._isolation = isolation
        self._journal = journal
        self._topic = run.topic
        self._partitions = [TopicPartition(run.topic, number) for number in range(run.partitions)]
        self._ends: Mapping[int, int] | None = None
        self._deadline = float("inf")
        self._stuck_at = float("inf")
        self._commits = 0
        self._committed: dict[Any, int] = {}
        self._group = group
        self._consumer = self._placed()

    def end_at(self, ends: Mapping[int, int], deadline: float) -> None:
        """Read up to `ends`, for no longer than `deadline` (monotonic seconds)."""
        self._deadline = deadline
        self._stuck_at = time.monotonic() + STUCK_SECONDS
        self._ends = ends

    def run(self) -> None:
        """Read until `end_at` was called, and then to that end."""
        due = 0.0
        interval = SAMPLE_SECONDS if self._group is None else COMMIT_SECONDS
        while not self._over():
            read = self.progress.read
            self.progress.poll(self._consumer)
            if self.progress.read > read and self._ends is not None:
                self._stuck_at = time.monotonic() + STUCK_SECONDS
            elif time.monotonic() >= self._stuck_at:
                self._replace()
            if time.monotonic() >= due:
                self._beside()
                due = time.monotonic() + interval
        self._beside()
        self.progress.finish(self._ends)
        self._consumer.close(autocommit=False, timeout_ms=ASK_MS)

    def _placed(self) -> Any:
        """Return a new consumer: a group's goes on where it committed, another where it is."""
        isolation = self._isolation or "read_uncommitted"
        consumer = self._clients.consumer(self._group, isolation)
        if self._group is None:
            consumer.assign(self._partitions)
            for place in self._partitions:
                consumer.seek(place, self.progress.next.get(place.partition, 0))
        else:
            consumer.subscribe([self._topic])
        return consumer

    def _replace(self) -> None:
        """Go on with a new client; the log gets what is known of the one that gives nothing."""
        open_connections = connections(self._consumer)
        LOG.warning(
            "%s gives nothing and is replaced; its connections: %s", self.name, open_connections
        )
        self._consumer.close(autocommit=False, timeout_ms=ASK_MS)
        self._consumer = self._placed()
        self._stuck_at = time.monotonic() + STUCK_SECONDS

    def _over(self) -> bool:
        ends = self._ends
        if ends is None:
            return False
        return self.progress.reached(ends) or time.monotonic() >= self._deadline

    def _beside(self) -> None:
        try:
            if self._group is None:
                self._sample()
            else:
                self._commit()
        except (errors.KafkaError, OSError) as error:
            self.progress.record(error)

    def _sample(self) -> None:
        at = time.monotonic()
        starts = self._consumer.beginning_offsets(self._partitions, timeout_ms=ASK_MS)
        ends = self._consumer.end_offsets(self._partitions, timeout_ms=ASK_MS)
        self._journal.write([{"start": _rows(starts), "end": _rows(ends), "t": at}])

    def _commit(self) -> None:
        places = {p: o for p, o in self.progress.places().items() if o != self._committed.get(p)}
        if not places:
            return
        offsets = {place: OffsetAndMetadata(offset, "", -1) for place, offset in places.items()}
        self._consumer.commit(offsets, timeout_ms=ASK_MS)
        self._committed.update(places)
        self._journal.write([{"commits": _rows(places)}])
        self._commits += 1
        if self._commits % READ_BACK_EVERY == 0:
            committed = {p: self._consumer.committed(p, timeout_ms=ASK_MS) for p in places}
            self._journal.write([{"commits": _rows({p: o for p, o in committed.items() if o})}])


def end_offsets(clients: Clients, run: Run, deadline: float) -> dict[int, int]:
    """Return the end of each partition, asked until `deadline` (monotonic seconds).

    Raises:
        TimeoutError: no broker answered in time.

    """
    partitions = [TopicPartition(run.topic, number) for number in range(run.partitions)]
    while time.monotonic() < deadline:
        try:
            consumer = clients.consumer()
            try:
                ends = consumer.end_offsets(partitions, timeout_ms=ASK_MS)
            finally:
                consumer.close(autocommit=False, timeout_ms=ASK_MS)
            return {place.partition: end for place, end in ends.items()}
        except (errors.KafkaError, OSError) as error:
            LOG.warning("end offsets: %s", error)
            time.sleep(BACKOFF_SECONDS)
    message = "the end of the log could not be asked for"
    raise TimeoutError(message)


def read_all(
    clients: Clients,
    run: Run,
    journal: Journal,
    ends: Mapping[int, int],
    deadline: float,
    isolation: Isolation | None = None,
) -> Progress:
    """Read everything below `ends` with a fresh consumer, at most until `deadline`.

    With an isolation the topic is one of transactions.
    """
    progress = Progress(journal, run.topic, markers=isolation is not None)
    consumer = clients.consumer(isolation=isolation or "read_uncommitted")
    try:
        places = [TopicPartition(run.topic, number) for number in range(run.partitions)]
        consumer.assign(places)
        # Not to 0: were the log's start gone, that would read nothing instead of the rest.
        consumer.seek_to_beginning(*places)
        while not progress.reached(ends) and time.monotonic() < deadline:
            progress.poll(consumer)
    finally:
        progress.finish(ends)
        consumer.close(autocommit=False, timeout_ms=ASK_MS)
    return progress


def _rows(offsets: Mapping[Any, int]) -> list[tuple[int, int]]:
    return sorted((place.partition, offset) for place, offset in offsets.items())
