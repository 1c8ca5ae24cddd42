"""What the driver of a streaming job needs besides Spark: it lies beside each job on its host.

`read_topic` and `to_topic` connect to Kafka by a file of client properties, `DeadLetters` keeps
what a job refuses, and what comes too late. `run` reports when the queries work, and returns after
SIGTERM, when each of them has finished its micro-batch.
"""

from __future__ import annotations

import json
import os
import re
import signal
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:  # clients outside the cluster read the names below, without PySpark
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

REASON: Final = "reason"
"""The column with why a record is refused, null for a good one; and a dead letter's header."""
SOURCE_PARTITION: Final = "source.partition"
SOURCE_OFFSET: Final = "source.offset"
"""Headers of a dead letter; its key, value and other headers are the original's."""
HEADERS: Final = "array<struct<key:string,value:binary>>"
"""The type of the column `headers` of Kafka's source and sink."""
LATE: Final = "late"
TOO_LARGE: Final = "too large"
"""Reasons."""
LETTER_BYTES: Final = 1_000_000
"""The most bytes of a dead letter, below Kafka's `max.request.size` and `max.message.bytes`."""
_EARLIEST = -2  # Kafka's number for it, in Spark's JSON of offsets
STOP_SECONDS = 45.0
"""Less than systemd waits before it kills the driver, 60 s."""
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))")
_LETTERS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_CHECK_SECONDS = 0.5
_POLL_SECONDS = 0.02


class QueryEndedError(Exception):
    """A query ended although nobody asked it to."""


def kafka_options(client_config: Path) -> dict[str, str]:
    """Return a file of Kafka client properties as options of Spark: `kafka.` before each key.

    One property a line, with the escapes of Java's properties in its value.

    Raises:
        OSError: the file cannot be read.

    """
    lines = [line.strip() for line in client_config.read_text(encoding="utf-8").splitlines()]
    pairs = [line.partition("=") for line in lines if line and not line.startswith(("#", "!"))]
    return {f"kafka.{key.strip()}": _unescape(value.strip()) for key, _, value in pairs}


def _unescape(text: str) -> str:
    units = _ESCAPE.sub(
        lambda match: chr(int(match[1], 16)) if match[1] else _LETTERS.get(match[2], match[2]), text
    )
    # A character beyond U+FFFF is two escapes.
    return units.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def read_topic(
    spark: SparkSession, client_config: Path, topic: str, max_offsets: int | None = None
) -> DataFrame:
    """Return the stream of a topic's records from its beginning, with their headers.

    It fails where records are gone before they were read. A micro-batch takes at most `max_offsets`
    records, which keeps the first ones small; without it, all that there are.

    Raises:
        OSError: the file cannot be read.

    """
    options = _source_options(client_config) | {"subscribe": topic, "startingOffsets": "earliest"}
    if max_offsets:
        options["maxOffsetsPerTrigger"] = str(max_offsets)
    return spark.readStream.format("kafka").options(**options).load()


def _source_options(client_config: Path) -> dict[str, str]:
    return kafka_options(client_config) | {"failOnDataLoss": "true", "includeHeaders": "true"}


def to_topic(rows: DataFrame, client_config: Path, topic: str = "") -> DataStreamWriter:
    """Return what writes the columns key, value and headers to a topic, with acks=all.

    Without `topic` the column of that name says where each record goes.
    Spark's sink is at least once: a micro-batch that is repeated after a crash is written again.

    Raises:
        OSError: the file cannot be read.

    """
    return rows.writeStream.format("kafka").options(**_sink_options(client_config, topic))


def _sink_options(client_config: Path, topic: str) -> dict[str, str]:
    to = {"topic": topic} if topic else {}
    return kafka_options(client_config) | {"kafka.acks": "all"} | to


def write_topic(rows: DataFrame, client_config: Path, topic: str) -> None:
    """Write the columns key, value and headers to a topic, with acks=all, for `foreachBatch`.

    Raises:
        OSError: the file cannot be read.

    """
    rows.write.format("kafka").options(**_sink_options(client_config, topic)).save()


