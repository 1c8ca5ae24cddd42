"""The views that the page shows as charts: a panel's queries, asked of Prometheus when it is."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

from apps.console.panels import NUMBER, Panel, Query, View, of

from .charts import drawing, value_text
from .prometheus import Prometheus, Series

RANGES: Mapping[int, str] = {
    900: "15 minutes",
    3600: "1 hour",
    21600: "6 hours",
    86400: "1 day",
    604800: "7 days",
    1209600: "14 days",
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
            "panels": [{"title": panel.title, "kind": panel.kind} for panel in view.panels],
        }
        for view in views
    ]


def lag_of(group: str) -> Panel:
    """Return the panel with the lag of one consumer group."""
    text = f"sum by (topic) (kafka_consumer_group_lag_records{{group={_quoted(group)}}})"
    return Panel("Lag in records, by topic", "short", (Query(text, "{{topic}}"),))


def shown(server: Prometheus, panel: Panel, seconds: int, host: str = "") -> dict[str, Any]:
    """Return a panel as the page shows it: a drawing, and what is in it with the last values.

    Raises:
        RestError: Prometheus does not answer, or refuses a query.

    """
    end = time.time()
    hosts = re.escape(host).replace("\\", "\\\\") if host else ".+"
    named_series: list[tuple[str, Series]] = []
    total = 0
    for query in panel.queries:
        text = query.of(hosts)
        if panel.kind == NUMBER:
            results = server.now(text)
            count = len(results)
        else:
            results, count = _largest(server, text, end, seconds)
        named_series += [
            (query.name(series.labels) or panel.title, series)
            for series in results
            if series.points
        ]
        total += count
    named_series.sort(key=lambda pair: (-_maximum(pair[1]), pair[0]))
    lines = sorted(named_series[:MOST_LINES], key=lambda pair: pair[0])
    values = [
        {
            "name": name,
            "value": value_text(series.value, panel.unit),
            "bad": panel.bad_above is not None and series.value > panel.bad_above,
        }
        for name, series in lines
    ]
    made = {
        "title": panel.title,
        "kind": panel.kind,
        "series": values,
        "total": total,
    }
    if lines and panel.kind != NUMBER:
        label = f"{panel.title} over {RANGES[seconds]}; the values are below"
        chart = drawing([series for _, series in lines], end - seconds, end, panel.unit, label)
        made["svg"] = chart
    return made


def _largest(server: Prometheus, text: str, end: float, seconds: int) -> tuple[list[Series], int]:
    """Return the series with the largest values before a time, and how many there are in all.

    Prometheus chooses them: all of them, of each partition perhaps, would be a very large answer.
    """
    step = max(1, seconds // POINTS)
    # The steps of a subquery are those of the clock: what is new has none yet.
    maximum = f"max_over_time(({text})[{seconds}s:{step}s]) or ({text})"
    largest = server.now(f"topk({MOST_LINES + 1}, {maximum})")
    if not largest:
        return [], 0
    total = len(largest)
    if total > MOST_LINES:
        total = max([total, *(int(series.value) for series in server.now(f"count(({maximum}))"))])
    chosen = sorted(largest, key=lambda series: series.value, reverse=True)[:MOST_LINES]
    only = _only([series.labels for series in chosen])
    return server.between(f"({text}) {only}", end - seconds, end, step), total


def _only(chosen: Sequence[Mapping[str, str]]) -> str:
    """Return the part of a query that keeps only the series with these labels."""
    names = sorted({name for labels in chosen for name in labels} - {"__name__"})
    return f"and on ({', '.join(names)}) ({' or '.join(map(_vector, chosen))})"


def _vector(labels: Mapping[str, str]) -> str:
    """Return a query whose answer is one series with these labels."""
    query = "vector(1)"
    for name, value in ((label, labels[label]) for label in sorted({*labels} - {"__name__"})):
        query = f'label_replace({query}, "{name}", {_quoted(value.replace("$", "$$"))}, "", "")'
    return query


def _quoted(text: str) -> str:
    """Return a string literal of PromQL, which is written as in JSON."""
    return json.dumps(text, ensure_ascii=False)


def _maximum(series: Series) -> float:
    return max((value for _, value in series.points if math.isfinite(value)), default=0.0)
