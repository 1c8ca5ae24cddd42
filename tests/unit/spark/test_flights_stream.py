"""The stream's own transformations on local[2], on real flights."""

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.readwriter import DataStreamReader, DataStreamWriter

from flights.batch import expected_rejects, expected_windows
from flights.differences import compare
from flights.schemas import EVENT_COLUMNS, Topics
from flights.source import Damage, encode, events, messages, write_weather
from flights.stream import (
    ProgressFile,
    arguments_of,
    missing_grant,
    parse,
    read_weather,
    records,
    start,
    windows,
)
from millrace_job import dead_letters

pytestmark = [
    # The stream itself never touches pandas; createDataFrame only checks whether it is there.
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]

LIMIT, CORRUPT = 3000, 25
KAFKA_DDL = (
    "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, "
    "headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
)
GOOD = next(events(1))


def raw(spark: SparkSession, values: Sequence[bytes | None]) -> DataFrame:
    rows = [
        (b"k", value, "flights", seq % 6, seq // 6, [("seq", str(seq).encode())])
        for seq, value in enumerate(values)
    ]
    return spark.createDataFrame(rows, KAFKA_DDL)


@pytest.fixture(scope="module")
def parsed(spark: SparkSession) -> DataFrame:
    values = [message.value for message in messages(LIMIT, CORRUPT)]
    return parse(raw(spark, values)).persist()


def changed(**fields: object) -> bytes:
    return json.dumps(GOOD | fields).encode()


REASONS: dict[bytes | None, str | None] = {
    encode(GOOD): None,
    changed(tailnum=None, dep_delay=None, arr_delay=None): None,
    changed(news="an unknown field is none of our business"): None,
    changed(event_time="2013-01-01T05:15:00-05:00"): None,
    **{encode(GOOD, damage): damage.value for damage in Damage},
    b"": "not JSON",
    b"\xff\xfe": "not JSON",
    None: "no value",
    changed(flight="x", cancelled=3): "wrong type flight, cancelled",
    changed(distance=1.5): "wrong type distance",
    changed(origin=None): "missing origin",
    changed(event_time=""): "illegal event_time",
    changed(event_time="2013-02-30T10:15:00Z"): "illegal event_time",
    changed(origin="ZZZ"): "unknown airport origin",
}


def test_each_value_gets_its_reason(spark: SparkSession) -> None:
    rows = parse(raw(spark, list(REASONS))).collect()
    assert [row.reason for row in rows] == list(REASONS.values())


def test_a_good_event_keeps_its_values(spark: SparkSession) -> None:
    row = parse(raw(spark, [encode(GOOD)])).collect()[0].asDict()
    assert row["event_time"].timestamp() == 1357035300
    assert {n: row[n] for n in EVENT_COLUMNS if n != "event_time"} == {
        name: value for name, value in GOOD.items() if name != "event_time"
    }


def test_json_that_is_no_object_is_refused(spark: SparkSession) -> None:
    rows = parse(raw(spark, [b"[]", b"3", b"null", b'"EWR"', b"{}"])).collect()
    assert all(row.reason for row in rows)


def test_dead_letters_are_the_damaged_ones_untouched(parsed: DataFrame) -> None:
    sent = {message.seq: message.value for message in messages(LIMIT, CORRUPT)}
    actual = {}
    for letter in dead_letters(parsed).collect():
        headers = {header.key: bytes(header.value).decode() for header in letter.headers}
        seq = int(headers["seq"])
        assert bytes(letter.value) == sent[seq]
        assert bytes(letter.key) == b"k"
        assert (headers["source.partition"], headers["source.offset"]) == (
            str(seq % 6),
            str(seq // 6),
        )
        actual[str(seq)] = {"reason": headers["reason"]}
    assert compare(expected_rejects(LIMIT, CORRUPT), actual) == []


def test_a_record_without_headers_still_becomes_a_letter(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(b"k", b"x", "flights", 1, 7, None)], KAFKA_DDL)
    letter = dead_letters(parse(rows)).collect()[0]
    assert {h.key: bytes(h.value) for h in letter.headers} == {
        "reason": b"not JSON",
        "source.partition": b"1",
        "source.offset": b"7",
    }


def test_windows_equal_the_batch_result_row_by_row(
    spark: SparkSession, parsed: DataFrame, tmp_path: Path
) -> None:
    write_weather(tmp_path / "weather.csv")
    weather = read_weather(spark, tmp_path / "weather.csv")
    rows = records(windows(parsed, weather)).collect()
    actual = {row.key: json.loads(row.value) for row in rows}
    assert len(actual) == len(rows) > 150
    assert compare(expected_windows(LIMIT, CORRUPT), actual) == []
    assert compare(expected_windows(LIMIT, CORRUPT - 1), actual) != []


def test_weather_is_read_exactly_and_only_from_its_own_file(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "weather.csv"
    count = write_weather(path)
    rows = read_weather(spark, path).collect()
    lines = [line.split(",") for line in path.read_text().splitlines()[1:]]
    assert len(rows) == count
    for row, (origin, _, *texts) in zip(rows, lines, strict=True):
        assert row.origin == origin
        assert list(row[2:]) == [float(text) if text else None for text in texts]
    for text in ("origin,temp\nEWR,1.0\n", path.read_text() + "EWR'); DROP TABLE x --"):
        path.write_text(text)
        with pytest.raises(ValueError, match=r"not what flights\.source --weather writes"):
            read_weather(spark, path)


def progress(batch: int, rows: int, dropped: list[int], executed: bool = True) -> Any:
    durations = {"triggerExecution": 40} | ({"addBatch": 30} if executed else {})
    return SimpleNamespace(
        progress=SimpleNamespace(
            name="windows",
            batchId=batch,
            timestamp="2026-01-01T00:00:00.000Z",
            numInputRows=rows,
            stateOperators=[SimpleNamespace(numRowsDroppedByWatermark=n) for n in dropped],
            durationMs=durations,
            processedRowsPerSecond=5.0,
        )
    )


def test_progress_has_one_line_per_executed_batch_and_survives_a_restart(tmp_path: Path) -> None:
    ProgressFile(tmp_path / "p").onQueryProgress(progress(0, 10, [1, 2]))
    again = ProgressFile(tmp_path / "p")
    again.onQueryProgress(progress(1, 20, []))
    again.onQueryProgress(progress(1, 0, [], executed=False))
    text = (tmp_path / "p" / "windows.jsonl").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert [
        (entry["batchId"], entry["numInputRows"], entry["numRowsDroppedByWatermark"])
        for entry in lines
    ] == [
        (0, 10, 3),
        (1, 20, 0),
    ]


def test_the_command_line_has_no_hidden_constants(tmp_path: Path) -> None:
    needed = ["client-config", "weather", "checkpoint", "output", "progress"]
    arguments = arguments_of(
        [argument for name in needed for argument in (f"--{name}", str(tmp_path))]
    )
    assert arguments.topic == "flights"
    assert arguments.max_offsets_per_trigger is None
    assert arguments.trigger_seconds == 1.0


def test_a_query_is_triggered_every_so_often(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both queries run at the interval that the command line gives, as Spark itself reads it."""
    triggers: list[str] = []
    real_trigger = DataStreamWriter.trigger

    def trigger(writer: DataStreamWriter, **interval: Any) -> DataStreamWriter:
        triggers.append(interval["processingTime"])
        return real_trigger(writer, **interval)

    monkeypatch.setattr(DataStreamWriter, "trigger", trigger)
    rates = spark.readStream.format("rate").load()
    columns = [
        F.lit(None).cast("binary").alias("key"),
        F.lit(b"x").alias("value"),
        F.lit("t").alias("topic"),
        F.lit(0).alias("partition"),
        F.lit(0).cast("bigint").alias("offset"),
        F.lit(None).cast("array<struct<key:string,value:binary>>").alias("headers"),
    ]
    monkeypatch.setattr(DataStreamReader, "load", lambda _: rates.select(*columns))
    monkeypatch.setattr(DataStreamWriter, "start", lambda _: None)
    (tmp_path / "client.properties").write_text("bootstrap.servers=k1:9092\n")
    write_weather(tmp_path / "weather.csv")
    paths = {
        "client-config": tmp_path / "client.properties",
        "weather": tmp_path / "weather.csv",
        **dict.fromkeys(("checkpoint", "output", "progress"), tmp_path),
    }
    words = [word for name, path in paths.items() for word in (f"--{name}", str(path))]
    assert start(spark, arguments_of([*words, "--trigger-seconds", "2.5"])) == [None, None]
    assert triggers == ["2500 milliseconds"] * 2


@pytest.mark.parametrize(
    ("message", "operation"),
    [
        ("TopicAuthorizationException: Not authorized to access topics: [flights]", "read"),
        (
            "TopicAuthorizationException: Not authorized to access topics: [flights.windows]",
            "write",
        ),
        ("ClusterAuthorizationException: Cluster authorization failed.", "write"),
    ],
)
def test_a_missing_grant_is_named(message: str, operation: str) -> None:
    text = missing_grant(f"query windows ended: ...\nCaused by: {message}\n", Topics("flights"))
    assert f"operation {operation} on flights" in text


def test_other_ends_of_a_query_are_no_missing_grant() -> None:
    assert not missing_grant("query windows ended: OutOfMemoryError", Topics("flights"))
