"""Publish the flights to Kafka, once each: a rerun sends only what is not in the log yet.

Every record carries its sequence number in a header. Partitioning by key is deterministic, so the
records of a partition and their order are known beforehand. With acks=all and idempotence, a
partition that holds k records holds exactly the first k of its list; a rerun proves that by the
last record's sequence number and refuses to continue if that differs.
"""

import argparse
import json
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Protocol

from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.connection import (
    Connection,
    ConnectionDescriptionError,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import (
    errors,
    murmur2,
)

from flights.kafka_log import NotGrantedError, Reader, Tail, add_arguments, create_topics, granted
from flights.schemas import RESULTS, SEQ, PipelineTopics, Topics
from flights.source import Message, messages

LOG = logging.getLogger("flights.producer")

BARRIER: Final = 5_000
"""Records between two flushes: bounds how far apart in event time the partitions can be (6 days).
"""
PROGRESS_SECONDS: Final = 2.0
TIMEOUT_SECONDS: Final = 120.0


class LogMismatchError(Exception):
    """The topic does not hold a prefix of this stream."""


FAILURES: Final = (
    errors.KafkaError,
    ConnectionDescriptionError,
    LogMismatchError,
    NotGrantedError,
    TimeoutError,
    ValueError,
)
"""What ends a run; a rerun continues."""


@dataclass(frozen=True)
class Summary:
    """The facts of one run."""

    published: int
    """What this run sent."""
    already_there: int
    total: int
    damaged: int
    seconds: float
    records_per_second: float


@cache
def partition_of(key: bytes, partitions: int) -> int:
    """Return the key's partition, as the Java client's default partitioner does."""
    return int(murmur2(key) & 0x7FFFFFFF) % partitions


def missing(assigned: Sequence[int], log: Mapping[int, Tail]) -> list[int]:
    """Return the sequence numbers that are not in the log yet, in order.

    Args:
        assigned: the partition of every sequence number.
        log: the end of every partition.

    Raises:
        LogMismatchError: a partition's last record is not the one that its end offset implies.

    """
    lists: dict[int, list[int]] = {partition: [] for partition in log}
    for seq, partition in enumerate(assigned):
        lists[partition].append(seq)
    remaining: list[int] = []
    for partition, (end, last_seq) in log.items():
        expected = lists[partition][:end]
        if len(expected) < end or (expected and expected[-1] != last_seq):
            message = (
                f"partition {partition} holds {end} records, the last one with seq {last_seq}; "
                f"expected seq {expected[-1] if expected else None} of {len(lists[partition])} "
                "records: other arguments or another producer wrote it; use a new topic"
            )
            raise LogMismatchError(message)
        remaining += lists[partition][end:]
    return sorted(remaining)


class Sink(Protocol):
    """Where records go; `Publisher` is the real one."""

    def send(self, message: Message, partition: int) -> None:
        """Hand over one record."""

    def barrier(self) -> None:
        """Wait until everything handed over is acknowledged."""


class Publisher:
    """Sends records and proves each one acknowledged."""

    def __init__(self, topic: str, connection: Connection) -> None:
        """Connect."""
        self._topic = topic
        self._pending: list[Any] = []
        self._producer = clients.producer(
            connection,
            acks="all",
            enable_idempotence=True,
            batch_size=256 * 1024,
            linger_ms=100,
            compression_type="zstd",
        )

    def send(self, message: Message, partition: int) -> None:
        """Hand one record to the client; `barrier` waits for its acknowledgement."""
        headers = [(SEQ, str(message.seq).encode())]
        future = self._producer.send(
            self._topic, message.value, message.key, headers=headers, partition=partition
        )
        self._pending.append(future)

    def barrier(self) -> None:
        """Wait until everything sent so far is acknowledged.

        Raises:
            KafkaError: a record was refused or not acknowledged in time.

        """
        self._producer.flush(timeout=TIMEOUT_SECONDS)
        for future in self._pending:
            future.get(timeout=0)
        self._pending.clear()

    def close(self) -> None:
        """Close the connections without waiting for what is not acknowledged."""
        self._producer.close(timeout=0)


def publish(
    publisher: Sink,
    stream: Sequence[Message],
    assigned: Sequence[int],
    todo: Sequence[int],
) -> None:
    """Send the records `todo` in order, with a barrier after each `BARRIER`; log the progress.

    Raises:
        KafkaError: at the first record that is not acknowledged.

    """
    start = shown = time.monotonic()
    for first in range(0, len(todo), BARRIER):
        for seq in todo[first : first + BARRIER]:
            publisher.send(stream[seq], assigned[seq])
        publisher.barrier()
        done = min(first + BARRIER, len(todo))
        now = time.monotonic()
        if now - shown >= PROGRESS_SECONDS:
            shown = now
            LOG.info("%d of %d records, %.0f records/s", done, len(todo), done / (now - start))


def run(arguments: argparse.Namespace) -> Summary:
    """Publish what is missing and return the facts.

    Raises:
        ConnectionDescriptionError: the client properties do not lead to a cluster.
        LogMismatchError: the topic holds something else.
        ValueError: the same; a record has no sequence number.
        KafkaError: a record was not acknowledged, or the cluster cannot be reached.
        NotGrantedError: the user lacks a grant.
        TimeoutError: the end of the log could not be read in time.

    """
    connection, topics = Connection.read(arguments.client_config), Topics(arguments.topic)
    with granted("create", *topics.layout()):
        created = create_topics(connection, topics)
    for name in arguments.pipelines:
        results = PipelineTopics(arguments.topic, name)
        with granted("create", *results.layout()):
            created += create_topics(connection, results)
    LOG.info("topics created: %s", ", ".join(created) or "none, all exist")
    if arguments.topics_only:
        return Summary(0, 0, 0, arguments.corrupt, 0.0, 0.0)
    stream = messages(arguments.limit, arguments.corrupt)
    reader = Reader(topics.events, connection)
    try:
        with granted("read", topics.events):
            log = reader.tails(time.monotonic() + TIMEOUT_SECONDS)
    finally:
        reader.close()
    assigned = [partition_of(message.key, len(log)) for message in stream]
    todo = missing(assigned, log)
    start = time.monotonic()
    if todo:
        publisher = Publisher(topics.events, connection)
        try:
            with granted("write", topics.events):
                publish(publisher, stream, assigned, todo)
        finally:
            publisher.close()
    else:
        LOG.info("all %d records are in %s already: nothing sent", len(stream), topics.events)
    seconds = time.monotonic() - start
    return Summary(
        published=len(todo),
        already_there=len(stream) - len(todo),
        total=len(stream),
        damaged=arguments.corrupt,
        seconds=round(seconds, 3),
        records_per_second=round(len(todo) / seconds, 1) if todo else 0.0,
    )


def main(argv: list[str] | None = None) -> int:
    """Publish the flights of 2013 to Kafka; a rerun sends only what is missing."""
    parser = argparse.ArgumentParser(prog="flights.producer", description=main.__doc__)
    add_arguments(parser)
    parser.add_argument("--topics-only", action="store_true", help="create the topics and stop")
    parser.add_argument(
        "--pipelines",
        nargs="+",
        choices=RESULTS,
        default=[],
        metavar="NAME",
        help=f"create the topics of these too: {', '.join(RESULTS)}",
    )
    arguments = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    logging.getLogger("kafka").setLevel(logging.WARNING)
    try:
        summary = run(arguments)
    except FAILURES as error:
        LOG.error("publishing stopped, a rerun continues: %s: %s", type(error).__name__, error)  # noqa: TRY400 - the message is the report, a traceback hides it
        return 1
    facts = json.dumps(asdict(summary))
    LOG.info("%s", facts)
    if arguments.summary:
        Path(arguments.summary).write_text(facts + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
