"""A virtual machine as a host of the lab, by the commands of every other lab."""

from __future__ import annotations

import pytest

from tests.support.lab import leftovers, podman, succeed
from tests.support.topology import ROOT

pytestmark = pytest.mark.usefixtures("fetched_ahead")
NAME = "test-vm"
MACHINE = {"LAB_TOPOLOGY": "vm", "LAB_NAME": NAME}
SECONDS = 360
"""Within which a machine is made, deployed and smoked; what every lab needs once is not counted."""
COUNTED = {"hosts", "platform", "smoke"}


def test_a_machine_is_deployed_and_smoked() -> None:
    before = volumes()
    try:
        succeed("up", seconds=900, env=MACHINE)
        lines = (ROOT / f".lab/{NAME}/phases").read_text().splitlines()
        spent = {name: float(seconds) for name, _, seconds in (x.partition("|") for x in lines)}
        assert spent.keys() >= COUNTED
        assert sum(spent[name] for name in COUNTED) <= SECONDS, spent
        said = succeed("ssh", "solo", "systemd-detect-virt; uname -r", seconds=60, env=MACHINE)
        assert said.split()[0] in ("qemu", "kvm"), said
        assert "cloud" in said.split()[1]
    finally:
        succeed("down", seconds=120, env=MACHINE)
    assert not leftovers(NAME)
    assert volumes() <= before, "a machine's disks are left"


def volumes() -> set[str]:
    return set(podman("volume", "ls", "--quiet").split())
