"""What leaves a log, and what of it stays: seen by readers and on the brokers' disks.

Kafka deletes every log.retention.check.interval.ms, five minutes by default. Only in compacted
topics the cleaner does it, as often as it is configured to.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import TopicPartition

from tests.support.clients.delivery import SECONDS, Client
from tests.support.services.segments import Disks
from tests.support.wait import wait_for

HOUR_MS = 3_600_000
PATIENCE_MS = 5000
CHECK = "log.retention.check.interval.ms"
# A segment ends where the next record is a minute younger, by the records' own timestamps.
SEGMENTS = {"segment.ms": "60000", "file.delete.delay.ms": "0"}
KEPT = {**SEGMENTS, "retention.ms": "-1", "min.cleanable.dirty.ratio": "1.0"}
AGES = (3, 2, 0)


@pytest.fixture(autouse=True)
def _busy_cleaner(client: Client) -> Iterator[None]:
    with client.broker_settings({"log.cleaner.backoff.ms": "100"}):
        yield


def write_aged(client: Client, topic: str, history: list[tuple[int, bytes, bytes | None]]) -> None:
    """Write records by age in milliseconds, key and value; each is acknowledged by every replica
    before the next, so that all replicas have the same segments."""
    now = int(time.time() * 1000)
    producer = client.producer(acks="all")
    for age, key, value in history:
        sent = producer.send(topic, value, key=key, partition=0, timestamp_ms=now - age)
        sent.get(timeout=SECONDS)


def wait_for_files(disks: Disks, topic: str, count: int) -> None:
    expected = dict.fromkeys(disks.topology.group("kafka_brokers"), count)
    wait_for(
        lambda: disks.files(topic) == expected, seconds=SECONDS, what=f"{count} segments everywhere"
    )


def three_segments(client: Client, disks: Disks, policy: str) -> str:
    """A topic that keeps its three records, each in its own segment."""
    topic = client.topic(config={**KEPT, "cleanup.policy": policy})
    write_aged(client, topic, [(age * HOUR_MS, f"{age}".encode(), b"kept") for age in AGES])
    wait_for_files(disks, topic, len(AGES))
    assert len(client.values(topic)) == len(AGES)
    return topic


@pytest.mark.parametrize("policy", ["compact,delete", "delete"])
def test_segments_older_than_the_retention_go(client: Client, disks: Disks, policy: str) -> None:
    interval = int(client.setting(CHECK))
    if policy == "delete" and interval > PATIENCE_MS:
        pytest.skip(f"brokers delete only every {interval} ms: set {CHECK} in kafka_config")
    topic = three_segments(client, disks, policy)
    client.configure(topic, {"retention.ms": str(HOUR_MS)})
    wait_for_files(disks, topic, 1)
    assert [(record.offset, record.key) for record in client.read(topic)] == [(2, b"0")]


def test_deleted_records_go(client: Client, disks: Disks) -> None:
    """From readers at once, from the disks with the segments that have none left."""
    topic = three_segments(client, disks, "compact,delete")
    client.admin.delete_records({TopicPartition(topic, 0): 2})
    assert [(record.offset, record.key) for record in client.read(topic)] == [(2, b"0")]
    wait_for_files(disks, topic, 1)


HISTORY = [
    (b"a", b"1"),
    (b"b", b"1"),
    (b"c", b"1"),
    (b"a", b"2"),
    (b"c", None),
    (b"b", b"2"),
    (b"a", b"3"),
    (b"end", b"the segment being written is never compacted"),
]


def test_compaction_keeps_the_last_value_of_each_key(client: Client, disks: Disks) -> None:
    """At its offset; of a deleted key it keeps the tombstone, for delete.retention.ms."""
    records = [(offset, key, value) for offset, (key, value) in enumerate(HISTORY)]
    newest = {key: offset for offset, key, _ in records}
    latest = [record for record in records if record[0] == newest[record[1]]]
    ages = [(len(HISTORY) - offset) * HOUR_MS for offset, _, _ in records]
    aged = [(age, key, value) for age, (_, key, value) in zip(ages, records, strict=True)]

    compacted = client.topic(
        config={**SEGMENTS, "cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}
    )
    plain = client.topic(config={**SEGMENTS, "cleanup.policy": "delete"})
    for topic in (compacted, plain):
        write_aged(client, topic, aged)

    def found(topic: str) -> list[tuple[int, bytes, bytes | None]]:
        return [(record.offset, record.key, record.value) for record in client.read(topic)]

    wait_for(lambda: found(compacted) == latest, seconds=SECONDS, what="a compacted log")
    # What is left of the closed segments fits into one.
    wait_for_files(disks, compacted, 2)
    assert found(plain) == records
    wait_for_files(disks, plain, len(HISTORY))
