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
    found = clients.consumer(
        connection,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        isolation_level="read_committed",
        **settings,
    )
    try:
        yield found
    finally:
        found.close(autocommit=False)


def _parts(reader: Any, topics: Sequence[str]) -> list[Any]:
    return [
        TopicPartition(topic, part)
        for topic in topics
        for part in sorted(reader.partitions_for_topic(topic) or ())
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
    found = map(_read, records(connection, name))
    return sorted(found, key=lambda one: (one.partition, one.offset))


def as_group(connection: Connection, group: str, *topics: str) -> dict[str, list[Read]]:
    """What a group is given of topics until it has read all of them; it commits that.

    All partitions are its own, so that no rebalance gives it records twice.
    """
    found: dict[str, list[Read]] = {name: [] for name in topics}
    with consumer(connection, group_id=group) as reader:
        reader.assign(_parts(reader, topics))
        for record in clients.read_to_ends(reader, time.monotonic() + scaled(SECONDS)):
            found[record.topic].append(_read(record))
        reader.commit()
    return found


def committed(connection: Connection, group: str) -> dict[tuple[str, int], int]:
    """Topic and partition -> the offset from which a group goes on."""
    with clients.admin(connection) as admin:
        found = admin.list_group_offsets(group)[group]
    return {(at.topic, at.partition): int(one.offset) for at, one in found.items()}


def ends(connection: Connection, name: str) -> dict[int, int]:
    """Partition -> the end of its log."""
    with consumer(connection) as reader:
        found = reader.end_offsets(_parts(reader, [name]))
    return {at.partition: int(end) for at, end in found.items()}
