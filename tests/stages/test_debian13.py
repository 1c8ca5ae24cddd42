"""A virtual machine of Debian 13 as the machine of the lab: `./lab up` in a fresh clone there.

The machine has Python, SSH and sudo; nothing is cached there. What the lab needs it installs itself,
and it packs Kafka with the machine's own Java, whose checksum has to be the recorded one.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from ansible_collections.millrace.streaming.plugins.module_utils.formats.versions import KAFKA

from tests.support.faults.target import FULL, PART_OF_FULL
from tests.support.lab.lab import excerpt, leftovers, pip_settings, succeed
from tests.support.lab.topology import ROOT
from tests.support.recap import recaps
from tests.support.wait import processors, slowed

pytestmark = pytest.mark.usefixtures("fetched_ahead")
NAME = "test-debian13"
LAB = {"LAB_TOPOLOGY": "single", "LAB_NAME": NAME}
MACHINE = {"lab_release": "trixie", "lab_host_kind": "vm", "lab_memory_mb": 5632}
AUTHORITIES = Path("/usr/local/share/ca-certificates")
"""Where Debian and Ubuntu have the certificates that an administrator trusts."""
CLONE = "/root/millrace"
UP = f"cd {CLONE} && LAB_TOPOLOGY=single ./lab up"


def run(command: str, *, seconds: float, data: bytes = b"") -> str:
    """Run a command of root on the machine, with its standard input, and return its output.

    It has to succeed.
    """
    done = subprocess.run(  # noqa: S603 - our own command
        ["./lab", "ssh", "solo", f"sudo bash -c {shlex.quote(command)}"],
        cwd=ROOT,
        env={**os.environ, **LAB},
        input=data,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=seconds,
        check=False,
    )
    output = done.stdout.decode(errors="replace")
    assert done.returncode == 0, excerpt(output)
    return output


def local(*command: str) -> bytes:
    """Return what a command prints here, in the repository."""
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout  # noqa: S603 - our own commands


@pytest.fixture(scope="module")
def machine() -> Iterator[None]:
    """A machine that trusts what this one trusts, with a clone of what is committed here."""
    succeed("down", seconds=120, env=LAB)
    folder = ROOT / f".lab/{NAME}/inventory"
    folder.mkdir(parents=True)
    (folder / "machine.yml").write_text(yaml.safe_dump({"all": {"vars": MACHINE}}))
    try:
        succeed("run", "../molecule/shared/create", seconds=2400, env=LAB)
        if AUTHORITIES.is_dir():
            trusted = local("tar", "--create", f"--directory={AUTHORITIES}", ".")
            run(f"tar -x -C {AUTHORITIES} && update-ca-certificates", seconds=300, data=trusted)
        run("apt-get update && apt-get install -y git", seconds=1200)
        run("cat > /root/bundle", seconds=300, data=local("git", "bundle", "create", "-", "HEAD"))
        run(f"git clone --quiet /root/bundle {CLONE}", seconds=300)
        yield
    finally:
        succeed("down", seconds=120, env=LAB)
    assert not leftovers(NAME)
