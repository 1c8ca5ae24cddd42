"""The id of Spark's shared directory: written once, and compared by health.yml."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.millrace.streaming.plugins.module_utils.model.spark_shared import (
    MARK as SHARED_MARK,
)

from tests.support.lab.topology import ROOT
from tests.support.refusal import ANSIBLE
from tests.unit.module_runner import HANGS_SECONDS

PLAY = "Compare the shared directory of Spark's hosts"


def mark(directory: Path) -> int:
    """Run what site.yml runs as Spark's account, and return its exit code."""
    tasks = yaml.safe_load((ROOT / "roles/spark/tasks/main.yml").read_text())
    (task,) = [one["ansible.builtin.command"] for one in tasks if "Mark" in one["name"]]
    path = task["creates"]
    assert path == f"{{{{ spark_shared_dir }}}}/{SHARED_MARK}" == task["argv"][-1]
    words = [*task["argv"][task["argv"].index("--") + 1 : -1], str(directory / SHARED_MARK)]
    return subprocess.run(words, check=False, capture_output=True).returncode  # noqa: S603 - of the role


def test_the_first_id_stays(tmp_path: Path) -> None:
    assert mark(tmp_path) == 0
    first = (tmp_path / SHARED_MARK).read_text()
    assert first.strip()
    assert mark(tmp_path)
    assert (tmp_path / SHARED_MARK).read_text() == first


def test_no_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / SHARED_MARK).symlink_to(tmp_path / "elsewhere")
    assert mark(tmp_path)
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize(
    ("ids", "wrong"),
    [
        ({"k1": "1", "k2": "1"}, ""),
        ({"k1": "", "k2": ""}, ""),
        ({"k1": "1", "k2": ""}, "'k2': 'no id'"),
        ({"k1": "1", "k2": "2"}, "'k2': '2'"),
    ],
)
def test_health_compares_the_ids(ids: dict[str, str], wrong: str, tmp_path: Path) -> None:
    plays = yaml.safe_load((ROOT / "playbooks/health.yml").read_text())
    (tmp_path / "play.yml").write_text(yaml.safe_dump([x for x in plays if x["name"] == PLAY]))
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "runuser").write_text(
        '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n'
    )
    (programs / "runuser").chmod(0o755)
    hosts: dict[str, Any] = {}
    for name, number in ids.items():
        (tmp_path / name).mkdir()
        if number:
            (tmp_path / name / SHARED_MARK).write_text(f"{number}\n")
        hosts[name] = {"spark_shared_dir": str(tmp_path / name)}
    own = {"ansible_connection": "local", "ansible_become": False}
    inventory = {"spark_workers": {"hosts": hosts, "vars": own}}
    (tmp_path / "hosts.yml").write_text(yaml.safe_dump(inventory))
    done = subprocess.run(  # noqa: S603 - own arguments
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
