"""A plan as lines, for those who read the end of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...formats.values import visible
from .items import NOUNS, label

_SHOWN = 20


def lines(summary: Mapping[str, Any]) -> list[str]:
    """Return the lines of a plan's summary: each change, then what is unmanaged or not shown."""
    return [visible(line) for line in _lines(summary)]


def _lines(summary: Mapping[str, Any]) -> Iterator[str]:
    for item in summary["plan"]:
        place = f" ({item['where']})" if item["where"] else ""
        yield f"{item['action']}: {label(item['kind'], item['name'])}{place}"
        yield from (f"  {change}" for change in item["changes"])
        if item["needs"]:
            yield f"  needs confirm: {', '.join(item['needs'])}"
        if item["reason"]:
            yield f"  {item['reason']}"
    for kind, names in summary["unmanaged"].items():
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        yield f"unmanaged: {NOUNS[kind]} {', '.join(names[:_SHOWN])}{more}"
    for kind, reason in summary["hidden"].items():
        yield f"not shown to this login: {kind} ({reason})"
    changes = len(summary["plan"])
    same = summary["counts"]["same"]
    yield f"{changes} of {changes + same} described resources differ from the cluster."
