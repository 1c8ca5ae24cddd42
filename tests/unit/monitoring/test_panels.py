"""Views and alerts name metrics that exist, and the exporters show no others."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from apps import dashboards
from apps.console.panels import HOST, NUMBER, Panel, panels, views
from tests.support import promtool
from tests.unit.monitoring.alert_rules import ALERTS

# Recorded from each exporter with the configuration that a host has; those of Millrace's own
# exporters, of Debezium and of Alertmanager by hand.
KNOWN = {
    path.stem: set(path.read_text().split())
    for path in (Path(__file__).parent / "metrics").glob("*.txt")
}
_OF_BROKERS = {"kraft": "kafka", "zookeeper_brokers": "kafka_zookeeper"}
JOBS = {*KNOWN, *_OF_BROKERS} - {"of_each_target", "kafka_zookeeper"}
PARTS = {"certificate", "connector", "sink", "source", "stream"}
AGGREGATIONS = {"avg", "count", "max", "min", "sum", "topk"}
WORDS = AGGREGATIONS | {"and", "or", "unless", "on", "by", "offset", "group_left"}
QUERIES = [
    *(query.query for _, panel in panels() for query in panel.queries),
    *(rule["expr"] for rule in ALERTS.values()),
]


def metrics_of(query: str) -> set[str]:
    """The metrics that a query reads; a selection by a regular expression as `~` and that."""
    chosen = {f"~{text}" for text in re.findall(r'{__name__=~"(.+?)"', query)}
    text = re.sub(r'"[^"]*"', "", query)
    for inner in (r"\{[^}]*\}", r"\[[^]]*\]", r"\b(?:by|on)\s*\([^)]*\)"):
        text = re.sub(inner, "", text)
    return chosen | {
        name for name in re.findall(r"(?<![\w.])[a-z_]\w*(?!\w*\s*\()", text) if name not in WORDS
    }


def exists(metric: str, metrics: set[str]) -> bool:
    if metric.startswith("~"):
        return any(re.fullmatch(metric[1:], name) for name in metrics)
    return metric in metrics


@pytest.mark.parametrize(
    ("query", "metrics"),
    [
        ("max by (host) (a_total) == 0", {"a_total"}),
        ('sum by (x) (rate(a{b="c", d=~"$host"}[2m])) / on (x) b > 0.5', {"a", "b"}),
        ("time() - max(a_seconds) > 14 * 86400 or vector(0)", {"a_seconds"}),
        ('label_replace({__name__=~"a_.+"}, "x", "$1", "y", "z")', {"~a_.+"}),
    ],
)
def test_metrics_of_a_query_are_found(query: str, metrics: set[str]) -> None:
    assert metrics_of(query) == metrics


def test_every_metric_that_a_view_or_an_alert_reads_exists() -> None:
    exported = set().union(*KNOWN.values())
    assert not [
        f"{metric} in {query}"
        for query in QUERIES
        for metric in metrics_of(query)
        if not exists(metric, exported)
    ]


@pytest.mark.parametrize(
    ("view", "panel"), panels(), ids=[f"{view}: {panel.title}" for view, panel in panels()]
)
def test_a_panel_reads_metrics_of_the_jobs_that_it_needs(view: str, panel: Panel) -> None:
    assert panel.needs <= JOBS | PARTS
    jobs = {_OF_BROKERS.get(job, job) for job in panel.needs - PARTS}
    if jobs & {"zookeeper"}:
        jobs |= {"kafka_zookeeper"}
    exported = set().union(*(KNOWN[job] for job in jobs), KNOWN["of_each_target"])
    unknown = [
        metric
        for query in panel.queries
        for metric in metrics_of(query.query)
        if not exists(metric, exported)
    ]
    assert not unknown, f"{view} needs more"
    of_zookeeper = {*_OF_BROKERS, "zookeeper", "spark_master"}
    if not panel.needs & of_zookeeper and view in {"broker", "cluster"}:
        both = KNOWN["kafka"] & KNOWN["kafka_zookeeper"] | KNOWN["of_each_target"]
        used = {metric for query in panel.queries for metric in metrics_of(query.query)}
        assert used <= both, "not with ZooKeeper"


def test_what_the_exporter_shows_of_a_service_is_used() -> None:
    """Series that nobody reads cost each scrape."""
    used = set().union(*map(metrics_of, QUERIES))
    shown = KNOWN["kafka"] | KNOWN["kafka_zookeeper"] | KNOWN["connect"] | KNOWN["zookeeper"]
    assert not {name for name in shown if name.startswith(("kafka_", "zookeeper_"))} - used


def test_prometheus_reads_every_query(tmp_path: Path) -> None:
    queries = [query.of() for _, panel in panels() for query in panel.queries]
    assert not [query for query in queries if HOST in query]
    rules = [{"record": f"q:{number}", "expr": query} for number, query in enumerate(queries)]
    document = {"groups": [{"name": "panels", "rules": rules}]}
    assert not promtool.run("check", "rules", file=tmp_path / "rules.yml", document=document)
    broken: dict[str, Any] = {"groups": [{"name": "x", "rules": [{"record": "x", "expr": "sum("}]}]}
    assert promtool.run("check", "rules", file=tmp_path / "broken.yml", document=broken)


def test_a_panel_with_a_key_that_is_unknown_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "panels.yml"
    panel = {"title": "t", "unit": "s", "queries": [{"query": "up"}]}
    view = {"name": "n", "title": "t", "needs": ["node"], "panels": [panel]}
    file.write_text(yaml.safe_dump([view]))
    assert views(file)[0].panels[0].title == "t"
    file.write_text(yaml.safe_dump([{**view, "panels": [{**panel, "titel": "t"}]}]))
    with pytest.raises(TypeError, match="titel"):
        views(file)


def test_titles_are_unique_in_a_view() -> None:
    for view in views():
        titles = [panel.title for panel in view.panels]
        assert len(titles) == len(set(titles))


@pytest.mark.parametrize("name", [view.name for view in views()])
def test_a_dashboard_has_each_panel_of_its_view_in_a_place_of_its_own(
    name: str, tmp_path: Path
) -> None:
    (view,) = (candidate for candidate in views() if candidate.name == name)
    dashboards.main([str(tmp_path / "new")])
    made = json.loads((tmp_path / f"new/{name}.json").read_text())
    assert [panel["title"] for panel in made["panels"]] == [
        view_panel.title for view_panel in view.panels
    ]
    for panel, view_panel in zip(made["panels"], view.panels, strict=True):
        assert [target["expr"] for target in panel["targets"]] == [
            dashboards.query_of(q) for q in view_panel.queries
        ]
        assert panel["type"] == ("stat" if view_panel.kind == NUMBER else "timeseries")
    taken = [
        (column, row)
        for place in (panel["gridPos"] for panel in made["panels"])
        for column in range(place["x"], place["x"] + place["w"])
        for row in range(place["y"], place["y"] + place["h"])
    ]
    assert len(taken) == len(set(taken))
    assert max(column for column, _ in taken) < 24


def test_a_directory_that_is_a_file_is_an_error_of_the_command(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SystemExit) as ended:
        dashboards.main([str(tmp_path / "file")])
    assert ended.value.code == 2
