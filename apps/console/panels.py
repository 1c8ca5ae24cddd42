"""The views of a cluster as data: what the dashboards and the console show."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("panels.yml")
HOST = "$host"
GRAPH, NUMBER = "graph", "number"
_LABEL = re.compile(r"\{\{\s*(\w+)\s*\}\}")


@dataclass(frozen=True)
class Query:
    """A query of Prometheus."""

    query: str
    legend: str = ""
    """Names a series of its answer by labels in `{{ }}`."""

    def of(self, host: str = ".+") -> str:
        """Return the query for the hosts that a regular expression matches."""
        return self.query.replace(HOST, host)

    def name(self, labels: Mapping[str, str]) -> str:
        """Return what a series of the answer is called, by its labels."""
        named = _LABEL.sub(lambda match: labels.get(match[1], ""), self.legend)
        return named or ", ".join(labels[label] for label in sorted({*labels} - {"__name__"}))


@dataclass(frozen=True)
class Panel:
    """One picture."""

    title: str
    unit: str
    queries: tuple[Query, ...]
    kind: str = GRAPH
    needs: frozenset[str] = frozenset()
    """The jobs, and other parts, without which it shows nothing."""
    bad_above: float | None = None
    """A number above it is bad."""

    @property
    def has_host(self) -> bool:
        """Whether it can be narrowed to some hosts."""
        return any(HOST in query.query for query in self.queries)


@dataclass(frozen=True)
class View:
    """A page of panels."""

    name: str
    title: str
    panels: tuple[Panel, ...]


def views(file: Path = FILE) -> list[View]:
    """Return all views in the order of the file.

    Raises:
        TypeError: a panel or query has a key that is unknown, or lacks one.

    """
    # Where the console runs there is none, and it has JSON.
    import yaml

    return of(yaml.safe_load(file.read_text(encoding="utf-8")))


def of(entries: Iterable[Mapping[str, Any]]) -> list[View]:
    """Return the views of what a file has.

    Raises:
        TypeError: as above.

    """
    return [
        View(
            name=entry["name"],
            title=entry["title"],
            panels=tuple(_panel(panel, entry["needs"]) for panel in entry["panels"]),
        )
        for entry in entries
    ]


def panels() -> list[tuple[str, Panel]]:
    """Return the panels of all views, each with the name of its view."""
    return [(view.name, panel) for view in views() for panel in view.panels]


def _panel(entry: Mapping[str, Any], needs: list[str]) -> Panel:
    made = Panel(**{**entry, "queries": tuple(Query(**query) for query in entry["queries"])})
    return dataclasses.replace(made, needs=frozenset({*needs, *made.needs}))
