"""One controller or one ZooKeeper is lost: the cluster stays writable, its metadata too."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import pytest
from kafka import KafkaAdminClient, KafkaProducer  # type: ignore[import-untyped] # no types
from kafka.errors import KafkaError  # type: ignore[import-untyped] # no types
from testinfra.host import Host

from tests.support.topology import Topology
from tests.support.wait import wait_for
from tests.support.zookeeper import leader_of, modes

T = TypeVar("T")
SECONDS = 60
"""Within which a new leader serves and every partition takes a record again."""


@contextmanager
def lost(host: Host, unit: str) -> Iterator[float]:
    """Kill a service and keep it down; yields the moment, and starts it again at the end."""
    host.check_output("systemctl kill --signal=KILL %s && systemctl stop %s", unit, unit)
    moment = time.monotonic()
    try:
        assert host.run("systemctl is-active %s", unit).stdout.strip() in ("failed", "inactive")
        assert not host.check_output("systemctl show --property=MainPID --value %s", unit).strip(
            "0"
        )
        yield moment
    finally:
        host.check_output("systemctl reset-failed %s; systemctl start %s", unit, unit)


@contextmanager
def topic_on(admin: KafkaAdminClient, topology: Topology, replicas: int) -> Iterator[str]:
    """A topic with a partition for each broker; it goes afterwards."""
    topic = f"millrace-lost-{uuid.uuid4().hex[:8]}"
    shape = {"num_partitions": len(topology.brokers), "replication_factor": replicas}

    def created() -> bool:
        admin.create_topics({topic: shape}, wait_for_metadata=True, raise_errors=False)
        return topic in admin.list_topics()

    wait_for(lambda: answered(created), seconds=SECONDS, what="a new topic")
    try:
        yield topic
    finally:
        wait_for(
            lambda: answered(lambda: [admin.delete_topics([topic])]),
            seconds=SECONDS,
            what="its end",
        )


def answered(ask: Callable[[], T]) -> T | None:
    """What a cluster in trouble answers, None while it gives an error instead."""
    try:
        return ask()
    except KafkaError:
        return None


def write(topology: Topology, topic: str) -> None:
    """One record with acks=all to each partition, all of them acknowledged in time."""
    producer = KafkaProducer(
        bootstrap_servers=list(topology.brokers.values()),
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


def alive(admin: KafkaAdminClient) -> set[int]:
    """The brokers that serve; a fenced one is listed, but has lost its session (KIP-631)."""
    brokers = admin.describe_cluster()["brokers"]
    return {one["broker_id"] for one in brokers if not one.get("is_fenced")}


def writable(topology: Topology, admin: KafkaAdminClient, topic: str, brokers: set[int]) -> None:
    """Write to a topic that was there before, and to one that only `brokers` can carry."""
    write(topology, topic)
    wait_for(
        lambda: answered(lambda: alive(admin)) == brokers, seconds=SECONDS, what=f"{brokers} alone"
    )
    with topic_on(admin, topology, min(3, len(brokers))) as new:
        write(topology, new)


def whole(topology: Topology, admin: KafkaAdminClient) -> bool:
    """Every broker is there and every replica in sync."""
    return alive(admin) == set(topology.brokers) and all(
        len(partition["isr_nodes"]) == len(partition["replica_nodes"])
        for topic in admin.describe_topics()
        for partition in topic["partitions"]
    )


def quorum_leader(admin: KafkaAdminClient) -> int:
    quorum = admin.describe_metadata_quorum()
    leader: int = quorum["topics"][0]["partitions"][0]["leader_id"]
    return leader


@contextmanager
def measured(facts: dict[str, Any], name: str, moment: float) -> Iterator[None]:
    """Keep the seconds from the fault to the end of what the block does."""
    yield
    facts.setdefault("failover", {})[name] = round(time.monotonic() - moment, 1)


def test_active_controller_lost(
    topology: Topology, admin: KafkaAdminClient, hosts: dict[str, Host], facts: dict[str, Any]
) -> None:
    if len(topology.voters) < 3:
        pytest.skip(f"{len(topology.voters)} controllers: none of them may be lost")
    if topology.voters & set(topology.brokers):
        pytest.skip("combined nodes: a lost controller is a lost broker too")
    before = quorum_leader(admin)
    with topic_on(admin, topology, -1) as topic:
        with (
            lost(hosts[topology.node(before)], "kafka") as moment,
            measured(facts, "active_controller", moment),
        ):

            def elected() -> bool:
                return answered(lambda: quorum_leader(admin)) not in (None, -1, before)

            wait_for(elected, seconds=SECONDS, what=f"a leader after {before}")
            writable(topology, admin, topic, set(topology.brokers) - {before})
        wait_for(
            lambda: answered(lambda: whole(topology, admin)), seconds=120, what="every replica"
        )


def test_zookeeper_leader_lost(
    topology: Topology, admin: KafkaAdminClient, hosts: dict[str, Host], facts: dict[str, Any]
) -> None:
    members = topology.group("zookeeper")
    if len(members) < 3:
        pytest.skip(f"{len(members)} members of ZooKeeper: none of them may be lost")
    before = leader_of(topology)
    with topic_on(admin, topology, -1) as topic:
        with (
            lost(hosts[before], "zookeeper") as moment,
            measured(facts, "zookeeper_leader", moment),
        ):
            writable(topology, admin, topic, set(topology.brokers))
            after = wait_for(
                lambda: leader_of(topology), seconds=SECONDS, what=f"a leader after {before}"
            )
            assert after != before
        wait_for(lambda: set(modes(topology)) == set(members), seconds=60, what="all of ZooKeeper")
        wait_for(
            lambda: answered(lambda: whole(topology, admin)), seconds=120, what="every replica"
        )
