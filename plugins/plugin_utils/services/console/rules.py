"""Rules about the console."""

from __future__ import annotations

import re
from collections import Counter

from ...rules.engine import Finding, Findings, host_rule, rule
from ...rules.inspection import InspectedHost
from ...rules.shared import parts
from .model import USERS, Console

_PYTHON = (3, 11)
_HASH = re.compile(r"scrypt:\d{1,7}:\d{1,3}:\d{1,3}:[A-Za-z0-9+/]{16,}=*:[A-Za-z0-9+/]{43}=")


@rule("console-user", each=parts("console", USERS))
def _console_user(console: Console) -> Findings:
    """A user whose entry has no hash of the console, or two entries, could not sign in."""
    users = console.settings[USERS]
    for name, times in Counter(str(user["name"]) for user in users).items():
        if times > 1:
            yield Finding(f"{USERS} has {name} {times} times.", "Delete all but one.", USERS)
    for user in users:
        if not _HASH.fullmatch(str(user["hash"])):
            # Not the text itself: it may be a password.
            problem = f"The hash of {user['name']} is not one of the console."
            fix = "Set what `python -m apps.console.passwords` prints."
            yield Finding(problem, fix, USERS)


@host_rule("console-python", where="python3")
def _console_python(host: InspectedHost) -> Findings:
    """The console's libraries need Python 3.11 or newer: it would not start."""
    system = host.inspection.system
    if host.name in host.cluster.consoles and system.python < _PYTHON:
        problem = f"Python is {system.python_version}; the console needs 3.11 or newer."
        yield Finding(problem, "Use Debian 12 or another system with Python 3.11 or newer.")
