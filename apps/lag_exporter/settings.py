"""What the exporter reads at its start: a file that the role writes."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

_LEAST_KEEP = 120.0


@dataclass(frozen=True)
class Settings:
    """Where the cluster is described, what to listen on, and which groups to read."""

    client: Path
    """A file of Kafka's client properties."""
    library: Path
    """The directory with kafka-python."""
    address: str
    port: int
    interval: float
    """In seconds."""
    groups: re.Pattern[str]
    """Matches whole names of the groups that are read."""
    excluded: re.Pattern[str]
    """Matches whole names of groups that are not."""
    max_groups: int
    """How many of them are read at most."""

    @property
    def keep(self) -> float:
        """For how many seconds a value is served that cannot be read any more."""
        return max(_LEAST_KEEP, 4 * self.interval)

    def wants(self, group: str) -> bool:
        """Return whether a group is to be read."""
        return bool(self.groups.fullmatch(group)) and not self.excluded.fullmatch(group)


def read(path: Path) -> Settings:
    """Return the settings of a file."""
    values = json.loads(path.read_text(encoding="utf-8"))
    return Settings(
        client=Path(values["client"]),
        library=Path(values["library"]),
        address=str(values["address"]),
        port=int(values["port"]),
        interval=float(values["interval"]),
        groups=re.compile(values["groups"]),
        excluded=re.compile(values["excluded"]),
        max_groups=int(values["max_groups"]),
    )
