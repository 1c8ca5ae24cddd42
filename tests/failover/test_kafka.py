"""One controller or one ZooKeeper is lost: the cluster stays writable, its metadata too."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from kafka import KafkaAdminClient, KafkaProducer  # type: ignore[import-untyped] # no types
from testinfra.host import Host

from tests.support.topology import Topology
from tests.support.wait import wait_for
from tests.support.zookeeper import leader_of, modes

SECONDS = 30
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


def write(topology: Topology, topic: str, count: int) -> dict[int, int]:
    """One record with acks=all to each partition; partition to offset."""
    producer = KafkaProducer(
        bootstrap_servers=list(topology.brokers.values()), acks="all", request_timeout_ms=5000
    )
    try:
        sent = {
            number: producer.send(topic, f"{number}".encode(), partition=number)
            for number in range(count)
        }
        return {number: future.get(timeout=SECONDS).offset for number, future in sent.items()}
    finally:
        producer.close(timeout=5)


def writable(topology: Topology) -> None:
    """Create a topic with a partition for each broker and write to all of it; then it goes."""
    topic = f"millrace-lost-{uuid.uuid4().hex[:8]}"
    admin = KafkaAdminClient(bootstrap_servers=list(topology.brokers.values()))

    def created() -> bool:
        shape = {"num_partitions": len(topology.brokers), "replication_factor": -1}
        admin.create_topics({topic: shape}, wait_for_metadata=True, raise_errors=False)
        return topic in admin.list_topics()

    try:
        wait_for(created, seconds=SECONDS, what="a new topic")
        count = len(topology.brokers)
        assert write(topology, topic, count) == dict.fromkeys(range(count), 0)
    finally:
        admin.delete_topics([topic])
        admin.close()


def whole(topology: Topology, admin: KafkaAdminClient) -> bool:
    """Every broker is there and every replica in sync."""
    if {one["broker_id"] for one in admin.describe_cluster()["brokers"]} != set(topology.brokers):
        return False
    return all(
        len(partition["isr_nodes"]) == len(partition["replica_nodes"])
        for topic in admin.describe_topics()
        for partition in topic["partitions"]
    )


def quorum_leader(admin: KafkaAdminClient) -> int:
    quorum = admin.describe_metadata_quorum()
    leader: int = quorum["topics"][0]["partitions"][0]["leader_id"]
    return leader


def test_active_controller_lost(
    topology: Topology, admin: KafkaAdminClient, hosts: dict[str, Host], facts: dict[str, Any]
) -> None:
    if len(topology.voters) < 3:
        pytest.skip(f"{len(topology.voters)} controllers: none of them may be lost")
    before = quorum_leader(admin)
    with lost(hosts[topology.node(before)], "kafka") as moment:

        def elected() -> int | None:
            now = quorum_leader(admin)
            return now if now not in (before, -1) else None

        after = wait_for(elected, seconds=SECONDS, what=f"a leader after {before}")
        writable(topology)
        facts.setdefault("failover", {})["active_controller"] = {
            "from": before,
            "to": after,
            "writable_seconds": round(time.monotonic() - moment, 1),
        }
    wait_for(lambda: whole(topology, admin), seconds=120, what="every replica in sync again")


def test_zookeeper_leader_lost(
    topology: Topology, admin: KafkaAdminClient, hosts: dict[str, Host], facts: dict[str, Any]
) -> None:
    members = topology.group("zookeeper")
    if len(members) < 3:
        pytest.skip(f"{len(members)} members of ZooKeeper: none of them may be lost")
    before = leader_of(topology)
    with lost(hosts[before], "zookeeper") as moment:
        writable(topology)
        after = wait_for(
            lambda: leader_of(topology), seconds=SECONDS, what=f"a leader after {before}"
        )
        assert after != before
        facts.setdefault("failover", {})["zookeeper_leader"] = {
            "from": before,
            "to": after,
            "writable_seconds": round(time.monotonic() - moment, 1),
        }
    wait_for(
        lambda: set(modes(topology)) == set(members), seconds=60, what="every member of ZooKeeper"
    )
    wait_for(lambda: whole(topology, admin), seconds=120, what="every replica in sync again")
