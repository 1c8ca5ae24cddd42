"""Playbooks as a build server runs them, where no host may be contacted."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.support.lab.topology import ROOT
from tests.support.refusal import ANSIBLE
from tests.unit.module_runner import HANGS_SECONDS


def run(place: Path, hosts: str, *options: str, playbook: str = "validate") -> tuple[int, str]:
    """Run a playbook with an inventory in a directory of the caller."""
    (place / "hosts.yml").write_text(hosts)
    return run_playbook(place, "hosts.yml", *options, playbook=playbook)


def run_playbook(
    place: Path, source: str, *options: str, playbook: str = "validate"
) -> tuple[int, str]:
    """Run a playbook from a directory of the caller; any use of ssh leaves a file there."""
    ssh = place / "ssh"
    ssh.write_text(f"#!/bin/sh\ntouch {place}/contacted\nexit 255\n")
    ssh.chmod(0o755)
    done = subprocess.run(
        [ANSIBLE, "-i", source, ROOT / f"playbooks/{playbook}.yml", *options],
        check=False,
        capture_output=True,
        text=True,
        cwd=place,
        timeout=HANGS_SECONDS,
        env={
            **os.environ,
            "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
            "ANSIBLE_HOME": str(place / "home"),
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_SSH_EXECUTABLE": str(ssh),
        },
    )
    output = done.stdout + done.stderr
    assert not (place / "contacted").exists(), output
    return done.returncode, output
