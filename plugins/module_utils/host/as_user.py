"""A command run as the user of a service."""

from __future__ import annotations

import os
import pwd
from collections.abc import Sequence


def as_user(user: str, group: str, command: Sequence[str]) -> list[str]:
    """Return the command run as another user; unchanged for the user who runs this module."""
    try:
        is_current_user = pwd.getpwnam(user).pw_uid == os.geteuid()
    except KeyError:
        is_current_user = False
    return [*command] if is_current_user else ["runuser", "-u", user, "-g", group, "--", *command]


def last_output(out: str, err: str) -> str:
    """Return the end of what a command that failed has written: its errors, or else its output."""
    return (err.strip() or out.strip())[-2000:]
