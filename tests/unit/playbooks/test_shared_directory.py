"""The id of Spark's shared directory: written once, and compared by health.yml."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.millrace.streaming.plugins.module_utils.host.spark_shared import (
    MARK as SHARED_MARK,
)

from tests.support.lab.topology import ROOT
from tests.support.refusal import ANSIBLE
from tests.unit.module_runner import HANGS_SECONDS

PLAY = "Compare the shared directory of Spark's hosts"


def mark(directory: Path, programs: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run what site.yml runs as Spark's account, with programs in place of the system's."""
    tasks = yaml.safe_load((ROOT / "roles/spark/tasks/main.yml").read_text())
    (task,) = [
        candidate["ansible.builtin.command"] for candidate in tasks if "Mark" in candidate["name"]
    ]
    assert task["argv"][-1] == f"{{{{ spark_shared_dir }}}}/{SHARED_MARK}"
    words = [*task["argv"][task["argv"].index("--") + 1 : -1], str(directory / SHARED_MARK)]
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"} if programs else None
    return subprocess.run(words, check=False, capture_output=True, text=True, env=environment)


def program(directory: Path, name: str, text: str) -> None:
    """Write a program that takes the place of one of the system."""
    directory.mkdir(exist_ok=True)
    (directory / name).write_text(f"#!/bin/sh\n{text}\n")
    (directory / name).chmod(0o755)


def test_the_first_id_stays(tmp_path: Path) -> None:
    assert "new" in mark(tmp_path).stdout
    first = (tmp_path / SHARED_MARK).read_text()
    assert first.strip()
    again = mark(tmp_path)
    assert (again.returncode, again.stdout) == (0, "")
    assert (tmp_path / SHARED_MARK).read_text() == first
    assert [path.name for path in tmp_path.iterdir()] == [SHARED_MARK]


def test_an_empty_file_of_a_run_that_ended_early_is_replaced(tmp_path: Path) -> None:
    (tmp_path / SHARED_MARK).touch()
    assert mark(tmp_path).returncode == 0
    assert (tmp_path / SHARED_MARK).read_text().strip()


def test_a_full_disk_leaves_no_file(tmp_path: Path) -> None:
    shared, programs = tmp_path / "shared", tmp_path / "programs"
    shared.mkdir()
    program(programs, "cat", "exit 1")
    assert mark(shared, programs).returncode
    assert list(shared.iterdir()) == []


def test_an_id_that_another_run_made_meanwhile_stays(tmp_path: Path) -> None:
    shared, programs = tmp_path / "shared", tmp_path / "programs"
    shared.mkdir()
    program(programs, "cat", f"echo first > {shared / SHARED_MARK}; echo second")
    assert mark(shared, programs).returncode == 0
    assert (shared / SHARED_MARK).read_text() == "first\n"
    assert len(list(shared.iterdir())) == 1


def test_a_file_system_without_hard_links_gets_an_id(tmp_path: Path) -> None:
    shared, programs = tmp_path / "shared", tmp_path / "programs"
    shared.mkdir()
    program(programs, "ln", "exit 1")
    assert mark(shared, programs).returncode == 0
    assert (shared / SHARED_MARK).read_text().strip()


def test_no_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / SHARED_MARK).symlink_to(tmp_path / "elsewhere")
    assert mark(tmp_path).returncode
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize(
    ("ids", "mounts", "wrong"),
    [
        ({"k1": "1", "k2": "1"}, ("/srv", "/srv"), ""),
        ({"k1": "", "k2": ""}, ("/srv", "/srv"), ""),
        ({"k1": "1", "k2": ""}, ("/srv", "/srv"), "'k2': 'no id'"),
        ({"k1": "1", "k2": ""}, ("/srv", "/"), "'k2': 'no id'"),
        ({"k1": "1", "k2": "2"}, ("/srv", "/srv"), "'k2': '2'"),
        ({"k1": "1", "k2": ""}, ("/", "/"), ""),
        ({"k1": "1", "k2": "2"}, ("/", ""), ""),
    ],
)
def test_health_compares_the_ids(
    ids: dict[str, str], mounts: tuple[str, ...], wrong: str, tmp_path: Path
) -> None:
    plays = yaml.safe_load((ROOT / "playbooks/health.yml").read_text())
    (tmp_path / "play.yml").write_text(
        yaml.safe_dump([play for play in plays if play["name"] == PLAY])
    )
    programs = tmp_path / "programs"
    program(programs, "runuser", 'while [ "$1" != -- ]; do shift; done\nshift\nexec "$@"')
    program(programs, "stat", 'cat "$2.mount"')
    hosts: dict[str, Any] = {}
    for (name, number), mount in zip(ids.items(), mounts, strict=True):
        (tmp_path / name).mkdir()
        (tmp_path / f"{name}.mount").write_text(mount)
        if number:
            (tmp_path / name / SHARED_MARK).write_text(f"{number}\n")
        hosts[name] = {"spark_shared_dir": str(tmp_path / name)}
    variables = {"ansible_connection": "local", "ansible_become": False}
    inventory = {"spark_workers": {"hosts": hosts, "vars": variables}}
    (tmp_path / "hosts.yml").write_text(yaml.safe_dump(inventory))
    done = subprocess.run(
        [ANSIBLE, "-i", "hosts.yml", "play.yml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=HANGS_SECONDS,
        env={
            **os.environ,
            "PATH": f"{programs}:{os.environ['PATH']}",
            "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
            "ANSIBLE_HOME": str(tmp_path / "home"),
            "ANSIBLE_NOCOLOR": "1",
        },
    )
    assert bool(done.returncode) is bool(wrong), done.stdout + done.stderr
    assert wrong in done.stdout
