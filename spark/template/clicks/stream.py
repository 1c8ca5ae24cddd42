"""The job: clicks from one topic, counts to another, and what it refuses to a third."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from clicks.transform import hourly, parse, records
from millrace_job import QueryEndedError, dead_letters, read_topic, run, to_topic


def start(spark: SparkSession, arguments: argparse.Namespace) -> list[StreamingQuery]:
    """Start both queries, each with a checkpoint of its own."""
    config, topic = arguments.client_config, arguments.topic
    parsed = parse(read_topic(spark, config, topic, arguments.max_offsets_per_trigger))
    results, letters = records(hourly(parsed)), dead_letters(parsed)
    plans = {
        "hourly": to_topic(results, config, f"{arguments.results}.hourly").outputMode("update"),
        "dead-letter": to_topic(letters, config, f"{arguments.results}.dead-letter"),
    }
    return [
        plan.queryName(name)
        .option("checkpointLocation", f"{arguments.checkpoint}/{name}")
        .trigger(processingTime="1 second")
        .start()
        for name, plan in plans.items()
    ]


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
        run(start(spark, arguments))
    except QueryEndedError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    finally:
        spark.stop()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
