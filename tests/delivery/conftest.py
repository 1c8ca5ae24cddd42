"""The fixtures of the tests of delivery."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from testinfra.host import Host

from tests.support.clients.delivery import REPLICAS, Client, client_of
from tests.support.lab.topology import Topology
from tests.support.services.segments import Disks


@pytest.fixture
def client(topology: Topology, admin: Any, hosts: dict[str, Host]) -> Iterator[Client]:
    """A client; `hosts` is here so that their journals are shown when a test fails."""
    if len(topology.brokers) < REPLICAS:
        pytest.skip(f"{len(topology.brokers)} brokers: the topics have {REPLICAS} replicas")
    with client_of(admin, topology) as client:
        yield client


@pytest.fixture
def disks(topology: Topology, hosts: dict[str, Host]) -> Disks:
    return Disks(topology, hosts)
