"""What a host needs besides files follows from what was found on it in this run."""

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
    answer = ansible.task("host_needs", host)
    assert answer["changed"] is False
    return answer


def test_a_fresh_debian(tmp_path: Path) -> None:
    found = needs(tmp_path, system_os_release=DEBIAN_12)
    assert found["java_package"] == "openjdk-17-jre-headless"
    assert found["time_package"] == found["time_unit"] == "systemd-timesyncd"
    assert found["package_manager"] == "apt"
    assert [line for line in found["commands"] if "sysctl" in line]
    assert [line for line in found["commands"] if "data.mount" in line]
    assert found["needed"]


def test_a_red_hat_derivative(tmp_path: Path) -> None:
    found = needs(tmp_path, system_os_release=ROCKY_9)
    assert found["java_package"] == "java-17-openjdk-headless"
    assert (found["time_package"], found["time_unit"]) == ("chrony", "chronyd")
    assert found["package_manager"] == "dnf"


def test_a_host_that_has_everything(tmp_path: Path) -> None:
    javas = {"/usr/lib/jvm/java-17-openjdk-amd64": "17.0.9"}
    found = needs(
        tmp_path, system_os_release=DEBIAN_12, software_javas=javas, clock_service="chrony"
    )
    assert (found["java_package"], found["time_package"], found["time_unit"]) == ("", "", "")


def test_a_container_has_its_kernel_and_its_clock_from_its_machine(tmp_path: Path) -> None:
    found = needs(tmp_path, system_os_release=DEBIAN_12, system_container="systemd-nspawn")
    assert found["time_package"] == ""
    assert not [line for line in found["commands"] if "sysctl" in line]
    assert [line for line in found["commands"] if "data.mount" in line], "mounts are its own"


def test_a_firewall(tmp_path: Path) -> None:
    walled = f"{HOSTS.rstrip()[:-2]}], host_firewall: nftables, zookeeper_host: 10.0.0.1}}\n"
    wanted = needs(tmp_path, text=walled, system_os_release=DEBIAN_12)
    assert wanted["firewall_package"] == "nftables"
    assert wanted["firewall_commands"]
    there = ["/etc/nftables.d/millrace.nft"]
    again = needs(
        tmp_path, text=walled, system_os_release=DEBIAN_12, network_nft=True, network_firewall=there
    )
    assert again["firewall_package"] == ""
    assert not again["firewall_leftover"]
    assert again["needed"]


def test_a_firewall_that_is_no_longer_wanted(tmp_path: Path) -> None:
    there = ["/etc/nftables.d/millrace.nft"]
    inside: dict[str, Any] = {"text": CONTAINER, "system_container": "docker", "network_nft": True}
    found = needs(tmp_path, system_os_release=DEBIAN_12, network_firewall=there, **inside)
    assert found["firewall_commands"] == []
    assert found["firewall_leftover"]
    assert found["needed"]
    assert not needs(tmp_path, system_os_release=DEBIAN_12, **inside)["needed"]


def test_a_host_that_only_watches_needs_packages_and_no_java(tmp_path: Path) -> None:
    watching = f"{HOSTS}monitoring: {{hosts: {{m1: {{ansible_host: 192.0.2.9}}}}}}\n"
    there = ["/usr/bin/prometheus-node-exporter", "/usr/bin/prometheus-exporter-exporter"]
    found = needs(tmp_path, "m1", watching, system_os_release=DEBIAN_12, software_programs=there)
    assert found["java_package"] == ""
    assert found["packages"] == {
        "metrics": [],
        "monitoring": ["prometheus", "prometheus-alertmanager"],
    }
