"""The stream: flight events in, hourly windows per airport out, with the refused events aside.

Two queries run in one driver, each with its own checkpoint:

- `windows`: good events, counted in hourly event-time windows with a watermark, joined with the
  hour's weather. Each micro-batch goes to the compacted topic `<base>.windows` (the newest value
  of a key is the result, so a repeated batch changes nothing) and to a Delta table of all updates
  with their `batch_id` (exactly once: Delta skips a batch that this query has already committed).
- `dead-letter`: events that do not parse, lack a required field or hold an illegal value go to
  `<base>.dead-letter` untouched, with headers that name the reason and where they came from.
  Kafka's sink is at least once: a batch repeated after a crash repeats its letters, and their
  source partition and offset identify it.

Nothing here runs Python on an executor. The weather file is read by the driver alone. The
checkpoint and the output have to be directories that every executor shares.
"""

import argparse
import json
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)
from pyspark.sql.streaming.query import StreamingQuery

from flights.schemas import (
    AIRPORTS,
    EVENT_COLUMNS,
    EVENT_DDL,
    REQUIRED,
    WATERMARK,
    WEATHER_COLUMNS,
    WEATHER_DDL,
    WINDOW_COLUMNS,
    Topics,
)
from millrace_job import (
    REASON,
    QueryEndedError,
    append_once,
    dead_letters,
    kafka_options,
    read_topic,
    stop_between_batches,
    stop_signal,
    supervise,
    to_topic,
)

LOG = logging.getLogger("flights.stream")

CONF: Final[Mapping[str, str]] = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # A checkpoint keeps the number that its first run had.
    "spark.sql.shuffle.partitions": "4",
    # Delta's default of 50 tasks to read a small table's log doubles a micro-batch's time.
    "spark.databricks.delta.snapshotPartitions": "2",
    # Each query runs in its own scheduler pool, so that neither waits for the other's batch.
    "spark.scheduler.mode": "FAIR",
}
"""What the job's meaning, its checkpoint or its table depends on; the rest is the platform's."""

TRIGGER_SECONDS: Final = 1.0
"""Without an interval both queries ask the brokers for new records all the time."""
ISO_INPUT: Final = "yyyy-MM-dd'T'HH:mm:ssXXX"
ISO_OUTPUT: Final = "yyyy-MM-dd'T'HH:mm:ss'Z'"


def parse(raw: DataFrame) -> DataFrame:
    """Add the event's columns and `reason`, which is null for a good event, to Kafka's columns.

    `event_time` becomes a timestamp. Reasons, first match first: "no value", "not JSON",
    "wrong type FIELD", "missing FIELD", "illegal event_time", "unknown airport origin".
    """
    text = F.col("value").cast("string")
    ddl, corrupt = f"{EVENT_DDL}, _corrupt STRING", {"columnNameOfCorruptRecord": "_corrupt"}
    parsed = raw.withColumn("_event", F.from_json(text, ddl, corrupt))
    field = {name: F.col(f"_event.{name}") for name in EVENT_COLUMNS}
    time = F.try_to_timestamp(field["event_time"], F.lit(ISO_INPUT))
    reason = (
        F.when(text.isNull(), "no value")
        .when(F.col("_event._corrupt").isNotNull(), _corruption(text, field))
        .when(F.col("_event").isNull(), "not JSON")
    )
    for name in REQUIRED:
        reason = reason.when(field[name].isNull(), f"missing {name}")
    reason = reason.when(time.isNull(), "illegal event_time")
    reason = reason.when(~field["origin"].isin(*AIRPORTS), "unknown airport origin")
    columns = [time.alias(name) if name == "event_time" else field[name] for name in EVENT_COLUMNS]
    # One row in, one row out: through the generator, or a filter on `reason` is pushed below the
    # parser and parses every value again for each condition.
    row = F.inline(F.array(F.struct(*columns, reason.alias(REASON))))
    return parsed.select(*raw.columns, row)


def _corruption(text: Column, field: dict[str, Column]) -> Column:
    """Say why Spark could not read a value: not JSON at all, or which fields have a wrong type."""
    wrong = [
        F.when(value.isNull() & F.get_json_object(text, f"$.{name}").isNotNull(), name)
        for name, value in field.items()
    ]
    wrong_type = F.trim(F.concat(F.lit("wrong type "), F.concat_ws(", ", *wrong)))
    return F.when(F.try_parse_json(text).isNull(), "not JSON").otherwise(wrong_type)


