"""Entries of resources, wherever they are written, and the teams that own them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

PLATFORM = "platform"
"""The owner of what is in the inventory or in platform.yml, unless its entry names another one."""
DEFAULT_ENTITY = "<default>"
"""The name of a quota's entity that stands for all without a quota of their own (KIP-546)."""


@dataclass(frozen=True)
class Team:
    """A team, and what its file may claim."""

    name: str
    prefixes: tuple[str, ...] = ()
    """The beginnings of all its names."""
    may_set_quotas: bool = False
    """Whether its file may limit its users, and lift their limits."""

    def owns(self, name: str) -> bool:
        """Return whether a name is one of the team's."""
        return name.startswith(self.prefixes)


@dataclass(frozen=True)
class Entry:
    """One resource as it is described."""

    kind: str
    """A key of `KINDS`."""
    values: Mapping[str, Any]
    """Its keys, converted to the types of the variable's argument spec."""
    where: str
    """The file and line, or the variable and entry."""
    team: Team | None = None
    """The team in whose file it is, None for the platform's."""
    variable: str = ""
    """The variable that has it, empty where a file does."""

    @property
    def owner(self) -> str:
        """The name of who answers for it."""
        return self.team.name if self.team else str(self.values.get("owner") or PLATFORM)

    @property
    def name(self) -> str:
        """Its name, empty for a grant and a quota."""
        return str(self.values.get("name") or "")

    @property
    def is_present(self) -> bool:
        """Whether the cluster should have it."""
        return self.values.get("state") != "absent"


@dataclass(frozen=True)
class FileProblem:
    """Something in a file of resources that cannot be taken."""

    where: str
    """The file, and the line."""
    problem: str
    fix: str


@dataclass(frozen=True)
class ResourceFiles:
    """A directory of files of resources, read."""

    directory: str = ""
    """Empty where there is none."""
    teams: Mapping[str, Team] = field(default_factory=dict)
    """Name -> team, of platform.yml."""
    minimum: Mapping[str, int] = field(default_factory=dict)
    """What a topic has at least, `replication` and `min_isr`, of platform.yml; without an inventory."""
    entries: tuple[Entry, ...] = ()
    problems: tuple[FileProblem, ...] = ()
