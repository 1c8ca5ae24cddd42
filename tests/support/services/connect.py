"""Fixtures: the workers of Kafka Connect, and their REST interface."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host.connect_rest import Rest
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.connect.model import (
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
    workers = connect_workers.items()
    return [
        f"{topology.addresses[name]}:{worker.ports['connect_port']}" for name, worker in workers
    ]


@pytest.fixture(scope="module")
def connect_rest(
    connect_workers: dict[str, Worker], connect_addresses: list[str], connect_secrets: Path
) -> Rest:
    """The interface, with the certificate that is for people."""
    if not next(iter(connect_workers.values())).is_secured:
        return Rest(connect_addresses)
    pem = connect_secrets / "certificates" / f"{ADMIN_CERTIFICATE}.pem"
    return Rest(connect_addresses, str(pem), str(connect_secrets / AUTHORITY_FILE))


def by_address(workers: Mapping[str, Worker]) -> dict[str, str]:
    """The host of each worker, by the address that the REST interface gives."""
    addresses = next(iter(workers.values())).rest_addresses.values()
    return dict(zip(addresses, workers, strict=True))


def moves_within(worker: Worker) -> float:
    """Seconds in which the tasks of a killed worker have to run on another one.

    1.5 times what the group waits: for a heartbeat, and for the worker to come back.
    """
    session = int(worker.config.get("session.timeout.ms", 10_000))  # Kafka Connect's own
    return 1.5 * (int(worker.config["scheduled.rebalance.max.delay.ms"]) + session) / 1000
