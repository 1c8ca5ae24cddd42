"""Prometheus' own checks of rules and queries: `promtool`, which ./lab gets for its unit tests."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml


def promtool() -> str:
    """Where it is: on PATH, or where ./lab puts it.

    Raises:
        FileNotFoundError: it is in neither place.

    """
    cache = os.environ.get("MILLRACE_CACHE") or Path.home() / ".cache/millrace"
    path = shutil.which("promtool") or shutil.which("promtool", path=f"{cache}/tools")
    if path is None:
        raise FileNotFoundError("promtool: ./lab unit gets it")  # noqa: TRY003 - raised once
    return path


def run(*words: str, file: Path, document: Mapping[str, Any]) -> str:
    """Write a document to a file, let promtool work on it, and return what it refuses."""
    file.write_text(yaml.safe_dump(dict(document), sort_keys=False))
    done = subprocess.run(
        [promtool(), *words, file.name],
        cwd=file.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return "" if done.returncode == 0 else done.stdout + done.stderr
