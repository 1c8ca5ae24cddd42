"""A topology as its inventory and the roles describe it, resolved by Ansible itself."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Topology:
    """Groups, each host's description by role, and where each host answers."""

    inventory: Path
    groups: dict[str, list[str]]
    hosts: dict[str, dict[str, Any]]
    addresses: dict[str, str]
    machines: list[str] = field(default_factory=list)
    """Hosts that can lose their power."""
    slowness: float = 1.0
    """By how much deadlines are longer there."""

    @property
    def name(self) -> str:
        """The inventory's that a lab has its hosts from."""
        return (self.inventory / "hosts.yml").resolve().parent.name

    def group(self, name: str) -> list[str]:
        return self.groups.get(name, [])

    def kafka(self, host: str) -> dict[str, Any]:
        description: dict[str, Any] = self.hosts[host]["kafka"]
        return description

    def spark(self, host: str) -> dict[str, Any]:
        description: dict[str, Any] = self.hosts[host]["spark"]
        return description

    def zookeeper(self, host: str) -> dict[str, Any]:
        description: dict[str, Any] = self.hosts[host]["zookeeper"]
        return description

    def node(self, number: int) -> str:
        """The host of a Kafka node."""
        return next(
            host
            for host, roles in self.hosts.items()
            if "kafka" in roles and int(roles["kafka"]["node_id"]) == number
        )

    def bootstrap(self, host: str) -> str:
        """Where a broker's first listener answers."""
        return f"{self.addresses[host]}:{self.kafka(host)['listeners'][0]['port']}"

    @property
    def brokers(self) -> dict[int, str]:
        """Node id to the broker's address."""
        return {
            int(self.kafka(host)["node_id"]): self.bootstrap(host)
            for host in self.group("kafka_brokers")
        }

    @property
    def urls(self) -> dict[str, str]:
        """The web interfaces by name."""
        names = {
            "spark_master_ui_port": "Spark master",
            "spark_worker_ui_port": "Spark worker",
            "spark_history_port": "Spark history",
        }
        return {
            f"{names[variable]} {host}": f"http://{self.addresses[host]}:{port}"
            for host in self.hosts
            if "spark" in self.hosts[host]
            for variable, port in self.spark(host)["ports"].items()
            if variable in names
        }

    @property
    def voters(self) -> set[int]:
        return {int(self.kafka(host)["node_id"]) for host in self.group("kafka_controllers")}


def describe(inventory: Path, out: Path) -> Topology:
    """Resolve `inventory`; raises CalledProcessError with Ansible's words in its output."""
    subprocess.run(  # noqa: S603 - our own playbook
        [
            Path(sys.executable).parent / "ansible-playbook",
            "-i",
            inventory,
            "-e",
            f"describe_to={out}",
            ROOT / "tests/support/describe.yml",
        ],
        check=True,
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    return Topology(inventory, **json.loads(out.read_text()))
