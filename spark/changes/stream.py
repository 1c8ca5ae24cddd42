"""The stream: flights and the changes of two tables in, a row for each row of a table out.

Each of its queries is one aggregation over both topics, by the key of the table: of the changes it
keeps the last one, of the flights sums. So a row that is inserted, changed or deleted changes the
result of all flights of the past, too, and the result does not depend on the order in which the
topics are read, or on changes that come twice. The topics have to keep all of their records.

A result is written in the form of Kafka Connect, with its schema, and as a record without a value
once the table has no such row any more. Kafka's sink is at least once: a micro-batch that is
repeated writes the same again, and the newest record of a key counts.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from changes.schemas import CONNECT, DIMENSIONS, FACTS, Dimension
from millrace_job import QueryEndedError, read_topic, run, to_topic

CONF: Final[Mapping[str, str]] = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # A checkpoint keeps the number that its first run had.
    "spark.sql.shuffle.partitions": "4",
    # Each query runs in its own scheduler pool, so that none waits for the other's batch.
    "spark.scheduler.mode": "FAIR",
}
NO_CHANGE: Final = "a record is no change, as Debezium writes it without a schema,"
_UNREADABLE: Final = "_unreadable"
_EVENT: Final = (
    "tailnum STRING, dest STRING, cancelled BOOLEAN, dep_delay BIGINT, distance BIGINT, "
    f"{_UNREADABLE} STRING"
)


def changes(raw: DataFrame, dimension: Dimension) -> DataFrame:
    """Return key and `version` of each change of a table, of records of its topic.

    A version is struct(place, row): `row` is null where the row was deleted, and versions of a key
    are ordered by `place`. That is the position in the log of the database (`lsn`), which grows
    with each change of the same row, as a change holds a lock on it until it is committed. What a
    snapshot read comes before all changes: one that was committed after the snapshot may have a
    lower position. A record without a value only says what the one before it says.
    """
    row = ", ".join(f"{name}: {kind}" for name, kind in dimension.columns.items())
    image = f"struct<{dimension.key}: STRING, {row}>"
    ddl = f"before {image}, after {image}, source struct<snapshot: STRING, lsn: BIGINT>, op STRING"
    key = f"from_json(cast(key AS STRING), '{dimension.key} STRING').{dimension.key} AS key"
    streamed = "coalesce(change.source.snapshot, 'false') = 'false' AS streamed"
    names = ", ".join(f"change.after.{name}" for name in dimension.columns)
    # Such as one of a converter that adds its schema, whose fields would all be null.
    operation = f"coalesce(change.op, raise_error('{NO_CHANGE} of {dimension.table}')) AS op"
    return (
        raw.where("value IS NOT NULL")
        .selectExpr(
            key, f"from_json(cast(value AS STRING), '{ddl}', map('mode', 'FAILFAST')) AS change"
        )
        .selectExpr("key", streamed, "change.source.lsn", operation, f"struct({names}) AS row")
        .selectExpr(
            "key",
            "struct(struct(streamed, lsn) AS place, if(op = 'd', NULL, row) AS row) AS version",
        )
    )


def facts(raw: DataFrame, dimension: Dimension) -> DataFrame:
    """Return key and `FACTS` of each flight, of records of the flights' topic.

    Those that are not readable, which the flights' own stream refuses, count nowhere, nor do those
    with a field of a wrong type.
    """
    event = F.from_json(
        F.col("value").cast("string"), _EVENT, {"columnNameOfCorruptRecord": _UNREADABLE}
    )
    return (
        raw.select(event.alias("event"))
        .where(f"event.{_UNREADABLE} IS NULL")
        .where(f"event.{dimension.flight} IS NOT NULL AND event.distance IS NOT NULL")
        .selectExpr(
            f"event.{dimension.flight} AS key",
            "1L AS flights",
            "cast(event.cancelled AS BIGINT) AS cancelled",
            "event.dep_delay AS dep_delay_sum",
            "event.distance",
        )
    )


def joined(versions: DataFrame, flights: DataFrame) -> DataFrame:
    """Return key, `row` and `FACTS` of each key of which a change was read.

    `row` is null where the table has none. A sum of no number is null for the delay, as in SQL, and
    otherwise 0.
    """
    both = versions.unionByName(flights, allowMissingColumns=True)
    sums = [F.sum(name).alias(name) for name in FACTS]
    latest = F.max_by("version", "version.place").alias("version")
    zero = {name: F.coalesce(name, F.lit(0)).alias(name) for name in FACTS}
    zero["dep_delay_sum"] = F.col("dep_delay_sum")
    totals = both.groupBy("key").agg(latest, *sums).where("version IS NOT NULL")
    return totals.select("key", F.col("version.row").alias("row"), *zero.values())


def records(rows: DataFrame, dimension: Dimension) -> DataFrame:
    """Return results as records of Kafka Connect's JSON converter: key, and value or null."""
    columns = [F.col(f"row.{name}").alias(name) for name in dimension.columns]
    value = _enveloped(dimension.result_columns, F.struct(*columns, *FACTS), optional=True)
    key = _enveloped({dimension.key: "STRING"}, F.struct(F.col("key").alias(dimension.key)))
    return rows.select(key.alias("key"), F.when(F.col("row").isNotNull(), value).alias("value"))


def _enveloped(columns: Mapping[str, str], row: Column, *, optional: bool = False) -> Column:
    fields = [
        {"field": name, "type": CONNECT[kind], "optional": optional}
        for name, kind in columns.items()
    ]
    schema = json.dumps({"type": "struct", "fields": fields, "optional": False})
    payload = F.to_json(row, {"ignoreNullFields": "false"})
    return F.concat(F.lit(f'{{"schema": {schema}, "payload": '), payload, F.lit("}"))


def start(spark: SparkSession, arguments: argparse.Namespace) -> list[StreamingQuery]:
    """Start a query for each table."""
    config, limit = arguments.client_config, arguments.max_offsets_per_trigger
    started = []
    for dimension in DIMENSIONS:
        versions = changes(read_topic(spark, config, dimension.topic, limit), dimension)
        flights = facts(read_topic(spark, config, arguments.flights, limit), dimension)
        results = records(joined(versions, flights), dimension)
        spark.sparkContext.setLocalProperty("spark.scheduler.pool", dimension.result)
        query = (
            to_topic(results, config, dimension.result)
            .outputMode("update")
            .queryName(dimension.result)
        )
        query = query.option("checkpointLocation", f"{arguments.checkpoint}/{dimension.result}")
        started.append(query.trigger(processingTime="1 second").start())
    return started


def arguments_of(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="changes.stream", description=main.__doc__)
    parser.add_argument("--client-config", type=Path, required=True, metavar="FILE.properties")
    parser.add_argument("--flights", default="flights", metavar="TOPIC", help="of flights.producer")
    parser.add_argument(
        "--checkpoint", required=True, metavar="DIR", help="shared by all executors"
    )
    parser.add_argument("--max-offsets-per-trigger", type=int, metavar="N")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Join flights with the changes of planes and airports until SIGTERM."""
    arguments = arguments_of(argv)
    spark = SparkSession.builder.appName("changes").config(map=dict(CONF)).getOrCreate()
    try:
        run(start(spark, arguments))
    except QueryEndedError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    finally:
        for query in spark.streams.active:
            query.stop()
        spark.stop()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
