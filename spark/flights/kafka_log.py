"""Kafka from outside: the topics, the end of a log, reading a topic from its beginning to its end.

Clients come from the collection's adapter, so its `collections` directory is on PYTHONPATH.
"""

import argparse
import contextlib
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.connection import Connection
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import (
    TopicPartition,
    errors,
)

from flights.schemas import SEQ

LOG = logging.getLogger(__name__)
MAX_POLL_RECORDS = 20_000
REPLICAS = 3
_DENIED = "AuthorizationFailedError"


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


class NotGrantedError(Exception):
    """The user lacks a grant, which the message names."""


@contextlib.contextmanager
def granted(operation: str, *topics: str) -> Iterator[None]:
    """Name the grant that is missing when Kafka denies what is done here.

    Kafka itself may name another one: an idempotent producer that may write to no topic is denied
    an operation on the cluster (KIP-679), and kafka-python wraps that in a plain KafkaError.

    Raises:
        NotGrantedError: Kafka denied it.

    """
    try:
        yield
    except errors.KafkaError as error:
        if not isinstance(error, errors.AuthorizationError) and _DENIED not in str(error):
            raise
        message = f"the user has no grant for the operation {operation} on {', '.join(topics)}"
        raise NotGrantedError(message) from error


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what every client outside the cluster needs."""
    parser.add_argument(
        "--client-config",
        type=Path,
        required=True,
        metavar="FILE.properties",
        help="Kafka client properties: bootstrap.servers and security",
    )
    parser.add_argument("--topic", default="flights", help="base name of the three topics")
    parser.add_argument("--corrupt", type=int, default=0, metavar="N", help="damaged records")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N flights")
    parser.add_argument("--summary", type=Path, metavar="FILE.json", help="write the facts here")


class Planned(Protocol):
    """Topics that are to be there."""

    def layout(self) -> dict[str, tuple[int, dict[str, str]]]:
        """Name -> (partitions, topic configs)."""
        ...


def create_topics(connection: Connection, topics: Planned) -> list[str]:
    """Create the topics that are missing and return their names.

    A cluster with fewer brokers than `REPLICAS` gets as many replicas as it has brokers, and a
    warning.
    """
    with clients.admin(connection) as admin:
        existing = set(admin.list_topics())
        missing = {name: plan for name, plan in topics.layout().items() if name not in existing}
        if not missing:
            return []
        brokers = len(admin.describe_cluster()["brokers"])
        replicas = min(REPLICAS, brokers)
        if replicas < REPLICAS:
            LOG.warning("%d brokers: %d replicas, not %d", brokers, replicas, REPLICAS)
        plans = {
            name: {"num_partitions": count, "replication_factor": replicas, "configs": configs}
            for name, (count, configs) in missing.items()
        }
        try:
            admin.create_topics(plans, wait_for_metadata=True)
        except errors.TopicAlreadyExistsError:
            LOG.info("another client was faster at creating %s", ", ".join(plans))
        return list(plans)


class Reader:
    """All of a topic from its beginning, without a consumer group."""

    def __init__(self, topic: str, connection: Connection) -> None:
        """Assign every partition of `topic`.

        Raises:
            LookupError: the topic does not exist.

        """
        self._consumer = clients.consumer(
            connection,
            group_id=None,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            max_poll_records=MAX_POLL_RECORDS,
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
        """Yield what was appended since the last call, to the end offsets as they are now.

        Raises:
            TimeoutError: that was not reached before `deadline`, in monotonic seconds.

        """
        for record in clients.read_to_ends(self._consumer, deadline):
            headers = dict(record.headers or ())
            yield Record(record.partition, record.offset, record.key, record.value, headers)

    def tails(self, deadline: float) -> dict[int, Tail]:
        """Return every partition's end, reading only its last record.

        Raises:
            TimeoutError: a last record could not be read before `deadline`.
            ValueError: a last record has no `seq`.

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
            raise ValueError(message)
        return tails
