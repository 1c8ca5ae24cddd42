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


def led_partition(
    admin: Any,
    broker: int,
    brokers: Sequence[int],
    replication: int,
) -> int | None:
    """Return the partition whose preferred leader is `broker`, None until the broker leads it.

    Creates what is missing: the topic, which is kept for later restarts, and a partition for each
    of `brokers`, with as many replicas as a new topic would have: the cluster may have grown since.
    Requests an election of the preferred leader.

    Raises:
        KafkaError: a request was refused.

    """
    desired = assignments(brokers, replication)
    if TOPIC not in admin.list_topics():
        spare = str(max(1, min(2, len(desired[0]) - 1)))
        shape = {"assignments": desired, "configs": {"min.insync.replicas": spare}}
        admin.create_topics({TOPIC: shape}, raise_errors=False)
        return None
    partitions = [
        partition for topic in admin.describe_topics([TOPIC]) for partition in topic["partitions"]
    ]
    if _resize(admin, partitions, desired):
        return None
    preferred = {partition["replica_nodes"][0]: partition for partition in partitions}
    missing = [replicas for replicas in desired.values() if replicas[0] not in preferred]
    if missing:
        count = len(partitions) + len(missing)
        admin.create_partitions({TOPIC: {"count": count, "assignments": missing}})
    preferred_partition = preferred.get(broker)
    if preferred_partition is None:
        return None
    if preferred_partition["leader_id"] == broker:
        return int(preferred_partition["partition_index"])
    admin.elect_leaders(
        PREFERRED, {TOPIC: [preferred_partition["partition_index"]]}, raise_errors=False
    )
    return None


def _resize(
    admin: Any,
    partitions: Sequence[Mapping[str, Any]],
    desired: Mapping[int, list[int]],
) -> bool:
    """Give each partition as many replicas as the `desired` have; return whether one had others.

    All partitions of a topic need the same number: Kafka refuses new ones that have another.
    """
    by_leader = {replicas[0]: replicas for replicas in desired.values()}
    moves = {
        library.TopicPartition(TOPIC, index): by_leader.get(
            replicas[0], desired[index % len(desired)]
        )
        for index, replicas in (
            (partition["partition_index"], partition["replica_nodes"]) for partition in partitions
        )
        if len(replicas) != len(desired[0])
    }
    answers = admin.alter_partition_reassignments(moves) if moves else {}
    if refusal := next(filter(None, answers.values()), None):
        raise refusal
    return bool(moves)


def round_trip(connection: Connection, partition: int, seconds: float) -> None:
    """Write a record with acks=all through one broker, and read it back by its offset.

    Raises:
        UnavailableError: it was not acknowledged or not read in time, or another value was read.

    """
    value = uuid.uuid4().bytes
    place = library.TopicPartition(TOPIC, partition)
    with contextlib.ExitStack() as opened:

        def network(**config: object) -> Any:
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
        with _as_unavailable("no client could connect"):
            producer = library.KafkaProducer(
                acks="all", delivery_timeout_ms=int(seconds * 1000), **settings
            )
            opened.callback(producer.close, timeout=REQUEST_MS / 1000)
            consumer = library.KafkaConsumer(enable_auto_commit=False, **settings)
            opened.callback(consumer.close)
        with _as_unavailable("it acknowledged no record"):
            sent = producer.send(TOPIC, value, partition=partition).get(timeout=seconds)
        with _as_unavailable("it returned no record"):
            consumer.assign([place])
            consumer.seek(place, sent.offset)
            received = _read(consumer, sent.offset, seconds)
    if received != value:
        text = f"the record written at offset {sent.offset} was not read back"
        raise UnavailableError(text)


@contextlib.contextmanager
def _as_unavailable(failure: str) -> Iterator[None]:
    try:
        yield
    except library.errors.KafkaError as error:
        text = f"{failure}: {type(error).__name__}: {error}"
        raise UnavailableError(text) from error


def _read(consumer: Any, offset: int, seconds: float) -> bytes | None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for records in consumer.poll(timeout_ms=int(POLL_SECONDS * 1000)).values():
            for record in records:
                if record.offset == offset:
                    return bytes(record.value)
    return None
