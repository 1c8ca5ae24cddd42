"""What ./lab installs on a release of Debian or Ubuntu, and the Python that it takes."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.lab.topology import ROOT

# Of each release the packages of Java that apt can install there, and its python3.
RELEASES = {
    "Debian 12": ("17", "3.11"),
    "Debian 13": ("21 25", "3.13"),
    "Ubuntu 24.04": ("8 11 17 21 25", "3.12"),
    "a release with Java 25 alone": ("25", "3.13"),
}
CHOSEN = {"Debian 12": 17, "Debian 13": 21, "Ubuntu 24.04": 17, "a release with Java 25 alone": 25}
PROGRAMS = {
    # Tools are missing until they are installed.
    "apt-get": 'echo "$*" >> "$CALLS"',
    "apt-cache": """for java in $JAVA; do
      [ "$2" != "openjdk-$java-jre-headless" ] || echo "$2 | $java.0.1 | http://mirror main"
    done""",
    "python3": """case "$1" in
      -c) exit 1 ;;
      -) exec "$PYTHON" -c "
import re, sys
sys.version_info = tuple(map(int, '$VERSION'.split('.')))
exec(sys.stdin.read())" ;;
    esac""",
    "id": "echo 0",
}


def up(place: Path, java: str, version: str) -> tuple[str, list[str]]:
    """Return the output of ./lab lint on a machine without tools, and what it asked apt-get for."""
    shutil.copy(ROOT / "lab", place)
    (place / "plugins/plugin_utils").mkdir(parents=True)
    shutil.copy(ROOT / "plugins/plugin_utils/__init__.py", place / "plugins/plugin_utils")
    programs = place / "programs"
    programs.mkdir()
    for name, text in PROGRAMS.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    needed = ("bash", "sh", "sed", "sort", "paste", "mkdir", "dirname", "readlink", "date", "awk")
    for name in (*needed, "tail", "find"):
        (programs / name).symlink_to(str(shutil.which(name)))
    calls = place / "calls"
    calls.touch()
    done = subprocess.run(  # noqa: S603 - our own script
        [str(shutil.which("bash")), place / "lab", "lint"],
        env={
            "PATH": str(programs),
            "HOME": str(place),
            "CALLS": str(calls),
            "JAVA": java,
            "VERSION": version,
            "PYTHON": sys.executable,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode, "the tools were never installed"
    return done.stdout, calls.read_text().splitlines()


@pytest.mark.parametrize("release", RELEASES)
def test_packages_are_those_of_the_release(tmp_path: Path, release: str) -> None:
    java, version = RELEASES[release]
    _, (update, install) = up(tmp_path, java, version)
    assert update == "update"
    packages = install.split()
    assert [x for x in packages if "jre" in x] == [f"openjdk-{CHOSEN[release]}-jre-headless"]
    assert {"podman", "maven", "python3-venv", "debian-archive-keyring"} <= {*packages}
    assert not [x for x in packages if "|" in x]


@pytest.mark.parametrize("version", ["3.9", "3.10", "3.15"])
def test_another_python_is_refused_before_anything_is_installed(
    tmp_path: Path, version: str
) -> None:
    shown, calls = up(tmp_path, "17", version)
    assert not calls
    assert len(shown.splitlines()) == 1, shown
    assert f"Python {version}" in shown
    assert "3.11" in shown
    assert not (tmp_path / ".venv").exists()
