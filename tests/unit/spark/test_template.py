"""The template of a job: its own tests, by the commands of docs/develop/jobs.md."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from tests.support.clients import guide
from tests.support.faults.target import skip_unless_full
from tests.support.lab.topology import ROOT


def test_its_tests_pass_where_it_is_copied_to(tmp_path: Path) -> None:
    skip_unless_full()
    commands = guide.commands("A new job", guide.JOBS)
    shell = [command for command in commands if not command.startswith("ansible-playbook")]
    [installation] = [command for command in shell if " pip " in command or "/pip " in command]
    shell.remove(installation)
    assert len(shell) == len(commands) - 3
    # The environment of the page: what it installs there is what these tests run in.
    pinned = (ROOT / installation.split()[-1]).read_text()
    for name in ("pyspark", "pytest"):
        assert f"\n{name}=={version(name)} " in pinned, installation
    script = "\n".join(["set -e", *shell]).replace("inventories/<yours>", str(tmp_path))
    script = script.replace(".venv/bin/python", sys.executable)
    done = subprocess.run(
        ["/bin/sh", "-c", script],
        cwd=ROOT,
        # A JVM that lives for seconds does not benefit from the C2 compiler.
        env={**os.environ, "SPARK_SUBMIT_OPTS": "-XX:TieredStopAtLevel=1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
