"""Code of tutorials, as it is on the page, on the machine of the open lab for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host.network import listens

from tests.support.clients import guide
from tests.support.lab.topology import Topology
from tests.support.wait import scaled

PROGRAMS = guide.blocks("Tutorials", "python", guide.CLIENTS)


@pytest.fixture(scope="module", autouse=True)
def published(topology: Topology) -> None:
    variables = topology.inventory / "group_vars/all.yml"
    if not variables.is_file() or "lab_ports:" not in variables.read_text():
        pytest.skip("no ports at localhost here")


@pytest.mark.parametrize("program", PROGRAMS, ids=["kafka", "spark"])
def test_the_code_runs_unchanged(tmp_path: Path, program: str) -> None:
    """Its assertions are the test."""
    done = subprocess.run(  # noqa: S603 - the code of the page
        [sys.executable, "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=scaled(180),
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_nobody_else_reaches_the_ports() -> None:
    """They are at one address of this machine."""
    assert listens("127.0.0.1:9092")
    assert not listens("127.0.0.2:9092")
