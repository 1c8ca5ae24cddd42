"""The job: clicks from one topic, counts to another, and what does not count to a third."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from clicks.transform import FINAL, hourly, parse, records
from millrace_job import DeadLetters, QueryEndedError, read_topic, run, write_topic


def start(spark: SparkSession, arguments: argparse.Namespace) -> StreamingQuery:
    """Start the query: each micro-batch writes its counts, then what it has refused or dropped."""
    config, topic, results = arguments.client_config, arguments.topic, arguments.results
    checkpoint = f"{arguments.checkpoint}/hourly"
    letters = DeadLetters(config, topic, f"{results}.dead-letter", checkpoint, parse, FINAL)

    def write(batch: DataFrame, batch_id: int) -> None:
        write_topic(batch, config, f"{results}.hourly")
        letters.write(batch.sparkSession, batch_id)

    parsed = parse(read_topic(spark, config, topic, arguments.max_offsets_per_trigger))
    plan = records(hourly(parsed)).writeStream.outputMode("update").foreachBatch(write)
    plan = plan.queryName("hourly").option("checkpointLocation", checkpoint)
    return plan.trigger(processingTime="1 second").start()


def main(argv: Sequence[str] | None = None) -> int:
    """Run until SIGTERM; a query that fails ends the process with 1."""
    parser = argparse.ArgumentParser(prog="clicks.stream")
    parser.add_argument("--client-config", type=Path, required=True, metavar="FILE.properties")
    parser.add_argument("--topic", default="clicks")
    parser.add_argument("--results", default="clicks", help="beginning of the names of its topics")
    parser.add_argument("--checkpoint", required=True, metavar="DIR")
    parser.add_argument("--max-offsets-per-trigger", type=int, metavar="N")
    arguments = parser.parse_args(argv)
    # The results are in UTC, wherever the driver runs.
    builder = SparkSession.builder.appName("clicks").config("spark.sql.session.timeZone", "UTC")
    spark = builder.getOrCreate()
    try:
        run([start(spark, arguments)])
    except QueryEndedError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    finally:
        spark.stop()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
