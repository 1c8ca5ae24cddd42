"""The template of a job: its own tests, by the commands of docs/jobs.md."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.support.clients import guide
from tests.support.lab.topology import ROOT


def test_its_tests_pass_where_it_is_copied_to(tmp_path: Path) -> None:
    commands = guide.commands("A new job", guide.JOBS)
    own = [x for x in commands if not x.startswith("ansible-playbook")]
    assert len(own) == len(commands) - 2
    script = "\n".join(["set -e", *own]).replace("inventories/<yours>", str(tmp_path))
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(  # noqa: S603 - the commands of the page
        ["/bin/sh", "-c", script],
        cwd=ROOT,
        # A JVM that lives for seconds does not benefit from the C2 compiler.
        env={**os.environ, "PATH": path, "SPARK_SUBMIT_OPTS": "-XX:TieredStopAtLevel=1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
