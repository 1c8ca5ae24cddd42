"""The measured job: flights from one topic, a result to another, as often as it is asked to.

It is asked by a file `<number>.json` in the directory `--requests`, and answers in
`<number>.answer`, so that its JVMs are warm and not their start is measured. A request names the
`query` and its `source`, and has `batch`: how many records a micro-batch takes, of all that there
are; or `seconds`: a query that starts a micro-batch every so many, until the request `stop`.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from millrace_job import read_topic, stop_between_batches, stop_signal, to_topic

DDL = (
    "event_time STRING, origin STRING, dest STRING, carrier STRING, flight BIGINT, "
    "tailnum STRING, dep_delay BIGINT, arr_delay BIGINT"
)
COLUMNS = tuple(field.split()[0] for field in DDL.split(", "))
POLL_SECONDS = 0.05


def parse(raw: DataFrame) -> DataFrame:
    """The event's columns and `sent`, the record's time in milliseconds."""
    event = F.from_json(F.col("value").cast("string"), DDL)
    # One row in, one row out; a filter on a field is not pushed below the parser (flights.stream).
    row = F.inline(F.array(event))
    return raw.select(F.unix_millis("timestamp").alias("sent"), row)


def rows(raw: DataFrame) -> DataFrame:
    """Each flight with the minutes that it lost or made up on its way: no state."""
    lost = F.coalesce("arr_delay", F.lit(0)) - F.coalesce("dep_delay", F.lit(0))
    good = parse(raw).where(F.col("carrier").isNotNull())
    value = F.to_json(F.struct(*COLUMNS, lost.alias("lost"), "sent"))
    key = F.concat_ws("-", "carrier", F.col("flight").cast("string"))
    return good.select(key.alias("key"), value.alias("value"))


def counts(raw: DataFrame) -> DataFrame:
    """The flights of each aircraft by day, written when they change: most rows have a new key."""
    event = parse(raw).withColumn("event_time", F.col("event_time").cast("timestamp"))
    day = F.window("event_time", "1 day").alias("day")
    daily = event.withWatermark("event_time", "30 days").groupBy(day, "tailnum").count()
    key = F.concat_ws("|", "tailnum", F.col("day.start").cast("string"))
    return daily.select(key.alias("key"), F.col("count").cast("string").alias("value"))


QUERIES = {"rows": rows, "counts": counts}


class Driver:
    """Starts queries; at most one of them goes on."""

    def __init__(self, spark: SparkSession, arguments: argparse.Namespace) -> None:
        self._spark, self._arguments = spark, arguments
        self._going: list[StreamingQuery] = []

    def answer(self, number: int, request: dict[str, Any]) -> dict[str, Any]:
        if "stop" in request:
            stop_between_batches(self._going)
            self._going = []
            return {}
        for key, value in request.get("conf", {}).items():
            self._spark.conf.set(key, value)
        begun = time.monotonic()
        query = self._start(number, request)
        if "seconds" in request:
            self._going = [query]
            while query.lastProgress is None and "Waiting" not in query.status["message"]:
                time.sleep(POLL_SECONDS)
            return {}
        query.awaitTermination()
        progress = [batch for batch in query.recentProgress if batch["numInputRows"]]
        states = [batch["stateOperators"] for batch in progress[-1:]]
        return {
            "rows": sum(batch["numInputRows"] for batch in progress),
            "seconds": time.monotonic() - begun,
            "batches": len(progress),
            "state_mb": sum(operator["memoryUsedBytes"] for state in states for operator in state)
            / 1e6,
        }

    def _start(self, number: int, request: dict[str, Any]) -> StreamingQuery:
        arguments, batch = self._arguments, request.get("batch")
        raw = read_topic(self._spark, arguments.client_config, request["source"], batch)
        results = QUERIES[request["query"]](raw)
        plan = to_topic(results, arguments.client_config, request["sink"]).outputMode("update")
        checkpoint = request.get("checkpoint", str(number))
        plan = plan.option("checkpointLocation", f"{arguments.checkpoint}/{checkpoint}")
        if batch:
            return plan.trigger(availableNow=True).start()
        return plan.trigger(processingTime=f"{request['seconds']} seconds").start()


def answer_or_error(driver: Driver, number: int, request: dict[str, Any]) -> dict[str, Any]:
    """Return the answer, or Spark's message."""
    try:
        return driver.answer(number, request)
    except PySparkException as error:
        return {"error": str(error)}


def main(argv: Sequence[str] | None = None) -> int:
    """Answer requests until SIGTERM."""
    parser = argparse.ArgumentParser(prog="stream_job")
    parser.add_argument("--client-config", type=Path, required=True, metavar="FILE.properties")
    parser.add_argument("--checkpoint", required=True, metavar="DIR")
    parser.add_argument("--requests", type=Path, required=True, metavar="DIR")
    parser.add_argument("--master", help="instead of the cluster's")
    arguments = parser.parse_args(argv)
    stop = stop_signal()
    arguments.requests.mkdir(exist_ok=True)
    builder = SparkSession.builder.config("spark.sql.session.timeZone", "UTC")
    if arguments.master:
        builder = builder.master(arguments.master)
    spark = builder.getOrCreate()
    driver = Driver(spark, arguments)
    try:
        while not stop.wait(POLL_SECONDS):
            for path in arguments.requests.glob("*.json"):
                request = json.loads(path.read_text())
                path.unlink()
                response = path.with_suffix(".new")
                response.write_text(json.dumps(answer_or_error(driver, int(path.stem), request)))
                response.rename(path.with_suffix(".answer"))
    finally:
        spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
