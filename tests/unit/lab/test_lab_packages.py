"""What ./lab installs on a release of Debian or Ubuntu, and the Python that it takes."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.lab.topology import ROOT


@dataclass(frozen=True)
class Release:
    """A release: the numbers of its packages of Java, its python3, and where promtool is."""

    java: tuple[int, ...]
    python: str
    promtool: str = "promtool"

    @property
    def packages(self) -> list[str]:
        return [f"openjdk-{number}-jre-headless" for number in self.java] + [self.promtool]


RELEASES = {
    "Debian 12": Release((17,), "3.11", "prometheus"),
    "Debian 13": Release((21, 25), "3.13"),
    "Ubuntu 24.04": Release((8, 11, 17, 21, 25), "3.12", "prometheus"),
    "Java 25 alone": Release((25,), "3.14"),
}
JAVA = {"Debian 12": 17, "Debian 13": 21, "Ubuntu 24.04": 17, "Java 25 alone": 25}
# Tools are missing until they are installed.
PROGRAMS = {
    "apt-get": 'echo "$*" >> "$CALLS"',
    "apt-cache": 'case " $AVAILABLE " in *" $2 "*) echo "$2 | 1.0 | http://mirror main" ;; esac',
    "python3": """case "$1" in
      -c) exit 1 ;;
      -) exec "$PYTHON" -c "
import sys
sys.version_info = tuple(map(int, '$VERSION'.split('.')))
exec(sys.stdin.read())" ;;
    esac""",
    "id": "echo 0",
}
COMMANDS = (
    "awk",
    "bash",
    "cat",
    "date",
    "dirname",
    "find",
    "mkdir",
    "paste",
    "readlink",
    "sed",
    "sh",
    "sort",
    "tail",
)


def run(place: Path, release: Release, script: str = '. "$0" lint') -> tuple[str, list[str]]:
    """Return the output of ./lab on a machine without tools, and what it asked apt-get for."""
    for program in ("lab", "lab.bash"):
        shutil.copy(ROOT / program, place)
    (place / "plugins/plugin_utils").mkdir(parents=True)
    shutil.copy(ROOT / "plugins/plugin_utils/__init__.py", place / "plugins/plugin_utils")
    programs, calls = place / "programs", place / "calls"
    programs.mkdir()
    for name, text in PROGRAMS.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    for name in COMMANDS:
        (programs / name).symlink_to(str(shutil.which(name)))
    calls.touch()
    done = subprocess.run(
        [programs / "bash", "-c", script, place / "lab"],
        env={
            "PATH": str(programs),
            "HOME": str(place),
            "CALLS": str(calls),
            "AVAILABLE": " ".join(release.packages),
            "VERSION": release.python,
            "PYTHON": sys.executable,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout, calls.read_text().splitlines()


@pytest.mark.parametrize("name", RELEASES)
def test_packages_are_those_of_the_release(tmp_path: Path, name: str) -> None:
    shown, calls = run(tmp_path, RELEASES[name])
    assert calls[:1] == ["update"], shown
    packages = calls[1].split()
    assert [package for package in packages if "jre" in package] == [
        f"openjdk-{JAVA[name]}-jre-headless"
    ]
    assert {"podman", "nftables", "maven", "python3-venv", "debian-archive-keyring"} <= {*packages}
    assert not [package for package in packages if "|" in package]


@pytest.mark.parametrize("name", RELEASES)
def test_promtool_comes_from_the_package_that_has_it(tmp_path: Path, name: str) -> None:
    functions = 'source <(sed "/^case /,\\$d" "$0") && download_promtool'
    shown, calls = run(tmp_path, RELEASES[name], functions)
    assert calls == [f"download {RELEASES[name].promtool}"], shown


@pytest.mark.parametrize("version", ["3.9", "3.10", "3.15"])
def test_another_python_is_refused_before_anything_is_installed(
    tmp_path: Path, version: str
) -> None:
    shown, calls = run(tmp_path, Release((17,), version))
    assert not calls
    assert len(shown.splitlines()) == 1, shown
    assert f"Python {version}" in shown
    assert "3.11" in shown
    assert not (tmp_path / ".venv").exists()