def append_once(batch: DataFrame, batch_id: int, table: str) -> None:
    """Append a micro-batch to a Delta table, for `foreachBatch`; one that it has is skipped.

    Raises:
        RuntimeError: it is not a micro-batch of a query.

    """
    # The query's id is the checkpoint's: a new checkpoint starts at batch 0 and is not skipped.
    query_id = batch.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId")
    if query_id is None:
        message = "Spark names no query id: Delta could not recognise a repeated batch"
        raise RuntimeError(message)
    writer = batch.write.format("delta").mode("append")
    writer.option("txnAppId", query_id).option("txnVersion", batch_id).save(table)


def dead_letters(parsed: DataFrame) -> DataFrame:
    """Return the records with a reason for Kafka: untouched, plus headers with reason and source.

    `parsed` has the columns of Kafka's source, headers too, and `reason`. The result has key, value
    (as received) and headers (the original's, then reason, source.partition and source.offset as
    text). A letter that comes twice has the same source twice. Of a record that would be too large
    for Kafka only the latter headers are kept: they say where it lies.
    """
    headers = dead_letter_headers()
    sizes = "aggregate({0}, 0L, (sum, one) -> sum + 16 + octet_length(one.key) + {1})"
    sizes = sizes.format(headers, "coalesce(octet_length(one.value), 0)")
    size = f"coalesce(octet_length(key), 0) + coalesce(octet_length(value), 0) + {sizes}"
    refused = parsed.where(f"{REASON} IS NOT NULL")
    # One that was just within Kafka's limit is beyond it with the headers that are added.
    return refused.selectExpr("*", f"{size} <= {LETTER_BYTES} AS _fits").selectExpr(
        "if(_fits, key, NULL) AS key",
        "if(_fits, value, NULL) AS value",
        f"if(_fits, {headers}, {_added_headers()}) AS headers",
    )


def dead_letter_headers() -> str:
    """Return the headers of a dead letter, as an expression on the columns of `dead_letters`."""
    return f"concat(coalesce(headers, cast(array() AS {HEADERS})), {_added_headers()})"


def _added_headers() -> str:
    sources = {REASON: REASON, SOURCE_PARTITION: "partition", SOURCE_OFFSET: "offset"}
    added = ", ".join(
        f"named_struct('key', '{name}', 'value', cast(cast({column} AS string) AS binary))"
        for name, column in sources.items()
    )
    return f"array({added})"


@dataclass(frozen=True)
class DeadLetters:
    """The records that a query refuses, and those that come too late for it, for `foreachBatch`."""

    client_config: Path
    source: str
    """The topic of the query."""
    target: str
    """The topic of the letters."""
    checkpoint: str
    """That of the query.

    Its files say which records a micro-batch has read and at which watermark; so what Spark drops
    as late and what is written here are the same, also when the micro-batch is repeated.
    """
    parse: Callable[[DataFrame], DataFrame]
    """Adds `reason` to Kafka's columns."""
    final: str = ""
    """An SQL expression of what `parse` returns: the time at which a record's result is final.

    The end of its window, for example; without it nothing is late.
    """

    def write(self, spark: SparkSession, batch_id: int) -> None:
        """Write the dead letters of the micro-batch that is being processed.

        Raises:
            ValueError: the checkpoint is that of another query.
            OSError: the file of client properties cannot be read.

        """
        before, watermark = self._progress(spark, batch_id - 1)
        end, _ = self._progress(spark, batch_id)
        start = {partition: before.get(partition, _EARLIEST) for partition in end}
        if start == end:
            return
        options = _source_options(self.client_config) | {
            # These partitions alone: others may have been added since.
            "assign": json.dumps({self.source: sorted(map(int, end))}),
            "startingOffsets": json.dumps({self.source: start}),
            "endingOffsets": json.dumps({self.source: end}),
        }
        records = spark.read.format("kafka").options(**options).load()
        letters = dead_letters(late(self.parse(records), self.final, watermark))
        write_topic(letters, self.client_config, self.target)

    def _progress(self, spark: SparkSession, batch_id: int) -> tuple[Mapping[str, int], int]:
        """Return up to where a micro-batch reads each partition, and its watermark in ms."""
        if batch_id < 0:
            return {}, 0
        java: Any = spark._jvm  # `spark.read` would run a job for each file
        path = java.org.apache.hadoop.fs.Path(f"{self.checkpoint}/offsets/{batch_id}")
        file = path.getFileSystem(spark._jsc.hadoopConfiguration()).open(path)
        try:
            text = java.org.apache.commons.io.IOUtils.toString(file, "UTF-8")
        finally:
            file.close()
        return progress_of(text, self.source)


