"""The pipelines on local[2]: streamed in micro-batches, each equal to its batch answer."""

import json
import os
import threading
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pyspark.sql import DataFrame, SparkSession

from flights import answers, pipelines
from flights.differences import Row, compare
from flights.schemas import RESULTS, WEATHER_COLUMNS
from flights.source import Damage, encode, events, flights, weather
from flights.stream import ProgressFile
from millrace_job import QueryEndedError

pytestmark = [
    # The pipelines never touch pandas; createDataFrame only checks whether it is there.
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]

LATE = "2 days"
DELAY = timedelta(days=2)
FLIGHTS = 4200  # five days
DAY = 840
FINISHED = [name for name, result in RESULTS.items() if not result.updates]
CHANGING = [name for name, result in RESULTS.items() if result.updates]


@pytest.fixture(scope="module")
def some_weather(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some days, with hours that have no weather."""
    table = known_weather().rename(columns={"time_hour": "hour"})
    path = tmp_path_factory.mktemp("weather") / "weather.csv"
    table[["origin", "hour", *WEATHER_COLUMNS]].to_csv(path, index=False)
    return path


def known_weather() -> pd.DataFrame:
    table = weather()
    hours = table["time_hour"]
    return table[(hours < "2013-01-08T00:00:00Z") & ~hours.str[11:13].isin(["13", "22"])]


class Batches:
    """Files with one event a line, one for each micro-batch, and the events that count.

    Days one to four; day five with the duplicates of some flights, in the same batch and in the
    next; there also an event of the first day, which is late by more than the delay, and a
    duplicate of it; damaged events in between. Spark drops what was late two batches before.
    """

    def __init__(self, directory: Path) -> None:
        stream = list(events(FLIGHTS))
        late = stream[3] | {"flight": 9999, "dep_delay": 2000, "tailnum": "N00000"}
        damaged = [encode(stream[n], damage) for n, damage in enumerate(Damage)]
        self.refused = len(damaged)
        first, second = stream[: 4 * DAY], stream[4 * DAY :]
        again = [*first[-40:], *second[:20]]
        batches = [first, [*second, *again], [*stream[-30:], late, late]]
        lines = [[encode(event) for event in batch] for batch in batches]
        lines[1] += damaged
        for number, batch in enumerate(lines):
            path = directory / f"{number}.json"
            path.write_bytes(b"\n".join(batch) + b"\n")
            os.utime(path, (1e9 + number, 1e9 + number))  # the order in which Spark reads them
        all_events = [event for batch in batches for event in batch]
        frame = pd.DataFrame(all_events).astype({"dep_delay": "Int64", "arr_delay": "Int64"})
        frame["time_hour"] = frame["event_time"].str[:14] + "00:00Z"
        self.everything = frame
        self.in_time = frame.iloc[:-2]
        self.closed = answers.watermark(self.in_time, DELAY)


@pytest.fixture(scope="module")
def batches(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Batches]:
    directory = tmp_path_factory.mktemp("events")
    return directory, Batches(directory)


def words(directory: Path, here: Path, *options: str) -> list[str]:
    places = [f"--checkpoint={here}/checkpoint", f"--progress={here}/progress"]
    source = ["--source=files", f"--input={directory}", "--max-per-trigger=1", f"--late={LATE}"]
    return [*source, *places, "--available-now", *options]


def by_key(name: str, rows: Sequence[Row]) -> dict[str, Row]:
    rows_by_key = {"|".join(str(row[column]) for column in RESULTS[name].key): row for row in rows}
    assert len(rows_by_key) == len(rows), "a row is there twice"
    return rows_by_key


def dropped(progress: Path, name: str) -> int:
    lines = (progress / f"{name}.jsonl").read_text().splitlines()
    return sum(json.loads(line)["numRowsDroppedByWatermark"] for line in lines)


def run(spark: SparkSession, name: str, arguments: Any) -> None:
    listener = ProgressFile(arguments.progress)
    spark.streams.addListener(listener)
    try:
        pipelines.finish(pipelines.start(spark, name, arguments), threading.Event())
        spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    finally:
        spark.streams.removeListener(listener)


@pytest.mark.parametrize("name", FINISHED)
def test_final_rows_in_files_equal_batch_row_by_row(
    spark: SparkSession,
    batches: tuple[Path, Batches],
    some_weather: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    """Each row once, in spite of duplicates; nothing of what comes too late, which is counted."""
    directory, source = batches
    options = [name, "--sink=files", f"--output={tmp_path}/out", f"--weather={some_weather}"]
    arguments = pipelines.arguments_of(words(directory, tmp_path, *options))
    run(spark, name, arguments)
    monkeypatch.setattr(answers, "weather", known_weather)
    expected = answers.expected(name, source.in_time, source.closed)
    written_rows = spark.read.json(f"{tmp_path}/out/{name}").collect()
    columns = next(iter(expected.values()))
    rows = by_key(
        name, [{column: row.asDict().get(column) for column in columns} for row in written_rows]
    )
    assert compare(expected, rows) == []
    assert compare(answers.expected(name, source.in_time.iloc[1:], source.closed), rows) != []
    letters = spark.read.json(f"{tmp_path}/out/{name}.dead-letter").count()
    assert letters == source.refused
    assert dropped(arguments.progress, name) >= 1


@pytest.mark.parametrize("name", CHANGING)
def test_the_newest_value_of_each_key_equals_batch_row_by_row(
    spark: SparkSession,
    batches: tuple[Path, Batches],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    """As a reader of the compacted topic sees it; a flight that comes again ranks once."""
    directory, source = batches
    newest: dict[str, Row] = {}

    def keep(batch: DataFrame, _: int) -> None:
        rows = batch.collect()
        newest.update({row.key: json.loads(row.value) for row in rows})
        assert len({row.key for row in rows}) == len(rows)

    def sink(rows: DataFrame, _: object, topic: str) -> Any:
        return rows.writeStream.foreachBatch(keep if topic == f"flights.{name}" else letters)

    refused: list[str] = []

    def letters(batch: DataFrame, _: int) -> None:
        headers = [{h.key: h.value for h in row.headers} for row in batch.collect()]
        refused.extend(bytes(header["reason"]).decode() for header in headers)

    monkeypatch.setattr(pipelines, "to_topic", sink)
    (tmp_path / "client.properties").touch()
    options = [name, f"--client-config={tmp_path}/client.properties"]
    arguments = pipelines.arguments_of(words(directory, tmp_path, *options))
    run(spark, name, arguments)
    ranked = name == "top-delays"  # for which nothing is too late
    expected = answers.expected(name, source.everything if ranked else source.in_time)
    assert compare(expected, newest) == []
    assert sorted(refused) == sorted(damage.value for damage in Damage)
    assert bool(dropped(arguments.progress, name)) != ranked


def test_a_pipeline_goes_on_where_it_ended(
    spark: SparkSession, batches: tuple[Path, Batches], tmp_path: Path
) -> None:
    """A backfill that is run again reads only what is new."""
    directory, _ = batches
    here = tmp_path / "in"
    here.mkdir()
    options = ["distinct", "--sink=files", f"--output={tmp_path}/out"]
    arguments = pipelines.arguments_of(words(here, tmp_path, *options))
    files = [(directory / f"{number}.json").read_bytes() for number in range(2)]
    for number, content in enumerate(files):
        (here / f"{number}.json").write_bytes(content)
        run(spark, "distinct", arguments)
    lines = (arguments.progress / "distinct.jsonl").read_text().splitlines()
    read = sum(json.loads(line)["numInputRows"] for line in lines)
    assert read == sum(content.count(b"\n") for content in files)
    rows = [row.asDict() for row in spark.read.json(f"{tmp_path}/out/distinct").collect()]
    expected = answers.expected("distinct", flights(FLIGHTS))
    columns = next(iter(expected.values()))
    last_rows = [{column: row.get(column) for column in columns} for row in rows]
    assert compare(expected, by_key("distinct", last_rows)) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["tumbling"], "--client-config"),
        (["tumbling", "--source=files", "--sink=files", "--output=o"], "--input"),
        (["tumbling", "--source=files", "--input=i", "--sink=delta"], "--output"),
        (["joined", "--client-config=c"], "--weather"),
        (["top-delays", "--client-config=c", "--sink=files", "--output=o"], "--sink kafka"),
        (["other", "--client-config=c"], "tumbling"),
        (
            ["tumbling", "--client-config=c", "--available-now", "--trigger-seconds=2"],
            "not allowed",
        ),
    ],
)
def test_what_cannot_work_is_refused_with_what_to_set(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        pipelines.arguments_of(["--checkpoint=c", "--progress=p", *options])
    assert message in capsys.readouterr().err


def test_a_query_that_fails_ends_the_run() -> None:
    class Failed:
        name, isActive = "tumbling", False

        def exception(self) -> str:
            return "offsets are gone"

    with pytest.raises(QueryEndedError, match="query tumbling ended: offsets are gone"):
        pipelines.finish([Failed()], threading.Event())  # type: ignore[list-item]  # a stand-in


def test_sessions_and_windows_by_hand() -> None:
    """The batch answers themselves, on a few flights of one aircraft."""
    times = ["2013-01-01T10:15:00Z", "2013-01-01T16:15:00Z", "2013-01-01T22:16:00Z"]
    frame = pd.DataFrame(
        {
            "event_time": times,
            "time_hour": [time[:14] + "00:00Z" for time in times],
            "origin": "EWR",
            "carrier": "UA",
            "tailnum": "N1",
            "distance": [100, 200, 300],
            "dep_delay": pd.array([15, None, 14], dtype="Int64"),
        }
    )
    sessions = answers.expected("sessions", frame)
    assert [(row["start"], row["flights"], row["distance"]) for row in sessions.values()] == [
        (times[0], 2, 300),
        (times[2], 1, 300),
    ]
    closed = datetime.fromisoformat("2013-01-01T22:15:00Z")
    assert list(answers.expected("sessions", frame, closed)) == [f"N1|{times[0]}"]
    sliding = answers.expected("sliding", frame)
    assert len(sliding) == 9
    assert sliding["EWR|2013-01-01T08:00:00Z"] == {
        "origin": "EWR",
        "start": "2013-01-01T08:00:00Z",
        "end": "2013-01-01T11:00:00Z",
        "departures": 1,
        "delayed": 1,
    }
