"""The directory that all hosts of Spark share, and the group of those who may use Spark."""

from __future__ import annotations

from ...cluster import files
from ...cluster.files import Entry

GROUP, GROUP_ID = "spark-users", 7078
"""The group of those who may use Spark; the same number everywhere, for the shared directory."""


def events(shared_dir: str) -> str:
    """Return where applications write their event logs."""
    return f"{shared_dir}/events"


def warehouse(shared_dir: str) -> str:
    """Return the directory of managed tables."""
    return f"{shared_dir}/warehouse"


def directories(shared_dir: str, owner: str) -> dict[str, Entry]:
    """Return the directories in which all of the group write."""
    return {
        shared_dir: _directory(owner, "0750"),
        # What others wrote can be read, and not removed.
        events(shared_dir): _directory(owner, "3770"),
        warehouse(shared_dir): _directory(owner, "2770"),
    }


def _directory(owner: str, mode: str) -> Entry:
    return files.directory(owner, mode, group=GROUP)
