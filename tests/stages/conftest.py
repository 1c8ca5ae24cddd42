"""What the stages have in common."""

from __future__ import annotations

import fcntl

import pytest

from tests.support.lab.topology import ROOT

AHEAD = ROOT / ".lab/ahead.lock"


@pytest.fixture(scope="session")
def fetched_ahead() -> None:
    """Wait until `./lab test` has made images and artifacts; what is missing then, a lab makes."""
    if AHEAD.exists():
        with AHEAD.open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
