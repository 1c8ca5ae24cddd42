"""A node whose disks are empty takes its place again, a controller leaves and joins: nothing is lost."""

from __future__ import annotations

import os
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.client import Cluster
from testinfra.host import Host

from tests.support.faults.ledger_run import checked, ledger_running
from tests.support.faults.target import Record, Target, answered, skip_unless_full
from tests.support.lab.change import Plays
from tests.support.lab.topology import Topology
from tests.support.recap import changed
from tests.support.services.healthy import wait_until_healthy
from tests.support.wait import wait_for

TOPIC = "millrace-replaced"
RECORDS, SIZE = 1000, 100_000
RATE = 2_000_000
"""Bytes per second, so that the copy takes longer than two looks at it."""
COPIES = "replicas are in sync"


@pytest.fixture(autouse=True)
def _three(topology: Topology) -> None:
    skip_unless_full()
    if len(topology.brokers) < 3:
        pytest.skip("fewer than 3 brokers")
    if len(topology.voters) < 3:
        pytest.skip(f"{len(topology.voters)} controllers: none of them may be lost")


def empty(host: Host, topology: Topology, where: str) -> None:
    """Kill Kafka and remove all that it has on its disks."""
    host.check_output("systemctl kill --signal=KILL kafka; systemctl stop kafka")
    for _, path in topology.cluster.kafka[where].data_directories:
        host.check_output("find %s -mindepth 1 -delete", path)


def throttled(cluster: Cluster) -> tuple[str, ...]:
    return cluster.read(gate=True).throttled


def fill(topology: Topology, admin: Any) -> None:
    """A topic of 100 MB, of which each broker has a replica."""
    shape = {"num_partitions": 6, "replication_factor": 3}
    admin.create_topics({TOPIC: shape}, wait_for_metadata=True)
    with closing(clients.producer(topology.connection, acks="all")) as producer:
        for _ in range(RECORDS):
            producer.send(TOPIC, os.urandom(SIZE))
        producer.flush(120)


def test_a_broker_with_empty_disks_under_load(
    topology: Topology,
    cluster: Cluster,
    hosts: dict[str, Host],
    plays: Plays,
    admin: Any,
    tmp_path: Path,
) -> None:
    """The run is killed while the broker copies its replicas, and run again."""
    where = topology.group("kafka_brokers")[-1]
    node = int(topology.cluster.kafka[where].id or 0)
    named = ("-e", f"node={where}")
    with ledger_running(
        topology, hosts, plays, tmp_path / "ledger", Target, topic="millrace-replaced-ledger"
    ) as target:
        fill(topology, admin)
        record = Record(0, "a broker with empty disks is replaced", where, start=time.time())
        try:
            empty(hosts[where], topology, where)
            target.fenced(node)
            plan = plays.succeed("replace", *named, "--check")
            assert f"broker {node}: copies" in " ".join(plan.split())
            assert not throttled(cluster)
            plays.kill_at(COPIES, "replace", *named, "-e", f"rate={RATE}", seconds=300)
            assert throttled(cluster), "what a killed run leaves is below its throttle"
            output = plays.succeed("replace", *named)
            assert COPIES in output
            assert not throttled(cluster)
            wait_until_healthy(topology, cluster)
            assert changed(plays.succeed("replace", *named)) <= 1, "there is nothing to copy"
            record.healed = record.healthy = time.time()
            target.record_event(record)
        finally:
            admin.delete_topics([TOPIC])
        verdict, text = checked(target)
    assert verdict["verdict"] == "PASS", text
    assert verdict["counts"]["replicas"] == len(topology.brokers), text


def test_a_node_that_lives_is_not_replaced(topology: Topology, plays: Plays) -> None:
    refused = plays.refuse("replace", "-e", "node=nobody")
    assert "Name the Kafka host that is new" in refused


def voters(cluster: Cluster) -> set[int]:
    quorum = answered(lambda: cluster.read().quorum)
    return {voter.id for voter in quorum.voters} if quorum else set()


def test_a_controller_with_an_empty_disk_leaves_and_joins(
    topology: Topology, cluster: Cluster, hosts: dict[str, Host], plays: Plays
) -> None:
    where = topology.group("kafka_controllers")[-1]
    if where in topology.group("kafka_brokers"):
        pytest.skip("controllers are brokers here")
    node = int(topology.cluster.kafka[where].id or 0)
    named = ("-e", f"node={where}")
    empty(hosts[where], topology, where)
    output = plays.succeed("replace", *named)
    assert "its vote goes from its former disk to its new one" in " ".join(output.split())
    assert voters(cluster) == topology.voters
    wait_until_healthy(topology, cluster)
    other = next(name for name in topology.group("kafka_controllers") if name != where)
    hosts[other].check_output("systemctl stop kafka")
    try:
        refused = plays.refuse("decommission", *named)
        assert "of the 2 controllers that are left only 1 are caught up" in refused
    finally:
        hosts[other].check_output("systemctl start kafka")
    wait_until_healthy(topology, cluster)
    plan = plays.succeed("decommission", *named, "--check")
    assert "leaves the quorum" in plan
    assert voters(cluster) == topology.voters
    plays.succeed("decommission", *named)
    wait_for(lambda: voters(cluster) == topology.voters - {node}, seconds=30, what="its removal")
    assert hosts[where].run("systemctl is-active --quiet kafka").failed
    # As a new host joins: nothing of a former member is on its disks.
    empty(hosts[where], topology, where)
    plays.succeed("site")
    assert voters(cluster) == topology.voters
    wait_until_healthy(topology, cluster)
