"""Run a module of the collection on this machine, without the time that Ansible takes to start."""

from __future__ import annotations

import grp
import json
import os
import pwd
import subprocess
import sys
from pathlib import Path
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.kafka import library

ROOT = Path(__file__).parents[2]
HANGS_SECONDS = 300
"""After which a program that takes a second or ten has to be one that hangs."""
OWN = {"owner": pwd.getpwuid(os.geteuid()).pw_name, "group": grp.getgrgid(os.getegid()).gr_name}
"""The account of this process, whose files a module can write without being root."""
_PROGRAM = """
import json, sys
from importlib import import_module
from ansible.module_utils.testing import patch_module_args
module = import_module("ansible_collections.millrace.streaming.plugins.modules." + sys.argv[1])
exec(sys.argv[2])
with patch_module_args(json.load(sys.stdin)):
    module.main()
"""


def unreachable(path: Path) -> dict[str, Any]:
    """Return the options by which a module finds kafka-python, and a cluster that does not run."""
    config = path / "client.properties"
    config.touch()
    return {
        "bootstrap": ["127.0.0.1:1"],
        "client_config": str(config),
        "library": str(Path(library.errors.__file__).parents[1]),
    }


def run_module(
    name: str, args: dict[str, Any], check: bool = False, diff: bool = False, patch: str = ""
) -> dict[str, Any]:
    """Return the module's result; `patch` is Python that is run first and may change `module`."""
    options = {**args, "_ansible_check_mode": check, "_ansible_diff": diff}
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, name, patch],
        input=json.dumps(options),
        env={**os.environ, "PYTHONPATH": str(ROOT / "collections")},
        capture_output=True,
        text=True,
        timeout=HANGS_SECONDS,
        check=False,
    )
    assert done.stdout, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def run_playbook(path: Path, task: dict[str, Any], *options: str) -> dict[str, Any]:
    """Return the result of one task that Ansible itself runs on this machine."""
    playbook, config = path / "play.json", path / "ansible.cfg"
    config.touch()
    play = {"hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": [task]}
    playbook.write_text(json.dumps([play]))
    done = subprocess.run(
        [
            str(Path(sys.executable).with_name("ansible-playbook")),
            "-i",
            "localhost,",
            *options,
            str(playbook),
        ],
        env={
            **os.environ,
            "ANSIBLE_CONFIG": str(config),
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "collections"),
            "ANSIBLE_STDOUT_CALLBACK": "ansible.builtin.minimal",
            "ANSIBLE_PYTHON_INTERPRETER": sys.executable,
            "ANSIBLE_REMOTE_TMP": str(path / "remote"),
            "ANSIBLE_NOCOLOR": "1",
        },
        cwd=path,
        capture_output=True,
        text=True,
        timeout=HANGS_SECONDS,
        check=False,
    )
    start = done.stdout.find("=> {")
    assert start >= 0, done.stdout + done.stderr
    result, _ = json.JSONDecoder().raw_decode(done.stdout[start + 3 :])
    return dict(result)
