"""What the measured job and the process without Spark do with a record: the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from flights.source import Message, messages
from tests.bench import plain_consumer, stream_job

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]
SENT = 1_700_000_000_123


def raw(spark: SparkSession, records: list[Message]) -> DataFrame:
    values = [(record.key, record.value, SENT) for record in records]
    frame = spark.createDataFrame(values, "key BINARY, value BINARY, sent BIGINT")
    return frame.selectExpr("key", "value", "timestamp_millis(sent) AS timestamp")


def test_both_write_the_same_results(spark: SparkSession) -> None:
    records = messages(400)
    results = [(row.key, row.value) for row in stream_job.rows(raw(spark, records)).collect()]
    assert results == [plain_consumer.transform(record.value, SENT) for record in records]


def test_what_is_no_flight_has_no_result(spark: SparkSession) -> None:
    records = [Message(0, b"k", b'{"origin":"EWR"}')]
    assert stream_job.rows(raw(spark, records)).collect() == []
    assert plain_consumer.transform(records[0].value, SENT) is None


def test_each_flight_of_an_aircraft_is_counted_once(spark: SparkSession) -> None:
    rows = stream_job.counts(raw(spark, messages(400))).collect()
    assert sum(int(row.value) for row in rows) == 400
    assert len({row.key for row in rows}) == len(rows)
