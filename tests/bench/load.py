"""A producer's load on the cluster under measurement, and what the producer notices."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.host.network import (
    connect,
    listens,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.connection import Connection
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import errors

from tests.support.lab.topology import Topology, describe
from tests.support.repeat import repeated
from tests.support.wait import wait_for

DEADLINE = 180.0
TOPIC = {"num_partitions": 12, "replication_factor": 3}
RECORDS_PER_SECOND = 200


def create_topic(connection: Connection, name: str) -> None:
    """Create a topic with three replicas as soon as the cluster can."""
    with clients.admin(connection, request_timeout_ms=2000) as admin:
        admin.create_topics({name: TOPIC}, wait_for_metadata=True)


def first_record(topology: Topology, started: float) -> float:
    """Seconds from `started` until a record with acks=all is in a topic with three replicas."""
    address = next(iter(topology.brokers.values()))
    while time.monotonic() < started + DEADLINE:
        try:
            # A bare connection first: a client that tries in vain would take the brokers' cores.
            connect(address)
            # Anew, since a deployment makes the passwords of a closed cluster.
            connection = describe(topology.inventory).connection
            create_topic(connection, "first")
            producer = clients.producer(connection, acks="all", retries=20)
            producer.send("first", b"first").get(timeout=30)
            seconds = time.monotonic() - started
            producer.close()
        except (errors.KafkaError, OSError):
            threading.Event().wait(0.1)
        else:
            return seconds
    message = f"no record within {DEADLINE:.0f} s"
    raise TimeoutError(message)


@dataclass
class Load:
    """What came back to the producer."""

    acknowledged: list[tuple[int, float]] = field(default_factory=list)
    """Partition and time of each acknowledgement."""
    errors: int = 0

    @property
    def gap(self) -> float:
        """The longest time in which a partition acknowledged nothing, in seconds."""
        longest, last = 0.0, dict[int, float]()
        for partition, at in self.acknowledged:
            longest = max(longest, at - last.get(partition, at))
            last[partition] = at
        return longest

    def fail(self, _: BaseException) -> None:
        self.errors += 1

    def acknowledge(self, record: Any) -> None:
        self.acknowledged.append((record.partition, time.monotonic()))


@contextmanager
def load(topology: Topology) -> Iterator[Load]:
    """Write an idempotent producer's records while the block runs."""
    load, numbers = Load(), count()
    # The first record needs only two of the three brokers.
    for address in topology.connection.bootstrap:
        wait_for(partial(listens, address), seconds=DEADLINE, what=f"{address} listens")
    create_topic(topology.connection, "load")
    producer = clients.producer(topology.connection, acks="all", enable_idempotence=True)

    def write() -> None:
        number = next(numbers)
        partition = number % int(TOPIC["num_partitions"])
        sent = producer.send("load", str(number).encode(), partition=partition)
        sent.add_callback(load.acknowledge).add_errback(load.fail)

    try:
        with repeated(write, 1 / RECORDS_PER_SECOND):
            yield load
    finally:
        producer.flush(timeout=60)
        producer.close()
