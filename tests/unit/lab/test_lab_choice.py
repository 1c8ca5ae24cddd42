"""Which lab a command of ./lab is for, where none is named, and where a word or a variable names it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.lab.topology import ROOT


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with the labs `registry` and `blue`, of topologies of other names."""
    for program in ("lab", "lab.bash"):
        shutil.copy(ROOT / program, tmp_path)
    (tmp_path / "playbooks").mkdir()
    for playbook in ("health", "validate"):
        (tmp_path / f"playbooks/{playbook}.yml").touch()
    for topology in ("kraft_combined", "registry", "hdfs"):
        (tmp_path / "inventories" / topology).mkdir(parents=True)
        (tmp_path / "inventories" / topology / "hosts.yml").touch()
    remove = tmp_path / "molecule/shared/files/remove"
    remove.parent.mkdir(parents=True)
    remove.write_text('#!/bin/sh\necho "$*" >> removed\n')
    remove.chmod(0o755)
    for lab, topology, host in (("registry", "registry", "r1"), ("blue", "hdfs", "h1")):
        inventory = tmp_path / ".lab" / lab / "inventory"
        inventory.mkdir(parents=True)
        (inventory / "hosts.yml").symlink_to(tmp_path / "inventories" / topology / "hosts.yml")
        hosts = {name: {"ansible_host": "10.0.0.1"} for name in (host, f"{host}-second")}
        transport = {"all": {"hosts": hosts, "vars": {"lab_slowness": 1}}}
        # As the filter to_nice_yaml of the create playbook writes it.
        (inventory / "transport.yml").write_text(yaml.safe_dump(transport, indent=4))
    return tmp_path


def run(checkout: Path, *words: str, running: str = "", **chosen: str) -> tuple[int, str]:
    """Run ./lab where only the names of some labs are known; Ansible shows its inventory."""
    programs = checkout / ".venv/bin"
    programs.mkdir(parents=True, exist_ok=True)
    for name, text in {
        "podman": 'case "$*" in *index*) printf "%b" "$RUNNING" ;; esac',
        "ansible-playbook": 'echo "$2 $(readlink "$2/hosts.yml")"; exit ${ANSIBLE_EXIT:-0}',
        "id": "echo 0",
        "ssh": 'echo "$*"',
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
@pytest.mark.parametrize(
    "words", [("status",), ("run", "health"), ("run", "health.yml", "--check")]
)
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


def test_a_word_names_the_lab(checkout: Path) -> None:
    running = "blue\\nregistry\\n"
    code, shown = run(checkout, "status", "blue", running=running, LAB_TOPOLOGY="registry")
    assert code == 0, shown
    assert re.findall(r"\.lab/(\w+)/inventory .*/inventories/(\w+)/", shown) == [("blue", "hdfs")]
    code, shown = run(checkout, "status", "bleu", running=running)
    assert code == 2
    assert "Did you mean blue?" in shown


@pytest.mark.parametrize("host", ["h1", "h1-second"])
def test_ssh_is_for_a_host_of_the_lab(checkout: Path, host: str) -> None:
    code, shown = run(checkout, "ssh", host, "date", "--utc", running="blue\\n")
    assert code == 0, shown
    assert shown.endswith("lab@10.0.0.1 date --utc\n")


def test_ssh_names_the_lab_that_has_the_host(checkout: Path) -> None:
    code, shown = run(checkout, "ssh", "r1", running="blue\\n")
    assert code == 2
    assert len(shown.splitlines()) == 1
    assert "LAB_NAME=registry ./lab ssh r1" in shown
    code, shown = run(checkout, "ssh", "h1-secnd", running="blue\\n")
    assert code == 2
    assert len(shown.splitlines()) == 1
    assert "Did you mean h1-second?" in shown


def test_hosts_and_labs_are_completed(checkout: Path) -> None:
    assert {"h1", "h1-second"} <= {*run(checkout, "complete", "ssh", running="blue\\n")[1].split()}
    hosts = {*run(checkout, "complete", "ssh", running="registry\\n")[1].split()}
    assert "r1" in hosts
    assert "h1" not in hosts
    labs = {*run(checkout, "complete", "down", running="green\\n")[1].split()}
    assert {"blue", "registry", "green"} <= labs
    several = "blue\\nregistry\\n"
    assert not run(checkout, "complete", "ssh", running=several)[1]
    assert "hdfs" in run(checkout, "complete", "up", running=several)[1].split()


@pytest.mark.parametrize(
    ("words", "chosen", "removed"),
    [
        ((), {}, {"blue", "registry"}),
        (("blue",), {}, {"blue"}),
        ((), {"LAB_NAME": "registry"}, {"registry"}),
        ((), {"LAB_TOPOLOGY": "registry"}, {"registry"}),
        ((), {"LAB_NAME": "another"}, {"another"}),
    ],
)
def test_down_removes_the_lab_that_is_named_or_all(
    checkout: Path, words: tuple[str, ...], chosen: dict[str, str], removed: set[str]
) -> None:
    code, shown = run(checkout, "down", *words, **chosen)
    assert code == 0, shown
    lines = (checkout / "removed").read_text().splitlines()
    assert {*lines} == {f"millrace-{lab} millrace.lab={lab}" for lab in removed}
    assert {lab for lab in ("blue", "registry") if not (checkout / ".lab" / lab).exists()} == (
        removed - {"another"}
    )


@pytest.mark.parametrize(
    ("words", "environment"),
    [
        (["blue", "--all"], {}),
        (["--all"], {"LAB_NAME": "blue"}),
        (["--all"], {"LAB_TOPOLOGY": "registry"}),
    ],
)
def test_of_one_lab_the_caches_are_not_removed(
    checkout: Path, words: list[str], environment: dict[str, Any]
) -> None:
    code, shown = run(checkout, "down", *words, **environment)
    assert code == 2, shown
    assert (checkout / ".lab/registry").exists()
    assert not (checkout / "removed").exists()


def test_a_failed_playbook_names_its_log(checkout: Path) -> None:
    code, shown = run(checkout, "run", "health", running="blue\\n", ANSIBLE_EXIT="4")
    assert code == 1
    log = re.findall(rf"{checkout}/\.lab/log/\S*\.log", shown.splitlines()[-1])
    assert [Path(path).is_file() for path in log] == [True]
