"""The queries of the pipeline `departures` over events, and the picture of a graph.

A batch has the streams as tables: `./lab test --full` runs the pipeline itself.
"""

from __future__ import annotations

import os
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from departures import __file__ as package
from flights.source import Damage, Event, encode, events
from millrace_pipelines import mermaid, shared_tables
from tests.support.services.departures import carrier_counts, departure, hourly_counts, is_long

NUMBER = 5 * 840
DATASET = re.compile(
    r"CREATE (?:STREAMING TABLE|MATERIALIZED VIEW|TEMPORARY VIEW) (\w+) AS\n(.+?);\n", re.DOTALL
)


@pytest.fixture(scope="module")
def stream() -> list[Event]:
    return list(events(NUMBER))


@pytest.fixture(scope="module")
def tables(spark: SparkSession, stream: list[Event]) -> SparkSession:
    """A session in which each dataset of the pipeline is a view."""
    session = spark.newSession()
    damaged = [encode(stream[number], damage) for number, damage in enumerate(Damage)]
    rows = [(line.decode(),) for line in [*map(encode, stream), *damaged]]
    session.createDataFrame(rows, "value string").createOrReplaceTempView("flights")
    text = Path(package).with_name("departures.sql").read_text()
    for name, query in DATASET.findall(text):
        batch = query.replace("STREAM ", "")
        session.sql(f"CREATE TEMPORARY VIEW {name} AS {batch}")
    return session


def rows(tables: SparkSession, table: str, *columns: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in tables.table(table).selectExpr(*columns).collect())


def test_the_queries_equal_plain_python(tables: SparkSession, stream: list[Event]) -> None:
    counts = rows(tables, "carrier_counts", "carrier", "departures", "delayed")
    assert {carrier: (departures, late) for carrier, departures, late in counts} == carrier_counts(
        stream
    )
    late = sorted((event["origin"], event["flight"]) for event in stream if is_long(event))
    assert rows(tables, "long_delays", "origin", "flight") == late
    assert rows(tables, "named_delays", "origin", "flight") == late
    assert all(name for (name,) in rows(tables, "named_delays", "coalesce(name, '')"))
    assert len(rows(tables, "rejected", "value")) == len(Damage)
    windows = rows(tables, "hourly_counts", "unix_seconds(hour)", "origin", "departures")
    # A batch has no watermark: its windows are all of them.
    counts_by_hour = hourly_counts(stream, timedelta(hours=-1))
    assert {(at, origin): n for at, origin, n in windows} == counts_by_hour
    assert sum(counts_by_hour.values()) == len(list(map(departure, stream)))


def test_a_picture_has_each_dataset_and_each_edge() -> None:
    picture = mermaid({"a": ("view", ["topic a"]), "b": ("table", ["a"]), "topic a": ("topic", [])})
    assert picture.splitlines() == [
        "flowchart LR",
        '  n0(["a"])',
        '  n1["b"]',
        '  n2[("topic a")]',
        "  n2 --> n0",
        "  n0 --> n1",
    ]


def test_a_job_uses_the_catalog_of_sessions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in {"own": "spark.master=spark://m1:7077\n", "client": ""}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "spark-defaults.conf").write_text(text)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path / "own"))
    monkeypatch.setenv("MASTER", "")
    monkeypatch.delenv("MASTER")
    before = os.umask(0o022)
    try:
        shared_tables(str(tmp_path / "none"))
        assert os.environ["SPARK_CONF_DIR"] == str(tmp_path / "own")
        shared_tables(str(tmp_path / "client"))
        assert os.environ["SPARK_CONF_DIR"] == str(tmp_path / "client")
        assert os.environ["MASTER"] == "spark://m1:7077"
        assert os.umask(0o022) == 0o007
    finally:
        os.umask(before)
