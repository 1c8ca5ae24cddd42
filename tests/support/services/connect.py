"""Fixtures: the workers of Kafka Connect, and their REST interface."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host.connect_rest import Rest
from ansible_collections.millrace.streaming.plugins.module_utils.model.connect import (
    ADMIN_CERTIFICATE,
    AUTHORITY_FILE,
    Worker,
)

from tests.support.lab.topology import Topology


@pytest.fixture(scope="module")
def connect_workers(topology: Topology) -> dict[str, Worker]:
    if not topology.cluster.connect:
        pytest.skip("no Kafka Connect here")
    return dict(topology.cluster.connect)


@pytest.fixture(scope="module")
def connect_secrets(topology: Topology, connect_workers: dict[str, Worker]) -> Path:
    """Where the certificates for its REST interface are."""
    return Path(topology.cluster.inventory.secrets.directory)


@pytest.fixture(scope="module")
def connect_addresses(topology: Topology, connect_workers: dict[str, Worker]) -> list[str]:
    """Where the workers answer, `host:port`."""
    found = connect_workers.items()
    return [f"{topology.addresses[name]}:{one.ports['connect_port']}" for name, one in found]


@pytest.fixture(scope="module")
def connect_rest(
    connect_workers: dict[str, Worker], connect_addresses: list[str], connect_secrets: Path
) -> Rest:
    """The interface, with the certificate that is for people."""
    if not next(iter(connect_workers.values())).is_secured:
        return Rest(connect_addresses)
    pem = connect_secrets / "certificates" / f"{ADMIN_CERTIFICATE}.pem"
    return Rest(connect_addresses, str(pem), str(connect_secrets / AUTHORITY_FILE))
