"""What Prometheus gets from the exporter of consumer lag, and when."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.groups import Reading
from prometheus_client.parser import text_string_to_metric_families

from apps.lag_exporter import exposition, settings
from apps.lag_exporter.exporter import Exporter
from apps.lag_exporter.exposition import Metric
from apps.lag_exporter.server import server
from tests.unit.apps.lag_exporter.lag_readings import FLIGHTS, group, reading

Parsed = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def parsed(text: str) -> Parsed:
    """Return what Prometheus' own client library reads in a text."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(text: str, name: str, **labels: str) -> float | None:
    return parsed(text).get((name, tuple(sorted(labels.items()))))


@pytest.mark.parametrize("name", ['a"b', "a\\b", "a\nb", "a\\nb", "Grüße", "{x}=,", " "])
def test_any_name_of_a_group_is_read_as_it_is(name: str) -> None:
    metric = Metric("m", "gauge", "About it.", [({"group": name}, 1.5)])
    assert parsed(exposition.text([metric])) == {("m", (("group", name),)): 1.5}


def test_a_metric_has_its_type_and_one_without_samples_is_left_out() -> None:
    metrics = [Metric("m_total", "counter", "About it.", [({}, 3)]), Metric("n", "gauge", "", [])]
    (family,) = text_string_to_metric_families(exposition.text(metrics))
    assert (family.name, family.type, family.documentation) == ("m", "counter", "About it.")


def exporter(*answers: Reading | Exception, keep: float = 120) -> Exporter:
    """Return an exporter that has read the answers one after the other."""
    remaining = iter(answers)

    def read() -> Reading:
        outcome = next(remaining)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    sampled = Exporter(read, keep)
    for _ in answers:
        sampled.sample()
    return sampled


def test_a_group_has_lag_members_and_state() -> None:
    begin = time.time()
    text = exporter(reading(group(members=2), ends={FLIGHTS: 17})).text()
    place = {"group": "app", "topic": "flights", "partition": "0"}
    assert value(text, "kafka_consumer_group_lag_records", **place) == 7
    assert value(text, "kafka_consumer_group_lag_seconds", **place) == 0
    assert value(text, "kafka_consumer_group_members", group="app") == 2
    assert value(text, "kafka_consumer_group_state", group="app", state="Stable") == 1
    success = value(text, "kafka_lag_exporter_last_success_timestamp_seconds")
    assert success is not None
    assert begin <= success <= time.time()
    assert value(text, "kafka_lag_exporter_scrape_errors_total") == 0


def test_members_that_are_not_known_are_left_out() -> None:
    text = exporter(reading(group(members=None))).text()
    assert value(text, "kafka_consumer_group_members", group="app") is None
    assert value(text, "kafka_consumer_group_state", group="app", state="Stable") == 1


def test_a_failure_of_any_kind_is_counted_and_former_values_stay(
    caplog: pytest.LogCaptureFixture,
) -> None:
    good = reading(group(), ends={FLIGHTS: 17})
    sampled = exporter(good, OSError("refused"), OSError("refused"), RuntimeError("odd"), good)
    text = sampled.text()
    assert value(text, "kafka_lag_exporter_scrape_errors_total") == 3
    assert value(text, "kafka_consumer_group_state", group="app", state="Stable") == 1
    # Each is logged once, not every 15 seconds for as long as a cluster is down.
    assert [
        log_record.message.split(": ")[-1]
        for log_record in caplog.records
        if log_record.levelname == "WARNING"
    ] == [
        "refused",
        "odd",
    ]


def test_before_the_first_success_its_time_is_zero() -> None:
    text = exporter(OSError("refused")).text()
    assert value(text, "kafka_lag_exporter_last_success_timestamp_seconds") == 0


def test_groups_are_not_served_while_a_reading_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    sampled = exporter(reading(group()))
    later = time.monotonic() + 121
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert "kafka_consumer_group" not in sampled.text()
    assert value(sampled.text(), "kafka_lag_exporter_scrape_errors_total") == 0


# Over HTTP


@pytest.fixture
def connection() -> Iterator[HTTPConnection]:
    """Serve a text."""
    http = server("127.0.0.1", 0, lambda: "m 1\n")
    thread = threading.Thread(target=http.serve_forever)
    thread.start()
    client = HTTPConnection("127.0.0.1", http.server_port, timeout=5)
    yield client
    client.close()
    http.shutdown()
    thread.join()
    http.server_close()


def answer(connection: HTTPConnection, path: str) -> HTTPResponse:
    connection.request("GET", path)
    return connection.getresponse()


def test_prometheus_gets_the_text(connection: HTTPConnection) -> None:
    response = answer(connection, "/metrics?x=1")
    assert response.status == 200
    assert str(response.headers["Content-Type"]).startswith("text/plain; version=0.0.4")
    assert response.read() == b"m 1\n"


@pytest.mark.parametrize("path", ["/", "/metrics/x", "/../etc/passwd", "/%00<script>"])
def test_there_is_nothing_else(connection: HTTPConnection, path: str) -> None:
    response = answer(connection, path)
    assert response.status == 404
    assert b"script" not in response.read()


# Settings


def given(tmp_path: Path, **overrides: object) -> settings.Settings:
    """Return the settings of a file."""
    options = {
        "client": "/c",
        "library": "/l",
        "address": "127.0.0.1",
        "port": 1,
        "interval": 15,
        "groups": ".*",
        "excluded": "console-.*",
        "max_groups": 10,
        **overrides,
    }
    path = tmp_path / "settings.json"
    path.write_text(json.dumps(options))
    return settings.read(path)


@pytest.mark.parametrize(
    ("groups", "expected"),
    [(".*", ["app", "my-console-app"]), ("app", ["app"]), ("a|.*-app", ["my-console-app"])],
)
def test_names_of_groups_are_compared_as_a_whole(
    tmp_path: Path, groups: str, expected: list[str]
) -> None:
    read_settings = given(tmp_path, groups=groups)
    names = ["app", "console-1", "my-console-app"]
    assert [name for name in names if read_settings.wants(name)] == expected


@pytest.mark.parametrize(("interval", "keep"), [(15, 120), (60, 240)])
def test_former_values_are_kept_for_several_readings(
    tmp_path: Path, interval: int, keep: float
) -> None:
    assert given(tmp_path, interval=interval).keep == keep