def windows(parsed: DataFrame, weather: DataFrame) -> DataFrame:
    """Aggregate the good events by airport and hour and join the weather: `WINDOW_COLUMNS`.

    Delays are whole minutes, so their sums are exact; null where no flight has one. `hour` is the
    window's start as ISO text, UTC.
    """
    return (
        parsed.where(F.col(REASON).isNull())
        .withWatermark("event_time", WATERMARK)
        .groupBy(F.window("event_time", "1 hour").alias("window"), "origin")
        .agg(
            F.count(F.lit(1)).alias("flights"),
            F.count_if("cancelled").alias("cancelled"),
            F.sum("dep_delay").alias("dep_delay_sum"),
            F.max("dep_delay").alias("dep_delay_max"),
            F.sum("arr_delay").alias("arr_delay_sum"),
            F.max("arr_delay").alias("arr_delay_max"),
        )
        .withColumn("hour", F.col("window.start"))
        .join(F.broadcast(weather), ["origin", "hour"], "left")
        .withColumn("hour", F.date_format("hour", ISO_OUTPUT))
        .select(*WINDOW_COLUMNS)
    )


def records(results: DataFrame) -> DataFrame:
    """Return windows as Kafka records: key `EWR|2013-01-01T10:00:00Z`, value JSON with nulls."""
    value = F.to_json(F.struct(*WINDOW_COLUMNS), {"ignoreNullFields": "false"})
    return results.select(F.concat_ws("|", "origin", "hour").alias("key"), value.alias("value"))


def read_weather(spark: SparkSession, path: Path) -> DataFrame:
    """Read the weather CSV in the driver: origin, hour (timestamp) and the doubles as they are.

    The text travels as a local relation and Spark parses it; `createDataFrame` would need Python on
    the executors, and `spark.read` the file on each of them.

    Raises:
        ValueError: the file is not what `flights.source` writes.

    """
    header, _, body = path.read_text().strip().partition("\n")
    if header != ",".join(["origin", "hour", *WEATHER_COLUMNS]) or {"'", "\\"} & set(body):
        message = f"{path} is not what flights.source --weather writes; it begins with {header!r}"
        raise ValueError(message)
    query = f"SELECT * FROM VALUES ('{body}') AS weather(body)"  # noqa: S608 - the body is checked: no quote, no backslash; Delta's parser knows no parameters
    text = spark.sql(query)
    lines = text.select(F.explode(F.split("body", "\n")).alias("line"))
    row = F.from_csv("line", WEATHER_DDL, {"mode": "FAILFAST"})
    return lines.select(row.alias("row")).select("row.*").persist()


def sink(output: str, kafka: dict[str, str]) -> Callable[[DataFrame, int], None]:
    """Return the `foreachBatch` function of the windows: append to Delta, then write to Kafka."""

    def write(batch: DataFrame, batch_id: int) -> None:
        batch.persist()
        try:
            if batch.count():
                rows = batch.withColumn("batch_id", F.lit(batch_id)).coalesce(1)
                append_once(rows, batch_id, output)
                records(batch).write.format("kafka").options(**kafka).save()
        finally:
            batch.unpersist()

    return write


