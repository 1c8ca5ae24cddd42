"""Kafka from outside: every broker serves, the quorum is complete, the configuration in force."""

from __future__ import annotations

import contextlib
import struct
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.formats.values import (
    is_true,
    property_text,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import (
    ConfigResource,
    ConfigResourceType,
    TopicPartition,
    errors,
)
from testinfra.host import Host

from tests.support.lab.topology import Topology
from tests.support.wait import wait_for

# The broker reports these after changing them itself; a password it does not report at all.
REWRITTEN = {"listener.security.protocol.map", "advertised.listeners", "listeners"}

# 27 bytes in the format of snappy-java, whose one block announces 2 GB and has a byte.
GIGABYTES = b"\x82SNAPPY\0" + struct.pack(">iii", 1, 1, 7) + b"\xff\xff\xff\xff\x07\0x"


@pytest.fixture(scope="module")
def probe(topology: Topology, admin: Any) -> Iterator[str]:
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


def test_a_batch_that_announces_gigabytes_is_refused_and_ends_no_broker(
    topology: Topology, hosts: dict[str, Host], probe: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anyone who may write to a topic can send one."""
    pid = "systemctl show --property=MainPID --value kafka"
    before = {name: hosts[name].check_output(pid) for name in topology.group("kafka_brokers")}
    monkeypatch.setattr("kafka.record.default_records.snappy_encode", lambda _: GIGABYTES)
    options = {"acks": "all", "compression_type": "snappy", "retries": 0}
    with contextlib.closing(clients.producer(topology.connection, **options)) as producer:
        for number in range(len(topology.brokers)):
            with pytest.raises(errors.KafkaError):
                producer.send(probe, bytes(10_000), partition=number).get(timeout=30)
    assert {name: hosts[name].check_output(pid) for name in before} == before


def test_every_broker_produces_and_consumes(topology: Topology, probe: str) -> None:
    """A record written with acks=all to the partition that a broker leads is read back from it."""
    nodes = sorted(topology.brokers)
    producer = clients.producer(topology.connection, acks="all")
    consumer = clients.consumer(topology.connection, auto_offset_reset="earliest")
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


def test_replicas_are_in_sync_and_led_as_asked(topology: Topology, admin: Any, probe: str) -> None:
    nodes = sorted(topology.brokers)

    def partitions() -> list[dict[str, Any]] | None:
        described = admin.describe_topics([probe])[0]["partitions"]
        in_sync = all(len(p["isr_nodes"]) == len(p["replica_nodes"]) for p in described)
        return described if in_sync and len(described) == len(nodes) else None

    described = wait_for(partitions, seconds=60, what=f"every replica of {probe} in sync")
    assert {p["partition_index"]: p["leader_id"] for p in described} == dict(enumerate(nodes))
    assert {len(p["isr_nodes"]) for p in described} == {min(3, len(nodes))}


def test_quorum_has_a_leader_and_no_lag(
    topology: Topology, admin: Any, facts: dict[str, Any]
) -> None:
    if not topology.voters:
        pytest.skip("ZooKeeper elects the controller here")

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
    leader = topology.node(quorum["leader_id"])
    facts["topology"]["hosts"][leader]["what"].append("active controller")
    facts["kafka"] |= {
        "leader": quorum["leader_id"],
        "leader_epoch": quorum["leader_epoch"],
        "voters": sorted(quorum["voters"]),
    }


def test_configuration_is_in_force(topology: Topology, admin: Any) -> None:
    """Each broker describes every property as the inventory's layers make it."""
    for node in topology.cluster.brokers:
        resource = ConfigResource(ConfigResourceType.BROKER, str(node.id))
        described = admin.describe_configs([resource], config_filter="all")
        in_force = described["broker"][str(node.id)]
        missing = node.config.keys() - in_force.keys()
        assert not missing, f"{node.name} does not describe {sorted(missing)}"
        for key, configured in node.config.items():
            if key not in REWRITTEN and not in_force[key]["is_sensitive"]:
                value = str(in_force[key]["value"])
                assert value.lower() == str(property_text(configured)).lower(), (key, node.name)


@pytest.fixture(scope="module")
def spread(topology: Topology, admin: Any) -> Iterator[str]:
    """A topic that Kafka itself placed: two partitions a broker, one replica for each rack."""
    topic = f"millrace-spread-{uuid.uuid4().hex[:8]}"
    replicas = min(3, len(topology.brokers))
    count = 2 * len(topology.brokers)
    admin.create_topics(
        {topic: {"num_partitions": count, "replication_factor": replicas}}, wait_for_metadata=True
    )
    yield topic
    admin.delete_topics([topic])


@pytest.fixture(scope="module")
def racks(topology: Topology) -> dict[int, str]:
    """Node id of each broker to its rack."""
    racks = {
        int(broker.id or 0): broker.settings["kafka_rack"] for broker in topology.cluster.brokers
    }
    if not any(racks.values()):
        pytest.skip("no racks here")
    return racks


def test_replicas_are_placed_over_the_racks(admin: Any, racks: dict[int, str], spread: str) -> None:
    for partition in admin.describe_topics([spread])[0]["partitions"]:
        nodes = partition["replica_nodes"]
        assert len({racks[node] for node in nodes}) == min(len(nodes), len(set(racks.values())))


def test_consumer_reads_from_the_replica_in_its_rack(
    topology: Topology, admin: Any, racks: dict[int, str], probe: str
) -> None:
    """In the leader's rack from the leader, in another from the follower there (KIP-392)."""
    leader, follower = admin.describe_topics([probe])[0]["partitions"][0]["replica_nodes"][:2]
    partition = TopicPartition(probe, 0)
    values = [bytes([number]) * 10_000 for number in range(20)]
    producer = clients.producer(topology.connection, acks="all")
    # Each waits for the one before, so each is a batch, and so is each fetch below.
    offsets = [producer.send(probe, value, partition=0).get(timeout=30).offset for value in values]
    producer.close()
    for rack, expected in ((racks[leader], leader), (racks[follower], follower)):
        consumer = clients.consumer(
            topology.connection, client_rack=rack, max_partition_fetch_bytes=1
        )
        try:
            consumer.assign([partition])
            consumer.seek(partition, offsets[0])
            assert read(consumer, partition, len(values)) == values
            received = {
                name.rpartition("-")[2]: measured["incoming-byte-rate"]
                for name, measured in consumer.metrics().items()
                if name.startswith("consumer-node-metrics.node-")
            }
        finally:
            consumer.close()
        share = received[str(expected)] / sum(received.values())
        assert share > 0.9, f"rack {rack} was to read from {expected}: {received}"


def read(consumer: Any, partition: Any, count: int) -> list[bytes]:
    """The next `count` values of a partition."""
    values: list[bytes] = []

    def all_read() -> bool:
        values.extend(record.value for record in consumer.poll(timeout_ms=500).get(partition, []))
        return len(values) >= count

    wait_for(all_read, seconds=30, what=f"{count} records of {partition}")
    return values


def test_every_data_directory_is_used(topology: Topology, admin: Any, spread: str) -> None:
    expected = {node.id: set(node.data_dirs) for node in topology.cluster.brokers}

    def used() -> bool:
        actual = {
            broker["broker"]: {
                directory["log_dir"]
                for directory in broker["log_dirs"]
                if any(topic["name"] == spread for topic in directory["topics"])
            }
            for broker in admin.describe_log_dirs()
        }
        return bool(actual == expected)

    wait_for(used, seconds=30, what=f"replicas of {spread} in every one of {expected}")


def test_topics_are_not_made_by_typing_errors(topology: Topology, admin: Any) -> None:
    if is_true(topology.cluster.brokers[0].config["auto.create.topics.enable"]):
        pytest.skip("their first use makes them here")
    topic = f"no-such-topic-{uuid.uuid4().hex[:8]}"
    producer = clients.producer(topology.connection, max_block_ms=1000)
    try:
        with pytest.raises(errors.KafkaTimeoutError):
            producer.send(topic, b"x").get(timeout=5)
    finally:
        producer.close(timeout=1)
    assert topic not in admin.list_topics()
