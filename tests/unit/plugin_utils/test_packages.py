"""The packages that hosts need, for each family of systems."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.plugin_utils import packages
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster import systems

from tests.unit.cluster.inventories import read
from tests.unit.cluster.small import cluster

DEBIAN = systems.families()["debian"]


def needed(family: str = "debian", **variables: Any) -> dict[str, list[str]]:
    """Return package and role -> hosts, of a host with Kafka."""
    groups = {"kafka_brokers": ["b1"], "kafka_controllers": ["b1"]}
    small = cluster(groups, {"b1": {"kafka_node_id": 1}}, **variables)
    found = packages.of_family(small, systems.families()[family])
    return {f"{package.name} of {package.role}": hosts for package, hosts in found.items()}


def test_each_role_and_each_host_has_its_packages(tmp_path: Path) -> None:
    found = packages.of_family(read("full", tmp_path), DEBIAN)
    hosts = {(package.role, package.name): names for package, names in found.items()}
    assert hosts["java", "openjdk-17-jre-headless"] == ["k1", "k2", "k3"]
    assert hosts["metrics", "prometheus-node-exporter"] == ["k1", "k2", "k3", "m1"]
    assert hosts["monitoring", "prometheus"] == ["m1"]
    assert hosts["host", "nftables"] == ["k1", "k2", "k3", "m1"]
    assert hosts["postgresql", "postgresql"] == ["k1"]
    assert hosts[packages.BY_HAND, "openssl"] == ["k2", "k3"]


def test_the_java_of_a_release_is_named_with_it() -> None:
    small = cluster({"kafka_brokers": ["b1"]}, {"b1": {"kafka_node_id": 1}})
    releases = {
        package.name: package.releases
        for package in packages.of_family(small, DEBIAN)
        if package.role == "java"
    }
    assert releases == {
        "openjdk-17-jre-headless": "bookworm, bullseye, jammy",
        "openjdk-21-jre-headless": "noble, trixie",
    }


@pytest.mark.parametrize(
    ("variables", "absent", "present"),
    [
        ({"java_home": "/opt/java"}, "of java", "python3 of by hand"),
        ({"java_package": "temurin-21"}, "openjdk", "temurin-21 of java"),
        ({"host_time_service": ""}, "timesyncd", "sudo of by hand"),
        ({"host_time_service": "chrony"}, "timesyncd", "chrony of host"),
        ({"host_firewall": "none"}, "nftables", "systemd-timesyncd of host"),
    ],
)
def test_what_the_inventory_rules_out_is_not_listed(
    variables: dict[str, Any], absent: str, present: str
) -> None:
    names = needed(**variables)
    assert not [name for name in names if absent in name]
    assert names[present] == ["b1"]


def test_another_family_has_names_of_its_own() -> None:
    assert "chrony of host" in needed("redhat")
    assert "java-21-openjdk-headless of java" in needed("redhat")


def test_a_list_is_read_column_by_column(tmp_path: Path) -> None:
    lines = packages.render(read("single", tmp_path), DEBIAN).splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    assert rows
    assert {len(row) for row in rows} == {4}
    assert [row[0] for row in rows] == sorted(row[0] for row in rows)
