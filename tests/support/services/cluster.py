"""Behaviour from outside, on any inventory.

`pytest tests/cluster --inventory inventories/<yours>` works for virtual machines too.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pluggy
import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host.network import listens
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.client import Cluster
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.node import (
    CLIENT_PROPERTIES,
)
from testinfra.host import Host

from tests.support.lab.change import Plays
from tests.support.lab.topology import ROOT, Topology, describe, over_ssh
from tests.support.services.spark import DRIVER, active_master
from tests.support.wait import slower

UNITS = (
    "kafka",
    "zookeeper",
    "connect",
    "schema_registry",
    "millrace-postgresql",
    "'hdfs-*'",
    "'spark-*'",
)
JOURNAL = " ".join(["journalctl --no-pager --lines 40", *(f"-u {unit}" for unit in UNITS)])


@pytest.fixture(scope="session")
def topology(request: pytest.FixtureRequest) -> Topology:
    inventory = request.config.getoption("--inventory")
    if not inventory:
        pytest.fail("--inventory inventories/<yours> is missing: which cluster?")
    topology = describe(Path(inventory).resolve())
    assert topology.hosts, f"{inventory} has no hosts: nothing would be tested"
    slower(topology.slowness)
    # Otherwise each test would wait for its own deadline, and the first failure would say less.
    silent = [f"broker {node} ({at})" for node, at in topology.brokers.items() if not listens(at)]
    if silent:
        pytest.exit(f"{', '.join(silent)} accept no connection: see ./lab status, or health.yml", 1)
    return topology


@pytest.fixture(scope="session")
def plays(topology: Topology, tmp_path_factory: pytest.TempPathFactory) -> Plays:
    """The playbooks as an operator runs them, with a state of their own."""
    return Plays(topology, tmp_path_factory.mktemp("state"))


@pytest.fixture(scope="session")
def hosts(topology: Topology) -> dict[str, Host]:
    """The hosts over SSH, as root through sudo."""
    os.chdir(ROOT)
    return over_ssh(topology)


@pytest.fixture(scope="session")
def admin(topology: Topology) -> Iterator[Any]:
    """An admin client."""
    if not topology.brokers:
        pytest.skip("no Kafka here")
    with clients.admin(topology.connection) as client:
        yield client


@pytest.fixture
def cluster(topology: Topology) -> Iterator[Cluster]:
    """The cluster as the modules ask it: a broker that does not answer is passed over."""
    if not topology.brokers:
        pytest.skip("no Kafka here")
    cluster = Cluster(topology.connection)
    yield cluster
    cluster.close()


def summary(topology: Topology) -> dict[str, Any]:
    """Address and roles of each host, with versions."""
    hosts, cluster = {}, topology.cluster
    for name in topology.hosts:
        components = []
        if member := cluster.zookeeper.get(name):
            components.append(f"ZooKeeper {member.version} member {member.id}")
        if node := cluster.kafka.get(name):
            components.append(f"Kafka {node.version} {' and '.join(node.roles)} {node.id}")
        if worker := cluster.connect.get(name):
            components.append(f"Kafka Connect {worker.version} worker")
        if registry := cluster.schema_registry.get(name):
            components.append(f"{registry.title} {registry.version}")
        if name in cluster.monitoring:
            components += ["Prometheus and Alertmanager", "console"]
        if name in cluster.databases:
            components.append("PostgreSQL")
        if hdfs := cluster.hdfs.get(name):
            components += [f"HDFS {hdfs.version} {role}" for role in hdfs.roles]
        if spark := cluster.spark.get(name):
            components += [f"Spark {spark.version} {role}" for role in spark.roles]
        hosts[name] = {"address": topology.addresses[name], "what": components}
    return hosts


@pytest.fixture(scope="session")
def facts(request: pytest.FixtureRequest, topology: Topology) -> Iterator[dict[str, Any]]:
    """What the tests measured; written to --facts for the report."""
    facts: dict[str, Any] = {
        "topology": {
            "hosts": summary(topology),
            "urls": topology.urls,
            "sign_in_urls": topology.sign_in_urls,
            "secrets": topology.cluster.inventory.secrets.directory,
        }
    }
    if topology.brokers:
        node = topology.cluster.brokers[0]
        facts["kafka"] = {
            "brokers": topology.brokers,
            "client": {
                "host": node.name,
                "protocol": node.listeners.brokers[0].protocol,
                "bootstrap": node.clients.bootstrap[0],
                "config": CLIENT_PROPERTIES,
            },
        }
    yield facts
    path = request.config.getoption("--facts")
    if path:
        Path(path).write_text(json.dumps(facts, indent=2) + "\n")


@dataclass(frozen=True)
class SparkProbe:
    """The result of the job jobs/probe.py: rows are the Delta table's, if any."""

    app: str
    hosts: list[str]
    rows: list[dict[str, Any]]


@pytest.fixture(scope="session")
def master(topology: Topology) -> str:
    """The host of the master that leads; tests that need one are skipped where there is none."""
    if not topology.group("spark_masters"):
        pytest.skip("no Spark here")
    return active_master(topology)


@pytest.fixture(scope="session")
def spark_probe(
    request: pytest.FixtureRequest, topology: Topology, hosts: dict[str, Host], master: str
) -> SparkProbe:
    """Run one job on the cluster for all tests that ask about jobs."""
    shared = topology.cluster.spark[master].shared_dir
    table = f"{shared}/{request.config.getoption('--flights-topic')}/windows"
    has_table = hosts[master].run("test -d %s/_delta_log", table).rc == 0
    ran = hosts[master].run(
        DRIVER + " timeout 180 runuser -u spark -- python3 -c %s %s",
        (ROOT / "tests/support/services/jobs/probe.py").read_text(),
        table if has_table else "",
    )
    assert ran.rc == 0, ran.stderr
    result = json.loads(ran.stdout.splitlines()[-1])
    return SparkProbe(result["app"], result["hosts"], [json.loads(row) for row in result["rows"]])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Test the rest while the flights stream works."""
    items.sort(key=lambda item: item.path.name == "test_flights.py")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pluggy.Result[pytest.TestReport], None]:
    """Show the journals of the hosts when a test fails."""
    outcome = yield
    report = outcome.get_result()
    if report.when == "call" and report.failed:
        hosts: dict[str, Host] = getattr(item, "funcargs", {}).get("hosts", {})
        for name, host in hosts.items():
            report.sections.append((f"journal of {name}", journal(host)))


def journal(host: Host) -> str:
    """The last lines of a host's services."""
    try:
        return str(host.run(JOURNAL).stdout)
    except RuntimeError as error:  # a machine without power
        return str(error)
