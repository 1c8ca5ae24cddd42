"""Check the stream's result: read Kafka from outside and compare with the batch aggregation."""

import argparse
import json
import logging
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Final, Literal

from ansible_collections.millrace.streaming.plugins.module_utils.kafka.connection import (
    Connection,
    ConnectionDescriptionError,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import errors

from flights.answers import expected, source, watermark
from flights.batch import expected_rejects, expected_windows
from flights.differences import SHOWN, Difference, Row, compare, lines, report_on
from flights.kafka_log import Reader, Record, add_arguments
from flights.schemas import (
    RESULTS,
    SEQ,
    WATERMARK,
    PipelineTopics,
    Topics,
)
from flights.source import flights
from millrace_job import REASON, SOURCE_OFFSET, SOURCE_PARTITION

LOG = logging.getLogger("flights.verify")
POLL_SECONDS: Final = 1.0
LATE: Final = timedelta(days=int(WATERMARK.split()[0]))
EXIT_CODES: Final = {"equal": 0, "different": 1, "incomplete": 2}


@dataclass(frozen=True)
class Verdict:
    """The facts and what follows from them."""

    published: int
    """Records in the log."""
    parsed: int
    """Flights in the windows."""
    rejected: int
    """Dead letters, each source record once."""
    repeats: int
    """Dead letters written again after a crash."""
    windows: int
    """Rows compared."""
    differences: list[Difference]
    complete: bool
    seconds: float

    @property
    def verdict(self) -> Literal["equal", "different", "incomplete"]:
        """Incomplete: the deadline came before everything published was in the result."""
        if not self.complete:
            return "incomplete"
        return "different" if self.differences else "equal"

    def facts(self) -> dict[str, object]:
        """Return what the summary file holds: the differences counted, the first few in full."""
        first = [difference._asdict() for difference in self.differences[:SHOWN]]
        return {
            "published": self.published,
            "parsed": self.parsed,
            "rejected": self.rejected,
            "repeats": self.repeats,
            "windows": self.windows,
            "differences": len(self.differences),
            "first_differences": first,
            "verdict": self.verdict,
            "seconds": self.seconds,
        }


@dataclass
class State:
    """What has been read so far."""

    windows: dict[str, Row] = field(default_factory=dict)
    rejects: dict[str, Row] = field(default_factory=dict)
    sources: set[tuple[str, str]] = field(default_factory=set)
    letters: int = 0

    def take_window(self, record: Record) -> None:
        """Take a window's newest value."""
        self.windows[record.key.decode()] = json.loads(record.value)

    def take_letter(self, record: Record) -> None:
        """Take a dead letter; one without a reason or source shows as a difference."""
        text = {name: value.decode() for name, value in record.headers.items()}
        self.letters += 1
        self.sources.add((text.get(SOURCE_PARTITION, ""), text.get(SOURCE_OFFSET, "")))
        self.rejects[text.get(SEQ, f"offset {record.offset}")] = {REASON: text.get(REASON)}

    @property
    def parsed(self) -> int:
        """Flights in all windows."""
        counts = [row.get("flights") for row in self.windows.values()]
        return sum(count for count in counts if isinstance(count, int))


def verify(
    connection: Connection,
    topic: str,
    limit: int | None = None,
    corrupt: int = 0,
    timeout: float = 300,
) -> Verdict:
    """Wait until the result covers everything published, then compare row by row.

    Args:
        connection: where the cluster is, and how to connect to it.
        topic: base name of the three topics.
        limit: as given to the producer.
        corrupt: as given to the producer.
        timeout: seconds to wait for the result to be complete.

    Raises:
        LookupError: a topic does not exist.
        KafkaError: the cluster cannot be reached.

    """
    started = time.monotonic()
    deadline = started + timeout
    topics = Topics(topic)
    total = len(flights(limit))
    state = State()
    events = Reader(topics.events, connection)
    windows = Reader(topics.windows, connection)
    letters = Reader(topics.dead_letter, connection)
    try:
        complete = False
        while not complete and time.monotonic() < deadline:
            with suppress(TimeoutError):
                for record in windows.read(deadline):
                    state.take_window(record)
                for record in letters.read(deadline):
                    state.take_letter(record)
            complete = state.parsed >= total - corrupt and len(state.sources) >= corrupt
        published = sum(events.ends().values())
    finally:
        for reader in (events, windows, letters):
            reader.close()
    return Verdict(
        published=published,
        parsed=state.parsed,
        rejected=len(state.sources),
        repeats=state.letters - len(state.sources),
        windows=len(state.windows),
        differences=find_differences(state, published, total, limit, corrupt),
        complete=complete,
        seconds=round(time.monotonic() - started, 3),
    )


def verify_pipeline(
    connection: Connection,
    name: str,
    topic: str,
    limit: int | None = None,
    corrupt: int = 0,
    timeout: float = 300,
) -> list[Difference]:
    """Wait until the topic of a pipeline equals its batch answer; return the last differences.

    Args:
        connection: where the cluster is, and how to connect to it.
        name: the pipeline, one of `RESULTS`.
        topic: base name of the topics.
        limit: as given to the producer.
        corrupt: as given to the producer.
        timeout: seconds to wait, from when the answer is known.

    Raises:
        LookupError: a topic does not exist.
        TimeoutError: the topics were not read to their ends in that time.
        KafkaError: the cluster cannot be reached.

    """
    topics = PipelineTopics(topic, name)
    events = source(limit, corrupt)
    expected_rows = expected(name, events, watermark(events, LATE))
    rejects = expected_rejects(len(flights(limit)), corrupt)
    state, deadline = State(), time.monotonic() + timeout
    rows = Reader(topics.result, connection)
    letters = Reader(topics.dead_letter, connection)
    try:
        while True:
            for record in rows.read(deadline):
                state.take_window(record)
            for record in letters.read(deadline):
                state.take_letter(record)
            differences = [*compare(expected_rows, state.windows), *compare(rejects, state.rejects)]
            if not differences or time.monotonic() > deadline:
                return differences
            time.sleep(POLL_SECONDS)
    finally:
        rows.close()
        letters.close()


def find_differences(
    state: State, published: int, total: int, limit: int | None, corrupt: int
) -> list[Difference]:
    """Compare the log's length, the windows and the dead letters with what they must be."""
    counts = {
        "events": {"published": total, "parsed": total - corrupt, "rejected": corrupt},
    }
    seen = {
        "events": {
            "published": published,
            "parsed": state.parsed,
            "rejected": len(state.sources),
        },
    }
    return [
        *compare(counts, seen),
        *compare(expected_windows(limit, corrupt), state.windows),
        *compare(expected_rejects(total, corrupt), state.rejects),
    ]


def report(verdict: Verdict) -> str:
    """Return the verdict as text: one line, then the first differences."""
    head = (
        f"{verdict.verdict}: {verdict.published} published, {verdict.parsed} parsed, "
        f"{verdict.rejected} rejected ({verdict.repeats} repeated), {verdict.windows} windows, "
        f"{len(verdict.differences)} differences, {verdict.seconds:.1f} s"
    )
    return "\n".join([head, *lines(verdict.differences)]) + "\n"


def main(argv: list[str] | None = None) -> int:
    """Compare the stream's result with a batch aggregation of the source.

    Exit code: 0 equal, 1 different, 2 incomplete at the deadline or nothing to read.
    """
    parser = argparse.ArgumentParser(prog="flights.verify", description=main.__doc__)
    add_arguments(parser)
    parser.add_argument(
        "--pipeline", choices=RESULTS, help="compare the topic of this pipeline instead"
    )
    parser.add_argument("--timeout", type=float, default=300, metavar="SECONDS")
    arguments = parser.parse_args(argv)
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    try:
        connection = Connection.read(arguments.client_config)
        if arguments.pipeline:
            differences = verify_pipeline(
                connection,
                arguments.pipeline,
                arguments.topic,
                arguments.limit,
                arguments.corrupt,
                arguments.timeout,
            )
            sys.stdout.write(report_on(arguments.pipeline, differences))
            return EXIT_CODES["different" if differences else "equal"]
        verdict = verify(
            connection,
            arguments.topic,
            arguments.limit,
            arguments.corrupt,
            arguments.timeout,
        )
    except (errors.KafkaError, ConnectionDescriptionError, LookupError, TimeoutError) as error:
        LOG.error("nothing to verify: %s: %s", type(error).__name__, error)  # noqa: TRY400 - the message is the report, a traceback hides it
        return EXIT_CODES["incomplete"]
    sys.stdout.write(report(verdict))
    if arguments.summary:
        Path(arguments.summary).write_text(json.dumps(verdict.facts()) + "\n")
    return EXIT_CODES[verdict.verdict]


if __name__ == "__main__":
    raise SystemExit(main())
