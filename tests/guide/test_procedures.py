"""Procedures for operators, by the commands of their pages, on a secured cluster."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from testinfra.host import Host

from tests.support.clients import guide
from tests.support.clients.operator import INVENTORY, Operator
from tests.support.faults.target import FULL, PART_OF_FULL
from tests.support.lab.topology import Topology
from tests.support.recap import changed

pytestmark = pytest.mark.skipif(not FULL, reason=PART_OF_FULL)
CONTROL_NODE = guide.CONTROL_NODE


@pytest.fixture
def operator(topology: Topology, hosts: dict[str, Host], tmp_path: Path) -> Operator:
    assert topology.closed, "there are no users on an open cluster"
    return Operator(topology, hosts, tmp_path)


def test_a_restored_control_node_is_the_former_one(operator: Operator, tmp_path: Path) -> None:
    inventory, place = operator.topology.inventory, tmp_path / "restored"
    place.mkdir()
    pack, look = guide.commands("Back up", CONTROL_NODE)
    unpack, *compare = guide.commands("Restore", CONTROL_NODE)
    operator.names = {INVENTORY: inventory.name}
    operator.run(pack, folder=inventory.parent)
    assert operator.run(look).strip() == f"{inventory.name}/.secrets/store.json"
    operator.run(unpack, folder=place)
    restored = place / inventory.name
    assert stat.S_IMODE((restored / ".secrets").stat().st_mode) == 0o700
    operator.names = {INVENTORY: str(restored)}
    outputs = [operator.run(command) for command in compare]
    assert [changed(output) for output in outputs] == [0, 0]
