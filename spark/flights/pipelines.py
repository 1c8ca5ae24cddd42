"""The pipelines: windows, sessions, deduplication, a join of streams, ranks, from Kafka or files.

`python -m flights.pipelines NAME...` runs one or more of `RESULTS` in one driver. From Kafka to
Kafka each is one query, which also writes the events that it refused, and those that came too late,
with the reason. Elsewhere the refused ones have a query of their own, and the late ones are counted
in the progress.

Sinks:

- `kafka`: records to the compacted topic `<topic>.<name>`, keyed by the row's key. Spark's sink
  knows no transactions: a batch repeated after a crash is written twice, with the same keys and
  values, so the newest value of each key is right when the batch is done.
- `delta`: the table `<output>/<name>`. Rows that change are merged by key, which a repeated batch
  does not alter; final rows are appended, and Delta skips a batch that it has.
- `files`: JSON files in `<output>/<name>`, each row once, when it is final. Read them with Spark,
  which knows from the directory's log which files are committed.

With `--available-now` it reads what there is and ends, and goes on from there when it is run again.
"""

import argparse
import logging
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from flights import transforms
from flights.operators import compile_operators
from flights.schemas import RESULTS, WATERMARK, WEATHER_DDL, PipelineTopics
from flights.stream import (
    CONF,
    TRIGGER_SECONDS,
    ProgressFile,
    parse,
)
from millrace_job import (
    HEADERS,
    DeadLetters,
    QueryEndedError,
    append_once,
    dead_letters,
    read_topic,
    stop_between_batches,
    stop_signal,
    supervise,
    to_topic,
    write_topic,
)

LOG = logging.getLogger("flights.pipelines")
SCALA: Final = ("top-delays",)
"""The pipelines with an operator in Scala."""
Transform = Callable[[DataFrame, str], DataFrame]
TRANSFORMS: Final[Mapping[str, Transform]] = {
    "tumbling": transforms.tumbling,
    "sliding": transforms.sliding,
    "sessions": transforms.sessions,
    "distinct": transforms.distinct,
    "top-delays": transforms.top_delays,
}
"""Those with one input; `joined` has two."""


def read_events(spark: SparkSession, arguments: argparse.Namespace) -> DataFrame:
    """Return the stream of Kafka's columns: from a topic, or from files with one event a line."""
    if arguments.source == "kafka":
        return read_topic(
            spark, arguments.client_config, arguments.topic, arguments.max_per_trigger
        )
    files = spark.readStream
    if arguments.max_per_trigger:
        files = files.option("maxFilesPerTrigger", arguments.max_per_trigger)
    lines = files.text(str(arguments.input))
    return lines.select(
        F.lit(None).cast("binary").alias("key"),
        F.col("value").cast("binary").alias("value"),
        F.lit(None).cast("int").alias("partition"),
        F.lit(None).cast("bigint").alias("offset"),
        F.lit(None).cast(HEADERS).alias("headers"),
    )


def read_weather(spark: SparkSession, path: Path) -> DataFrame:
    """Return the file of `flights.source` as a stream."""
    csv = spark.readStream.schema(WEATHER_DDL).option("mode", "FAILFAST")
    # As a pattern: a stream takes directories and patterns, not the name of a file.
    return csv.option("header", True).csv(str(path.with_name(f"{{{path.name}}}")))


def result(
    spark: SparkSession, name: str, parsed: DataFrame, arguments: argparse.Namespace
) -> DataFrame:
    """Return the rows of the pipeline `name`."""
    if name == "joined":
        return transforms.joined(parsed, read_weather(spark, arguments.weather), arguments.late)
    return TRANSFORMS[name](parsed, arguments.late)


def records(name: str, rows: DataFrame) -> DataFrame:
    """Return rows as Kafka records: the key's parts with `|` between them, and all columns."""
    value = F.to_json(F.struct(*rows.columns), {"ignoreNullFields": "false"})
    return rows.select(F.concat_ws("|", *RESULTS[name].key).alias("key"), value.alias("value"))


