"""One run of a ledger, from its topic to its report."""

from __future__ import annotations

import json
import logging
import os
import secrets
import threading
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.kafka.connection import (
    Connection,
    ConnectionDescriptionError,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import errors

from apps.ledger import status
from apps.ledger.clients import Clients, SetupError, reason_of
from apps.ledger.history import Run
from apps.ledger.journal import PRODUCER, Journal, JournalError, load
from apps.ledger.load import Load
from apps.ledger.readers import Live, end_offsets, read_all
from apps.ledger.transactions import Pipeline
from apps.ledger.verdict import EXIT_CODES, Report, as_dict, as_text, judge

LOG = logging.getLogger(__name__)
STATUS_SECONDS = 0.5
DRAIN_SECONDS = 120.0
END_SECONDS = 60.0
READ_SECONDS = 120.0
STOP_SECONDS = DRAIN_SECONDS + END_SECONDS + 2 * READ_SECONDS
"""How long a run may take to end."""
LIVE = ("consumer-assign", "consumer-group")
FINAL = ("final-1", "final-2")
FAILURES = (errors.KafkaError, ConnectionDescriptionError, JournalError, OSError, SetupError)
"""What ends a run without a verdict."""


@dataclass(frozen=True)
class Options:
    """What a run is asked for; rates in records a second over all partitions."""

    connection: Connection
    folder: Path
    rate: float = 200.0
    partitions: int | None = None
    """None: as many as there are brokers."""
    replication: int = 3
    min_isr: int = 2
    topic: str | None = None
    keep_topic: bool = False
    watch_pid: int | None = None
    max_seconds: float = 7200.0
    expect_changes: bool = True
    least_acks: int | None = None
    transactions: bool = False


def check(folder: Path, *, expect_changes: bool, least_acks: int | None) -> Report:
    """Judge what a ledger wrote and write the report beside it.

    Raises:
        JournalError: there is nothing to judge.

    """
    report = judge(load(folder), expect_changes=expect_changes, least_acks=least_acks)
    status.write(folder / status.REPORT_TEXT, as_text(report))
    status.write(folder / status.REPORT_JSON, json.dumps(as_dict(report), indent=2) + "\n")
    return report


class Ledger:
    """The load, its readers, and what ends them."""

    def __init__(self, options: Options) -> None:
        """Prepare the directory.

        Raises:
            SetupError: it holds a ledger already, or a client property is wrong.

        """
        self._options = options
        self._folder = options.folder
        self._folder.mkdir(parents=True, exist_ok=True)
        if (self._folder / PRODUCER).exists():
            message = f"{self._folder} holds a ledger already: give each run its own directory"
            raise SetupError(message)
        self._clients = Clients(options.connection)
        self._signalled = threading.Event()
        self._load: Load | None = None
        self._pipeline: Pipeline | None = None
        self._topics: list[str] = []
        self._live: dict[str, Live] = {}
        self._final: dict[str, int] = {}
        self._run: Run | None = None

    def run(self) -> int:
        """Run until something ends it, and return the verdict's exit code."""
        try:
            self._report("starting")
            run = self._run = self._begin()
            reason = self._watch(time.monotonic() + self._options.max_seconds)
            LOG.info("ends: %s", reason)
            self._finish(run, reason)
            report = check(
                self._folder,
                expect_changes=self._options.expect_changes,
                least_acks=self._options.least_acks,
            )
        except FAILURES as error:
            LOG.exception("failed")
            self._report("failed", reason_of(error))
            return EXIT_CODES["UNKNOWN"]
        self._report("done", reason, verdict=report.state)
        return EXIT_CODES[report.state]

    def end(self) -> None:
        """Ask the run to end, from a signal or another thread."""
        self._signalled.set()

    def _begin(self) -> Run:
        options = self._options
        name = secrets.token_hex(4)
        topic = options.topic or f"millrace-ledger-{name}"
        partitions = self._create(topic, options.partitions)
        run = Run(name, topic, partitions, options.rate, time.time(), time.monotonic())
        try:
            self._start(run)
        except FAILURES:
            self._delete()
            raise
        return run

    def _create(self, topic: str, partitions: int | None) -> int:
        options = self._options
        count = self._clients.create_topic(
            topic, partitions=partitions, replication=options.replication, min_isr=options.min_isr
        )
        self._topics.append(topic)
        return count

    def _start(self, run: Run) -> None:
        if self._options.transactions:
            output = replace(run, topic=f"{run.topic}-out")
            self._create(output.topic, run.partitions)
            self._pipeline = Pipeline(self._clients, run, output, self._journal)
            self._pipeline.start()
        for reader, group in zip(LIVE, (None, run.topic), strict=True):
            self._live[reader] = Live(self._clients, run, self._journal(reader, run), group)
        self._load = Load(self._clients, run, self._journal("producer", run))
        for live in self._live.values():
            live.start()
        self._load.start()

    def _journal(self, name: str, run: Run) -> Journal:
        return Journal(self._folder / f"{name}.jsonl", asdict(run))

    def _watch(self, deadline: float) -> str:
        """Write the status until something ends the run; return what."""
        while True:
            if reason := self._end_reason(deadline):
                return reason
            self._report("running")
            self._signalled.wait(STATUS_SECONDS)

    def _end_reason(self, deadline: float) -> str | None:
        watched = self._options.watch_pid
        if self._signalled.is_set():
            return "signal"
        if (self._folder / status.STOP).exists():
            return "asked to stop"
        if watched is not None and not status.alive(watched):
            return f"process {watched} is gone"
        if time.monotonic() >= deadline:
            return f"{self._options.max_seconds:.0f} seconds are over"
        if self._load and not self._load.alive():
            return "the load has died"
        if self._pipeline and not self._pipeline.worker.is_alive():
            return "the transactions have died"
        return None

    def _finish(self, run: Run, reason: str) -> None:
        """Stop producing, let everybody read to the end, and read it all once more."""
        self._report("stopping", reason)
        if self._load:
            self._load.stop(DRAIN_SECONDS)
        ends = end_offsets(self._clients, run, time.monotonic() + END_SECONDS)
        deadline = time.monotonic() + READ_SECONDS
        for live in self._live.values():
            live.end_at(ends, deadline)
        for name in FINAL:
            self._report("stopping", reason)
            journal = self._journal(name, run)
            deadline = time.monotonic() + READ_SECONDS
            self._final[name] = read_all(self._clients, run, journal, ends, deadline).read
        for live in self._live.values():
            live.join()
        self._report("stopping", reason)
        if self._pipeline:
            self._pipeline.finish(ends, END_SECONDS, READ_SECONDS)
            self._report("stopping", reason)
        if not self._options.keep_topic:
            self._delete()

    def _delete(self) -> None:
        for topic in self._topics:
            try:
                self._clients.delete_topic(topic)
            except errors.KafkaError as error:
                LOG.warning("topic %s is left: %s", topic, error)

    def _report(self, state: str, reason: str | None = None, **details: object) -> None:
        load = self._load
        counts = load.counts if load else {"ok": 0, "info": 0, "fail": 0}
        read = {name: live.progress.read for name, live in self._live.items()} | self._final
        status.update(
            self._folder,
            {
                "state": state,
                "reason": reason,
                "topic": self._run.topic if self._run else self._options.topic,
                "invoked": load.invoked if load else 0,
                "acked": counts["ok"],
                "info": counts["info"],
                "fail": counts["fail"],
                "producer_errors": len(load.troubles) if load else 0,
                "trouble": load.troubles[-1] if load and load.troubles else None,
                "last_ack_age": load.last_ack_age() if load else None,
                "read": read,
                "transactions": self._pipeline.counts() if self._pipeline else None,
                **details,
            },
        )


def stop(folder: Path, seconds: float) -> dict[str, Any]:
    """Ask a run to end, wait for it at most `seconds`, and return its last status.

    Raises:
        SetupError: there is no run.
        TimeoutError: it did not end in time, or ended without saying so.

    """
    if not status.read(folder):
        message = f"{folder} holds no run of a ledger"
        raise SetupError(message)
    (folder / status.STOP).touch()
    deadline = time.monotonic() + seconds
    while (current := status.read(folder))["state"] not in status.ENDED:
        if not status.alive(current["pid"]) and status.read(folder)["state"] not in status.ENDED:
            message = f"the ledger's process {current['pid']} ended in state {current['state']}"
            raise TimeoutError(message)
        if time.monotonic() >= deadline:
            message = f"the ledger is still {current['state']} after {seconds:.0f} s"
            raise TimeoutError(message)
        threading.Event().wait(0.2)
    return current


def log_to(folder: Path) -> None:
    """Send what the clients and this program report to a file of the directory."""
    folder.mkdir(parents=True, exist_ok=True)
    logging.basicConfig(
        filename=os.fspath(folder / "ledger.log"),
        level=logging.WARNING,
        format="%(asctime)s %(levelname)s %(threadName)s %(name)s: %(message)s",
    )
    logging.getLogger("ledger").setLevel(logging.INFO)
    # It warns a thousand times a second while the group's coordinator is dead and not yet replaced.
    logging.getLogger("kafka.coordinator").setLevel(logging.ERROR)
