"""Kafka from outside, through kafka-python: topics, the ends of a log, reading a whole topic.

The only module that imports kafka-python, which has no types.
"""

import argparse
import json
import logging
import time
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from flights.schemas import SEQ, Topics

with warnings.catch_warnings():
    # kafka-python reads its schemas with functions that Python 3.11 deprecates.
    warnings.filterwarnings("ignore", "(read|open)_text is deprecated", DeprecationWarning)
    from kafka import (  # type: ignore[import-untyped]  # kafka-python ships no types
        KafkaAdminClient,
        KafkaConsumer,
        KafkaProducer,
        TopicPartition,
    )
    from kafka.errors import (  # type: ignore[import-untyped]  # kafka-python ships no types
        KafkaError,
        TopicAlreadyExistsError,
    )
    from kafka.partitioner.default import (  # type: ignore[import-untyped]  # kafka-python ships no types
        murmur2,
    )

__all__ = ["KafkaError", "KafkaProducer", "Options", "Reader", "Record", "Tail", "murmur2"]

LOG = logging.getLogger(__name__)
POLL_MS = 500
Options = Mapping[str, Any]
"""Keyword arguments of a kafka-python client: bootstrap_servers and, if needed, security."""


class Record(NamedTuple):
    """One record as read; header values are bytes."""

    partition: int
    offset: int
    key: bytes
    value: bytes
    headers: dict[str, bytes]


class Tail(NamedTuple):
    """The end of one partition: how many records it ever got, and the last one's `seq`."""

    end: int
    last_seq: int | None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what every client outside the cluster needs."""
    parser.add_argument("--bootstrap", required=True, metavar="HOST:PORT[,HOST:PORT]")
    parser.add_argument("--topic", default="flights", help="base name of the three topics")
    parser.add_argument("--corrupt", type=int, default=0, metavar="N", help="damaged records")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N flights")
    parser.add_argument("--summary", type=Path, metavar="FILE.json", help="write the facts here")
    parser.add_argument(
        "--kafka-config",
        type=Path,
        metavar="FILE.json",
        help="further kafka-python client options (TLS, SASL); a file, as it may hold a secret",
    )


def options_of(arguments: argparse.Namespace) -> Options:
    """Return the client options that the arguments ask for."""
    extra = json.loads(arguments.kafka_config.read_text()) if arguments.kafka_config else {}
    return {**extra, "bootstrap_servers": arguments.bootstrap.split(",")}


def create_topics(options: Options, topics: Topics, replication_factor: int) -> list[str]:
    """Create the topics that are missing and return their names.

    A cluster with fewer brokers than `replication_factor` gets as many replicas as it has brokers,
    and a warning.
    """
    admin = KafkaAdminClient(**options)
    try:
        existing = set(admin.list_topics())
        missing = {name: plan for name, plan in topics.layout().items() if name not in existing}
        if not missing:
            return []
        brokers = len(admin.describe_cluster()["brokers"])
        replicas = min(replication_factor, brokers)
        if replicas < replication_factor:
            LOG.warning("%d brokers: %d replicas, not %d", brokers, replicas, replication_factor)
        plans = {
            name: {"num_partitions": count, "replication_factor": replicas, "configs": configs}
            for name, (count, configs) in missing.items()
        }
        try:
            admin.create_topics(plans, wait_for_metadata=True)
        except TopicAlreadyExistsError:
            LOG.info("another client was faster at creating %s", ", ".join(plans))
        return list(plans)
    finally:
        admin.close()


class Reader:
    """A whole topic from its beginning, without a consumer group."""

    def __init__(self, topic: str, options: Options) -> None:
        """Assign every partition of `topic`.

        Raises:
            LookupError: the topic does not exist.

        """
        self._consumer = KafkaConsumer(
            **options, group_id=None, enable_auto_commit=False, auto_offset_reset="earliest"
        )
        numbers = self._consumer.partitions_for_topic(topic)
        if not numbers:
            self._consumer.close()
            message = f"topic {topic} does not exist"
            raise LookupError(message)
        self._partitions = [TopicPartition(topic, number) for number in sorted(numbers)]
        self._consumer.assign(self._partitions)
        self._consumer.seek_to_beginning(*self._partitions)

    def close(self) -> None:
        """Close the connections."""
        self._consumer.close()

    def ends(self) -> dict[int, int]:
        """Return partition -> end offset; without compaction, the records it ever got."""
        ends = self._consumer.end_offsets(self._partitions)
        return {partition.partition: end for partition, end in ends.items()}

    def read(self, deadline: float) -> Iterator[Record]:
        """Yield what was appended since the last call, at least one poll long.

        Stops at the end offsets as they are now, or at `deadline` (`time.monotonic` seconds).
        """
        ends = self.ends()
        while True:
            for records in self._consumer.poll(timeout_ms=POLL_MS, max_records=20_000).values():
                for record in records:
                    headers = dict(record.headers or ())
                    yield Record(record.partition, record.offset, record.key, record.value, headers)
            behind = any(self._consumer.position(p) < ends[p.partition] for p in self._partitions)
            if not behind or time.monotonic() >= deadline:
                return

    def tails(self, deadline: float) -> dict[int, Tail]:
        """Return every partition's end, reading only its last record.

        Raises:
            TimeoutError: a last record could not be read before `deadline`.

        """
        tails = {number: Tail(end, None) for number, end in self.ends().items()}
        for partition in self._partitions:
            self._consumer.seek(partition, max(0, tails[partition.partition].end - 1))
        for record in self.read(deadline):
            seq = record.headers.get(SEQ)
            tails[record.partition] = Tail(record.offset + 1, None if seq is None else int(seq))
        unread = [number for number, tail in tails.items() if tail.end and tail.last_seq is None]
        if unread:
            message = f"no record with a {SEQ} header at the end of partitions {unread}"
            raise TimeoutError(message)
        return tails
