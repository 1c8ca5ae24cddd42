"""A virtual machine as a host of the lab, by the commands of every other lab."""

from __future__ import annotations

import pytest
import yaml

from tests.support.faults import FULL
from tests.support.lab import lab, leftovers, podman, succeed
from tests.support.topology import ROOT
from tests.support.wait import processors, slowed, wait_for

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
        said = succeed("ssh", "solo", "systemd-detect-virt; uname -r", seconds=60, env=MACHINE)
        assert said.split()[0] in ("qemu", "kvm"), said
        assert "cloud" in said.split()[1]
        if FULL:
            a_reboot_that_is_late_is_told_and_the_next_one_is_whole()
        podman("stop", f"millrace-{NAME}-solo")
        assert "reboot: Power down" in console(), "the power button was not heard"
    finally:
        succeed("down", seconds=120, env=MACHINE)
    assert not leftovers(NAME)
    assert volumes() <= before, "a machine's disks are left"


def a_reboot_that_is_late_is_told_and_the_next_one_is_whole() -> None:
    """Whatever became of the reboot, the same command goes on from there."""
    every = ("run", "rolling_reboot", "-e", "rolling_reboot_all=true")
    first = boot()
    late = lab(*every, "-e", "kafka_reboot_timeout=1", seconds=900, env=MACHINE)
    said = " ".join(late.stdout.split())
    assert late.returncode != 0, said[-3000:]
    assert "solo did not come back" in said, said[-3000:]
    assert "run rolling_reboot.yml again" in said, said[-3000:]
    wait_for(lambda: boot() not in ("", first), seconds=300, what="another boot")
    second = boot()
    said = succeed(*every, seconds=1800, env=MACHINE)
    assert "node 1 of 1, is back after" in said, said[-3000:]
    assert boot() not in ("", second)
    assert "each through the gate" not in succeed("run", "rolling_reboot", seconds=600, env=MACHINE)


def boot() -> str:
    """What tells one boot of the machine from another, nothing while it does not answer."""
    done = lab("ssh", "solo", "cat /proc/sys/kernel/random/boot_id", seconds=60, env=MACHINE)
    return done.stdout.strip() if done.returncode == 0 else ""


def volumes() -> set[str]:
    return set(podman("volume", "ls", "--quiet").split())


def slowness() -> float:
    """How much longer the boot took than it does without emulation."""
    told = yaml.safe_load((ROOT / f".lab/{NAME}/inventory/transport.yml").read_text())
    return float(told["all"]["vars"]["lab_slowness"])


def console() -> str:
    """What the machine wrote to its serial line, which podman keeps in pieces."""
    lines = (ROOT / f".lab/{NAME}/solo.console").read_text(errors="replace").splitlines()
    return "".join(line.split(" ", 3)[-1] for line in lines)
