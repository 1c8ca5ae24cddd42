"""The views of a cluster as data: what the dashboards and the console show."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

FILE = Path(__file__).resolve().parent.parent / "roles/monitoring/files/dashboards/panels.yml"
HOST = "$host"
GRAPH, NUMBER = "graph", "number"


@dataclass(frozen=True)
class Query:
    """A query of Prometheus; `legend` names a series of its answer by labels in `{{ }}`."""

    query: str
    legend: str = ""

    def of(self, host: str = ".+") -> str:
        """Return the query for the hosts that a regular expression matches."""
        return self.query.replace(HOST, host)


@dataclass(frozen=True)
class Panel:
    """One picture; `needs` has the jobs, and other parts, without which it shows nothing.

    A number above `bad_above` is bad.
    """

    title: str
    unit: str
    queries: tuple[Query, ...]
    kind: str = GRAPH
    needs: frozenset[str] = frozenset()
    bad_above: float | None = None

    @property
    def has_host(self) -> bool:
        """Whether it can be narrowed to some hosts."""
        return any(HOST in one.query for one in self.queries)


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
    return [
        View(
            name=one["name"],
            title=one["title"],
            panels=tuple(_panel(panel, one["needs"]) for panel in one["panels"]),
        )
        for one in yaml.safe_load(file.read_text(encoding="utf-8"))
    ]


def panels() -> list[tuple[str, Panel]]:
    """Return the panels of all views, each with the name of its view."""
    return [(view.name, panel) for view in views() for panel in view.panels]


def _panel(found: Mapping[str, Any], needs: list[str]) -> Panel:
    made = Panel(**{**found, "queries": tuple(Query(**query) for query in found["queries"])})
    return dataclasses.replace(made, needs=frozenset({*needs, *made.needs}))
