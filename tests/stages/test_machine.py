"""A virtual machine as a host of the lab, by the commands of every other lab."""

from __future__ import annotations

import pytest
import yaml

from tests.support.lab.lab import leftovers, podman, succeed
from tests.support.lab.topology import ROOT
from tests.support.wait import processors, slowed

pytestmark = pytest.mark.usefixtures("fetched_ahead")
NAME = "test-vm"
MACHINE = {"LAB_TOPOLOGY": "vm", "LAB_NAME": NAME}
SECONDS, SLOWNESS = 360, 5.7
"""Within which a machine is made, deployed and smoked where it takes 17 s to boot; what every lab
needs once is not counted."""
COUNTED = {"hosts", "platform", "smoke"}


def test_a_machine_is_deployed_and_smoked() -> None:
    before, since = volumes(), processors()
    try:
        succeed("up", seconds=2400, env=MACHINE)
        lines = (ROOT / f".lab/{NAME}/phases").read_text().splitlines()
        spent = {name: float(seconds) for name, _, seconds in (x.partition("|") for x in lines)}
        assert spent.keys() >= COUNTED
        limit = SECONDS * max(slowed(since), slowness() / SLOWNESS)
        assert sum(spent[name] for name in COUNTED) <= limit, (spent, limit)
        output = succeed("ssh", "solo", "systemd-detect-virt; uname -r", seconds=60, env=MACHINE)
        assert output.split()[0] in ("qemu", "kvm"), output
        assert "cloud" in output.split()[1]
        podman("stop", f"millrace-{NAME}-solo")
        assert "reboot: Power down" in console(), "the power button did nothing"
    finally:
        succeed("down", seconds=120, env=MACHINE)
    assert not leftovers(NAME)
    assert volumes() <= before, "a machine's disks are left"


def volumes() -> set[str]:
    return set(podman("volume", "ls", "--quiet").split())


def slowness() -> float:
    """How much longer the boot took than it does without emulation."""
    variables = yaml.safe_load((ROOT / f".lab/{NAME}/inventory/transport.yml").read_text())
    return float(variables["all"]["vars"]["lab_slowness"])


def console() -> str:
    """What the machine wrote to its serial line, which podman keeps in pieces."""
    lines = (ROOT / f".lab/{NAME}/solo.console").read_text(errors="replace").splitlines()
    return "".join(line.split(" ", 3)[-1] for line in lines)
