"""What systemd itself says of unit files."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

_VERDICT = re.compile(r"Overall exposure level for \S+: ([\d.]+)")


def analyze(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = ["systemd-analyze", "--no-pager", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def reads_files() -> bool:
    """Whether this machine has a systemd-analyze that judges files: 250 or newer."""
    if not shutil.which("systemd-analyze"):
        return False
    return int(analyze("--version").stdout.split()[1]) >= 250


needs_systemd = pytest.mark.skipif(
    not reads_files(), reason="no systemd-analyze of 250 or newer here (apt-get install systemd)"
)


def exposures(folder: Path, texts: dict[str, str]) -> tuple[dict[str, float], str]:
    """Return the exposure of each unit, and what systemd finds wrong with their files."""
    for name, text in texts.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    measured, messages = {}, ""
    for name in texts:
        done = analyze("security", "--offline=true", folder / name)
        verdict = _VERDICT.search(done.stdout)
        assert verdict, done.stderr
        measured[name] = float(verdict[1])
        messages += done.stderr
    return measured, messages
