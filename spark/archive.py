"""Kafka topics as partitioned Parquet files: a row for each record, once, in HDFS or elsewhere.

    python archive.py --client-config FILE.properties --topics a,b --output URL --checkpoint URL
    python archive.py --client-config FILE.properties --topics a,b --output URL --compare

The second one reads both and ends with 1 unless they are equal, which takes a topic from which
nothing has expired.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from millrace_job import kafka_options, read_topic, run

PARTITIONS = ("topic", "day")
"""The columns of the directories; `day` is that of the record's time, in UTC."""


def archived(records: DataFrame) -> DataFrame:
    """Return the rows of records as Kafka's source has them."""
    columns = ("topic", "partition", "offset", "timestamp", "key", "value", "headers")
    return records.select(*columns, F.to_date("timestamp").alias("day"))


def differences(records: DataFrame, rows: DataFrame) -> DataFrame:
    """Return each row that one of both has more often; `side` names the other one."""
    expected = archived(records)
    actual = rows.select(*expected.columns)
    lost = expected.exceptAll(actual).withColumn("side", F.lit("archive"))
    return lost.unionByName(actual.exceptAll(expected).withColumn("side", F.lit("topic")))


def start(spark: SparkSession, arguments: argparse.Namespace) -> StreamingQuery:
    """Start the stream; it begins with the earliest record, and fails where records are gone."""
    config, limit = arguments.client_config, arguments.max_per_trigger
    rows = archived(read_topic(spark, config, arguments.topics, limit))
    sink = rows.writeStream.queryName("archive").format("parquet").partitionBy(*PARTITIONS)
    sink = sink.option("path", arguments.output).option("checkpointLocation", arguments.checkpoint)
    interval = f"{round(1000 * arguments.trigger_seconds)} milliseconds"
    return sink.trigger(processingTime=interval).start()


def compare(spark: SparkSession, arguments: argparse.Namespace) -> int:
    """Print what differs between the topics and their files; return 1 if anything does."""
    kafka = kafka_options(arguments.client_config)
    source = spark.read.format("kafka").options(**kafka).option("includeHeaders", True)
    records = source.option("subscribe", arguments.topics).load().cache()
    # As their writer had them: without that a key of digits would be read as a number.
    rows = spark.read.schema(archived(records).schema).parquet(arguments.output)
    different = differences(records, rows).cache()
    number = different.count()
    for row in different.orderBy("topic", "partition", "offset").take(10):
        place = f"{row['topic']}-{row['partition']}, offset {row['offset']}"
        sys.stdout.write(f"fewer in the {row['side']}: {place}\n")
    sys.stdout.write(f"{records.count()} records, {rows.count()} rows, {number} differences\n")
    return 1 if number else 0


def arguments_of(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="archive", description="Kafka topics as Parquet files.")
    parser.add_argument("--client-config", type=Path, required=True, metavar="FILE.properties")
    parser.add_argument("--topics", required=True, help="names, with commas between them")
    parser.add_argument("--output", required=True, metavar="URL")
    parser.add_argument("--checkpoint", metavar="URL")
    parser.add_argument("--compare", action="store_true", help="compare, and end")
    parser.add_argument("--max-per-trigger", type=int, metavar="N", help="records of a micro-batch")
    parser.add_argument("--trigger-seconds", type=float, default=10.0, metavar="S")
    arguments = parser.parse_args(argv)
    if bool(arguments.checkpoint) == arguments.compare:
        parser.error("give either --checkpoint or --compare")
    return arguments


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    arguments = arguments_of(argv)
    builder = SparkSession.builder.appName("archive").config("spark.sql.session.timeZone", "UTC")
    spark = builder.getOrCreate()
    try:
        if arguments.compare:
            return compare(spark, arguments)
        run([start(spark, arguments)])
    finally:
        spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
