"""What a host needs besides files follows from what was result on it in this run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.plugin_utils import run

from tests.unit.cluster.small import DEBIAN_12, ROCKY_9
from tests.unit.in_process import AnsibleRun, Answer
from tests.unit.inspections import answer_with

pytestmark = pytest.mark.usefixtures("local_tmp")
HOSTS = """\
zookeeper:
  hosts: {z1: {zookeeper_id: 1}, z2: {zookeeper_id: 2}}
  vars: {host_mounts: [{path: /data, src: LABEL=data}]}
"""
CONTAINER = HOSTS.partition("  vars:")[0]


def needs(place: Path, host: str = "z1", text: str = HOSTS, **changes: Any) -> Answer:
    (place / "hosts.yml").write_text(text)
    ansible = AnsibleRun(place / "hosts.yml")
    inspected = {"inspection": answer_with(**changes), "clock_offset": 0.0}
    ansible.register(host, run.INSPECTION, inspected)
    result = ansible.task("host_needs", host)
    assert result["changed"] is False
    return result


def test_a_fresh_debian(tmp_path: Path) -> None:
    result = needs(tmp_path, system_os_release=DEBIAN_12)
    assert result["java_package"] == "openjdk-17-jre-headless"
    assert result["time_package"] == result["time_unit"] == "systemd-timesyncd"
    assert result["package_manager"] == "apt"
    assert [line for line in result["commands"] if "sysctl" in line]
    assert [line for line in result["commands"] if "data.mount" in line]
    assert result["needed"]


def test_a_red_hat_derivative(tmp_path: Path) -> None:
    result = needs(tmp_path, system_os_release=ROCKY_9)
    assert result["java_package"] == "java-17-openjdk-headless"
    assert (result["time_package"], result["time_unit"]) == ("chrony", "chronyd")
    assert result["package_manager"] == "dnf"


def test_a_host_that_has_everything(tmp_path: Path) -> None:
    javas = {"/usr/lib/jvm/java-17-openjdk-amd64": "17.0.9"}
    result = needs(
        tmp_path, system_os_release=DEBIAN_12, software_javas=javas, clock_service="chrony"
    )
    assert (result["java_package"], result["time_package"], result["time_unit"]) == ("", "", "")


def test_a_container_has_its_kernel_and_its_clock_from_its_machine(tmp_path: Path) -> None:
    result = needs(tmp_path, system_os_release=DEBIAN_12, system_container="systemd-nspawn")
    assert result["time_package"] == ""
    assert not [line for line in result["commands"] if "sysctl" in line]
    assert [line for line in result["commands"] if "data.mount" in line], "mounts are its own"


def test_a_firewall(tmp_path: Path) -> None:
    walled = f"{HOSTS.rstrip()[:-2]}], host_firewall: nftables, zookeeper_host: 10.0.0.1}}\n"
    result = needs(tmp_path, text=walled, system_os_release=DEBIAN_12)
    assert result["firewall_package"] == "nftables"
    assert result["firewall_commands"]
    installed = ["/etc/nftables.d/millrace.nft"]
    again = needs(
        tmp_path,
        text=walled,
        system_os_release=DEBIAN_12,
        network_nft=True,
        network_firewall=installed,
    )
    assert again["firewall_package"] == ""
    assert not again["firewall_leftover"]
    assert again["needed"]


def test_a_firewall_that_is_no_longer_wanted(tmp_path: Path) -> None:
    installed = ["/etc/nftables.d/millrace.nft"]
    inside: dict[str, Any] = {"text": CONTAINER, "system_container": "docker", "network_nft": True}
    result = needs(tmp_path, system_os_release=DEBIAN_12, network_firewall=installed, **inside)
    assert result["firewall_commands"] == []
    assert result["firewall_leftover"]
    assert result["needed"]
    assert not needs(tmp_path, system_os_release=DEBIAN_12, **inside)["needed"]


def test_a_host_that_only_watches_needs_packages_and_no_java(tmp_path: Path) -> None:
    watching = f"{HOSTS}monitoring: {{hosts: {{m1: {{ansible_host: 192.0.2.9}}}}}}\n"
    installed = ["/usr/bin/prometheus-node-exporter", "/usr/bin/prometheus-exporter-exporter"]
    result = needs(
        tmp_path, "m1", watching, system_os_release=DEBIAN_12, software_programs=installed
    )
    assert result["java_package"] == ""
    assert result["packages"] == {
        "metrics": [],
        "monitoring": ["prometheus", "prometheus-alertmanager"],
    }
