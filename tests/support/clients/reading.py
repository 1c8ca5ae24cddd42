"""Readers of whole topics, alone or as a group that commits what it gets."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.connection import Connection
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import (
    TopicPartition,
)

from apps.ledger.history import Read
from tests.support.wait import scaled

SECONDS = 120


@contextmanager
def consumer(connection: Connection, **settings: object) -> Iterator[Any]:
    """A consumer of committed records from the beginning, closed at the end."""
    reader = clients.consumer(
        connection,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        isolation_level="read_committed",
        **settings,
    )
    try:
        yield reader
    finally:
        reader.close(autocommit=False)


def _parts(reader: Any, topics: Sequence[str]) -> list[Any]:
    return [
        TopicPartition(topic, partition)
        for topic in topics
        for partition in sorted(reader.partitions_for_topic(topic) or ())
    ]


def _read(record: Any) -> Read:
    return Read(record.partition, record.offset, record.value.decode())


def records(connection: Connection, name: str) -> list[Any]:
    """All records of a topic, as the client gives them."""
    with consumer(connection) as reader:
        reader.assign(_parts(reader, [name]))
        return list(clients.read_to_ends(reader, time.monotonic() + scaled(SECONDS)))


def topic(connection: Connection, name: str) -> list[Read]:
    """All records of a topic, one partition after the other."""
    reads = map(_read, records(connection, name))
    return sorted(reads, key=lambda read: (read.partition, read.offset))


def as_group(connection: Connection, group: str, *topics: str) -> dict[str, list[Read]]:
    """What a group is given of topics until it has read all of them; it commits that.

    All partitions are its own, so that no rebalance gives it records twice.
    """
    reads: dict[str, list[Read]] = {name: [] for name in topics}
    with consumer(connection, group_id=group) as reader:
        reader.assign(_parts(reader, topics))
        for record in clients.read_to_ends(reader, time.monotonic() + scaled(SECONDS)):
            reads[record.topic].append(_read(record))
        reader.commit()
    return reads


def committed(connection: Connection, group: str) -> dict[tuple[str, int], int]:
    """Topic and partition -> the offset from which a group goes on."""
    with clients.admin(connection) as admin:
        offsets = admin.list_group_offsets(group)[group]
    return {(at.topic, at.partition): int(position.offset) for at, position in offsets.items()}


def ends(connection: Connection, name: str) -> dict[int, int]:
    """Partition -> the end of its log."""
    with consumer(connection) as reader:
        offsets = reader.end_offsets(_parts(reader, [name]))
    return {at.partition: int(end) for at, end in offsets.items()}
