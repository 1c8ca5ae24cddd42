"""Code of tutorials, as it is on the page, on the machine of the open lab for it."""

from __future__ import annotations

import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host.network import listens

from tests.support.clients import guide
from tests.support.lab.change import Plays
from tests.support.lab.topology import ROOT, Topology
from tests.support.wait import scaled, wait_for

PROGRAMS = guide.blocks("Tutorials", "python", guide.CLIENTS)
TAXI_RIDES = ROOT / "tests/support/clients/taxi_rides.py"
REGISTRY = "127.0.0.1:8081"


@pytest.fixture(scope="module", autouse=True)
def published(topology: Topology) -> None:
    variables = topology.inventory / "group_vars/all.yml"
    if not variables.is_file() or "lab_ports:" not in variables.read_text():
        pytest.skip("no ports at localhost here")


@pytest.mark.parametrize("program", PROGRAMS, ids=["kafka", "spark"])
def test_the_code_runs_unchanged(topology: Topology, tmp_path: Path, program: str) -> None:
    """Its assertions are the test."""
    if "spark" in program and not topology.group("spark_masters"):
        pytest.skip("no Spark here")
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=scaled(180),
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def registry_at_localhost(topology: Topology, plays: Plays, tmp_path: Path) -> Iterator[None]:
    """The command of the page, with the files that `clients.yml` writes."""
    if not topology.group("schema_registry"):
        pytest.skip("no schema registry here")
    assert not listens(REGISTRY), "something else serves the port"
    plays.succeed("clients", "-e", f"path={tmp_path}")
    [command] = [line for line in guide.commands("Tutorials", guide.CLIENTS) if "examples/" in line]
    _, program, _ = command.split()
    with subprocess.Popen([sys.executable, program, str(tmp_path)], cwd=ROOT) as process:
        try:
            wait_for(lambda: listens(REGISTRY), seconds=30, what="a registry at localhost")
            yield
        finally:
            process.terminate()


@pytest.mark.usefixtures("registry_at_localhost")
def test_taxi_rides_with_schemas_of_key_and_value(admin: Any) -> None:
    """With no other setting than the addresses that every tutorial has."""
    topic = f"rides-{uuid.uuid4().hex[:8]}"
    done = subprocess.run(
        [sys.executable, TAXI_RIDES, topic, topic, "200"],
        capture_output=True,
        text=True,
        timeout=scaled(180),
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    admin.delete_topics([topic])


def test_nobody_else_reaches_the_ports() -> None:
    """They are at one address of this machine."""
    assert listens("127.0.0.1:9092")
    assert not listens("127.0.0.2:9092")
