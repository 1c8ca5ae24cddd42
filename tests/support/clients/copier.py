"""A program that copies a topic to another one, and can be killed between the two steps of a copy.

    python -m tests.support.clients.copier ORDER CLIENT_CONFIG SOURCE SINK GROUP VALUE

prints BETWEEN and waits once the first step is done for the record with that value.
CLIENT_CONFIG is a file of Kafka client properties.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.connection import Connection
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import (
    OffsetAndMetadata,
    TopicPartition,
)

BETWEEN = "between"
SECONDS = 30
COMMIT_FIRST, PROCESS_FIRST, TRANSACTION = "commit-first", "process-first", "transaction"

Between = Callable[[Any], None]
"""Called with the record when the first of its two steps is done."""


def copy(
    order: str, connection: Connection, source: str, sink: str, group: str, between: Between
) -> None:
    """Copy partition 0 from the group's committed offset to the end as of now."""
    partition = TopicPartition(source, 0)
    identity = {"transactional_id": group} if order == TRANSACTION else {}
    with (
        closing(clients.producer(connection, acks="all", **identity)) as producer,
        closing(
            clients.consumer(
                connection,
                group_id=group,
                enable_auto_commit=False,
                auto_offset_reset="earliest",
                isolation_level="read_committed",
                consumer_timeout_ms=SECONDS * 1000,
            )
        ) as consumer,
    ):
        if order == TRANSACTION:
            # Ends what a killed one with the same id has left open, before offsets are read.
            producer.init_transactions()
        consumer.assign([partition])
        for record in _records(consumer, partition):
            STEPS[order](producer, consumer, sink, record, between)


def _records(consumer: Any, partition: Any) -> Iterator[Any]:
    end = consumer.end_offsets([partition])[partition]
    if consumer.position(partition) >= end:
        return
    for record in consumer:
        yield record
        if record.offset + 1 >= end:
            return
    message = f"{partition} is not read up to {end} in {SECONDS} s"
    raise TimeoutError(message)


def _process(producer: Any, sink: str, record: Any) -> None:
    producer.send(sink, record.value, partition=0).get(timeout=SECONDS)


def _next(record: Any) -> dict[Any, Any]:
    """What to commit when a record is done: the offset of the one after it."""
    partition = TopicPartition(record.topic, record.partition)
    return {partition: OffsetAndMetadata(record.offset + 1, "", -1)}


def _commit_first(producer: Any, consumer: Any, sink: str, record: Any, between: Between) -> None:
    consumer.commit(_next(record))
    between(record)
    _process(producer, sink, record)


def _process_first(producer: Any, consumer: Any, sink: str, record: Any, between: Between) -> None:
    _process(producer, sink, record)
    between(record)
    consumer.commit(_next(record))


def _in_a_transaction(
    producer: Any, consumer: Any, sink: str, record: Any, between: Between
) -> None:
    producer.begin_transaction()
    _process(producer, sink, record)
    producer.send_offsets_to_transaction(_next(record), consumer.group_metadata())
    between(record)
    producer.commit_transaction()


STEPS = {
    COMMIT_FIRST: _commit_first,
    PROCESS_FIRST: _process_first,
    TRANSACTION: _in_a_transaction,
}


def main(order: str, client_config: str, source: str, sink: str, group: str, value: str) -> None:
    """Copy, and wait at the record with that value until killed."""

    def between(record: Any) -> None:
        if record.value == value.encode():
            sys.stdout.write(f"{BETWEEN}\n")
            sys.stdout.flush()
            threading.Event().wait(SECONDS)
            sys.exit("it was not killed")

    copy(order, Connection.read(Path(client_config)), source, sink, group, between)


if __name__ == "__main__":
    main(*sys.argv[1:])
