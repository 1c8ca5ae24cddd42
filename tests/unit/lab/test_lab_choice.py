"""Which lab a command of ./lab is for, where none is named."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.lab.topology import ROOT


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with the labs `registry` and `blue`, of topologies of other names."""
    shutil.copy(ROOT / "lab", tmp_path / "lab")
    for topology in ("kraft_combined", "registry", "hdfs"):
        (tmp_path / "inventories" / topology).mkdir(parents=True)
        (tmp_path / "inventories" / topology / "hosts.yml").touch()
    for lab, topology in {"registry": "registry", "blue": "hdfs"}.items():
        inventory = tmp_path / ".lab" / lab / "inventory"
        inventory.mkdir(parents=True)
        (inventory / "hosts.yml").symlink_to(tmp_path / "inventories" / topology / "hosts.yml")
    return tmp_path


def run(checkout: Path, *words: str, running: str = "", **chosen: str) -> tuple[int, str]:
    """Run ./lab where only the names of some labs are known; Ansible shows its inventory."""
    programs = checkout / ".venv/bin"
    programs.mkdir(parents=True, exist_ok=True)
    for name, text in {
        "podman": 'case "$*" in *index*) printf "%b" "$RUNNING" ;; esac',
        "ansible-playbook": 'echo "$2 $(readlink "$2/hosts.yml")"',
    }.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("LAB_")}
    done = subprocess.run(
        [checkout / "lab", *words],
        env={**environment, "RUNNING": running, **chosen},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    ("running", "chosen", "lab", "topology"),
    [
        ("registry\\nregistry\\n", {}, "registry", "registry"),
        ("blue\\n", {}, "blue", "hdfs"),
        ("blue\\nkraft_combined\\n", {}, "kraft_combined", "kraft_combined"),
        ("blue\\nregistry\\n", {"LAB_NAME": "blue"}, "blue", "hdfs"),
        ("blue\\n", {"LAB_TOPOLOGY": "registry"}, "registry", "registry"),
        ("", {"LAB_NAME": "green"}, "green", "kraft_combined"),
    ],
)
@pytest.mark.parametrize("words", [("status",), ("run", "health")])
def test_the_lab_that_runs_is_meant(
    checkout: Path,
    words: tuple[str, ...],
    running: str,
    chosen: dict[str, str],
    lab: str,
    topology: str,
) -> None:
    code, shown = run(checkout, *words, running=running, **chosen)
    assert code == 0, shown
    assert re.findall(r"\.lab/(\w+)/inventory .*/inventories/(\w+)/", shown) == [(lab, topology)]


def test_without_a_lab_its_status_says_so(checkout: Path) -> None:
    code, shown = run(checkout, "status")
    assert code
    assert "./lab up" in shown
    assert run(checkout, "run", "validate")[0] == 0


def test_of_several_labs_one_is_to_be_chosen(checkout: Path) -> None:
    code, shown = run(checkout, "ssh", "k1", running="blue\\nregistry\\n")
    assert code
    assert "LAB_NAME" in shown
    assert "blue registry" in shown


def test_a_checkout_that_everybody_may_change_is_named(checkout: Path) -> None:
    assert "chmod" not in run(checkout, "status", running="blue\\n")[1]
    checkout.chmod(0o777)
    assert f"chmod o-w {checkout}" in run(checkout, "status", running="blue\\n")[1]
