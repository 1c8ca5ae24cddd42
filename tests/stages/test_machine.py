"""A virtual machine as a host of the lab, by the commands of every other lab."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.faults.target import FULL, PART_OF_FULL
from tests.support.lab.lab import boot_slowness, leftovers, podman, run_tests, succeed
from tests.support.lab.topology import ROOT
from tests.support.wait import processors, slowed

pytestmark = pytest.mark.usefixtures("fetched_ahead")
NAME = "test-vm"
MACHINE = {"LAB_TOPOLOGY": "vm", "LAB_NAME": NAME}
SECONDS, SLOWNESS = 480, 5.7
"""Within which a machine is made, deployed and smoked where it takes 17 s to boot; what every lab
needs once is not counted."""
COUNTED = {"hosts", "platform", "smoke"}


@pytest.fixture(scope="module")
def limit() -> Iterator[float]:
    """Start the lab; seconds that what is counted of it may have taken."""
    before, since = volumes(), processors()
    try:
        succeed("up", seconds=2400, env=MACHINE)
        yield SECONDS * max(slowed(since), boot_slowness(NAME) / SLOWNESS)
    finally:
        succeed("down", seconds=120, env=MACHINE)
    assert not leftovers(NAME)
    assert volumes() <= before, "a machine's disks are left"


def test_a_machine_is_deployed_and_smoked(limit: float) -> None:
    lines = (ROOT / f".lab/{NAME}/phases").read_text().splitlines()
    spent = {name: float(seconds) for name, _, seconds in (line.partition("|") for line in lines)}
    assert spent.keys() >= COUNTED
    assert sum(spent[name] for name in COUNTED) <= limit, (spent, limit)
    output = succeed("ssh", "solo", "systemd-detect-virt; uname -r", seconds=60, env=MACHINE)
    assert output.split()[0] in ("qemu", "kvm"), output
    assert "cloud" in output.split()[1]


@pytest.mark.skipif(not FULL, reason=PART_OF_FULL)
@pytest.mark.usefixtures("limit")
def test_a_wrong_clock_is_noticed() -> None:
    inventory = str(ROOT / f".lab/{NAME}/inventory")
    run_tests(
        "tests/failover/test_alerts.py", "-k", "machine", "--inventory", inventory, seconds=1800
    )


@pytest.mark.usefixtures("limit")
def test_its_power_button_shuts_it_down() -> None:
    podman("stop", f"millrace-{NAME}-solo")
    assert "reboot: Power down" in console(), "the power button did nothing"


def volumes() -> set[str]:
    return set(podman("volume", "ls", "--quiet").split())


def console() -> str:
    """What the machine wrote to its serial line, which podman keeps in pieces."""
    lines = (ROOT / f".lab/{NAME}/solo.console").read_text(errors="replace").splitlines()
    return "".join(line.split(" ", 3)[-1] for line in lines)
