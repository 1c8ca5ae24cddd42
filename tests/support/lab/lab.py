"""Runs `./lab` as a person would, with its output kept for when it fails."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.artifacts import (
    cache_directory,
)

from tests.support.lab.topology import ROOT
from tests.support.wait import scaled

# A lab of the tests' own, which is also the scenario's: one that somebody has up is left alone.
NAME = "test-kraft_combined"
CHAOS_SEED = 31
"""Of the faults on it: they begin with the kill of a partition's leader."""


def lab(
    *arguments: str, seconds: float, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a verb; stdout and stderr come together in `stdout`."""
    return run_command(["./lab", *arguments], seconds, {"LAB_NAME": NAME, **(env or {})})


def run_command(
    command: Sequence[str], seconds: float, env: Mapping[str, str], folder: Path = ROOT
) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder; stdout and stderr come together in `stdout`."""
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=seconds,
        check=False,
    )


FAILURE = re.compile(r"fatal:|FAILED|\[ERROR\]|\bE {3,}|Traceback|not proven|UNKNOWN:")


def succeed(*arguments: str, seconds: float, env: Mapping[str, str] | None = None) -> str:
    """Run a verb that has to succeed, and return its output."""
    done = lab(*arguments, seconds=seconds, env=env)
    assert done.returncode == 0, f"./lab {' '.join(arguments)}:\n{excerpt(done.stdout)}"
    return done.stdout


def excerpt(output: str) -> str:
    """What of a failed run's output says why: the first failures, then the end."""
    lines = output.splitlines()
    failures = [at for at, line in enumerate(lines) if FAILURE.search(line)]
    first = failures[0] if failures else len(lines)
    return "\n".join([*lines[max(0, first - 25) : first + 40], "...", *lines[-40:]])


def run_tests(*arguments: str, seconds: float) -> None:
    """Run tests on a lab that is up; all have to pass, and none may be skipped."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:xdist", *arguments]
    done = run_command(command, seconds, {"PYTHONPATH": "collections:spark:spark/lib"})
    assert done.returncode == 0, excerpt(done.stdout)
    assert "skipped" not in done.stdout.splitlines()[-1], excerpt(done.stdout)


def on_host(host: str, script: str, env: Mapping[str, str] | None = None) -> str:
    """Return what a script of root prints on a host; it comes by standard input, so no log has it.

    Raises CalledProcessError.
    """
    done = subprocess.run(
        ["./lab", "ssh", host, "sudo sh -s"],
        cwd=ROOT,
        env={**os.environ, "LAB_NAME": NAME, **(env or {})},
        input=script,
        capture_output=True,
        text=True,
        timeout=scaled(120),
        check=True,
    )
    return done.stdout


def readable(texts: str, folders: str = "/etc /opt /var /tmp /home /srv") -> str:
    """The script that prints where texts are, one a line, that only their own files should hold.

    In the journal, among the arguments and environments of processes, and in files that others
    may read. The texts come by a file, since an argument of grep would be found.
    """
    return f"""pattern=$(mktemp); echo '{texts}' > $pattern
journalctl --no-pager | grep -F -f $pattern
cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2> /dev/null | tr '\\0' '\\n' | grep -F -f $pattern
find {folders} -xdev -type f -perm /o=r -size -4M -exec grep -lF -f $pattern {{}} +
rm $pattern
"""


def boot_slowness(name: str) -> float:
    """Return how many times longer the machines of a lab took to boot than without emulation."""
    variables = yaml.safe_load((ROOT / f".lab/{name}/inventory/transport.yml").read_text())
    return float(variables["all"]["vars"]["lab_slowness"])


def pip_settings() -> dict[str, str]:
    """Return this machine's variables by which pip finds its index."""
    names = re.compile(r"PIP_|SSL_CERT_|REQUESTS_CA_")
    return {name: value for name, value in os.environ.items() if names.match(name)}


def podman(*words: str) -> str:
    """Run podman as the lab does, with what molecule/shared/files/probe found; its output."""
    conf = Path(cache_directory("")) / "containers.conf"
    env = {**os.environ, "CONTAINERS_CONF": str(conf) if conf.is_file() else ""}
    command = ["podman", *words]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=env)
    assert done.returncode == 0, f"podman {' '.join(words)}: {done.stderr}"
    return done.stdout


def leftovers(name: str) -> list[str]:
    """Containers, networks and volumes that carry a lab's name."""
    entries = []
    for kind, field in (
        ("ps --all", "{{.Names}}"),
        ("network ls", "{{.Name}}"),
        ("volume ls", "{{.Name}}"),
    ):
        listed = podman(*kind.split(), "--format", field).split()
        entries += [entry for entry in listed if entry.startswith(f"millrace-{name}")]
    return entries
