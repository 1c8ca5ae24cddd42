"""Producers, consumers and admin clients of a cluster, and transactions.

`settings` are kafka-python's, which are Kafka's with underscores. Beside them each client has three
things of Java's clients: it tries a restarted broker again within a second, gives a connection up
that cannot be set up in time (KIP-601), and goes back to its bootstrap addresses when it reaches no
broker that it knows of (KIP-899).
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Iterator, Mapping
from typing import Any

from . import library
from .connection import Connection

RECONNECT_MS = 1_000  # kafka-python's own default is 30 s
ANSWER_SECONDS = 60.0
"""How long a step of a transaction may take; the broker's own limit is the same by default."""
CLOSE_SECONDS = 5.0
SETUP_SECONDS = 20.0
"""How long a connection may take until it can be used, its TLS handshake included."""
POLL_MS = 200
LOG = logging.getLogger(__name__)


def producer(connection: Connection, **settings: object) -> Any:
    """Return a KafkaProducer.

    Raises:
        ConnectionDescriptionError: the connection's security is not one that kafka-python has.
        KafkaError: no broker answers.

    """
    return _client(library.KafkaProducer, connection, settings)


def consumer(connection: Connection, **settings: object) -> Any:
    """Return a KafkaConsumer; raises as `producer`."""
    return _client(library.KafkaConsumer, connection, settings)


def admin(connection: Connection, **settings: object) -> Any:
    """Return a KafkaAdminClient, which is a context manager too; raises as `producer`."""
    return _client(library.KafkaAdminClient, connection, settings)


def _client(kind: Any, connection: Connection, settings: Mapping[str, object]) -> Any:
    return kind(
        **{
            "kafka_client": rebootstrapping,
            "reconnect_backoff_max_ms": RECONNECT_MS,
            **connection.settings(),
            **settings,
        }
    )


def rebootstrapping(**config: object) -> Any:
    """Return a network client that goes back to its bootstrap addresses when it reaches no broker.

    kafka-python asks only those of the last metadata: when all of them stop before it learns of
    others, it asks them for ever.
    """
    client = library.KafkaNetClient(**config)
    manager = client._manager
    least_loaded = manager.least_loaded_node

    def least_loaded_node() -> int | str | None:
        first = [broker.node_id for broker in manager.cluster.bootstrap_brokers()]
        ready = [node_id for node_id in first if manager.connection_delay(node_id) <= 0]
        node: int | str | None = least_loaded()
        return random.choice(ready) if node is None and ready else node  # noqa: S311 - no secret

    manager.least_loaded_node = least_loaded_node
    _limit_setup(manager)
    return client


def _limit_setup(manager: Any) -> None:
    """Close connections that are not set up in time.

    kafka-python does not limit a TLS handshake: if its answer never comes, requests to that broker
    wait for ever.
    """
    connect = manager.get_connection

    def get_connection(node_id: Any, *args: Any, **options: Any) -> Any:
        former = manager._conns.get(node_id)
        connection = connect(node_id, *args, **options)
        if connection is not former:
            manager._net.call_later(SETUP_SECONDS, lambda: give_up(connection))
        return connection

    def give_up(connection: Any) -> None:
        if connection.initializing:
            text = f"not set up within {SETUP_SECONDS:.0f} s"
            LOG.warning("%s: %s", connection, text)
            connection.close(library.errors.KafkaConnectionError(text))

    manager.get_connection = get_connection


def pinned(**config: object) -> Any:
    """Return a network client that asks its first bootstrap address alone, and no other broker."""
    client = library.KafkaNetClient(**config)
    manager = client._manager
    manager.least_loaded_node = lambda: manager.cluster.bootstrap_brokers()[0].node_id
    _limit_setup(manager)
    return client


def connections(client: Any) -> str:
    """Return the connections of a consumer and how many answers each waits for, for a log."""
    opened = client._client._manager._conns.values()
    return ", ".join(
        f"{connection} ({len(connection.in_flight_requests)} requests)" for connection in opened
    )


def read_to_ends(consumer: Any, deadline: float) -> Iterator[Any]:
    """Yield the records between a consumer's positions and the ends of its partitions as of now.

    Raises:
        TimeoutError: they were not all read before `deadline`, in monotonic seconds.

    """
    ends = consumer.end_offsets(list(consumer.assignment()))
    while True:
        for records in consumer.poll(timeout_ms=POLL_MS).values():
            yield from records
        behind = [
            str(partition)
            for partition, end in ends.items()
            if (consumer.position(partition) or 0) < end
        ]
        if not behind:
            return
        if time.monotonic() >= deadline:
            text = f"not read to the end in time: {', '.join(behind)}"
            raise TimeoutError(text)


class TransactionalProducer:
    """A transactional producer that waits no longer than a limit.

    The client's own methods wait for ever when its thread fails in the wrong place, so the waits
    are done here. It speaks the protocol before KIP-890, whatever transaction.version is.
    """

    def __init__(self, producer: Any) -> None:
        """Initialise a new producer; it fences those with its id and ends their transactions.

        Raises:
            KafkaError: the coordinator does not do it in time.

        """
        self._producer = producer
        try:
            producer.init_transactions()
        except library.errors.KafkaError:
            self.close()
            raise

    def begin(self) -> None:
        """Begin a transaction."""
        self._producer.begin_transaction()

    def send(self, topic: str, value: bytes, partition: int) -> Any:
        """Send a record in it, and return the future.

        Wait for each before the commit: this client commits also what has lost a record to its
        delivery timeout (`Sender._dispatch_error` leaves the transaction as it was), and may report
        a commit as done that an epoch bump has aborted (`TransactionManager.next_request_handler`).
        """
        return self._producer.send(topic, value, partition=partition)

    def add_offsets(self, offsets: Mapping[Any, Any], group: Any) -> None:
        """Commit a group's offsets with it."""
        manager = self._producer._transaction_manager
        self._wait(manager.send_offsets_to_transaction(offsets, group))

    def commit(self) -> None:
        """Commit it; after an error it is unknown whether it was committed."""
        self._wait(self._producer._transaction_manager.begin_commit())

    def abort(self) -> None:
        """Abort it."""
        self._wait(self._producer._transaction_manager.begin_abort())

    def close(self) -> None:
        """Close the producer; an open transaction stays open."""
        close_now(self._producer)

    def _wait(self, result: Any) -> None:
        self._producer._sender.wakeup()
        if not result.wait(timeout_ms=ANSWER_SECONDS * 1000):
            text = f"the coordinator gave no answer for {ANSWER_SECONDS:.0f} s"
            raise library.errors.KafkaTimeoutError(text)


def close_now(producer: Any) -> None:
    """Close a producer without waiting for answers, some of which may never come."""
    sender = producer._sender
    sender.force_close()
    sender.join(CLOSE_SECONDS)
    try:
        producer.close(timeout=0)
    except library.errors.KafkaError as error:
        LOG.warning("a producer did not close: %s", error)
