"""What the console has from Prometheus: the state of services, and charts."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host.rest import RestError

from apps.console import charts, prometheus, views
from apps.console.observed import Observed
from apps.console.panels import NUMBER, Panel, Query, panels
from apps.console.prometheus import Prometheus, Series
from tests.support import promtool
from tests.unit.apps.console import drawn_prometheus

SVG = "{http://www.w3.org/2000/svg}"
LINE = Panel("Bytes in", "Bps", (Query('sum by (host) (x{host=~"$host"})', "{{host}}, in"),))


@pytest.fixture
def server() -> Iterator[Prometheus]:
    with drawn_prometheus.prometheus() as connection:
        yield Prometheus(connection)


@pytest.fixture
def observed(server: Prometheus) -> Observed:
    return Observed(server)


def test_hosts_have_their_errors_and_restarts(observed: Observed) -> None:
    hosts = observed.hosts()
    assert hosts["k1"] == {"answers": True, "error": "", "pending": ["kafka"]}
    assert hosts["k2"]["error"]


def test_connectors_have_the_states_of_their_tasks(observed: Observed) -> None:
    connect = observed.connect()
    assert connect["workers"] == ["k1"]
    assert connect["states"] == {"orders": {"connector": "RUNNING", "tasks": {"0": "FAILED"}}}
    down, failed = connect["problems"]
    assert "k2" in down
    assert "task 0 of connector orders" in failed


def test_spark_has_its_applications_and_streams(observed: Observed) -> None:
    spark = observed.spark()
    assert (spark["active"], spark["standby"], spark["workers"]) == ("k2", ["k1"], ["k1"])
    (worker,) = spark["nodes"]
    assert (worker["cores"], worker["cores_used"]) == (4, 1)
    (application,) = spark["applications"]
    assert (application["name"], application["started"]) == ("flights", 1795748979970)
    assert spark["streams"] == [{"application": "flights", "query": "planes", "input": 12.5}]
    assert ["k3" in problem for problem in spark["problems"]] == [True]


def test_a_job_is_late_by_its_own_limit(observed: Observed) -> None:
    jobs = observed.jobs()
    assert {name: job["late"] for name, job in jobs["jobs"].items()} == {
        "late": True,
        "good": False,
    }
    assert ["late" in problem for problem in jobs["problems"]] == [True]


def test_an_operation_is_as_it_was_written_last(observed: Observed) -> None:
    (operation,) = observed.operations()
    assert (operation["what"], operation["state"], operation["verdict"]) == (
        "rolling_restart",
        "finished",
        "PASS",
    )
    assert (operation["plan"], operation["done"], operation["left"]) == (
        ["k1", "k2"],
        ["k1", "k2"],
        [],
    )
    assert operation["hosts"] == ["k1", "k2"]
    assert operation["age"] >= 5


def test_certificates_and_members_and_alerts(observed: Observed) -> None:
    assert [
        (certificate["days"], bool(certificate["wrong"])) for certificate in observed.certificates()
    ] == [
        (3, False),
        (-1 / 86400, True),
    ]
    ensemble = observed.zookeeper()
    assert ensemble["modes"] == {"k1": "leading", "k2": "no answer"}
    assert len(ensemble["problems"]) == 1
    (alert,) = observed.alerts()["alerts"]
    assert (alert["name"], alert["where"], alert["state"]) == ("DiskFull", "k1", "firing")


def test_without_prometheus_the_reason_is_said() -> None:
    gone = Prometheus({"address": "127.0.0.1:1"})
    with pytest.raises(RestError, match="Prometheus"):
        gone.now("up")
    with drawn_prometheus.prometheus(status=503) as connection, pytest.raises(RestError):
        views.shown(Prometheus(connection), LINE, 900)


def test_an_answer_that_is_too_large_is_refused(
    server: Prometheus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prometheus._Server, "largest", 10)
    with pytest.raises(RestError, match="larger than 10 bytes"):
        server.now('up{job="node"}')


# Charts


def test_a_panel_is_a_drawing_with_the_last_values() -> None:
    series = [({"host": f"k{number}"}, 1e6 * number) for number in range(40)]
    with drawn_prometheus.prometheus({'host=~"k\\\\.1"': series}) as connection:
        panel = views.shown(Prometheus(connection), LINE, 3600, "k.1")
    assert len(panel["series"]) == views.MOST_LINES
    assert panel["total"] == 40
    values = {series_entry["name"]: series_entry["value"] for series_entry in panel["series"]}
    assert values["k39, in"] == "39 MB/s"
    assert "k0, in" not in values, "the largest are shown"
    lines = ElementTree.fromstring(panel["svg"]).findall(f"{SVG}path[@d]")
    assert len([path for path in lines if "line" in str(path.get("class"))]) == views.MOST_LINES


def test_prometheus_leaves_the_series_that_were_chosen(tmp_path: Path) -> None:
    """Whatever is in their names, and also those that lack a label of others."""
    chosen = [{"topic": 'a "b" \\ $1'}, {"topic": "b", "group": "g"}]
    label_sets: list[dict[str, str]] = [*chosen, {"topic": "b"}, {"topic": "b", "group": "h"}]
    samples = [{"labels": written(labels), "value": 1} for labels in chosen]
    evaluated = {"expr": f"x {views._only(chosen)}", "eval_time": "1m", "exp_samples": samples}
    series = [{"series": written(labels), "values": "1 1"} for labels in label_sets]
    document = {"tests": [{"input_series": series, "promql_expr_test": [evaluated]}]}
    assert not promtool.run("test", "rules", file=tmp_path / "test.yml", document=document)
    evaluated["exp_samples"] = samples[1:]
    assert promtool.run("test", "rules", file=tmp_path / "test.yml", document=document)


def written(labels: Mapping[str, str]) -> str:
    """The series `x` with these labels."""
    return f"x{{{', '.join(f'{name}={json.dumps(value)}' for name, value in labels.items())}}}"


def test_an_answer_is_small_however_many_series_there_are() -> None:
    many = [({"host": f"k{number}"}, float(number)) for number in range(20_000)]
    with drawn_prometheus.prometheus({"host=~": many}) as connection:
        panel = views.shown(Prometheus(connection), LINE, 1209600)
    assert panel["total"] == len(many)
    assert {entry["name"] for entry in panel["series"]} == {
        f"k{number}, in" for number in range(20_000 - views.MOST_LINES, 20_000)
    }


def test_a_number_is_bad_above_its_limit() -> None:
    panel = Panel("Offline", "short", (Query("max(x)"),), NUMBER, bad_above=0)
    for value, bad in ((0.0, False), (3.0, True)):
        with drawn_prometheus.prometheus({"max(x)": [({}, value)]}) as connection:
            chart = views.shown(Prometheus(connection), panel, 900)
        assert chart["series"] == [{"name": "Offline", "value": str(int(value)), "bad": bad}]
        assert "svg" not in chart


def test_a_panel_without_data_has_no_series(server: Prometheus) -> None:
    assert views.shown(server, LINE, 900)["series"] == []


def test_the_name_of_a_group_cannot_change_the_query() -> None:
    text = views.lag_of('a"} or up{x="\\').queries[0].query
    assert text.endswith('{group="a\\"} or up{x=\\"\\\\"})')


def test_every_panel_of_the_file_can_be_drawn() -> None:
    """Also with labels that its legend does not name, and in its unit."""
    drawn = {"": [({"host": "k1", "x": "<y>"}, 0.5), ({"host": "k2"}, 123456.0)]}
    for _, panel in panels():
        with drawn_prometheus.prometheus(drawn) as connection:
            chart = views.shown(Prometheus(connection), panel, 86400)
        assert all(entry["name"] and "{" not in entry["name"] for entry in chart["series"])
        if panel.kind != NUMBER:
            ElementTree.fromstring(chart["svg"])


def test_prometheus_reads_what_it_is_asked_of_every_panel(tmp_path: Path) -> None:
    drawn = {"": [({"host": f"k{number}"}, 1.0) for number in range(views.MOST_LINES + 1)]}
    queries: list[str] = []
    with drawn_prometheus.prometheus(drawn, queries=queries) as connection:
        for query in (panel_query.of() for _, panel in panels() for panel_query in panel.queries):
            views._largest(Prometheus(connection), query, 100, 2)
    rules = [{"record": f"q:{number}", "expr": query} for number, query in enumerate(queries)]
    document = {"groups": [{"name": "asked", "rules": rules}]}
    assert not promtool.run("check", "rules", file=tmp_path / "rules.yml", document=document)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0, "short", "0"),
        (1234.5, "short", "1.23 k"),
        (2_000_000, "short", "2 M"),
        (1536, "bytes", "1.5 KiB"),
        (512, "decmbytes", "512 MB"),
        (1512, "decmbytes", "1.51 GB"),
        (12e6, "Bps", "12 MB/s"),
        (3.2, "ops", "3.2/s"),
        (1500, "reqps", "1.5 k/s"),
        (0.0123, "s", "12.3 ms"),
        (90, "s", "90 s"),
        (7300, "s", "2.03 h"),
        (0, "s", "0 s"),
        (86400 * 20, "s", "20 days"),
        (0.25, "percentunit", "25 %"),
        (math.nan, "s", "none"),
    ],
)
def test_a_value_has_its_unit(value: float, unit: str, text: str) -> None:
    assert charts.value_text(value, unit) == text


def drawing(*points: tuple[float, float], **options: Any) -> ElementTree.Element:
    series = [Series({}, points)]
    text = charts.drawing(series, 0, 100, **{"unit": "short", "label": "l", **options})
    return ElementTree.fromstring(text)


def line(element: ElementTree.Element) -> str:
    (path,) = (path for path in element if "line0" in str(path.get("class")))
    return str(path.get("d"))


def test_a_gap_is_not_drawn_over() -> None:
    assert line(drawing((0, 1), (10, 2), (20, 3))).count("M") == 1
    assert line(drawing((0, 1), (10, 2), (50, 3), (60, 3))).count("M") == 2
    assert line(drawing((0, 1), (10, math.nan), (20, 3), (30, 1))).count("M") == 2


@pytest.mark.parametrize(
    "values", [(0.0,), (7.0,), (-5.0, 20.0), (-3.0,), (1e12, 1.0), (0.00021,), (1e-12,)]
)
@pytest.mark.parametrize("unit", ["short", "bytes"])
def test_every_value_is_within_the_scale(values: tuple[float, ...], unit: str) -> None:
    chart = drawing(*((10.0 * at, value) for at, value in enumerate(values)), unit=unit)
    heights = [float(height) for height in re.findall(r"[ML][\d.-]+ ([\d.-]+)", line(chart))]
    assert all(0 <= height <= charts.HEIGHT for height in heights)
    assert 2 <= len([element for element in chart if element.get("class") == "grid"]) <= 8


def test_a_label_is_text() -> None:
    assert drawing((0, 1), label='a "b" <c>').get("aria-label") == 'a "b" <c>'
