"""One cluster for all of these, in the order of their files and within each from top to bottom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
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
        self._write(dict.fromkeys(self._brokers, variables))

    @contextmanager
    def also(self, *hosts: str, **variables: object) -> Iterator[None]:
        """Set these of some hosts in addition, and put back what was set before."""
        before: dict[str, dict[str, object]] = {name: {} for name in self._brokers}
        if self._file.exists():
            before = yaml.safe_load(self._file.read_text())["kafka"]["hosts"]
        self._write(
            {
                name: {**present, **(variables if name in hosts else {})}
                for name, present in before.items()
            }
        )
        try:
            yield
        finally:
            self._write(before)

    def _write(self, hosts: Mapping[str, Mapping[str, object]]) -> None:
        content = {name: dict(variables) for name, variables in hosts.items()}
        self._file.write_text(yaml.safe_dump({"kafka": {"hosts": content}}))