def progress_of(text: str, topic: str) -> tuple[Mapping[str, int], int]:
    """Return the offsets of a topic in a file of a checkpoint's `offsets`, and the watermark in ms.

    The file has a version, then JSON: the micro-batch, and the end of each source.

    Raises:
        ValueError: the topic is none of its sources.

    """
    batch, *sources = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    for source in sources:
        if topic in source:
            return source[topic], int(batch["batchWatermarkMs"])
    message = f"the checkpoint is that of another query: it has not read {topic}"
    raise ValueError(message)


def late(parsed: DataFrame, final: str, watermark: int) -> DataFrame:
    """Return `parsed` with a reason for the good records whose `final` that watermark has reached.

    `watermark` is in ms, and that of the micro-batch before: by it Spark drops what is late.
    """
    if not final:
        return parsed
    closed = f"{REASON} IS NULL AND {final} <= timestamp_millis({watermark})"
    columns = [name for name in parsed.columns if name != REASON]
    return parsed.selectExpr(*columns, f"if({closed}, '{LATE}', {REASON}) AS {REASON}")


def send_modules(spark: SparkSession) -> None:
    """Send the job's modules to its executors, which import them for functions in Python."""
    here = Path(__file__).parent
    archive = Path(tempfile.mkdtemp(), "modules.zip")
    with zipfile.ZipFile(archive, "w") as modules:
        for path in sorted(here.rglob("*.py")):
            modules.write(path, path.relative_to(here))
    spark.sparkContext.addPyFile(str(archive))


def stop_signal() -> threading.Event:
    """Return what SIGTERM and SIGINT set from now on; call it in the main thread."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    return stop


def run(queries: Sequence[StreamingQuery], seconds: float = STOP_SECONDS) -> None:
    """Run queries until SIGTERM, and stop them between two micro-batches.

    Raises:
        QueryEndedError: a query ended by itself; the message is Spark's.

    """
    supervise(queries, stop_signal())
    stop_between_batches(queries, seconds)


def supervise(queries: Sequence[StreamingQuery], stop: threading.Event) -> None:
    """Return when `stop` is set.

    Once each query has completed a trigger, there is the file `ready` in the unit's runtime
    directory (`$RUNTIME_DIRECTORY`, systemd.exec).

    Raises:
        QueryEndedError: a query ended by itself; the message is Spark's.

    """
    waiting = list(queries)
    while not stop.wait(_CHECK_SECONDS):
        for query in queries:
            if not query.isActive:
                message = f"query {query.name} ended: {query.exception()}"
                raise QueryEndedError(message)
        if waiting and not (waiting := [query for query in waiting if not _works(query)]):
            directory = os.environ.get("RUNTIME_DIRECTORY")
            if directory:
                Path(directory, "ready").touch()


def _works(query: StreamingQuery) -> bool:
    """Return whether a query has finished a micro-batch, or has found no records."""
    return query.lastProgress is not None or query.status["message"].startswith("Waiting")


def stop_between_batches(
    queries: Sequence[StreamingQuery], seconds: float = STOP_SECONDS
) -> list[StreamingQuery]:
    """Stop each query once the micro-batch that it works on is committed.

    After `seconds` a query is stopped in its micro-batch, which the next start repeats; those are
    returned.
    """
    deadline = time.monotonic() + seconds
    begun = {query.id: _last_batch(query) for query in queries}
    waiting, interrupted = [query for query in queries if query.isActive], []
    while waiting:
        over = time.monotonic() > deadline
        for query in list(waiting):
            # One that is behind starts its next batch at once: what it had begun is committed.
            finished = not query.status["isTriggerActive"] or _last_batch(query) != begun[query.id]
            if finished or over or not query.isActive:
                interrupted += [] if finished or not query.isActive else [query]
                query.stop()
                waiting.remove(query)
        if waiting:
            time.sleep(_POLL_SECONDS)
    return interrupted


def _last_batch(query: StreamingQuery) -> int | None:
    """Return the number of the last micro-batch that is done, None before the first."""
    progress = query.lastProgress
    return None if progress is None else int(progress["batchId"])