def to_delta(name: str, table: str) -> Callable[[DataFrame, int], None]:
    """Return the `foreachBatch` function that merges or appends to a Delta table."""

    def write(batch: DataFrame, batch_id: int) -> None:
        if not RESULTS[name].updates:
            append_once(batch, batch_id, table)
            return
        if not batch_id:  # a table without rows, if there is none yet
            batch.limit(0).write.format("delta").mode("ignore").save(table)
        batch.createOrReplaceTempView("changes")
        condition = " AND ".join(f"t.{column} = s.{column}" for column in RESULTS[name].key)
        batch.sparkSession.sql(
            f"MERGE INTO delta.`{table}` t USING changes s ON {condition} "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )

    return write


def writer(name: str, rows: DataFrame, arguments: argparse.Namespace) -> DataStreamWriter:
    """Return what writes the rows of `name` to the sink."""
    mode = "update" if RESULTS[name].updates and arguments.sink != "files" else "append"
    if arguments.sink == "kafka":
        topic = PipelineTopics(arguments.topic, name).result
        return to_topic(records(name, rows), arguments.client_config, topic).outputMode(mode)
    target = f"{arguments.output}/{name}"
    if arguments.sink == "delta":
        return rows.writeStream.outputMode(mode).foreachBatch(to_delta(name, target))
    return rows.writeStream.outputMode(mode).format("json").option("path", target)


def with_letters(name: str, rows: DataFrame, arguments: argparse.Namespace) -> DataStreamWriter:
    """Return what writes the rows of `name` to Kafka, and what the micro-batch does not count."""
    config, topics = arguments.client_config, PipelineTopics(arguments.topic, name)
    letters = DeadLetters(
        config,
        topics.events,
        topics.dead_letter,
        f"{arguments.checkpoint}/{name}",
        parse,
        RESULTS[name].final,
    )

    def write(batch: DataFrame, batch_id: int) -> None:
        write_topic(batch, config, topics.result)
        letters.write(batch.sparkSession, batch_id)

    mode = "update" if RESULTS[name].updates else "append"
    return records(name, rows).writeStream.outputMode(mode).foreachBatch(write)


def _letters(name: str, parsed: DataFrame, arguments: argparse.Namespace) -> DataStreamWriter:
    letters = dead_letters(parsed)
    if arguments.sink == "kafka":
        topic = PipelineTopics(arguments.topic, name).dead_letter
        return to_topic(letters, arguments.client_config, topic)
    target = letters.writeStream.format("delta" if arguments.sink == "delta" else "json")
    return target.option("path", f"{arguments.output}/{name}.dead-letter")


def start(spark: SparkSession, name: str, arguments: argparse.Namespace) -> list[StreamingQuery]:
    """Start the queries of the pipeline `name`."""
    parsed = parse(read_events(spark, arguments))
    rows = result(spark, name, parsed, arguments)
    plans = (
        {name: with_letters(name, rows, arguments)}
        if arguments.source == arguments.sink == "kafka"
        else {
            name: writer(name, rows, arguments),
            f"{name}.dead-letter": _letters(name, parsed, arguments),
        }
    )
    started = []
    for query, plan in plans.items():
        spark.sparkContext.setLocalProperty("spark.scheduler.pool", query)
        plan = plan.queryName(query).option("checkpointLocation", f"{arguments.checkpoint}/{query}")
        if arguments.available_now:
            plan = plan.trigger(availableNow=True)
        else:
            interval = f"{round(1000 * arguments.trigger_seconds)} milliseconds"
            plan = plan.trigger(processingTime=interval)
        started.append(plan.start())
    return started


def finish(queries: Sequence[StreamingQuery], stop: threading.Event) -> None:
    """Return when all queries have read what there was, or `stop` is set.

    Raises:
        QueryEndedError: one has failed; the message is Spark's.

    """
    while any(query.isActive for query in queries) and not stop.wait(0.2):
        pass
    for query in queries:
        if error := query.exception():
            message = f"query {query.name} ended: {error}"
            raise QueryEndedError(message)


