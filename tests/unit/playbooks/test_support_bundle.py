"""support_bundle.yml as it is run: what it refuses, and that Ansible shows no secret."""

from __future__ import annotations

import getpass
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.recap import changed
from tests.unit.playbooks.runs import run_playbook

CANARY = "canaryPasswordOfAlice"
UNKNOWN = "canaryThatNobodyKnows"
SITE: dict[str, Any] = {
    "all": {
        "vars": {
            "ansible_connection": "local",
            "ansible_become": False,
            "ansible_python_interpreter": sys.executable,
            "kafka_users": [{"name": "alice"}],
            # Whose processes are read; the account of a service is not here.
            "kafka_user": getpass.getuser(),
        }
    },
    "kafka_controllers": {"hosts": {"k1": {"kafka_node_id": 1}}},
    "kafka_brokers": {"hosts": {"k1": None, "k2": {"kafka_node_id": 2}}},
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    secret = tmp_path / "prod/.secrets/passwords/alice"
    secret.parent.mkdir(parents=True)
    secret.write_text(CANARY)
    (tmp_path / "prod/.secrets").chmod(0o700)
    # What ssh does at a host that is down.
    program = tmp_path / "down"
    program.write_text("#!/bin/sh\necho no route to host >&2\nexit 255\n")
    program.chmod(0o755)
    down = {"ansible_connection": "ssh", "ansible_ssh_executable": str(program)}
    (tmp_path / "prod/hosts.yml").write_text(yaml.safe_dump(SITE))
    (tmp_path / "prod/host_vars").mkdir()
    (tmp_path / "prod/host_vars/k2.yml").write_text(yaml.safe_dump(down))
    return tmp_path


def play(place: Path, *options: str) -> tuple[int, str]:
    code, output = run_playbook(place, "prod", *options, playbook="support_bundle")
    return code, " ".join(output.split()) if code else output


def test_wrong_options_are_refused_before_a_host_is_asked(place: Path) -> None:
    code, output = play(place, "-e", "support_window=soon")
    assert code == 2
    assert "support_window is 'soon', which is no duration" in output
    code, output = play(place, "-e", f"support_path={place}/none/support.tar.gz")
    assert code == 2
    assert "none is no directory: set support_path to a file" in output
    assert "Read the cluster" not in output


def test_this_machine_is_read_and_no_secret_is_shown_or_written(place: Path) -> None:
    program = "import sys; print(flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", program, CANARY, f"--token={UNKNOWN}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout
        process.stdout.readline()
        code, output = play(place, "-vvv", "-e", "support_path=support.tar.gz")
    assert code == 0, output
    assert changed(output) == 0
    with tarfile.open(place / "support.tar.gz") as archive:
        texts = {
            member.name: content.read().decode()
            for member in archive
            if (content := archive.extractfile(member))
        }
    everything = "\n".join([output, *texts, *texts.values()])
    assert CANARY not in everything
    assert UNKNOWN not in everything
    assert "(secret) --token=(secret)" in texts["support/hosts/k1/processes.txt"]
    assert "Linux" in texts["support/hosts/k1/versions.txt"]
    assert "k2" in texts["support/index.html"]
    assert not any("/k2/" in name for name in texts)


def test_without_any_answer_there_is_no_bundle(place: Path) -> None:
    code, output = play(place, "--limit", "k2")
    assert code == 2
    assert "no bundle was written, since no host answered (k2: " in output
    assert not (place / "support.tar.gz").exists()
