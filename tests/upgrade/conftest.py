"""One cluster for all of these, in the order of their files and within each from top to bottom."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.support.lab.topology import Topology


@pytest.fixture(scope="session")
def inventory(topology: Topology) -> Inventory:
    return Inventory(topology.inventory, topology.group("kafka_brokers"))


class Inventory:
    """What a test writes into the lab's own inventory, as an operator edits theirs."""

    def __init__(self, directory: Path, brokers: list[str]) -> None:
        self._file, self._brokers = directory / "changed.yml", brokers

    def set(self, **variables: object) -> None:
        """Set these of every broker, and nothing else."""
        hosts = {name: dict(variables) for name in self._brokers}
        self._file.write_text(yaml.safe_dump({"kafka": {"hosts": hosts}}))
