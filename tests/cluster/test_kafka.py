"""Kafka from outside: every broker serves, the quorum is whole, the configuration is in force."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition  # type: ignore[import-untyped] # no types
from kafka.admin import ConfigResource, ConfigResourceType  # type: ignore[import-untyped] # no types

from tests.support.topology import Topology
from tests.support.wait import wait_for

# The broker reports these after changing them itself, or keeps them from readers.
REWRITTEN = {"listener.security.protocol.map", "advertised.listeners", "listeners"}


@pytest.fixture(scope="module")
def probe(topology: Topology, admin: KafkaAdminClient) -> Iterator[str]:
    """A topic with a partition led by each broker, as many replicas as the cluster gives."""
    topic = f"millrace-probe-{uuid.uuid4().hex[:8]}"
    nodes = sorted(topology.brokers)
    replicas = min(3, len(nodes))
    assignments = {
        number: [nodes[(number + step) % len(nodes)] for step in range(replicas)]
        for number in range(len(nodes))
    }
    admin.create_topics({topic: {"assignments": assignments}}, wait_for_metadata=True)
    yield topic
    admin.delete_topics([topic])


def test_every_broker_produces_and_consumes(topology: Topology, probe: str) -> None:
    """A record written with acks=all to the partition that a broker leads is read back from it."""
    nodes = sorted(topology.brokers)
    producer = KafkaProducer(bootstrap_servers=list(topology.brokers.values()), acks="all")
    consumer = KafkaConsumer(
        bootstrap_servers=list(topology.brokers.values()), auto_offset_reset="earliest"
    )
    try:
        for number, node in enumerate(nodes):
            value = f"led by {node}".encode()
            sent = producer.send(probe, value, partition=number).get(timeout=30)
            consumer.assign([TopicPartition(probe, number)])
            consumer.seek(TopicPartition(probe, number), sent.offset)
            records = wait_for(
                lambda: consumer.poll(timeout_ms=500), seconds=30, what=f"a record from node {node}"
            )
            assert [record.value for batch in records.values() for record in batch] == [value]
    finally:
        producer.close()
        consumer.close()


def test_replicas_are_in_sync_and_led_as_asked(
    topology: Topology, admin: KafkaAdminClient, probe: str
) -> None:
    nodes = sorted(topology.brokers)

    def partitions() -> list[dict[str, Any]] | None:
        found = admin.describe_topics([probe])[0]["partitions"]
        whole = all(len(p["isr_nodes"]) == len(p["replica_nodes"]) for p in found)
        return found if whole and len(found) == len(nodes) else None

    found = wait_for(partitions, seconds=60, what=f"every replica of {probe} in sync")
    assert {p["partition_index"]: p["leader_id"] for p in found} == dict(enumerate(nodes))
    assert {len(p["isr_nodes"]) for p in found} == {min(3, len(nodes))}


def test_quorum_has_a_leader_and_no_lag(
    topology: Topology, admin: KafkaAdminClient, facts: dict[str, Any]
) -> None:
    def caught_up() -> dict[str, Any] | None:
        quorum = admin.describe_metadata_quorum()
        partition = quorum["topics"][0]["partitions"][0]
        voters = {v["replica_id"]: v["log_end_offset"] for v in partition["current_voters"]}
        end = voters.get(partition["leader_id"], -1)
        behind = {node: end - offset for node, offset in voters.items() if end - offset > 1}
        return None if behind or end < 0 else {**partition, "voters": voters}

    quorum = wait_for(caught_up, seconds=30, what="a quorum without lag")
    assert set(quorum["voters"]) == topology.voters
    assert quorum["leader_id"] in topology.voters
    leader = next(
        host
        for host in topology.group("kafka_controllers")
        if int(topology.kafka(host)["node_id"]) == quorum["leader_id"]
    )
    facts["topology"]["hosts"][leader]["what"].append("active controller")
    facts["kafka"] = {
        "leader": quorum["leader_id"],
        "leader_epoch": quorum["leader_epoch"],
        "brokers": topology.brokers,
        "voters": sorted(quorum["voters"]),
    }


def test_configuration_is_in_force(topology: Topology, admin: KafkaAdminClient) -> None:
    """Each broker describes every property as the inventory's layers make it."""
    for host in topology.group("kafka_brokers"):
        description = topology.kafka(host)
        resource = ConfigResource(ConfigResourceType.BROKER, str(description["node_id"]))
        described = admin.describe_configs([resource], config_filter="all")
        inforce = next(iter(next(iter(described.values())).values()))
        compared = 0
        for key, wanted in description["config"].items():
            if key in REWRITTEN or key not in inforce:
                continue
            value = inforce[key]["value"] if isinstance(inforce[key], dict) else inforce[key]
            assert str(value).lower() == str(wanted).lower(), f"{key} on {host}"
            compared += 1
        assert compared >= 10, f"only {compared} properties of {host} could be compared"


def test_topics_are_not_made_by_typing_errors(topology: Topology, admin: KafkaAdminClient) -> None:
    topic = f"no-such-topic-{uuid.uuid4().hex[:8]}"
    producer = KafkaProducer(bootstrap_servers=list(topology.brokers.values()), max_block_ms=1000)
    try:
        with pytest.raises(Exception, match=r"(?i)metadata|timed? ?out|unknown"):
            producer.send(topic, b"x").get(timeout=5)
    finally:
        producer.close(timeout=1)
    assert topic not in admin.list_topics()
