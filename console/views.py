"""The views that the page shows as charts: a panel's queries, asked of Prometheus when it is."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

from monitoring.panels import NUMBER, Panel, Query, View, of

from .charts import drawing, value_text
from .prometheus import Prometheus, Series

RANGES: Mapping[int, str] = {
    **{900: "15 minutes", 3600: "1 hour", 21600: "6 hours", 86400: "1 day"},
    **{604800: "7 days", 1209600: "14 days"},
}
"""Seconds that a chart may show -> what they are called."""
MOST_LINES = 24
"""Of the series that a panel's queries find, those with the largest values are shown."""
POINTS = 120


def read(text: str) -> list[View]:
    """Return the views of a file of JSON."""
    return of(json.loads(text))


def described(views: Sequence[View]) -> list[dict[str, Any]]:
    """Return what a page has to know of views before it asks for their panels."""
    return [
        {
            "name": view.name,
            "title": view.title,
            "hosts": any(panel.has_host for panel in view.panels),
            "panels": [{"title": one.title, "kind": one.kind} for one in view.panels],
        }
        for view in views
    ]


def lag_of(group: str) -> Panel:
    """Return the panel with the lag of one consumer group."""
    named = json.dumps(group, ensure_ascii=False)  # a text of PromQL, as of JSON
    text = f"sum by (topic) (kafka_consumer_group_lag_records{{group={named}}})"
    return Panel("Lag in records, by topic", "short", (Query(text, "{{topic}}"),))


def shown(server: Prometheus, panel: Panel, seconds: int, host: str = "") -> dict[str, Any]:
    """Return a panel as the page shows it: a drawing, and what is in it with the last values.

    Raises:
        RestError: Prometheus does not answer, or refuses a query.

    """
    end = time.time()
    start = end - seconds
    hosts = re.escape(host).replace("\\", "\\\\") if host else ".+"
    found: list[tuple[str, Series]] = []
    for query in panel.queries:
        text = query.of(hosts)
        answer = (
            server.now(text)
            if panel.kind == NUMBER
            else server.between(text, start, end, max(1.0, seconds / POINTS))
        )
        found += [(query.name(one.labels) or panel.title, one) for one in answer if one.points]
    found.sort(key=lambda one: (-_largest(one[1]), one[0]))
    lines = sorted(found[:MOST_LINES], key=lambda one: one[0])
    values = [
        {
            "name": name,
            "value": value_text(one.value, panel.unit),
            "bad": panel.bad_above is not None and one.value > panel.bad_above,
        }
        for name, one in lines
    ]
    made = {
        "title": panel.title,
        "kind": panel.kind,
        "series": values,
        "more": len(found) - len(lines),
    }
    if lines and panel.kind != NUMBER:
        label = f"{panel.title} over {RANGES[seconds]}; the values are below"
        chart = drawing([one for _, one in lines], start, end, panel.unit, label)
        made["svg"] = chart
    return made


def _largest(one: Series) -> float:
    return max((value for _, value in one.points if math.isfinite(value)), default=0.0)
