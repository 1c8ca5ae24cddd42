"""A clean inventory for tests of the rules to spoil."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

from ansible_collections.millrace.streaming.plugins.module_utils.inventory_rules import (
    Host,
    Inventory,
)

NODES = ("k1", "k2", "k3")
TMP = "/tmp"  # noqa: S108 - what a rule refuses
FACTORS = {
    "default.replication.factor": 3,
    "min.insync.replicas": 2,
    "offsets.topic.replication.factor": 3,
    "transaction.state.log.replication.factor": 3,
    "transaction.state.log.min.isr": 2,
    "share.coordinator.state.topic.replication.factor": 3,
    "share.coordinator.state.topic.min.isr": 2,
}
SPECS: dict[str, dict[str, dict[str, Any]]] = {
    "kafka": {
        "kafka_node_id": {"type": "int"},
        "kafka_version": {"type": "str", "default": "4.3.1"},
        "kafka_config": {"type": "dict", "default": {}},
        "kafka_host_config": {"type": "dict", "default": {}},
        "kafka_listeners": {
            "type": "list",
            "elements": "dict",
            "options": {"name": {"type": "str"}, "port": {"type": "int"}},
        },
        "kafka_heap": {"type": "str", "default": ""},
        "kafka_stop_timeout": {"type": "int", "default": 300},
        "kafka_profile": {"type": "str", "choices": ["durable", "small"], "default": "durable"},
        "kafka_archive": {
            "type": "dict",
            "options": {"url": {"type": "str"}, "sha512": {"type": "str"}},
        },
        "kafka_password": {"type": "dict", "no_log": True},
    },
    "zookeeper": {"zookeeper_id": {"type": "int"}},
    "spark": {"spark_worker_memory": {"type": "str"}, "spark_worker_cores": {"type": "int"}},
    "host": {"host_memory_mb": {"type": "int", "default": "{{ 0 }}"}},
    "distribution": {"distribution_product": {"type": "str", "required": True}},
}


def kafka(number: int) -> dict[str, Any]:
    return {
        "version": "4.3.1",
        "distribution": {"source": "maven"},
        "mode": "kraft",
        "node_id": number,
        "roles": ["broker", "controller"],
        "rack": "",
        "cluster_id": "",
        "config": dict(FACTORS),
        "own_config": {"kafka_config": {}, "kafka_host_config": {}},
        "owned": {
            "node.id": "kafka_node_id",
            "listeners": "kafka_listeners",
            "cluster.id": "kafka_cluster_id",
            "process.roles": "the groups kafka_brokers and kafka_controllers",
        },
        "listeners": [
            {"name": "CLIENT", "port": 9092, "protocol": "PLAINTEXT"},
            {"name": "CONTROLLER", "port": 9093, "protocol": "PLAINTEXT"},
        ],
        "inter_broker_listener": "CLIENT",
        "controller_listener": {"name": "CONTROLLER", "port": 9093, "protocol": "PLAINTEXT"},
        "advertised_host": f"k{number}",
        "allow_plaintext": True,
        "heap": "512m",
        "data_dirs": ["/var/lib/kafka/data"],
        "metadata_dir": "",
        "allow_unsafe_quorum": False,
    }


def zookeeper(number: int) -> dict[str, Any]:
    return {
        "version": "3.9.5",
        "id": number,
        "config": {},
        "own_config": {"zookeeper_config": {}},
        "owned": {"dataDir": "zookeeper_data_dir"},
        "ports": {"zookeeper_client_port": 2181, "zookeeper_peer_port": 2888},
        "heaps": {"zookeeper_heap": "512m"},
        "data_dirs": ["/var/lib/zookeeper/data"],
        "allow_unsafe_ensemble": False,
    }


def spark(name: str) -> dict[str, Any]:
    master: dict[str, Any] = {
        "version": "4.2.0",
        "roles": ["master", "history"],
        "own_config": {"spark_config": {}},
        "owned": {"spark.master.rest.enabled": "nothing, it is open to everybody"},
        "ports": {"spark_master_port": 7077, "spark_master_ui_port": 8080},
        "heaps": {"spark_daemon_heap (master)": "512m", "spark_daemon_heap (history)": "512m"},
        "data_dirs": ["/var/lib/spark"],
    }
    worker = {
        "roles": ["worker"],
        "ports": {"spark_worker_ui_port": 8081, "spark_worker_port": 0},
        "heaps": {"spark_daemon_heap (worker)": "512m", "spark_worker_memory": "2g"},
    }
    return copy.deepcopy(master if name == "k1" else {**master, **worker})


@dataclass
class Draft:
    """The clean inventory, three combined nodes that carry Spark, for a case to spoil."""

    groups: dict[str, list[str]] = field(
        default_factory=lambda: {
            "all": list(NODES),
            "ungrouped": [],
            "kafka_controllers": list(NODES),
            "kafka_brokers": list(NODES),
            "spark_masters": ["k1"],
            "spark_workers": ["k2", "k3"],
            "spark_history": ["k1"],
        }
    )
    descriptions: dict[str, dict[str, Any]] = field(
        default_factory=lambda: {
            name: {"host": {"memory_mb": 6144}, "kafka": kafka(number), "spark": spark(name)}
            for number, name in enumerate(NODES, start=1)
        }
    )
    variables: dict[str, dict[str, Any]] = field(
        default_factory=lambda: {
            name: {"kafka_node_id": number, "host_memory_mb": 6144}
            for number, name in enumerate(NODES, start=1)
        }
    )
    connections: dict[str, dict[str, Any]] = field(default_factory=dict)
    vaulted: dict[str, set[str]] = field(default_factory=dict)

    def kafka(self, *path: str | int, value: object, on: tuple[str, ...] = NODES) -> Self:
        """Set a part of the Kafka description on some hosts."""
        for name in on:
            if "kafka" not in self.descriptions[name]:
                continue
            target = self.descriptions[name]["kafka"]
            for step in path[:-1]:
                target = target[step]
            target[path[-1]] = copy.deepcopy(value)
        return self

    def description(self, name: str, **parts: object) -> Self:
        """Replace what a role said of a host."""
        self.descriptions[name].update(parts)
        return self

    def spark(self, name: str, **parts: object) -> Self:
        """Replace parts of a host's Spark description."""
        self.descriptions[name]["spark"].update(parts)
        return self

    def own(self, key: str, value: object, on: tuple[str, ...] = NODES) -> Self:
        """Set a property as the user would in kafka_config."""
        self.kafka("own_config", "kafka_config", key, value=value, on=on)
        self.kafka("config", key, value=value, on=on)
        return self

    def variable(self, name: str, value: object, on: tuple[str, ...] = NODES) -> Self:
        """Set a variable of the inventory."""
        for host in on:
            self.variables[host][name] = value
        return self

    def ids(self, **ids: object) -> Self:
        """Set node ids, in both places where they stand."""
        for name, number in ids.items():
            self.kafka("node_id", value=number, on=(name,))
            self.variable("kafka_node_id", number, on=(name,))
        return self

    def without_kafka(self, *names: str) -> Self:
        """Take hosts out of the Kafka groups."""
        for name in names:
            del self.descriptions[name]["kafka"]
            self.groups["kafka_controllers"].remove(name)
            self.groups["kafka_brokers"].remove(name)
        return self

    def replication(self, factor: int, minimum: int) -> Self:
        """Set what the topology's defaults would be."""
        for key in FACTORS:
            self.kafka("config", key, value=factor if key.endswith("factor") else minimum)
        return self

    def inventory(self) -> Inventory:
        """Return the inventory as the rules see it."""
        names = self.groups["all"]
        hosts = {
            name: Host(
                name,
                self.descriptions.get(name, {}),
                self.variables.get(name, {}),
                self.connections.get(name, {}),
                frozenset(self.vaulted.get(name, ())),
            )
            for name in names
        }
        return Inventory(self.groups, hosts, SPECS)

    def drop_group(self, group: str) -> Self:
        """Leave a group out."""
        del self.groups[group]
        return self

    def add_host(self, name: str) -> Self:
        """Add a host to no group."""
        self.groups["all"].append(name)
        self.descriptions[name] = {"host": {"memory_mb": None}}
        self.variables[name] = {}
        return self

    def join(self, group: str, name: str) -> Self:
        """Put a host into a group."""
        self.groups[group].append(name)
        return self

    def controllers(self, *names: str) -> Self:
        """Choose the controllers."""
        self.groups["kafka_controllers"] = list(names)
        return self

    def reached_at(self, name: str, address: str, port: int = 22) -> Self:
        """Set where Ansible reaches a host."""
        self.connections[name] = {"ansible_host": address, "ansible_port": port}
        return self

    def listeners(self, *listeners: tuple[str, int, str], on: tuple[str, ...] = NODES) -> Self:
        """Set the brokers' listeners; the controllers' stays behind them."""
        keys = ("name", "port", "protocol")
        brokers = [dict(zip(keys, one, strict=True)) for one in listeners]
        for host in on:
            controller = self.descriptions[host]["kafka"]["controller_listener"]
            self.kafka("listeners", value=[*brokers, controller], on=(host,))
        return self

    def controller_listener(self, name: str) -> Self:
        """Name the controllers' listener, in both places where it stands."""
        listener = {"name": name, "port": 9093, "protocol": "PLAINTEXT"}
        self.kafka("controller_listener", value=listener)
        return self.listeners(("CLIENT", 9092, "PLAINTEXT"))

    def racks(self, *racks: str) -> Self:
        """Set the rack of each node."""
        for host, rack in zip(NODES, racks, strict=True):
            self.kafka("rack", value=rack, on=(host,))
        return self

    def own_spark(self, key: str, value: object) -> Self:
        """Set a property as the user would in spark_config."""
        for host in NODES:
            self.descriptions[host]["spark"]["own_config"]["spark_config"][key] = value
        return self

    def pem(self) -> Self:
        """Set stores as the documents advise."""
        for store, file in (("keystore", "node.pem"), ("truststore", "ca.pem")):
            self.own(f"ssl.{store}.type", "PEM")
            self.own(f"ssl.{store}.location", f"/etc/kafka/tls/{file}")
        return self

    def vault(self, place: str) -> Self:
        """Say that a value, `variable[key]`, comes from a vault."""
        for host in self.groups["all"]:
            self.vaulted.setdefault(host, set()).add(place)
        return self

    def own_zookeeper(self, key: str, value: object) -> Self:
        """Set a property of a new ensemble as the user would in zookeeper_config."""
        self.ensemble()
        for name in self.groups["zookeeper"]:
            self.descriptions[name]["zookeeper"]["own_config"]["zookeeper_config"][key] = value
        return self

    def archive(self, **archive: object) -> Self:
        """Install Kafka from an archive."""
        return self.kafka("distribution", value={"source": "archive", **archive})

    def ensemble(self, *names: str) -> Self:
        """Put ZooKeeper on hosts, three new ones by default."""
        members = names or ("z1", "z2", "z3")
        self.groups["zookeeper"] = list(members)
        for number, name in enumerate(members, start=1):
            if name not in self.groups["all"]:
                self.add_host(name)
            self.description(name, zookeeper=zookeeper(number))
        return self

    def zookeeper_mode(self, version: str = "3.9.2") -> Self:
        """Put the brokers on an ensemble."""
        self.ensemble().drop_group("kafka_controllers")
        for part, value in (("mode", "zookeeper"), ("version", version), ("roles", ["broker"])):
            self.kafka(part, value=value)
        listener = {"name": "CLIENT", "port": 9092, "protocol": "PLAINTEXT"}
        return self.kafka("listeners", value=[listener])


Mistake = Callable[[Draft], object]
# Rule, name of the case, the mistake, parts of the message.
Case = tuple[str, str, Mistake, tuple[str, ...]]
