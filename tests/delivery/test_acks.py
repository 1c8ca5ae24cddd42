"""What a producer is answered, and what it may rely on, with each `acks`."""

from __future__ import annotations

import os
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import (
    TopicPartition,
    errors,
)

from tests.support.clients.delivery import SECONDS, Client
from tests.support.wait import wait_for

SMALL, BIG = b"small", os.urandom(5000)
LIMIT = {"max.message.bytes": "1000"}


@pytest.mark.parametrize("acks", [1, "all"])
def test_an_acknowledgement_has_the_offset_or_the_refusal(client: Client, acks: int | str) -> None:
    topic = client.topic(config=LIMIT)
    producer = client.producer(acks=acks)
    for offset in range(3):
        assert producer.send(topic, SMALL, partition=0).get(timeout=SECONDS).offset == offset
    with pytest.raises(errors.MessageSizeTooLargeError):
        producer.send(topic, BIG, partition=0).get(timeout=SECONDS)
    assert client.write(topic, [b"last"]) == [3]
    assert client.values(topic) == [SMALL] * 3 + [b"last"]


def test_acks_0_has_neither(client: Client) -> None:
    """A record that the broker refuses is lost, and its producer gets no error."""
    topic = client.topic(config=LIMIT)
    client.write(topic, [SMALL] * 3)
    careless = client.producer(acks=0)
    sent = careless.send(topic, b"fourth", partition=0).get(timeout=SECONDS)
    # -1 as documented; kafka-python 3.0 answers 0, as if nothing had been written before.
    assert sent.offset in (-1, 0)
    wait_for(lambda: len(client.values(topic)) == 4, seconds=SECONDS, what="the fourth record")
    assert careless.send(topic, BIG, partition=0).get(timeout=SECONDS).offset in (-1, 0)
    careless.flush(timeout=SECONDS)
    client.write(topic, [b"last"])
    assert client.values(topic) == [SMALL] * 3 + [b"fourth", b"last"]


def refused(producer: Any, topic: str) -> bool:
    try:
        producer.send(topic, b"careful", partition=0).get(timeout=SECONDS)
    except errors.NotEnoughReplicasError:
        return True
    return False


def test_acks_all_wants_enough_replicas(client: Client) -> None:
    """One of three replicas is in sync: acks=1 writes what nobody may read, acks=all refuses.

    The topic grows from one replica to three while their copying is throttled. No broker has to
    be stopped for that. A min.insync.replicas above the number of replicas would not do: since
    Kafka 3.7 the lower of the two numbers counts.
    """
    nodes = sorted(client.topology.brokers)
    config = {"min.insync.replicas": "2", "leader.replication.throttled.replicas": "*"}
    topic = client.topic(replicas=nodes[:1], config=config)
    # More than the one fetch that a throttle lets pass each time.
    client.write(topic, [os.urandom(900_000)] * 12)
    careful = client.producer(acks="all", enable_idempotence=False, retries=0)
    with client.broker_settings({"leader.replication.throttled.rate": "1"}):
        moved = client.admin.alter_partition_reassignments({TopicPartition(topic, 0): nodes})
        assert moved == {TopicPartition(topic, 0): None}
        wait_for(lambda: refused(careful, topic), seconds=SECONDS, what="a refusal")
        sent = client.producer(acks=1).send(topic, b"careless", partition=0).get(timeout=SECONDS)
        assert client.read(topic, start=sent.offset) == []
        assert refused(careful, topic)
        (partition,) = client.admin.describe_topics([topic])[0]["partitions"]
        assert [len(partition["isr_nodes"]), len(partition["replica_nodes"])] == [1, 3]
    wait_for(lambda: not refused(careful, topic), seconds=SECONDS, what="two replicas in sync")
    values = [record.value for record in client.read(topic, start=sent.offset)]
    assert values == [b"careless", b"careful"]