class ProgressFile(StreamingQueryListener):
    """Appends one JSON line per finished micro-batch to `<directory>/<query>.jsonl`.

    The file outlives the process. A batch repeated after a crash appears again: a reader takes the
    last line of each batchId. A kill between a batch's commit and this line loses the line.
    """

    def __init__(self, directory: Path) -> None:
        """Create the directory if needed."""
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Log it."""
        LOG.info("query %s started, id %s, run %s", event.name, event.id, event.runId)

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """Write the line of a batch that was executed."""
        progress = event.progress
        if "addBatch" not in progress.durationMs:
            return
        line = {
            "query": progress.name,
            "batchId": progress.batchId,
            "timestamp": progress.timestamp,
            "numInputRows": progress.numInputRows,
            "numRowsDroppedByWatermark": sum(
                operator.numRowsDroppedByWatermark for operator in progress.stateOperators
            ),
            "durationMs": progress.durationMs["triggerExecution"],
            "processedRowsPerSecond": progress.processedRowsPerSecond,
        }
        with (self._directory / f"{progress.name}.jsonl").open("a") as file:
            file.write(json.dumps(line) + "\n")

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Nothing to write: no batch was executed."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """Log it."""
        LOG.info("query %s ended: %s", event.id, event.exception or "stopped")


def start(spark: SparkSession, arguments: argparse.Namespace) -> list[StreamingQuery]:
    """Start both queries."""
    topics = Topics(arguments.topic)
    config = arguments.client_config
    parsed = parse(read_topic(spark, config, topics.events, arguments.max_offsets_per_trigger))
    results = windows(parsed, read_weather(spark, arguments.weather))
    to_windows = sink(
        arguments.output, kafka_options(config) | {"kafka.acks": "all", "topic": topics.windows}
    )
    plans = {
        "windows": results.writeStream.outputMode("update").foreachBatch(to_windows),
        "dead-letter": to_topic(dead_letters(parsed), config, topics.dead_letter),
    }
    interval = f"{round(1000 * arguments.trigger_seconds)} milliseconds"
    started = []
    for name, plan in plans.items():
        spark.sparkContext.setLocalProperty("spark.scheduler.pool", name)
        query = plan.queryName(name).option("checkpointLocation", f"{arguments.checkpoint}/{name}")
        started.append(query.trigger(processingTime=interval).start())
    return started


def missing_grant(message: str, topics: Topics) -> str:
    """Return which grant the user lacks if that is why a query ended, else nothing.

    Kafka denies an idempotent producer that may write to no topic an operation on the cluster
    (KIP-679).
    """
    written = f"{topics.windows}, {topics.dead_letter}"
    if "ClusterAuthorizationException" in message:
        return f"the user has no grant for the operation write on {written}"
    denied = re.search(r"Not authorized to access topics: \[(.+?)\]", message)
    if not denied:
        return ""
    operation = "read" if denied[1] == topics.events else "write"
    return f"the user has no grant for the operation {operation} on {denied[1]}"


def arguments_of(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="flights.stream", description=main.__doc__)
    parser.add_argument(
        "--client-config",
        type=Path,
        required=True,
        metavar="FILE.properties",
        help="Kafka client properties: bootstrap.servers, security; all become options of Spark's",
    )
    parser.add_argument("--topic", default="flights", help="base name of the three topics")
    parser.add_argument("--weather", type=Path, required=True, metavar="FILE.csv")
    parser.add_argument("--checkpoint", required=True, metavar="DIR")
    parser.add_argument("--output", required=True, metavar="DIR", help="the Delta table")
    parser.add_argument("--progress", type=Path, required=True, metavar="DIR")
    parser.add_argument("--max-offsets-per-trigger", type=int, metavar="N")
    parser.add_argument(
        "--trigger-seconds",
        type=float,
        default=TRIGGER_SECONDS,
        metavar="S",
        help="time between the starts of micro-batches, default: %(default)s; a record is in the "
        "result after at most that and one batch",
    )
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the flights stream until SIGTERM; a query that fails ends the process with 1."""
    arguments = arguments_of(argv)
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    logging.getLogger("py4j").setLevel(logging.WARNING)
    stop = stop_signal()
    builder = SparkSession.builder.appName(f"flights-{arguments.topic}").config(map=dict(CONF))
    spark = builder.getOrCreate()
    try:
        spark.streams.addListener(ProgressFile(arguments.progress))
        queries = start(spark, arguments)
        supervise(queries, stop)
        for query in stop_between_batches(queries):
            LOG.warning("query %s was stopped in a micro-batch, which is repeated", query.name)
    except QueryEndedError as error:
        LOG.error("%s", error)  # noqa: TRY400 - the message holds Spark's own trace
        if missing := missing_grant(str(error), Topics(arguments.topic)):
            LOG.error("%s", missing)  # noqa: TRY400 - as above
        return 1
    finally:
        for query in spark.streams.active:
            query.stop()
        spark.stop()
    LOG.info("stopped")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
