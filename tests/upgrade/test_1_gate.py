"""The gate refuses, names what is in the way, and has changed nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.client import Cluster
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import (
    ConfigResource,
    ConfigResourceType,
    TopicPartition,
)
from testinfra.host import Host

from tests.support.faults.target import skip_unless_full
from tests.support.lab.change import Plays, starts, watching
from tests.support.lab.topology import Topology
from tests.support.services.healthy import wait_until_healthy
from tests.support.wait import wait_for
from tests.upgrade.conftest import Inventory

ONE = ("-e", "rolling_restart_all=true", "--limit", "k1")
IMPATIENT = (*ONE, "-e", "kafka_gate_timeout=3")
THROTTLES = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")


@pytest.fixture(autouse=True)
def unmarked(topology: Topology, hosts: dict[str, Host], cluster: Cluster) -> Iterator[None]:
    """A topic of users; and what a refused run marked would be restarted by the next one."""
    new = {"orders": {"num_partitions": 3}}
    cluster.ask(lambda admin: admin.create_topics(new, raise_errors=False))
    yield
    hosts["k1"].check_output("rm -f /run/kafka/restart-pending")
    wait_until_healthy(topology, cluster)


@contextmanager
def stopped(host: Host) -> Iterator[None]:
    host.check_output("systemctl stop kafka")
    try:
        yield
    finally:
        host.check_output("systemctl start kafka")


def test_a_node_that_is_down(
    plays: Plays, inventory: Inventory, topology: Topology, hosts: dict[str, Host]
) -> None:
    """A second broker, and with combined nodes a second controller, may not go.

    The report names it also while the first host cannot be reached.
    """
    before = starts(hosts, topology)
    with stopped(hosts["k3"]):
        output = plays.refuse("rolling_restart", *IMPATIENT)
        with inventory.also("k1", ansible_port=1):
            report = plays.refuse("health")
    assert "broker 3" in output
    assert "min.insync.replicas" in output
    assert re.search(r"\((__consumer_offsets|millrace-canary|orders)-0", output), output[-3000:]
    assert "controller 1" in output
    assert "playbooks/rolling_restart.yml" in output, "what to do next is not named"
    assert "broker 3" in report
    after = starts(hosts, topology)
    assert after == {**before, "k3": before["k3"] + 1}, "only the test itself started k3 again"


def test_a_frozen_replica(plays: Plays, topology: Topology, hosts: dict[str, Host]) -> None:
    """A broker that is there and does not follow: its partitions are under-replicated."""
    skip_unless_full()
    before = starts(hosts, topology)
    hosts["k2"].check_output("systemctl kill --signal=STOP kafka")
    try:
        plays.refuse("rolling_restart", *IMPATIENT)
    finally:
        hosts["k2"].check_output("systemctl kill --signal=CONT kafka")
    assert starts(hosts, topology) == before


def test_a_single_replica_is_named_until_it_is_allowed(
    plays: Plays, cluster: Cluster, hosts: dict[str, Host], topology: Topology
) -> None:
    new = {"lonely": {"num_partitions": 1, "replication_factor": 1}}
    cluster.ask(lambda admin: admin.create_topics(new))
    before = starts(hosts, topology)
    try:
        output = plays.refuse("rolling_restart", *ONE)  # at once, whatever kafka_gate_timeout says
        assert "lonely-0" in output
        assert "kafka_allow_outage" in output
        assert starts(hosts, topology) == before
        plays.succeed("health", "-e", '{"kafka_allow_outage": ["lonely"]}')
    finally:
        cluster.ask(lambda admin: admin.delete_topics(["lonely"]))


def test_a_reassignment_that_runs(
    plays: Plays, topology: Topology, cluster: Cluster, hosts: dict[str, Host]
) -> None:
    """Throttled to a byte a second, so that it lasts; its topic names the throttle too."""
    skip_unless_full()
    before = starts(hosts, topology)
    cluster.ask(lambda admin: admin.create_topics({"moved": {"assignments": {0: [1, 2]}}}))
    producer = clients.producer(topology.connection, acks="all")
    for _ in range(20):
        producer.send("moved", b"x" * 100_000, partition=0)
    producer.flush(30)
    producer.close(timeout=5)
    cluster.ask(lambda admin: throttle(admin, "*", "1"))
    move = {TopicPartition("moved", 0): [2, 3]}
    try:
        cluster.ask(lambda admin: admin.alter_partition_reassignments(move))
        output = plays.refuse("rolling_restart", *IMPATIENT)
        assert "moved-0" in output
        assert "throttled" in output
        assert starts(hosts, topology) == before
    finally:
        cluster.ask(lambda admin: throttle(admin, None, None))
        wait_for(
            lambda: not cluster.ask(lambda admin: admin.list_partition_reassignments()),
            seconds=60,
            what="the end of it",
        )
        cluster.ask(lambda admin: admin.delete_topics(["moved"]))


def throttle(admin: Any, replicas: str | None, rate: str | None) -> None:
    """Throttle the topic `moved`, or take the throttles away."""
    operation = "SET" if rate else "DELETE"
    topic = ConfigResource(
        ConfigResourceType.TOPIC, "moved", dict.fromkeys(THROTTLES, (operation, replicas))
    )
    brokers = [
        ConfigResource(
            ConfigResourceType.BROKER, str(node), dict.fromkeys(RATES, (operation, rate))
        )
        for node in (1, 2, 3)
    ]
    admin.alter_configs([topic, *brokers], raise_on_unknown=False)


def test_check_mode_restarts_nothing(
    plays: Plays, topology: Topology, hosts: dict[str, Host]
) -> None:
    before = starts(hosts, topology)
    plays.succeed("rolling_restart", "-e", "rolling_restart_all=true", "--check")
    assert starts(hosts, topology) == before
    assert hosts["k1"].run("ls /run/kafka/restart-pending").failed


def test_down_nodes_come_first(plays: Plays, topology: Topology, hosts: dict[str, Host]) -> None:
    """The same command starts what is down, before it takes another node."""
    before = starts(hosts, topology)
    hosts["k3"].check_output("systemctl stop kafka")
    with watching(topology) as watcher:
        plays.succeed("rolling_restart")
    assert watcher.most == 1, watcher.down
    assert starts(hosts, topology) == {**before, "k3": before["k3"] + 1}


def test_no_container_is_rebooted(plays: Plays, topology: Topology, hosts: dict[str, Host]) -> None:
    before = starts(hosts, topology)
    output = plays.refuse("rolling_reboot", "-e", "rolling_reboot_all=true")
    assert "container" in output
    assert starts(hosts, topology) == before
    assert all(host.run("ls /run/reboot-required").failed for host in hosts.values())
