"""Options and texts of the modules that check a service one of whose members is to leave."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

BEFORE, AFTER = "before", "after"
OPTIONS: dict[str, Any] = {
    "own": {"type": "str", "default": ""},
    "leaving": {"type": "str", "choices": [BEFORE, AFTER]},
}
"""The member of the host of the task, and whether it is about to leave, or has left."""


def remaining(members: Iterable[str], own: str, leaving: str | None) -> list[str]:
    """Return the members that count: all of them, or those that stay."""
    return [member for member in members if not leaving or member != own]


def last(member: str, host: str) -> str:
    """Return why the last member of a service cannot leave it."""
    return f"{host} is the only {member}: add another host to its group, and run site.yml, first"
