"""A virtual machine of Debian 13 as the machine of the lab: `./lab up` in a fresh clone there.

The machine has Python, SSH and sudo; nothing is cached there. What the lab needs it installs itself,
and it packs Kafka with the machine's own Java, whose checksum has to be the recorded one.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from ansible_collections.millrace.streaming.plugins.module_utils.formats.versions import KAFKA

from tests.support.faults.target import skip_unless_full
from tests.support.lab.lab import boot_slowness, excerpt, leftovers, pip_settings, succeed
from tests.support.lab.topology import ROOT
from tests.support.recap import recaps

pytestmark = pytest.mark.usefixtures("fetched_ahead")
NAME = "test-debian13"
LAB = {"LAB_TOPOLOGY": "single", "LAB_NAME": NAME}
MACHINE = {"lab_release": "trixie", "lab_host_kind": "vm", "lab_memory_mb": 5632}
SECONDS, SLOWNESS = 5400, 5.7
"""Within which the lab starts there, if the machine has taken 17 s to boot."""
AUTHORITIES = Path("/usr/local/share/ca-certificates")
"""Where Debian and Ubuntu have the certificates that an administrator trusts."""
CLONE = "~/millrace"
TOPOLOGY = "single"


def run(command: str, *, seconds: float, data: bytes = b"") -> str:
    """Run a command of root on the machine, with its standard input, and return its output.

    It has to succeed within these seconds, or as many times more as the machine took longer to boot.
    """
    settings = shlex.join(f"{name}={value}" for name, value in pip_settings().items())
    done = subprocess.run(
        ["./lab", "ssh", "solo", f"sudo --set-home env {settings} bash -c {shlex.quote(command)}"],
        cwd=ROOT,
        env={**os.environ, **LAB},
        input=data,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=seconds * slowness(),
        check=False,
    )
    output = done.stdout.decode(errors="replace")
    assert done.returncode == 0, excerpt(output)
    return output


def local(*command: str) -> bytes:
    """Return what a command prints here, in the repository."""
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout


def lab(*arguments: str, seconds: float) -> str:
    """Run a verb of `./lab` in the machine's clone, which has to succeed, and return its output."""
    command = f"cd {CLONE} && LAB_TOPOLOGY={TOPOLOGY} ./lab {shlex.join(arguments)}"
    return run(command, seconds=seconds)


def slowness() -> float:
    """Return how many times longer the machine took to boot than the deadlines expect."""
    return max(1, boot_slowness(NAME) / SLOWNESS)


@pytest.fixture(scope="module", autouse=True)
def machine() -> Iterator[None]:
    """A machine that trusts what this one trusts, with a clone of what is committed here."""
    skip_unless_full()
    succeed("down", seconds=120, env=LAB)
    folder = ROOT / f".lab/{NAME}/inventory"
    folder.mkdir(parents=True)
    (folder / "machine.yml").write_text(yaml.safe_dump({"all": {"vars": MACHINE}}))
    try:
        succeed("run", "../molecule/shared/create", seconds=2400, env=LAB)
        run("apt-get update && apt-get install -y git", seconds=1200)
        if AUTHORITIES.is_dir():
            trusted = local("tar", "--create", f"--directory={AUTHORITIES}", ".")
            run(f"tar -x -C {AUTHORITIES} && update-ca-certificates", seconds=600, data=trusted)
        run("cat > ~/bundle", seconds=600, data=local("git", "bundle", "create", "-", "HEAD"))
        run(f"git clone --quiet ~/bundle {CLONE}", seconds=600)
        yield
    finally:
        succeed("down", seconds=120, env=LAB)
    assert not leftovers(NAME)


def test_the_machine_is_what_it_should_be() -> None:
    shown = run(
        "systemd-detect-virt --vm; . /etc/os-release; echo $ID $VERSION_ID;"
        " stat --file-system --format %T /sys/fs/cgroup; type podman java mvn || true",
        seconds=300,
    )
    kind, system, cgroup = shown.splitlines()[:3]
    assert kind in ("qemu", "kvm"), shown
    assert system == "debian 13"
    assert cgroup == "cgroup2fs"
    assert " is /" not in shown, shown


def test_a_fresh_clone_starts_the_lab() -> None:
    """The smoke test is part of it, and so is the checksum of what was packed there."""
    lab("up", seconds=SECONDS)
    assert KAFKA.default in lab("ssh", "solo", "ls -d /opt/millrace/kafka*", seconds=300)
    recorded = (ROOT / f"artifacts/kafka/{KAFKA.default}/SHA256").read_text().strip()
    packed = run("sha256sum ~/.cache/millrace/artifacts/kafka-*.tar", seconds=300)
    assert packed.split()[0] == recorded
    assert run("podman --version", seconds=300).split()[-1].startswith("5.")


def test_a_second_run_changes_nothing() -> None:
    lab("up", seconds=SECONDS)
    counters = recaps(run(f"cat {CLONE}/.lab/log/up.log", seconds=300))
    assert counters
    assert sum(counter["changed"] for counter in counters) == 0


def test_it_is_removed_without_a_trace() -> None:
    lab("down", seconds=600)
    assert not run("podman ps --all --quiet; podman volume ls --quiet", seconds=300).strip()
