"""The services of every host, as its systemd and its processes show them."""

from __future__ import annotations

import pytest
from testinfra.host import Host

from tests.support.topology import Topology


def services(topology: Topology, hosts: dict[str, Host], host: str) -> dict[str, str]:
    """Unit to the user that runs it: those of the inventory, and the jobs that are there."""
    found, settings = topology.cluster.services(host), topology.cluster.hosts[host].settings
    units = {name: settings[f"{name}_user"] for name in found if name != "spark"}
    listing = "systemctl list-unit-files --no-legend 'spark-job-*'"
    jobs = [line.split()[0] for line in hosts[host].run(listing).stdout.splitlines()]
    if spark := topology.cluster.spark.get(host):
        units |= dict.fromkeys([*spark.units, *jobs], settings["spark_user"])
    return units


def test_every_service_runs_enabled_and_never_died(
    topology: Topology, hosts: dict[str, Host]
) -> None:
    seen = 0
    for name, host in hosts.items():
        for unit, user in services(topology, hosts, name).items():
            shown = host.check_output(
                "systemctl show --property=ActiveState,UnitFileState,NRestarts,User %s", unit
            )
            state = dict(line.split("=", 1) for line in shown.splitlines())
            assert state == {
                "ActiveState": "active",
                "UnitFileState": "enabled",
                "NRestarts": "0",
                "User": user,
            }, f"{unit} on {name}"
            seen += 1
    assert seen >= len(hosts)


def test_services_are_confined(topology: Topology, hosts: dict[str, Host]) -> None:
    """By systemd's own measure of a unit's exposure; 10 is one that is not confined."""
    homes = {unit: name for name in hosts for unit in services(topology, hosts, name)}
    assert homes
    for unit, name in homes.items():
        verdict = hosts[name].check_output("systemd-analyze security --no-pager %s | tail -1", unit)
        exposure = float(verdict.split(":")[1].split()[0])
        assert exposure <= 3.0, f"{unit}: {verdict}"


def test_no_host_runs_on_older_configuration(hosts: dict[str, Host]) -> None:
    for name, host in hosts.items():
        marks = host.run("ls /run/*/restart-pending").stdout
        assert not marks, f"{name} waits for a restart: {marks}"


def test_tools_are_on_the_path_under_their_documented_names(
    topology: Topology, hosts: dict[str, Host]
) -> None:
    brokers = topology.group("kafka_brokers")
    if not brokers:
        pytest.skip("no Kafka here")
    broker = brokers[0]
    version = hosts[broker].check_output("kafka-topics.sh --version")
    assert version.split()[0] == topology.cluster.kafka[broker].version
