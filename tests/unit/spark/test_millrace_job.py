"""The driver of a streaming job: it runs until SIGTERM, and stops between two micro-batches."""

from __future__ import annotations

import os
import signal
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.formats.properties import (
    parse_properties,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster import files
from pyspark import SparkFiles
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from millrace_job import (
    HEADERS,
    LETTER_BYTES,
    REASON,
    QueryEndedError,
    dead_letters,
    kafka_options,
    progress_of,
    run,
    send_modules,
    stop_between_batches,
    supervise,
)
from tests.support.wait import wait_for

BATCH_SECONDS = 1.5


@pytest.fixture
def slow(spark: SparkSession, tmp_path: Path) -> Iterator[Callable[[float], StreamingQuery]]:
    """Start a query whose batches follow each other at once and take that many seconds each."""

    def start(seconds: float) -> StreamingQuery:
        def work(batch: DataFrame, _: int) -> None:
            batch.collect()
            time.sleep(seconds)

        rates = spark.readStream.format("rate").option("rowsPerSecond", 100).load()
        plan = rates.writeStream.foreachBatch(work)
        return plan.option("checkpointLocation", str(tmp_path / "checkpoint")).start()

    yield start
    for query in spark.streams.active:
        query.stop()


def batches(checkpoint: Path, kind: str) -> set[int]:
    """Return the numbers of the batches that were begun (offsets) or are done (commits)."""
    return {int(path.name) for path in (checkpoint / kind).glob("[0-9]*")}


def begun(checkpoint: Path) -> int:
    """Wait until a batch after the first is being worked on, and return its number."""

    def now() -> int:
        return max(batches(checkpoint, "offsets") - batches(checkpoint, "commits"), default=0)

    return wait_for(now, seconds=60, what="a batch that is being worked on")


def test_a_batch_that_was_begun_is_committed(
    slow: Callable[[float], StreamingQuery], tmp_path: Path
) -> None:
    query = slow(BATCH_SECONDS)
    number = begun(tmp_path / "checkpoint")
    assert stop_between_batches([query]) == []
    assert not query.isActive
    assert number in batches(tmp_path / "checkpoint", "commits")


def test_a_batch_that_takes_too_long_is_interrupted(
    slow: Callable[[float], StreamingQuery], tmp_path: Path
) -> None:
    query = slow(3)
    wait_for(
        lambda: batches(tmp_path / "checkpoint", "offsets"), seconds=60, what="the first batch"
    )
    assert stop_between_batches([query], seconds=0.2) == [query]
    assert not query.isActive


def test_a_driver_runs_until_it_is_asked_to_stop(
    slow: Callable[[float], StreamingQuery], tmp_path: Path
) -> None:
    query = slow(0.1)
    begun(tmp_path / "checkpoint")
    former = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGTERM))
    timer.start()
    try:
        run([query])
    finally:
        timer.join()
        for number, handler in former.items():
            signal.signal(number, handler)
    assert not query.isActive


@pytest.mark.parametrize("records", [True, False])
def test_it_is_ready_when_each_query_has_come_through_a_trigger(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, records: bool
) -> None:
    """Not while the first micro-batch is at work, and without records too."""
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path))
    source, release, stop = tmp_path / "in", threading.Event(), threading.Event()
    source.mkdir()
    if records:
        (source / "one").write_text("a\n")

    def work(_: DataFrame, number: int) -> None:
        release.wait(60)

    plan = spark.readStream.text(str(source)).writeStream.foreachBatch(work)
    query = plan.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    driver = threading.Thread(target=supervise, args=([query], stop))
    driver.start()
    try:
        if records:
            wait_for(lambda: query.status["isDataAvailable"], seconds=60, what="the first batch")
            assert not (tmp_path / "ready").exists()
        release.set()
        wait_for((tmp_path / "ready").exists, seconds=60, what="the file")
    finally:
        release.set()
        stop.set()
        driver.join()
        query.stop()


def test_a_query_that_ends_is_a_failure_and_a_stop_is_not() -> None:
    stop = threading.Event()
    dead: Any = SimpleNamespace(
        name="windows", isActive=False, exception=lambda: "offsets are gone"
    )
    with pytest.raises(QueryEndedError, match="query windows ended: offsets are gone"):
        supervise([dead], stop)
    stop.set()
    supervise([dead], stop)


def test_the_modules_of_a_job_are_sent_to_its_executors(spark: SparkSession) -> None:
    send_modules(spark)
    with zipfile.ZipFile(SparkFiles.get("modules.zip")) as sent:
        assert {"millrace_job.py", "millrace_avro.py"} <= set(sent.namelist())


def options(directory: Path, text: str) -> dict[str, str]:
    path = directory / "client.properties"
    path.write_text(text)
    return kafka_options(path)


def test_every_client_property_is_an_option_of_source_and_sink(tmp_path: Path) -> None:
    text = """# Written by Millrace
bootstrap.servers=k1:9092,k2:9092
! also a comment

security.protocol = SASL_SSL
sasl.jaas.config=ScramLoginModule required username="u" password="a=\\\\\\"b";
ssl.endpoint.identification.algorithm=
"""
    assert options(tmp_path, text) == {
        "kafka.bootstrap.servers": "k1:9092,k2:9092",
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.jaas.config": 'ScramLoginModule required username="u" password="a=\\"b";',
        "kafka.ssl.endpoint.identification.algorithm": "",
    }


def test_the_reader_of_properties_agrees_with_the_collections(tmp_path: Path) -> None:
    """The driver's host has no collection, so jobs have a reader of their own."""
    properties = {"a": 'x "y" z', "b.c": "", "d": "1,2", "e": "k=v"}
    text = files.properties({**properties, "f": 'a "b" \\c', "g": "\tZürich 😀"})
    expected = {f"kafka.{key}": value for key, value in parse_properties(text).items()}
    assert options(tmp_path, text) == expected
    assert expected["kafka.f"] == 'a "b" \\c'


OFFSETS = """v1
{"batchWatermarkMs":1357027200000,"batchTimestampMs":1795630746967,"conf":{}}
{"logOffset":0}
{"clicks":{"0":7,"1":9}}
"""


def test_a_checkpoint_says_what_a_batch_has_read_and_at_which_watermark() -> None:
    assert progress_of(OFFSETS, "clicks") == ({"0": 7, "1": 9}, 1357027200000)


def test_the_checkpoint_of_another_query_is_named() -> None:
    with pytest.raises(ValueError, match="another query: it has not read views"):
        progress_of(OFFSETS, "views")


@pytest.mark.parametrize("field", ["key", "value", "header"])
def test_a_letter_is_never_too_large_for_kafka(spark: SparkSession, field: str) -> None:
    """What was just within the limit is beyond it with the headers of a letter."""
    big = f"cast(repeat('x', {LETTER_BYTES - 20}) AS binary)"
    key, value, header = (big if field == name else "x'61'" for name in ("key", "value", "header"))
    rows = spark.range(1).selectExpr(
        f"{key} AS key",
        f"{value} AS value",
        "3 AS partition",
        "42L AS offset",
        f"cast(array(named_struct('key', 'h', 'value', {header})) AS {HEADERS}) AS headers",
        f"'no click' AS {REASON}",
    )
    [letter] = dead_letters(rows).collect()
    headers = {header.key: bytes(header.value) for header in letter.headers}
    size = len(letter.key or b"") + len(letter.value or b"") + sum(map(len, headers.values()))
    assert size < LETTER_BYTES
    assert (headers["source.partition"], headers["source.offset"]) == (b"3", b"42")
