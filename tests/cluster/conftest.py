"""Behaviour from outside, on any inventory: `pytest tests/cluster --inventory inventories/<yours>`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import testinfra
from kafka import KafkaAdminClient
from testinfra.host import Host

from tests.support.topology import ROOT, Topology, describe


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Ask nothing of a topology that it does not have: tests name the group they need."""


@pytest.fixture(scope="session")
def topology(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Topology:
    inventory = request.config.getoption("--inventory")
    if not inventory:
        pytest.fail("say which cluster: --inventory inventories/<yours>")
    found = describe(Path(inventory).resolve(), tmp_path_factory.mktemp("topology") / "it.json")
    assert found.hosts, f"{inventory} has no hosts: nothing would be tested"
    return found


@pytest.fixture(scope="session")
def hosts(topology: Topology) -> dict[str, Host]:
    """The hosts over SSH, as root through sudo."""
    os.chdir(ROOT)
    return {
        name: testinfra.get_host(f"ansible://{name}?ansible_inventory={topology.inventory}", sudo=True)
        for name in topology.hosts
    }


@pytest.fixture(scope="session")
def admin(topology: Topology) -> Iterator[KafkaAdminClient]:
    client = KafkaAdminClient(bootstrap_servers=list(topology.brokers.values()))
    yield client
    client.close()


@pytest.fixture(scope="session")
def facts(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    """What the tests measured; written to --facts for the report."""
    found: dict[str, Any] = {}
    yield found
    path = request.config.getoption("--facts")
    if path:
        Path(path).write_text(json.dumps(found, indent=2) + "\n")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Show the journals of the hosts when a test fails."""
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined] # pluggy's Result
    if report.when == "call" and report.failed:
        hosts: dict[str, Host] = getattr(item, "funcargs", {}).get("hosts", {})
        for name, host in hosts.items():
            journal = host.run("journalctl --no-pager --lines 40 -u kafka -u 'spark-*'")
            report.sections.append((f"journal of {name}", journal.stdout))
