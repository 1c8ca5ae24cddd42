"""Readers of whole topics, alone or as the only member of a group that commits what it was given."""

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

from ledger.history import Read
from tests.support.wait import scaled, wait_for

SECONDS = 120


@contextmanager
def _consumer(connection: Connection, **settings: object) -> Iterator[Any]:
    consumer = clients.consumer(
        connection,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        isolation_level="read_committed",
        **settings,
    )
    try:
        yield consumer
    finally:
        consumer.close(autocommit=False)


def _parts(consumer: Any, topics: Sequence[str]) -> list[Any]:
    return [
        TopicPartition(topic, part)
        for topic in topics
        for part in sorted(consumer.partitions_for_topic(topic) or ())
    ]


def _read(record: Any) -> Read:
    return Read(record.partition, record.offset, record.value.decode())


def topic(connection: Connection, name: str) -> list[Read]:
    """All records of a topic, one partition after the other."""
    with _consumer(connection) as consumer:
        consumer.assign(_parts(consumer, [name]))
        records = clients.read_to_ends(consumer, time.monotonic() + scaled(SECONDS))
        found = [_read(record) for record in records]
    return sorted(found, key=lambda one: (one.partition, one.offset))


def as_group(connection: Connection, group: str, *topics: str) -> dict[str, list[Read]]:
    """What a group is given of topics until it has read all of them; it commits that."""
    found: dict[str, list[Read]] = {name: [] for name in topics}
    with _consumer(connection, group_id=group) as consumer:
        wanted = {*_parts(consumer, topics)}
        consumer.subscribe(list(topics))

        def joined() -> bool:
            for records in consumer.poll(timeout_ms=500).values():
                for record in records:
                    found[record.topic].append(_read(record))
            return {*consumer.assignment()} == wanted

        wait_for(joined, seconds=SECONDS, what=f"partitions for {group}")
        for record in clients.read_to_ends(consumer, time.monotonic() + scaled(SECONDS)):
            found[record.topic].append(_read(record))
        consumer.commit()
    return found


def committed(connection: Connection, group: str) -> dict[tuple[str, int], int]:
    """Topic and partition -> the offset from which a group goes on."""
    with clients.admin(connection) as admin:
        found = admin.list_group_offsets(group)[group]
    return {(at.topic, at.partition): int(one.offset) for at, one in found.items()}


def ends(connection: Connection, name: str) -> dict[int, int]:
    """Partition -> the end of its log."""
    with _consumer(connection) as consumer:
        found = consumer.end_offsets(_parts(consumer, [name]))
    return {at.partition: int(end) for at, end in found.items()}
