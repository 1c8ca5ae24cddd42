"""The job that keeps topics as Parquet files: its rows, and what its comparison finds."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from archive import PARTITIONS, archived, arguments_of, differences
from tests.support.faults.target import skip_unless_full

SCHEMA = (
    "topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, timestampType INT, "
    "key BINARY, value BINARY, headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
)


def record(offset: int, **changed: Any) -> Row:
    """A record as Kafka's source has it."""
    defaults = {
        "topic": "orders",
        "partition": 0,
        "offset": offset,
        "timestamp": datetime(2026, 1, 31, 23, 30, tzinfo=UTC),
        "timestampType": 0,
        "key": b"1",
        "value": b"paid",
        "headers": [Row(key="kind", value=b"x")],
    }
    return Row(**{**defaults, **changed})


def records(spark: SparkSession, *rows: Row) -> DataFrame:
    return spark.createDataFrame(list(rows), SCHEMA)


def places(difference_rows: DataFrame) -> list[tuple[str, int]]:
    return sorted((row["side"], row["offset"]) for row in difference_rows.collect())


@pytest.fixture
def source(spark: SparkSession) -> DataFrame:
    return records(spark, record(0), record(1, key=None, headers=None), record(2, value=b"\xff"))


def test_what_was_written_is_what_there_was(
    spark: SparkSession, source: DataFrame, tmp_path: Path
) -> None:
    skip_unless_full()
    target = str(tmp_path / "rows")
    archived(source).write.partitionBy(*PARTITIONS).parquet(target)
    rows = spark.read.schema(archived(source).schema).parquet(target)
    assert places(differences(source, rows)) == []
    assert {path.name for path in Path(target).glob("topic=*")} == {"topic=orders"}


def test_each_difference_is_found_where_it_is(spark: SparkSession, source: DataFrame) -> None:
    rows = records(spark, record(0), record(0), record(1, key=b"other"), record(2, value=b"\xff"))
    difference_rows = differences(source, archived(rows))
    assert places(difference_rows) == [("archive", 1), ("topic", 0), ("topic", 1)]


def test_it_either_writes_or_compares(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--client-config", "x", "--topics", "a", "--output", "o"]
    assert arguments_of([*arguments, "--compare"]).compare
    assert arguments_of([*arguments, "--checkpoint", "c"]).checkpoint == "c"
    for wrong in (arguments, [*arguments, "--checkpoint", "c", "--compare"]):
        with pytest.raises(SystemExit):
            arguments_of(wrong)
    assert "--compare" in capsys.readouterr().err