def arguments_of(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line, and refuse what does not fit together with what to set."""
    parser = argparse.ArgumentParser(prog="flights.pipelines", description=main.__doc__)
    parser.add_argument(
        "names", nargs="+", choices=RESULTS, metavar="NAME", help=", ".join(RESULTS)
    )
    parser.add_argument("--source", choices=["kafka", "files"], default="kafka")
    parser.add_argument("--sink", choices=["kafka", "delta", "files"], default="kafka")
    parser.add_argument(
        "--client-config", type=Path, metavar="FILE.properties", help="Kafka client properties"
    )
    parser.add_argument("--topic", default="flights", help="the events; results: TOPIC.NAME")
    parser.add_argument("--input", type=Path, metavar="DIR", help="events, one JSON object a line")
    parser.add_argument("--weather", type=Path, metavar="FILE.csv", help="for joined")
    parser.add_argument("--output", metavar="DIR", help="of tables and files")
    parser.add_argument("--checkpoint", required=True, metavar="DIR")
    parser.add_argument("--progress", type=Path, required=True, metavar="DIR")
    parser.add_argument(
        "--late",
        default=WATERMARK,
        metavar="DELAY",
        help="how late an event may be, default: %(default)s; a later one is not computed",
    )
    parser.add_argument(
        "--max-per-trigger", type=int, metavar="N", help="offsets or files of a micro-batch"
    )
    when = parser.add_mutually_exclusive_group()
    when.add_argument(
        "--available-now", action="store_true", help="read what there is, in batches, and end"
    )
    when.add_argument("--trigger-seconds", type=float, default=TRIGGER_SECONDS, metavar="S")
    arguments = parser.parse_args(argv)
    if problem := _problem(arguments):
        parser.error(problem)
    return arguments


def _problem(arguments: argparse.Namespace) -> str:
    """Return what is missing or does not fit, empty if nothing."""
    if "kafka" in {arguments.source, arguments.sink} and not arguments.client_config:
        return "Kafka needs --client-config"
    if arguments.source == "files" and not arguments.input:
        return "--source files needs --input"
    if arguments.sink != "kafka" and not arguments.output:
        return f"--sink {arguments.sink} needs --output"
    if "joined" in arguments.names and not arguments.weather:
        return "joined needs --weather"
    if "top-delays" in arguments.names and arguments.sink == "files":
        return "ranks change, and files take final rows only: use --sink kafka or delta"
    return ""


def session(names: Sequence[str], topic: str, jar: Path) -> SparkSession:
    """Return Spark's session, with the operators in Scala if a pipeline needs them."""
    builder = SparkSession.builder.appName(f"{topic}-{'-'.join(names)}").config(map=dict(CONF))
    if set(names) & set(SCALA):
        builder = builder.config("spark.jars", str(compile_operators(jar)))
    return builder.getOrCreate()


def main(argv: Sequence[str] | None = None) -> int:
    """Run pipelines until SIGTERM, or to the end of what there is; 1 if a query fails."""
    arguments = arguments_of(argv)
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    logging.getLogger("py4j").setLevel(logging.WARNING)
    stop = stop_signal()
    with tempfile.TemporaryDirectory() as folder:
        spark = session(arguments.names, arguments.topic, Path(folder, "operators.jar"))
        try:
            spark.streams.addListener(ProgressFile(arguments.progress))
            queries = [q for name in arguments.names for q in start(spark, name, arguments)]
            (finish if arguments.available_now else supervise)(queries, stop)
            stop_between_batches(queries)
        except QueryEndedError as error:
            LOG.error("%s", error)  # noqa: TRY400 - the message holds Spark's own trace
            return 1
        finally:
            for query in spark.streams.active:
                query.stop()
            spark.stop()
    LOG.info("stopped" if stop.is_set() else "finished")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
