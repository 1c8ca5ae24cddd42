"""Which hosts ask for a reboot: the command that playbooks/rolling_reboot.yml asks them by."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import yaml

from tests.support.topology import ROOT

BOOKWORM = "6.1.0-44-cloud-amd64"
TRIXIE = "6.12.48+deb13-cloud-amd64"


def asks(tmp_path: Path, running: str, *kernels: str) -> bool:
    """Run it where these kernels are installed."""
    (look,) = yaml.safe_load((ROOT / "playbooks/tasks/reboot_look.yml").read_text())
    boot = tmp_path / "boot"
    boot.mkdir()
    for name in (running, *kernels):
        (boot / f"vmlinuz-{name}").touch()
    command: str = look["vars"]["reboot_look_command"]
    for place, here in {
        "$(uname -r)": running,
        "/boot": str(boot),
        "/run/reboot-required": str(tmp_path / "reboot-required"),
    }.items():
        assert place in command
        command = command.replace(place, here)
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)  # noqa: S603, S607 - the shell on PATH, our own command
    assert not done.stderr
    return "asked" in done.stdout.split()


@pytest.mark.parametrize(
    ("running", "newer"),
    [
        (BOOKWORM, "6.1.0-45-cloud-amd64"),
        (BOOKWORM, "6.1.0-100-cloud-amd64"),
        (BOOKWORM, "6.12.9+bpo-cloud-amd64"),
        (BOOKWORM, TRIXIE),
        (TRIXIE, "6.12.57+deb13-cloud-amd64"),
        ("6.12.48+deb13-amd64", "6.12.57+deb13-amd64"),
        ("6.8.0-45-generic", "6.8.0-110-generic"),
        ("6.12.48", "6.13.1"),
    ],
)
def test_a_newer_kernel_asks(tmp_path: Path, running: str, newer: str) -> None:
    assert asks(tmp_path, running, newer)


@pytest.mark.parametrize(
    ("running", "other"),
    [
        (BOOKWORM, "6.1.0-9-cloud-amd64"),
        (BOOKWORM, "6.1.0-45-amd64"),
        (BOOKWORM, "6.1.0-45-rt-amd64"),
        (BOOKWORM, "6.1.0-45-cloud-amd64.old"),
        (TRIXIE, "6.12.57+deb13-amd64"),
        ("6.1.0-44-amd64", "6.1.0-45-cloud-amd64"),
        ("6.8.0-45-generic", "6.8.0-110-aws"),
    ],
)
def test_an_older_one_or_one_of_another_flavour_does_not(
    tmp_path: Path, running: str, other: str
) -> None:
    assert not asks(tmp_path, running, other)


def test_the_file_that_ubuntu_leaves_asks(tmp_path: Path) -> None:
    (tmp_path / "reboot-required").touch()
    assert asks(tmp_path, BOOKWORM)
