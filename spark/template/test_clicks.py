"""The job without a cluster: what it refuses, and what it counts, on Spark in this process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from clicks.transform import FINAL, MOST_BYTES, hourly, parse, records
from pyspark.sql import DataFrame, SparkSession

from millrace_job import LATE, REASON, TOO_LARGE, dead_letters, late

KAFKA = (
    "key BINARY, value BINARY, partition INT, offset BIGINT, "
    "headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
)
CLICKS = [
    {"user": "ada", "page": "/", "at": "2026-01-05T10:59:59Z"},
    {"user": "bob", "page": "/", "at": "2026-01-05T10:00:00Z"},
    {"user": "ada", "page": "/", "at": "2026-01-05T11:00:00+00:00"},
    {"user": "ada", "page": "/help", "at": "2026-01-05T11:30:00Z"},
]
REFUSED = {
    None: "no value",
    json.dumps({**CLICKS[0], "page": "/" * MOST_BYTES}): TOO_LARGE,
    "click": "not a click",
    '{"user": "ada", "page": "/", "at": "soon"}': "not a click",
    '{"page": "/", "at": "2026-01-05T11:30:00Z"}': "no user",
    '{"user": "ada", "at": "2026-01-05T11:30:00Z"}': "no page",
    '{"user": "ada", "page": "/"}': "no time",
}


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    """Spark with two threads, without a web interface."""
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.session.timeZone", "UTC")
    builder = builder.config("spark.driver.bindAddress", "127.0.0.1")
    session = builder.config("spark.sql.shuffle.partitions", "1").getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="module")
def parsed(spark: SparkSession) -> DataFrame:
    """All values of this file, as they come from a topic."""
    values = [*map(json.dumps, CLICKS), *REFUSED]
    rows = [
        (b"key", value and value.encode(), 0, offset, None) for offset, value in enumerate(values)
    ]
    return parse(spark.createDataFrame(rows, KAFKA)).cache()


def test_what_is_refused_is_kept_as_it_came_with_the_reason(parsed: DataFrame) -> None:
    letters = dead_letters(parsed).collect()
    values = [letter.value and bytes(letter.value).decode() for letter in letters]
    letter_headers = [
        {header.key: bytes(header.value).decode() for header in letter.headers}
        for letter in letters
    ]
    assert {
        value: fields[REASON] for value, fields in zip(values, letter_headers, strict=True)
    } == REFUSED
    assert [fields["source.offset"] for fields in letter_headers] == [
        str(len(CLICKS) + place) for place in range(len(REFUSED))
    ]


def test_clicks_are_counted_by_page_and_hour(parsed: DataFrame) -> None:
    counts = {row.key: json.loads(row.value)["clicks"] for row in records(hourly(parsed)).collect()}
    assert counts == {
        "/|2026-01-05T10:00:00Z": 2,
        "/|2026-01-05T11:00:00Z": 1,
        "/help|2026-01-05T11:00:00Z": 1,
    }


def test_a_click_is_late_once_its_hour_is_closed(parsed: DataFrame) -> None:
    """By what Spark drops from the windows: the hour's end is at the watermark, or before."""
    closed = datetime(2026, 1, 5, 11, tzinfo=UTC)
    judged = late(parsed, FINAL, int(closed.timestamp() * 1000))
    times = [row.at for row in judged.where(f"{REASON} = '{LATE}'").select("at").collect()]
    assert len(times) == 2
    assert {row[REASON] for row in judged.collect()} == {None, LATE, *REFUSED.values()}
