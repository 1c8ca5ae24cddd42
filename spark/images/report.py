"""Accuracy, latency and throughput of the job, from its results.

`python -m images.report --client-config FILE --labels labels.csv` reads the topics of results and
dead letters to their ends. Times are those of the records, so of the brokers if the topics have
`message.timestamp.type=LogAppendTime`: latency is from a frame's first record to its result, and
throughput the number of frames between the first record of any and the last result.
"""

import argparse
import csv
import json
import logging
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.connection import (
    Connection,
    ConnectionDescriptionError,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import (
    TopicPartition,
    errors,
)

from images.frames import SENT
from millrace_job import REASON, SOURCE_OFFSET, SOURCE_PARTITION

LOG = logging.getLogger("images.report")
COMPLETE, INCOMPLETE, UNKNOWN = 0, 1, 2
POLL_SECONDS: Final = 1.0


class Result(NamedTuple):
    """A result as it was read; times in milliseconds."""

    frame: str
    label: str
    sent: int
    written: int


@dataclass(frozen=True)
class Report:
    """What the results of the frames in `labels` say; times in seconds."""

    frames: int
    missing: int
    repeats: int
    accuracy: float
    p50: float
    p99: float
    per_second: float

    def text(self, cores: int, refused: Mapping[str, int]) -> str:
        """Return it for people."""
        lines = [
            f"frames      {self.frames} with a result, {self.missing} without, "
            f"{self.repeats} results repeated",
            f"accuracy    {self.accuracy:.3f}",
            f"latency     p50 {self.p50:.2f} s, p99 {self.p99:.2f} s",
            f"throughput  {self.per_second:.1f} frames/s, "
            f"{self.per_second / cores:.1f} per core with {cores}",
            *(
                f"refused     {count} records: {reason}"
                for reason, count in sorted(refused.items())
            ),
        ]
        return "\n".join(lines) + "\n"


def quantile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that is not less than that share of all; 0 of none."""
    ordered = sorted(values)
    place = -(-len(ordered) * share // 1)
    return ordered[max(0, int(place) - 1)] if ordered else 0.0


def summary(results: Iterable[Result], labels: Mapping[str, str]) -> Report:
    """Compare results with labels; of a frame's results the first counts for its latency."""
    first: dict[str, Result] = {}
    repeats = 0
    for result in sorted(results, key=lambda result: result.written):
        if result.frame in labels:
            repeats += result.frame in first
            first.setdefault(result.frame, result)
    judged = list(first.values())
    if not judged:
        return Report(0, len(labels), 0, 0.0, 0.0, 0.0, 0.0)
    latencies = [(result.written - result.sent) / 1000 for result in judged]
    span = (max(result.written for result in judged) - min(result.sent for result in judged)) / 1000
    right = sum(result.label == labels[result.frame] for result in judged)
    return Report(
        frames=len(judged),
        missing=len(labels) - len(judged),
        repeats=repeats,
        accuracy=right / len(judged),
        p50=quantile(latencies, 0.5),
        p99=quantile(latencies, 0.99),
        per_second=len(judged) / max(span, 0.001),
    )


def read(topic: str, connection: Connection, deadline: float) -> list[Any]:
    """Return all records of a topic.

    Raises:
        LookupError: the topic does not exist.
        TimeoutError: its end was not reached before `deadline`, in monotonic seconds.

    """
    settings = {"group_id": None, "enable_auto_commit": False}
    with closing(clients.consumer(connection, **settings)) as consumer:
        numbers = consumer.partitions_for_topic(topic)
        if not numbers:
            message = f"topic {topic} does not exist"
            raise LookupError(message)
        partitions = [TopicPartition(topic, number) for number in sorted(numbers)]
        consumer.assign(partitions)
        consumer.seek_to_beginning(*partitions)
        return list(clients.read_to_ends(consumer, deadline))


def result(record: Any) -> Result:
    """Return a record of the topic of results.

    Raises:
        KeyError, ValueError: it is none.

    """
    sent = int(dict(record.headers)[SENT])
    return Result(record.key.decode(), json.loads(record.value)["label"], sent, record.timestamp)


def reasons(letters: Iterable[Any]) -> Counter[str]:
    """Return how many records were refused for each reason; one that comes twice counts once.

    Raises:
        KeyError: one of them is no dead letter.

    """
    by_source = {}
    for headers in (dict(letter.headers) for letter in letters):
        by_source[headers[SOURCE_PARTITION], headers[SOURCE_OFFSET]] = headers[REASON].decode()
    return Counter(by_source.values())


def main(argv: Sequence[str] | None = None) -> int:
    """Print the report when all frames have a result, or at the deadline.

    Exit code: 0 all frames of `--labels` have a result, 1 some have none, 2 nothing is known.
    """
    parser = argparse.ArgumentParser(prog="images.report", description=main.__doc__)
    parser.add_argument("--client-config", type=Path, required=True, metavar="FILE.properties")
    parser.add_argument("--results", default="images", help="beginning of the names of its topics")
    parser.add_argument("--labels", type=Path, required=True, metavar="labels.csv")
    parser.add_argument("--cores", type=int, default=1, help="cores of the job")
    parser.add_argument("--timeout", type=float, default=60, metavar="SECONDS")
    arguments = parser.parse_args(argv)
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    deadline = time.monotonic() + arguments.timeout
    topic, letters = f"{arguments.results}.results", f"{arguments.results}.dead-letter"
    try:
        with arguments.labels.open(newline="", encoding="utf-8") as file:
            labels = dict(csv.reader(file))
        connection = Connection.read(arguments.client_config)
        while True:
            report = summary(map(result, read(topic, connection, deadline)), labels)
            if not report.missing or time.monotonic() + POLL_SECONDS > deadline:
                break
            time.sleep(POLL_SECONDS)
        refused = reasons(read(letters, connection, time.monotonic() + arguments.timeout))
    except (
        errors.KafkaError,
        ConnectionDescriptionError,
        LookupError,  # a topic, or a header of a record
        OSError,
        TimeoutError,
        ValueError,
    ) as error:
        LOG.error("no report: %s: %s", type(error).__name__, error)  # noqa: TRY400 - the message is the report, a traceback hides it
        return UNKNOWN
    sys.stdout.write(report.text(arguments.cores, refused))
    return INCOMPLETE if report.missing else COMPLETE


if __name__ == "__main__":
    raise SystemExit(main())
