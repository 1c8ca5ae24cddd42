"""What the `host` role and the units set is in force, as the kernel reports it, at every boot."""

from __future__ import annotations

import re
from contextlib import suppress

import pytest
from testinfra.host import Host

from tests.support.lab.change import Plays
from tests.support.lab.topology import Topology
from tests.support.wait import wait_for

ALL = ("-e", "rolling_reboot_all=true")
PROVE = ("-e", "prove=true", "-e", "prove_rate=5")
OPEN_FILES = "cat /proc/$(systemctl show --property=MainPID --value kafka)/limits"


@pytest.fixture(scope="module")
def boots(topology: Topology, hosts: dict[str, Host]) -> dict[str, str]:
    if not topology.machines:
        pytest.skip("no machines here")
    return {name: boot(host) for name, host in hosts.items()}


def boot(host: Host) -> str:
    return str(host.check_output("cat /proc/sys/kernel/random/boot_id")).strip()


def in_force(name: str, topology: Topology, host: Host) -> None:
    """The kernel is asked; nothing is read from a configuration file."""
    configured = topology.cluster.hosts[name]
    sysctl = {key: str(value) for key, value in configured.settings["host_sysctl"].items()}
    lines = host.check_output(f"sysctl {' '.join(sysctl)}").splitlines()
    assert dict(line.split(" = ") for line in lines) == sysctl
    pages = host.check_output("cat /sys/kernel/mm/transparent_hugepage/enabled")
    assert f"[{configured.settings['host_transparent_huge_pages']}]" in pages
    for mount in configured.mounts:
        shown = host.check_output("findmnt --noheadings --output FSTYPE,OPTIONS %s", mount["path"])
        assert shown.split()[0] == mount["fstype"]
        assert "noatime" in shown
    limits = dict(line.rsplit(maxsplit=3)[:2] for line in files(host))
    assert limits == {"Max open files": "100000"}


def files(host: Host) -> list[str]:
    return [line for line in host.check_output(OPEN_FILES).splitlines() if "open files" in line]


def test_the_settings_are_in_force(
    topology: Topology, hosts: dict[str, Host], boots: dict[str, str]
) -> None:
    for name in boots:
        in_force(name, topology, hosts[name])


def test_the_roll_ends_at_a_machine_that_is_late(
    hosts: dict[str, Host], boots: dict[str, str], plays: Plays
) -> None:
    output = plays.refuse("rolling_reboot", *ALL, "-e", "kafka_reboot_timeout=5")
    assert "did not come back" in output, output[-3000:]
    assert "playbooks/rolling_reboot.yml" in output, "the command that goes on is not named"
    wait_for(lambda: rebooted(hosts, boots), seconds=60, what="the machine that was late")


def rebooted(hosts: dict[str, Host], boots: dict[str, str]) -> set[str]:
    """The machines that answer and have another boot than they had."""
    names = set()
    for name, host in hosts.items():
        with suppress(RuntimeError):  # SSH itself failed
            if boot(host) != boots[name]:
                names.add(name)
    return names


def test_the_others_are_rebooted_one_by_one_and_nothing_is_lost(
    topology: Topology, hosts: dict[str, Host], boots: dict[str, str], plays: Plays
) -> None:
    """They were asked before, and still ask."""
    late = rebooted(hosts, boots)
    assert len(late) == 1
    output = plays.succeed("rolling_reboot", *PROVE, seconds=900)
    assert f"node {len(boots) - 1} of {len(boots) - 1}" in output
    report = plays.proof()
    assert report["verdict"] == "PASS", report
    assert {change["node"] for change in report["changes"]} == set(boots) - late
    assert rebooted(hosts, boots) == set(boots)


def test_services_came_in_order_and_settings_are_in_force_again(
    topology: Topology, hosts: dict[str, Host], boots: dict[str, str]
) -> None:
    """After the reboot only systemd started services."""
    for name in boots:
        host = hosts[name]
        assert boot(host) != boots[name]
        in_force(name, topology, host)
        kafka = started(host, "kafka.service", "ExecMainStartTimestampMonotonic")
        for mount in topology.cluster.hosts[name].mounts:
            unit = host.check_output("systemd-escape --path --suffix=mount %s", mount["path"])
            mounted = started(host, unit, "ActiveEnterTimestampMonotonic")
            assert 0 < mounted < kafka, unit
        assert host.check_output("systemctl show --property=NRestarts --value kafka") == "0"


def started(host: Host, unit: str, name: str) -> int:
    """When something of a unit happened, in microseconds since the boot."""
    return int(host.check_output("systemctl show --property=%s --value %s", name, unit))


def test_only_a_machine_that_asks_is_rebooted(
    plays: Plays, hosts: dict[str, Host], boots: dict[str, str]
) -> None:
    """One by the file that Ubuntu leaves, another by a newer kernel of its own flavour."""
    before = {name: boot(hosts[name]) for name in boots}
    plays.succeed("rolling_reboot")
    assert before == {name: boot(hosts[name]) for name in boots}, "nobody asked"
    by_file, by_kernel, unaffected = sorted(boots)
    newer = "/boot/vmlinuz-99.0.0-1-$(uname -r | cut -d- -f3-)"
    hosts[by_file].check_output("touch /run/reboot-required")
    hosts[by_kernel].check_output(f"touch {newer}")
    hosts[unaffected].check_output("touch /boot/vmlinuz-99.0.0-1-of-another-flavour")
    try:
        output = plays.succeed("rolling_reboot", "--check")
    finally:
        for host in hosts.values():
            host.check_output("rm -f /run/reboot-required /boot/vmlinuz-99*")
    planned = re.search(r"each through the gate: ([\w, ]*\w)", output)
    assert planned, output[-3000:]
    assert set(planned[1].split(", ")) == {by_file, by_kernel}
