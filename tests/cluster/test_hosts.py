"""The services of every host, as its systemd and its processes show them."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.monitoring.packaged import (
    Packaged,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.postgresql.model import (
    ACCOUNT,
    UNIT,
)
from testinfra.host import Host

from tests.support.lab.topology import Topology

SHOWN = "Id ActiveState UnitFileState NRestarts User"


def services(topology: Topology, hosts: dict[str, Host], host: str) -> dict[str, str]:
    """Unit to the user that runs it: those of the inventory, and the jobs that run all the time."""
    deployed, settings = topology.cluster.services(host), topology.cluster.hosts[host].settings
    units = {
        f"{unit}.service": settings[f"{name}_user"]
        for name, service in deployed.items()
        if name != "spark"
        for unit in service.units
    }
    listing = "grep -sL '^Type=oneshot' /etc/systemd/system/spark-job-*.service"
    jobs = [Path(line).name for line in hosts[host].run(listing).stdout.splitlines()]
    if spark := topology.cluster.spark.get(host):
        daemons = [f"{unit}.service" for unit in spark.units]
        units |= dict.fromkeys([*daemons, *jobs], settings["spark_user"])
    database = {f"{UNIT}.service": ACCOUNT} if host in topology.cluster.databases else {}
    packaged = {
        f"{unit}.service": service.user
        for service in topology.cluster.deployed(host).values()
        if isinstance(service, Packaged)
        for unit in service.units
    }
    return {**units, **database, **packaged}


@pytest.fixture(scope="module")
def units(topology: Topology, hosts: dict[str, Host]) -> dict[str, dict[str, str]]:
    """Host to its units and who runs each."""
    return {name: services(topology, hosts, name) for name in hosts}


def test_every_service_runs_enabled_and_never_died(
    hosts: dict[str, Host], units: dict[str, dict[str, str]]
) -> None:
    for name, users in units.items():
        shown = hosts[name].check_output(
            f"systemctl show --property={SHOWN.replace(' ', ',')} {' '.join(users)}"
        )
        blocks = [
            dict(line.split("=", 1) for line in block.splitlines()) for block in shown.split("\n\n")
        ]
        assert users, f"{name} has no service: nothing was tested"
        assert {block.pop("Id"): block for block in blocks} == {
            unit: {
                "ActiveState": "active",
                "UnitFileState": "enabled",
                "NRestarts": "0",
                "User": user,
            }
            for unit, user in users.items()
        }, name


def test_services_are_confined(hosts: dict[str, Host], units: dict[str, dict[str, str]]) -> None:
    """By systemd's own measure of a unit's exposure; 10 is one that is not confined."""
    for name, users in units.items():
        script = "for unit; do systemd-analyze security --no-pager $unit | tail -1; done"
        verdicts = hosts[name].check_output(f"sh -c '{script}' - {' '.join(users)}").splitlines()
        assert len(verdicts) == len(users)
        for verdict in verdicts:
            assert float(verdict.split(":")[1].split()[0]) <= 3.0, f"{name}: {verdict}"


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
