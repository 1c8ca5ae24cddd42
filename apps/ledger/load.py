"""The load: an idempotent producer, and a journal that knows of each send before it happens.

Two threads share the work, so that a slow disk is not taken for a slow cluster. The writer
plans `LEAD` seconds of records, writes them down, waits for the disk, and only then hands them to
the sender; in the same step it writes down the answers. The sender gives one record to every
partition at each tick. kafka-python's own thread takes the time of an answer as it arrives.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import defaultdict, deque
from typing import Any, NamedTuple, TypeVar

from ansible_collections.millrace.streaming.plugins.module_utils.kafka.clients import close_now
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import errors

from apps.ledger.clients import REFUSED, Clients, reason_of
from apps.ledger.history import Outcome, Run, value_of
from apps.ledger.journal import Journal

LOG = logging.getLogger(__name__)
LEAD = 0.5
"""Seconds of records that lie ready on disk: a slower disk would hold up the load."""
WRITE_SECONDS = 0.1
LEAST_TICK = 0.01
DEBT = 1.0
"""Seconds of records that are made up for after a pause; more is forgone."""
MOST_PENDING = 20_000
T = TypeVar("T")
STUCK_SECONDS = 30.0
"""How far beyond its delivery timeout a producer may leave a record unanswered."""


class Planned(NamedTuple):
    """A record that is on disk as invoked."""

    producer: str
    partition: int
    seq: int


class Answer(NamedTuple):
    """What became of a record."""

    outcome: Outcome
    record: Planned
    sent: float
    at: float
    detail: int | str
    """The offset of an `ok`, the reason otherwise."""


class Session:
    """One producer under one name: idempotence reaches as far as its producer id.

    kafka-python 3.0 does not survive every error. A batch that expires after it was sent makes it
    forget its producer id, and it never asks for another (`Sender._send_producer_data` resets,
    `TransactionManager.init_producer_id` only acts when uninitialized); a fatal error fails all
    batches with one exception, also those in flight. So the first error ends a session, and what
    it was handed counts as `info` whatever the exception's name.
    """

    def __init__(self, name: str, producer: Any, run: Run, answers: deque[Answer]) -> None:
        """Take over a new producer; answers go to `answers`."""
        self.name = name
        self.trouble: str | None = None
        self.last_ack: float | None = None
        self.closed = False
        self._producer = producer
        self._run = run
        self._answers = answers
        self._pending: dict[Planned, float] = {}

    def pending(self) -> int:
        """Return how many records await their answer."""
        return len(self._pending)

    def oldest(self, now: float) -> float:
        """Return for how many seconds the oldest of them has waited."""
        return now - min(list(self._pending.values())[:1], default=now)

    def send(self, record: Planned) -> None:
        """Hand a record to the producer."""
        value = value_of(self._run.id, *record).encode()
        sent = self._pending[record] = time.monotonic()
        try:
            future = self._producer.send(self._run.topic, value, partition=record.partition)
        except (errors.KafkaError, ValueError) as error:
            self._refused(record, sent, error)
            return
        if future.failed() and isinstance(future.exception, REFUSED):
            # It had no time to leave the client.
            self._refused(record, sent, future.exception)
            return
        future.add_callback(self._acknowledged, record)
        future.add_errback(self._failed, record)

    def close(self, why: str) -> None:
        """Give up: what is unanswered may or may not be in the log."""
        self.closed = True
        for record in list(self._pending):
            self._answer("info", record, why)
        close_now(self._producer)

    def _acknowledged(self, record: Planned, metadata: Any) -> None:
        at = time.monotonic()
        sent = self._pending.pop(record, None)
        if sent is not None:
            self._answers.append(Answer("ok", record, sent, at, metadata.offset))
            self.last_ack = at

    def _failed(self, record: Planned, error: Exception) -> None:
        self.trouble = self.trouble or reason_of(error)
        self._answer("info", record, reason_of(error))

    def _refused(self, record: Planned, sent: float, error: Exception) -> None:
        del self._pending[record]
        outcome: Outcome = "fail" if isinstance(error, REFUSED) else "info"
        self.trouble = self.trouble or reason_of(error)
        self._answers.append(Answer(outcome, record, sent, time.monotonic(), reason_of(error)))

    def _answer(self, outcome: Outcome, record: Planned, why: str) -> None:
        # The one who takes a record out of pending is the one who answers it.
        sent = self._pending.pop(record, None)
        if sent is not None:
            self._answers.append(Answer(outcome, record, sent, time.monotonic(), why))


class Load:
    """Produces until it is stopped."""

    def __init__(self, clients: Clients, run: Run, journal: Journal) -> None:
        """Prepare; nothing is sent before `start`."""
        self.invoked = 0
        self.counts: dict[Outcome, int] = {"ok": 0, "info": 0, "fail": 0}
        self.troubles: list[str] = []
        self._clients = clients
        self._patience = clients.delivery_seconds + STUCK_SECONDS
        self._run = run
        self._journal = journal
        self._answers: deque[Answer] = deque()
        self._remarks: deque[dict[str, Any]] = deque()
        self._ready: deque[Planned] = deque()
        self._unsent: deque[Planned] = deque()
        self._seqs: defaultdict[tuple[str, int], int] = defaultdict(int)
        self._stopping = threading.Event()
        self._sent_all = threading.Event()
        self._drain_seconds = 0.0
        self._sessions = 0
        self._last_ack: float | None = None
        self._session = self._open()
        self._threads = [
            threading.Thread(target=self._write, name="ledger-writer", daemon=True),
            threading.Thread(target=self._send, name="ledger-sender", daemon=True),
        ]

    def start(self) -> None:
        """Begin to produce."""
        for thread in self._threads:
            thread.start()

    def stop(self, drain_seconds: float) -> None:
        """End production; wait at most so long for answers, and until all is on disk."""
        self._drain_seconds = drain_seconds
        self._stopping.set()
        for thread in self._threads:
            thread.join()
        self._journal.close()

    def alive(self) -> bool:
        """Whether both threads still work."""
        return all(thread.is_alive() for thread in self._threads)

    def last_ack_age(self) -> float | None:
        """Return seconds since the last acknowledgement."""
        last = self._session.last_ack or self._last_ack
        return None if last is None else time.monotonic() - last

    def _open(self) -> Session:
        self._sessions += 1
        name = f"p{self._sessions}"
        return Session(name, self._clients.producer(), self._run, self._answers)

    def _send(self) -> None:
        try:
            self._produce()
        finally:
            # Without it the writer would wait for ever, and what is in flight would get no answer.
            self._end(self._session, "no answer before the end", is_trouble=False)
            self._sent_all.set()

    def _produce(self) -> None:
        run = self._run
        tick = max(LEAST_TICK, run.partitions / run.rate)
        began = time.monotonic()
        self._remarks.append({"started": began})
        done = 0
        while not self._stopping.wait(tick):
            now = time.monotonic()
            if self._session.trouble or self._session.oldest(now) > self._patience:
                self._renew()
                now = time.monotonic()
            owed = int((now - began) * run.rate) - done
            if owed > DEBT * run.rate:
                done += owed - int(DEBT * run.rate)
            # A complete round each time, so that every partition sees the same rhythm.
            for _ in range(owed - owed % run.partitions if tick > LEAST_TICK else owed):
                if not self._ready or self._session.pending() >= MOST_PENDING:
                    break
                self._hand_over(self._ready.popleft())
                done += 1
        self._remarks.append({"stopped": time.monotonic()})
        deadline = time.monotonic() + self._drain_seconds
        while self._session.pending() and not self._session.trouble and time.monotonic() < deadline:
            time.sleep(LEAST_TICK)

    def _hand_over(self, record: Planned) -> None:
        if record.producer == self._session.name:
            self._session.send(record)
            self.invoked += 1
        else:
            self._unsent.append(record)

    def _renew(self) -> None:
        """Replace the session by a new one, as soon as the cluster gives one."""
        self._end(self._session, "no answer for longer than the delivery timeout")
        while not self._stopping.is_set():
            try:
                self._session = self._open()
            except (errors.KafkaError, OSError) as error:
                LOG.warning("no new producer yet: %s", error)
                self._stopping.wait(1)
            else:
                break
        while self._ready and self._ready[0].producer != self._session.name:
            self._unsent.append(self._ready.popleft())

    def _end(self, session: Session, why: str, *, is_trouble: bool = True) -> None:
        if session.closed:
            return
        if is_trouble or session.trouble:
            self.troubles.append(session.trouble or why)
            self._remarks.append({"trouble": self.troubles[-1]})
            LOG.warning("session %s ends: %s", session.name, self.troubles[-1])
        self._last_ack = session.last_ack or self._last_ack
        session.close(session.trouble or why)

    def _write(self) -> None:
        """Plan and record; ends once nothing can come any more."""
        while True:
            last = self._sent_all.is_set()
            planned: list[Planned] = []
            if last:
                self._unsent.extend(self._ready)
                self._ready.clear()
            elif not self._stopping.is_set():
                planned = self._plan()
            lines = [
                *_by_session("invoke", planned),
                *self._answer_lines(),
                *_by_session("unsent", _taken(self._unsent)),
                *_taken(self._remarks),
            ]
            if lines:
                self._journal.write(lines, durable=True)
            self._ready.extend(planned)
            if last:
                return
            self._sent_all.wait(WRITE_SECONDS)

    def _plan(self) -> list[Planned]:
        """Return the records that fill up the lead, in complete rounds over the partitions."""
        run, name = self._run, self._session.name
        missing = max(1.0, LEAD * run.rate) - len(self._ready)
        planned: list[Planned] = []
        for _ in range(max(0, math.ceil(missing / run.partitions))):
            for partition in range(run.partitions):
                planned.append(Planned(name, partition, self._seqs[name, partition]))
                self._seqs[name, partition] += 1
        return planned

    def _answer_lines(self) -> list[dict[str, Any]]:
        rows: defaultdict[tuple[Outcome, str], list[list[Any]]] = defaultdict(list)
        for answer in _taken(self._answers):
            record, sent, at = answer.record, _rounded(answer.sent), _rounded(answer.at)
            times = (
                [answer.detail, sent, at] if answer.outcome == "ok" else [sent, at, answer.detail]
            )
            rows[answer.outcome, record.producer].append([record.partition, record.seq, *times])
            self.counts[answer.outcome] += 1
        return [{outcome: entries, "session": name} for (outcome, name), entries in rows.items()]


def _taken(queue: deque[T]) -> list[T]:
    """Empty a queue that another thread may be filling."""
    return [queue.popleft() for _ in range(len(queue))]


def _by_session(key: str, records: list[Planned]) -> list[dict[str, Any]]:
    rows: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for record in records:
        rows[record.producer].append((record.partition, record.seq))
    at = _rounded(time.monotonic())
    return [{key: entries, "session": name, "t": at} for name, entries in rows.items()]


def _rounded(at: float) -> float:
    # Down, to microseconds: what is kept apart by less has no order.
    return math.floor(at * 1e6) / 1e6
