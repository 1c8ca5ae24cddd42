"""A topology: the model of its inventory, and where this machine reaches its hosts."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import testinfra
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.connection import Connection
from ansible_collections.millrace.streaming.plugins.plugin_utils.ansible_internals import (
    DataLoader,
    InventoryManager,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster import files
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import (
    Cluster,
    resolve,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.inventory.reading import (
    from_directory,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.console.model import PORT
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.node import (
    advertised_host,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.monitoring.model import (
    ALERTMANAGER,
    PROMETHEUS,
)
from testinfra.host import Host

ROOT = Path(__file__).resolve().parents[3]
UIS = {
    "spark_master_ui_port": "Spark master",
    "spark_worker_ui_port": "Spark worker",
    "spark_history_port": "Spark history",
}


@dataclass(frozen=True)
class Topology:
    """A cluster as its inventory describes it."""

    inventory: Path
    cluster: Cluster
    machines: tuple[str, ...] = ()
    """Hosts that can lose their power."""
    slowness: float = 1.0
    """How many times longer deadlines are there."""

    @property
    def name(self) -> str:
        """The name of the inventory that a lab takes its hosts from."""
        return (self.inventory / "hosts.yml").resolve().parent.name

    @property
    def hosts(self) -> list[str]:
        return list(self.cluster.hosts)

    def group(self, name: str) -> list[str]:
        return self.cluster.inventory.members(name)

    @cached_property
    def addresses(self) -> dict[str, str]:
        """Host to where this machine and clients reach it."""
        hosts = self.cluster.hosts.items()
        return {name: advertised_host(host.settings, name) or name for name, host in hosts}

    def node(self, number: int) -> str:
        """The host of a Kafka node."""
        return next(host for host, node in self.cluster.kafka.items() if node.id == number)

    def bootstrap(self, host: str) -> str:
        """Where a broker's first listener answers."""
        return f"{self.addresses[host]}:{self.cluster.kafka[host].listeners.brokers[0].port}"

    @cached_property
    def brokers(self) -> dict[int, str]:
        """Node id to the broker's address."""
        return {int(node.id or 0): self.bootstrap(node.name) for node in self.cluster.brokers}

    @property
    def voters(self) -> set[int]:
        return {int(node.id or 0) for node in self.cluster.controllers}

    @cached_property
    def connection(self) -> Connection:
        """How clients on this machine connect to the brokers."""
        properties = self.cluster.brokers[0].clients.local_config()
        return Connection.of(properties, list(self.brokers.values()))

    @property
    def closed(self) -> bool:
        """Whether all of Kafka's listeners have TLS, and its users passwords."""
        nodes = self.cluster.kafka.values()
        encrypted = all(listener.encrypted for node in nodes for listener in node.listeners.all)
        return encrypted and all(node.security.login_listener for node in self.cluster.brokers)

    @property
    def has_firewall(self) -> bool:
        """Whether a firewall keeps this machine from ports that are for the hosts alone."""
        return bool(self.cluster.firewalls)

    @property
    def spark_token(self) -> str:
        """What Spark's web interfaces ask for, empty where they are open."""
        return next((spark.security.ui_token for spark in self.cluster.spark.values()), "")

    @property
    def urls(self) -> dict[str, str]:
        """The web interfaces by name."""
        return {
            f"{UIS[variable]} {host}": f"http://{self.addresses[host]}:{port}"
            for host, spark in self.cluster.spark.items()
            for variable, port in spark.ports.items()
            if variable in UIS
        }

    @property
    def sign_in_urls(self) -> dict[str, str]:
        """The web interfaces where people sign in with a name and a password, by name."""
        endpoints = {
            f"Console {host}": (host, "https", console.settings[PORT])
            for host, console in self.cluster.consoles.items()
        }
        for host, servers in self.cluster.monitoring.items():
            scheme = "http" if servers.is_open else "https"
            endpoints[f"Prometheus {host}"] = (host, scheme, servers.ports[PROMETHEUS])
            endpoints[f"Alertmanager {host}"] = (host, scheme, servers.ports[ALERTMANAGER])
        return {
            name: f"{scheme}://{self.addresses[host]}:{port}"
            for name, (host, scheme, port) in endpoints.items()
        }


def describe(inventory: Path) -> Topology:
    """Resolve an inventory; raises AnsibleError if it cannot be read."""
    manager = InventoryManager(loader=DataLoader(), sources=[str(inventory)])
    lab = manager.groups["all"].get_vars()  # of transport.yml
    return Topology(
        inventory,
        resolve(from_directory(inventory)),
        tuple(map(str, lab.get("lab_machines", ()))),
        float(lab.get("lab_slowness", 1)),
    )


def over_ssh(topology: Topology) -> dict[str, Host]:
    """Return the hosts over SSH, as root through sudo."""
    return {
        name: testinfra.get_host(
            f"ansible://{name}?ansible_inventory={topology.inventory}", sudo=True
        )
        for name in topology.hosts
    }


def environment() -> dict[str, str]:
    """The environment of programs of this repository, which import the collection."""
    return {**os.environ, "PYTHONPATH": str(ROOT / "collections")}


def write_client_config(connection: Connection, path: Path, **properties: object) -> Path:
    """Write a connection as a client properties file, which others cannot read; returns its path.

    `properties` are further properties, with underscores for dots.
    """
    further = {key.replace("_", "."): value for key, value in properties.items()}
    path.touch(mode=0o600)
    path.write_text(
        files.properties(
            {
                "bootstrap.servers": ",".join(connection.bootstrap),
                **connection.properties,
                **further,
            }
        )
    )
    return path
