"""A change of configuration: online where Kafka takes it so, else a roll, and undone if refused."""

from __future__ import annotations

from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import (
    ConfigResource,
    ConfigResourceType,
)
from testinfra.host import Host

from tests.support.faults.target import FULL
from tests.support.lab.change import PROVE, Plays, kept_all, starts, watching
from tests.support.lab.topology import Topology
from tests.support.recap import changed
from tests.upgrade.conftest import Inventory

ONLINE = "log.cleaner.backoff.ms"
RESTARTED = "queued.max.requests"


def written(host: Host) -> str:
    """The configuration as it lies on a host."""
    return str(host.check_output("cat /etc/kafka/server.properties"))


def in_force(topology: Topology, key: str) -> set[str]:
    """What the running brokers have, asked by a client that has not seen them go."""
    resources = [
        ConfigResource(ConfigResourceType.BROKER, str(node), {key: None})
        for node in topology.brokers
    ]
    with clients.admin(topology.connection) as admin:
        described: dict[str, Any] = admin.describe_configs(resources, config_filter="all")["broker"]
    assert len(described) == len(topology.brokers)
    return {config[key]["value"] for config in described.values()}


def test_a_dynamic_key_needs_no_restart(
    plays: Plays,
    inventory: Inventory,
    topology: Topology,
    hosts: dict[str, Host],
) -> None:
    before = starts(hosts, topology)
    inventory.set(kafka_host_config={ONLINE: 16000})
    planned = plays.succeed("site", "--check", "--diff")
    assert "16000" in planned
    assert in_force(topology, ONLINE) != {"16000"}
    plays.succeed("site")
    assert in_force(topology, ONLINE) == {"16000"}
    assert "log.cleaner.backoff.ms=16000" in written(hosts["k1"])
    assert starts(hosts, topology) == before


def test_a_dynamic_key_that_goes_leaves_the_default(
    plays: Plays,
    inventory: Inventory,
    topology: Topology,
    hosts: dict[str, Host],
) -> None:
    before = starts(hosts, topology)
    inventory.set()
    plays.succeed("site")
    assert in_force(topology, ONLINE) == {"15000"}
    assert starts(hosts, topology) == before


def test_another_key_rolls_and_nothing_is_lost(
    plays: Plays,
    inventory: Inventory,
    topology: Topology,
    hosts: dict[str, Host],
) -> None:
    before = starts(hosts, topology)
    inventory.set(kafka_host_config={RESTARTED: 400})
    with watching(topology) as watcher:
        plays.succeed("site", *PROVE)
    assert watcher.most == 1, watcher.down
    assert in_force(topology, RESTARTED) == {"400"}
    assert starts(hosts, topology) == {host: count + 1 for host, count in before.items()}
    assert all(hosts[host].run("ls /run/kafka/restart-pending").failed for host in before)
    kept_all(plays.proof())
    assert changed(plays.succeed("site")) == 0


def test_what_kafka_refuses_takes_one_node_down_and_is_undone(
    plays: Plays, inventory: Inventory, topology: Topology, hosts: dict[str, Host]
) -> None:
    """No rule can know that a class is not there; the first node finds out, for all of them."""
    before = {host: written(hosts[host]) for host in topology.group("kafka_brokers")}
    counts = starts(hosts, topology)
    inventory.set(
        kafka_host_config={RESTARTED: 400, "replica.selector.class": "org.example.Missing"}
    )
    with watching(topology) as watcher:
        output = plays.refuse("site", *(PROVE if FULL else ()))
    assert watcher.most == 1, watcher.down
    assert len(watcher.seen_down) == 1, "only the first node met it"
    assert "org.example.Missing" in output
    assert "playbooks/rolling_restart.yml" in output or "playbooks/site.yml" in output
    for host, content in before.items():
        assert written(hosts[host]) == content, host
    plays.succeed("health")
    inventory.set(kafka_host_config={RESTARTED: 400})
    assert changed(plays.succeed("site")) == 0
    after = starts(hosts, topology)
    assert sum(after[host] != counts[host] for host in after) == 1, (counts, after)
    inventory.set()
