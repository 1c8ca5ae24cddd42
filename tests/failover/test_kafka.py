"""One controller or one ZooKeeper is lost: the cluster stays writable, its metadata too."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.client import Cluster
from testinfra.host import Host

from tests.support.faults.target import answered
from tests.support.lab.topology import Topology
from tests.support.services.healthy import wait_until_healthy
from tests.support.services.unit import lost
from tests.support.services.zookeeper import leader_of, modes
from tests.support.wait import wait_for

SECONDS = 60
"""Within which a new leader serves and every partition takes a record again."""


@contextmanager
def topic_on(cluster: Cluster, topology: Topology, replicas: int) -> Iterator[str]:
    """A topic with a partition for each broker; it goes afterwards."""
    topic = f"millrace-lost-{uuid.uuid4().hex[:8]}"
    shape = {"num_partitions": len(topology.brokers), "replication_factor": replicas}

    def created() -> bool:
        cluster.ask(lambda admin: admin.create_topics({topic: shape}, raise_errors=False))
        return bool(cluster.ask(lambda admin: leads_everywhere(admin, topic)))

    wait_for(lambda: answered(created), seconds=SECONDS, what="a new topic")
    try:
        yield topic
    finally:
        wait_for(
            lambda: answered(lambda: [cluster.ask(lambda admin: admin.delete_topics([topic]))]),
            seconds=SECONDS,
            what="its end",
        )


def leads_everywhere(admin: Any, topic: str) -> bool:
    """Whether a topic is there and somebody leads each of its partitions."""
    descriptions = [
        description for description in admin.describe_topics() if description["name"] == topic
    ]
    return bool(descriptions) and all(
        partition["leader_id"] >= 0 for partition in descriptions[0]["partitions"]
    )


def write(topology: Topology, topic: str) -> None:
    """One record with acks=all to each partition, all of them acknowledged in time."""
    producer = clients.producer(
        topology.connection,
        acks="all",
        request_timeout_ms=5000,
        delivery_timeout_ms=SECONDS * 1000,
    )
    try:
        sent = [
            producer.send(topic, b"written", partition=number)
            for number in range(len(topology.brokers))
        ]
        for future in sent:
            assert future.get(timeout=SECONDS).offset >= 0
    finally:
        producer.close(timeout=5)


def alive(cluster: Cluster) -> set[int]:
    """The brokers that serve; a fenced one is listed, but has lost its session (KIP-631)."""
    return {broker.id for broker in cluster.read().brokers if not broker.fenced}


def writable(topology: Topology, cluster: Cluster, topic: str, brokers: set[int]) -> None:
    """Write to a topic that was there before, and to one that only `brokers` can carry."""
    write(topology, topic)
    wait_for(
        lambda: answered(lambda: alive(cluster)) == brokers,
        seconds=SECONDS,
        what=f"{brokers} alone",
    )
    with topic_on(cluster, topology, min(3, len(brokers))) as new:
        write(topology, new)


@contextmanager
def measured(facts: dict[str, Any], name: str, moment: float) -> Iterator[None]:
    """Keep the seconds from the fault to the end of what the block does."""
    yield
    facts.setdefault("failover", {})[name] = round(time.monotonic() - moment, 1)


def test_active_controller_lost(
    topology: Topology, cluster: Cluster, hosts: dict[str, Host], facts: dict[str, Any]
) -> None:
    if len(topology.voters) < 3:
        pytest.skip(f"{len(topology.voters)} controllers: none of them may be lost")
    before = cluster.read().controller_id
    with topic_on(cluster, topology, -1) as topic:
        with (
            lost(hosts[topology.node(before)], "kafka") as moment,
            measured(facts, "active_controller", moment),
        ):

            def elected() -> bool:
                return answered(lambda: cluster.read().controller_id) not in (None, -1, before)

            wait_for(elected, seconds=SECONDS, what=f"a leader after {before}")
            writable(topology, cluster, topic, set(topology.brokers) - {before})
        wait_until_healthy(topology, cluster)


def test_zookeeper_leader_lost(
    topology: Topology, cluster: Cluster, hosts: dict[str, Host], facts: dict[str, Any]
) -> None:
    members = topology.group("zookeeper")
    if len(members) < 3:
        pytest.skip(f"{len(members)} members of ZooKeeper: none of them may be lost")
    before = leader_of(topology)
    with topic_on(cluster, topology, -1) as topic:
        with (
            lost(hosts[before], "zookeeper") as moment,
            measured(facts, "zookeeper_leader", moment),
        ):
            writable(topology, cluster, topic, set(topology.brokers))
            after = wait_for(
                lambda: leader_of(topology), seconds=SECONDS, what=f"a leader after {before}"
            )
            assert after != before
        wait_for(lambda: set(modes(topology)) == set(members), seconds=60, what="all of ZooKeeper")
        wait_until_healthy(topology, cluster)
