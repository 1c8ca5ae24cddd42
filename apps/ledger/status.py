"""The status of a run while it goes on, and when it has to end."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

STATUS = "status.json"
STOP = "stop"
REPORT_JSON = "report.json"
REPORT_TEXT = "report.txt"
ENDED = ("done", "failed")


def write(path: Path, text: str) -> None:
    """Write a file so that a reader sees the old or the new one, never a part."""
    draft = path.with_name(f".{path.name}.new")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)


def update(folder: Path, state: Mapping[str, Any]) -> None:
    """Write the status file: `state` with this process and the time in wall seconds."""
    write(folder / STATUS, json.dumps({**state, "pid": os.getpid(), "at": time.time()}) + "\n")


def read(folder: Path) -> dict[str, Any]:
    """Return the status file's content; nothing when there is none."""
    try:
        content = json.loads((folder / STATUS).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return dict(content)


def alive(pid: int) -> bool:
    """Whether a process exists and has not ended; what waits to be reaped has ended."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return True
    return text.rpartition(")")[2].split()[0] != "Z"
