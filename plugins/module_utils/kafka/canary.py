"""A record that goes through one broker and back: the proof that it serves clients again."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from . import library
from .client import REQUEST_MS, UnavailableError
from .connection import Connection

TOPIC = "millrace-canary"
POLL_SECONDS = 0.1
PREFERRED = 0


def assignments(brokers: Sequence[int], replication: int) -> dict[int, list[int]]:
    """Return partition -> replicas, one partition for each broker, which is its preferred leader.

    Replicas follow in the order of the ids, as many as `replication`.
    """
    ring = sorted(brokers)
    size = min(replication, len(ring))
    return {
        index: [ring[(index + step) % len(ring)] for step in range(size)]
        for index in range(len(ring))
    }


def prepare(admin: Any, brokers: Sequence[int], replication: int) -> None:  # noqa: ANN401  no types
    """Have a partition for each broker; the topic stays for the next time."""
    wanted = assignments(brokers, replication)
    if TOPIC not in admin.list_topics():
        spare = str(max(1, min(2, len(wanted[0]) - 1)))
        shape = {"assignments": wanted, "configs": {"min.insync.replicas": spare}}
        admin.create_topics({TOPIC: shape}, raise_errors=False)
        return
    led = {broker: partition_of(admin, broker) for broker in brokers}
    missing = [replicas for replicas in wanted.values() if led[replicas[0]] is None]
    if missing:
        count = len({partition for partition in led.values() if partition is not None})
        admin.create_partitions({TOPIC: {"count": count + len(missing), "assignments": missing}})


def partition_of(admin: Any, broker: int) -> int | None:  # noqa: ANN401  as above
    """Return the partition whose preferred leader is `broker`, None if there is none."""
    found = (
        one["partition_index"] for one in _partitions(admin) if one["replica_nodes"][:1] == [broker]
    )
    return next(found, None)


def leads(admin: Any, broker: int, partition: int) -> bool:  # noqa: ANN401  as above
    """Tell whether `broker` leads the partition; if not, ask for its preferred leader."""
    leaders = {one["partition_index"]: one["leader_id"] for one in _partitions(admin)}
    if leaders.get(partition) == broker:
        return True
    admin.elect_leaders(PREFERRED, {TOPIC: [partition]}, raise_errors=False)
    return False


def _partitions(admin: Any) -> list[Mapping[str, Any]]:  # noqa: ANN401  as above
    return [one for topic in admin.describe_topics([TOPIC]) for one in topic["partitions"]]


def round_trip(connection: Connection, partition: int, seconds: float) -> None:
    """Write a record with acks=all through one broker, and read it back by its offset.

    Raises:
        UnavailableError: it was not acknowledged or not read in time, or another value was read.

    """
    value = uuid.uuid4().bytes
    place = library.TopicPartition(TOPIC, partition)
    with contextlib.ExitStack() as opened:

        def network(**config: object) -> Any:  # noqa: ANN401  as above
            # A producer or consumer that is not made leaves its connection and thread open.
            client = library.KafkaNetClient(**config)
            opened.callback(client.close)
            return client

        settings = {
            **connection.settings(),
            "kafka_client": network,
            "request_timeout_ms": REQUEST_MS,
            "bootstrap_timeout_ms": int(seconds * 1000),
        }
        with _as_unavailable("it takes no client"):
            producer = library.KafkaProducer(
                acks="all", delivery_timeout_ms=int(seconds * 1000), **settings
            )
            opened.callback(producer.close, timeout=REQUEST_MS / 1000)
            consumer = library.KafkaConsumer(enable_auto_commit=False, **settings)
            opened.callback(consumer.close)
        with _as_unavailable("it acknowledged no record"):
            sent = producer.send(TOPIC, value, partition=partition).get(timeout=seconds)
        with _as_unavailable("it gave no record"):
            consumer.assign([place])
            consumer.seek(place, sent.offset)
            found = _read(consumer, sent.offset, seconds)
    if found != value:
        text = f"the record written at offset {sent.offset} was not read back"
        raise UnavailableError(text)


@contextlib.contextmanager
def _as_unavailable(what: str) -> Iterator[None]:
    try:
        yield
    except library.errors.KafkaError as error:
        text = f"{what}: {type(error).__name__}: {error}"
        raise UnavailableError(text) from error


def _read(consumer: Any, offset: int, seconds: float) -> bytes | None:  # noqa: ANN401  as above
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for records in consumer.poll(timeout_ms=int(POLL_SECONDS * 1000)).values():
            for record in records:
                if record.offset == offset:
                    return bytes(record.value)
    return None
