"""An account other than root that exchanges what lies in its directory, as fast as it can."""

from __future__ import annotations

import contextlib
import grp
import os
import pwd
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

NAME = "nobody"
UID, GID = pwd.getpwnam(NAME)[2:4]
ACCOUNT = {"owner": NAME, "group": grp.getgrgid(GID).gr_name}
"""An account without rights, that every system has, as entries of files name it."""

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="plays two accounts, so it needs root")


def give(path: Path) -> Path:
    """Make a directory that the account owns."""
    path.mkdir(mode=0o755)
    os.chown(path, UID, GID)
    return path


@contextmanager
def attack(directory: Path, act: Callable[[], None]) -> Iterator[None]:
    """Let a process of the account act in its directory, over and over."""
    process = os.fork()
    if not process:
        try:
            os.chdir(directory)
            os.setgroups([])
            os.setgid(GID)
            os.setuid(UID)
            while True:
                with contextlib.suppress(OSError):
                    act()
        finally:
            os._exit(1)
    try:
        yield
        assert os.waitpid(process, os.WNOHANG) == (0, 0), "the attacker has ended"
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)


def exchange(directory: str, link: str) -> None:
    """Put a link in the place of a directory, and the directory back."""
    away = Path(f"{directory}.away")
    Path(directory).rename(away)
    Path(link).rename(directory)
    Path(directory).rename(link)
    away.rename(directory)
