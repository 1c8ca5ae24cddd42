"""A record that goes through one broker and back: the proof that it serves clients again."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.kafka_admin import (
    REQUEST_MS,
    NotYetError,
)

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
    described = admin.describe_topics([TOPIC])
    found = (
        partition["partition_index"]
        for topic in described
        for partition in topic["partitions"]
        if partition["replica_nodes"][:1] == [broker]
    )
    return next(found, None)


def leads(admin: Any, broker: int, partition: int) -> bool:  # noqa: ANN401  as above
    """Tell whether `broker` leads the partition; if not, ask for its preferred leader."""
    described = admin.describe_topics([TOPIC])
    leaders = {
        found["partition_index"]: found["leader_id"]
        for topic in described
        for found in topic["partitions"]
    }
    if leaders.get(partition) == broker:
        return True
    admin.elect_leaders(PREFERRED, {TOPIC: [partition]}, raise_errors=False)
    return False


def round_trip(address: str, partition: int, security: Mapping[str, Any], seconds: float) -> None:
    """Write a record with acks=all and read it back by its offset.

    Raises:
        NotYetError: it was not acknowledged or not read in time, or another value was read.

    """
    from kafka import KafkaConsumer, KafkaProducer, TopicPartition  # type: ignore[import-untyped]  # no types
    from kafka.errors import KafkaError  # type: ignore[import-untyped]  # no types

    value = uuid.uuid4().bytes
    settings = {"bootstrap_servers": [address], "request_timeout_ms": REQUEST_MS, **security}
    try:
        producer = KafkaProducer(acks="all", delivery_timeout_ms=int(seconds * 1000), **settings)
        consumer = KafkaConsumer(enable_auto_commit=False, **settings)
    except KafkaError as error:
        text = f"it takes no client: {type(error).__name__}: {error}"
        raise NotYetError(text) from error
    try:
        offset = producer.send(TOPIC, value, partition=partition).get(timeout=seconds).offset
    except KafkaError as error:
        text = f"it acknowledged no record: {type(error).__name__}: {error}"
        raise NotYetError(text) from error
    finally:
        producer.close(timeout=REQUEST_MS / 1000)
    try:
        place = TopicPartition(TOPIC, partition)
        consumer.assign([place])
        consumer.seek(place, offset)
        if _read(consumer, offset, seconds) != value:
            text = f"the record written at offset {offset} was not read back"
            raise NotYetError(text)
    except KafkaError as error:
        text = f"it gave no record: {type(error).__name__}: {error}"
        raise NotYetError(text) from error
    finally:
        consumer.close()


def _read(consumer: Any, offset: int, seconds: float) -> bytes | None:  # noqa: ANN401  as above
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for records in consumer.poll(timeout_ms=int(POLL_SECONDS * 1000)).values():
            for record in records:
                if record.offset == offset:
                    return bytes(record.value)
    return None
