"""The job: chunks and references from one topic, what the model says of each frame to another.

Records of frames that cannot be judged go to a third, as they came, with the reason. One query does
all: a result and a dead letter of the same frame would otherwise depend on two checkpoints.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

import pandas as pd
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import pandas_udf
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

from images.frames import SENT, RefusedFrameError, Store, read
from images.model import Model, reduced
from images.records import FRAME, STATE, Reassembly, Record, parse
from millrace_job import (
    HEADERS,
    REASON,
    QueryEndedError,
    dead_letter_headers,
    read_topic,
    run,
    send_modules,
    to_topic,
)

BATCH: Final = 32
"""How many frames are in the memory of Python at once, and are judged together."""
VERDICT: Final = "label string, confidence double, reason string"
CONF: Final[Mapping[str, str]] = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(BATCH),
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # A checkpoint keeps the number that its first run had.
    "spark.sql.shuffle.partitions": "4",
}


def reassembled(parsed: DataFrame, timeout_ms: int) -> DataFrame:
    """Return the rows of `FRAME`, of a stream of records.

    The state is that of a partition, not of a frame with a watermark: Spark drops what is older
    than the watermark silently, and a partition that is behind others would lose frames.
    """

    def work(
        _: Any,
        tables: Iterator[pd.DataFrame],
        state: GroupState,
    ) -> Iterator[pd.DataFrame]:
        frames = Reassembly(timeout_ms)
        if state.exists:
            frames.restore(*state.get)
        rows = (row for table in tables for row in table.itertuples(index=False, name=None))
        records = sorted(map(Record.of_row, rows), key=lambda record: record.offset)
        finished = (frame for record in records for frame in frames.take(record))
        while batch := [*islice(finished, BATCH)]:
            table = [([record.row() for record in chunks], reason) for chunks, reason in batch]
            yield pd.DataFrame(table, columns=["records", REASON], dtype=object)
        state.update(frames.state())

    return parsed.groupBy("partition").applyInPandasWithState(
        work, FRAME, STATE, "append", GroupStateTimeout.NoTimeout
    )


def verdicts(model: Model, store: Store) -> Callable[..., Column]:
    """Return the pandas function from rows of `FRAME` to label, confidence and reason."""

    def judge(tables: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for table in tables:
            pictures, rows = [], []
            cleaned = table.astype(object).where(table.notna(), None)  # pandas 3 has NaN for them
            for values, sha256, shape, reference, reason in cleaned.itertuples(index=False):
                try:
                    if reason is None:
                        pictures.append(reduced(read(values, sha256, shape, reference, store)))
                    rows.append(reason)
                except RefusedFrameError as error:
                    rows.append(str(error))
            judged = iter(model.judge(pictures))
            results = [(None, None, reason) if reason else (*next(judged), None) for reason in rows]
            yield pd.DataFrame(results, columns=["label", "confidence", REASON], dtype=object)

    judged: Callable[..., Column] = pandas_udf(judge, VERDICT)  # type: ignore[call-overload]  # its types know iterators of columns, not of structs
    return judged


def judged(frames: DataFrame, model: Model, store: Store, results: str) -> DataFrame:
    """Return topic, key, value and headers of what is written: results and dead letters."""
    judge, first = verdicts(model, store), F.col("records")[0]
    conf = frames.sparkSession.conf
    names = ["sha256", "shape", "reference"]
    spread = frames.select("records", REASON, *(first[name].alias(name) for name in names))
    # The work of a busy partition goes to all cores. Without a shuffle, or another projection, in
    # between, Spark 4.2 fails to pass the rows of applyInPandasWithState to a pandas UDF.
    spread = spread.repartition(int(conf.get("spark.sql.shuffle.partitions") or 1))
    values = F.transform("records", lambda record: record["value"]).alias("values")
    frame = F.struct(values, *names, REASON)
    verdict = F.col("verdict")
    value = F.to_json(
        F.struct("verdict.label", "verdict.confidence", F.lit(model.version).alias("model"))
    )
    sent = (
        F.array_min(F.transform("records", lambda record: record["at"]))
        .cast("string")
        .cast("binary")
    )
    header = F.array(F.struct(F.lit(SENT).alias("key"), sent.alias("value"))).cast(HEADERS)

    def letter(one: Column) -> Column:
        columns = [
            one[name].alias(name) for name in ("key", "value", "headers", "partition", "offset")
        ]
        return F.struct(*columns, verdict[REASON].alias(REASON))

    result = F.struct(
        first["key"].alias("key"),
        value.cast("binary").alias("value"),
        header.alias("headers"),
        first["partition"].alias("partition"),
        first["offset"].alias("offset"),
        F.lit(None).cast("string").alias(REASON),
    )
    rows = F.when(verdict[REASON].isNull(), F.array(result)).otherwise(
        F.transform("records", letter)
    )
    records = spread.withColumn("verdict", judge(frame)).select(F.inline(rows))
    refused = F.col(REASON).isNotNull()
    return records.select(
        F.when(refused, f"{results}.dead-letter").otherwise(f"{results}.results").alias("topic"),
        "key",
        "value",
        F.when(refused, F.expr(dead_letter_headers())).otherwise(F.col("headers")).alias("headers"),
    )


def start(spark: SparkSession, arguments: argparse.Namespace) -> StreamingQuery:
    """Start the query."""
    model = Model.from_json(arguments.model.read_text(encoding="utf-8"))
    store = Store(arguments.store, arguments.max_frame_bytes)
    config, limit = arguments.client_config, arguments.max_offsets_per_trigger
    send_modules(spark)
    frames = reassembled(
        parse(read_topic(spark, config, arguments.topic, limit)), arguments.timeout_seconds * 1000
    )
    plan = to_topic(judged(frames, model, store, arguments.results), config)
    # A dead letter has some more headers than its record, which may be as large as a topic allows.
    plan = plan.option("kafka.max.request.size", str(2 << 20)).queryName("images")
    plan = plan.option("checkpointLocation", arguments.checkpoint)
    return plan.trigger(processingTime=f"{arguments.trigger_seconds} seconds").start()


def main(argv: Sequence[str] | None = None) -> int:
    """Run until SIGTERM; a query that fails ends the process with 1."""
    parser = argparse.ArgumentParser(prog="images.stream")
    parser.add_argument("--client-config", type=Path, required=True, metavar="FILE.properties")
    parser.add_argument("--topic", default="images.frames")
    parser.add_argument("--results", default="images", help="beginning of the names of its topics")
    parser.add_argument("--model", type=Path, required=True, metavar="MODEL.json")
    parser.add_argument(
        "--store", default="", metavar="DIR", help="root of references; none without"
    )
    parser.add_argument("--checkpoint", required=True, metavar="DIR")
    parser.add_argument(
        "--timeout-seconds", type=int, default=60, help="until a frame is incomplete"
    )
    parser.add_argument("--max-frame-bytes", type=int, default=32 << 20)
    parser.add_argument("--max-offsets-per-trigger", type=int, default=1000, metavar="N")
    parser.add_argument("--trigger-seconds", type=float, default=1.0)
    arguments = parser.parse_args(argv)
    builder = SparkSession.builder.appName("images")
    spark = builder.config(map=dict(CONF)).getOrCreate()
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
