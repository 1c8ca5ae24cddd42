"""The hosts that a benchmark measures on, and the playbooks it measures."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from tests.support.lab.topology import ROOT, Topology, describe

STATE = ROOT / ".lab/bench"
INVENTORY = STATE / "inventory"
LOG = ROOT / ".lab/log/bench.log"
ENV = {**os.environ, "MILLRACE_LAB": "bench", "MILLRACE_STATE": str(STATE)}


def playbook(path: str, *arguments: str, inventory: Path = INVENTORY) -> dict[str, float]:
    """Run a playbook into the log; returns its seconds and this machine's seconds of processor.

    Raises CalledProcessError.
    """
    ansible = Path(sys.executable).parent / "ansible-playbook"
    begun, used = time.monotonic(), _processor_seconds()
    with LOG.open("a") as log:
        subprocess.run(  # noqa: S603 - our own playbooks
            [ansible, "-i", inventory, path, *arguments],
            cwd=ROOT,
            env=ENV,
            stdout=log,
            stderr=subprocess.STDOUT,
            check=True,
        )
    return {"seconds": time.monotonic() - begun, "controller_cpu": _processor_seconds() - used}


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def secure(choice: str) -> None:
    """Choose `kafka_security` for what is deployed next."""
    path = INVENTORY / "group_vars/all.yml"
    variables = yaml.safe_load(path.read_text())
    path.write_text(yaml.safe_dump({**variables, "kafka_security": choice}))


@contextmanager
def three_nodes() -> Iterator[None]:
    """Describe the topology of `./lab up`, open, without Spark and with default JVM options."""
    INVENTORY.mkdir(parents=True, exist_ok=True)
    LOG.parent.mkdir(exist_ok=True)
    source = ROOT / "inventories/kraft_combined"
    hosts = yaml.safe_load((source / "hosts.yml").read_text())
    (INVENTORY / "hosts.yml").write_text(yaml.safe_dump({"kafka": hosts["kafka"]}))
    variables = yaml.safe_load((source / "group_vars/all.yml").read_text())
    del variables["kafka_java_options"]
    (INVENTORY / "group_vars").mkdir(exist_ok=True)
    (INVENTORY / "group_vars/all.yml").write_text(yaml.safe_dump(variables))
    secure("open")
    try:
        yield
    finally:
        playbook("molecule/shared/destroy.yml")
        shutil.rmtree(STATE)


def fresh_hosts() -> Topology:
    """Return the topology on booted hosts with Java, and the artifact on the control node."""
    playbook("molecule/shared/destroy.yml")
    playbook("molecule/shared/create.yml")
    playbook("playbooks/artifacts.yml")
    return describe(INVENTORY)
