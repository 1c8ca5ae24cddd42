"""A host has Python and no more: modules load without libraries of the control node."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.support.lab.topology import ROOT

PROGRAM = """
import sys
from importlib import import_module
for absent in ("yaml", "jinja2", "kafka", "cryptography"):
    sys.modules[absent] = None
for name in sys.argv[1:]:
    import_module("ansible_collections.millrace.streaming.plugins.modules." + name)
"""


def test_modules_need_nothing_of_the_controllers() -> None:
    names = [path.stem for path in (ROOT / "plugins/modules").glob("*.py")]
    assert names
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *names],
        env={**os.environ, "PYTHONPATH": str(ROOT / "collections")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
