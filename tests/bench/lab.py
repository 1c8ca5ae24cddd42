"""The hosts that a benchmark measures on, and the playbooks it measures."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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
        subprocess.run(
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


def choose(**variables: object) -> None:
    """Set variables of all hosts for what is deployed next."""
    path = INVENTORY / "group_vars/all.yml"
    path.write_text(yaml.safe_dump({**yaml.safe_load(path.read_text()), **variables}))


@contextmanager
def three_nodes() -> Iterator[None]:
    """Describe the topology of `./lab up`, open, without Spark and with default JVM options."""
    hosts, variables = _source()
    del variables["kafka_java_options"]
    with _described({"kafka": hosts["kafka"]}, {**variables, "kafka_security": "open"}):
        yield


@contextmanager
def with_spark(jobs: Sequence[Mapping[str, object]]) -> Iterator[None]:
    """Describe the topology of `./lab up` with jobs; of Spark only masters and workers."""
    hosts, variables = _source()
    spark = hosts["spark"]["children"]
    children = {name: spark[name] for name in ("spark_masters", "spark_workers")}
    groups = {"kafka": hosts["kafka"], "spark": {"children": children}}
    with _described(groups, {**variables, "spark_jobs": [dict(job) for job in jobs]}):
        yield


def _source() -> tuple[dict[str, Any], dict[str, Any]]:
    source = ROOT / "inventories/kraft_combined"
    hosts = yaml.safe_load((source / "hosts.yml").read_text())
    return hosts, yaml.safe_load((source / "group_vars/all.yml").read_text())


@contextmanager
def _described(hosts: Mapping[str, Any], variables: Mapping[str, Any]) -> Iterator[None]:
    (INVENTORY / "group_vars").mkdir(parents=True, exist_ok=True)
    LOG.parent.mkdir(exist_ok=True)
    (INVENTORY / "hosts.yml").write_text(yaml.safe_dump(dict(hosts)))
    (INVENTORY / "group_vars/all.yml").write_text(yaml.safe_dump(dict(variables)))
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
