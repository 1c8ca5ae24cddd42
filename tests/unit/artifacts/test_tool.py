"""The script behind Kafka's command-line tools: which files it asks for before Java starts."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster import files

NOBODY = 65534
NO_PERMISSION = 77


@pytest.fixture
def home() -> Iterator[Path]:
    """A distribution with one tool, which everybody may run."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        (home / "bin").mkdir()
        (home / "bin/kafka-topics.sh").write_text('#!/bin/sh\necho "ran $*"\n')
        script = files.render("tool.sh.j2", home=home, service="kafka", java_home="/usr")
        for command in ("kafka-topics", "kafka-topics.sh", "kafka-server-stop"):
            (home / command).write_text(script)
        for path in (home, *home.rglob("*")):
            path.chmod(0o755)
        yield home


def run(home: Path, command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a tool as a user who is not root."""
    user = NOBODY if os.geteuid() == 0 else None
    return subprocess.run(
        [home / command, *arguments], user=user, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("command", ["kafka-topics", "kafka-topics.sh"])
def test_a_tool_is_run_with_its_arguments(home: Path, command: str) -> None:
    done = run(home, command, "--list")
    assert (done.returncode, done.stdout) == (0, "ran --list\n")


def test_what_systemd_runs_is_refused_with_its_command(home: Path) -> None:
    done = run(home, "kafka-server-stop")
    assert done.returncode
    assert "systemctl stop kafka" in done.stderr


@pytest.mark.parametrize("form", ["--command-config {}", "--command-config={}"])
@pytest.mark.parametrize("key", ["", "ssl.keystore.location", "ssl.truststore.location"])
def test_a_file_that_the_user_may_not_read_asks_for_sudo(home: Path, key: str, form: str) -> None:
    """It is the client properties, or a store that they name."""
    store, config = home / "node.pem", home / "client.properties"
    store.write_text("key")
    config.write_text(f"{key}={store}\n" if key else "")
    config.chmod(0o644)
    store.chmod(0o644)
    arguments = form.format(config).split()
    assert run(home, "kafka-topics", *arguments).returncode == 0
    secret = store if key else config
    secret.chmod(0o000)
    done = run(home, "kafka-topics", *arguments)
    assert done.returncode == NO_PERMISSION, done
    assert str(secret) in done.stderr
    assert "sudo" in done.stderr
    assert "ran" not in done.stdout
