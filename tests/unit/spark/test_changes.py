"""The stream of changes: its answer is that of the tables, in whatever order its records come."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from changes.schemas import AIRPORTS, DIMENSIONS, FACTS, PLANES, Dimension
from changes.stream import NO_CHANGE, arguments_of, changes, facts, joined, records
from changes.tables import answer, rows, statements

pytestmark = pytest.mark.filterwarnings(
    "ignore:PySpark does not yet fully support pandas:FutureWarning"
)

Row = Mapping[str, Any]
Record = tuple[bytes | None, bytes | None]
KAFKA = "key BINARY, value BINARY"
ROW = {"year": 2004, "manufacturer": "EMBRAER", "model": "EMB-145XR", "seats": 55}


def change(key: str, op: str, lsn: int, *, snapshot: str = "false", **row: Any) -> Record:
    """A record of Debezium, without its schema."""
    after = None if op == "d" else {"tailnum": key, **ROW, "engines": 2, **row}
    before = {"tailnum": key, **dict.fromkeys(ROW)} if op == "d" else None
    source = {"snapshot": snapshot, "lsn": lsn, "table": "planes"}
    value = {"before": before, "after": after, "source": source, "op": op}
    return json.dumps({"tailnum": key}).encode(), json.dumps(value).encode()


def tombstone(key: str) -> Record:
    return json.dumps({"tailnum": key}).encode(), None


def flight(plane: str | None, delay: int | None, distance: int = 100) -> Record:
    event = {"tailnum": plane, "dest": "IAH", "dep_delay": delay, "distance": distance}
    return b"k", json.dumps({**event, "cancelled": delay is None, "carrier": "UA"}).encode()


CHANGES = [
    change("N1", "r", 900, snapshot="first"),
    change("N2", "r", 900, snapshot="true"),
    change("N3", "r", 900, snapshot="last"),
    # Begun before the snapshot and committed after it: its position is the lower one.
    change("N3", "u", 890, seats=56),
    change("N1", "u", 1000, seats=60),
    change("N1", "u", 1100, seats=None, news="a column of its own"),
    change("N2", "d", 1200),
    tombstone("N2"),
    # The primary key of N4 becomes N5: both changes have one position.
    change("N4", "c", 1300),
    change("N4", "d", 1400),
    tombstone("N4"),
    change("N5", "c", 1400, seats=70),
    # Deleted and inserted again.
    change("N6", "c", 1500),
    change("N6", "d", 1600),
    tombstone("N6"),
    change("N6", "c", 1700, seats=80),
]
FLIGHTS = [
    flight("N1", 10),
    flight("N1", -3, 250),
    flight("N1", None),
    flight("N2", 5),
    flight("N5", None),
    flight("N9", 7),  # no such plane
    flight(None, 1),
    (b"k", b'{"tailnum": "N1", "dist'),
    # Spark would read a field of a wrong type as null.
    (b"k", b'{"tailnum": "N1", "dep_delay": "late", "distance": 100}'),
    (b"k", b'{"tailnum": "N1", "cancelled": 1, "distance": 100}'),
]
EXPECTED: dict[str, Row | None] = {
    "N1": {**ROW, "seats": None, "flights": 3, "cancelled": 1, "dep_delay_sum": 7, "distance": 450},
    "N2": None,
    "N3": {**ROW, "seats": 56, "flights": 0, "cancelled": 0, "dep_delay_sum": None, "distance": 0},
    "N4": None,
    "N5": {
        **ROW,
        "seats": 70,
        "flights": 1,
        "cancelled": 1,
        "dep_delay_sum": None,
        "distance": 100,
    },
    "N6": {**ROW, "seats": 80, "flights": 0, "cancelled": 0, "dep_delay_sum": None, "distance": 0},
}


def result(versions: DataFrame, flights: DataFrame, dimension: Dimension = PLANES) -> DataFrame:
    return records(joined(changes(versions, dimension), facts(flights, dimension)), dimension)


def folded(written: Iterable[Sequence[Any]]) -> dict[str, Row | None]:
    """Key -> the newest row, None for one without a value."""
    return {
        next(iter(json.loads(key)["payload"].values())): json.loads(value)["payload"]
        if value
        else None
        for key, value in written
    }


def test_the_last_change_counts_for_all_flights(spark: SparkSession) -> None:
    results = result(spark.createDataFrame(CHANGES, KAFKA), spark.createDataFrame(FLIGHTS, KAFKA))
    assert folded(results.collect()) == EXPECTED


def streamed(
    spark: SparkSession, place: Path, batches: Sequence[Sequence[tuple[str, Record]]]
) -> Any:
    """What the stream has written when each of `batches` was a micro-batch of its own.

    A record is that of a change or of a flight, by its topic.
    """
    for number, batch in enumerate(batches):
        table = [(topic, *record) for topic, record in batch]
        frame = spark.createDataFrame(table, f"topic STRING, {KAFKA}").coalesce(1)
        frame.write.mode("append").parquet(str(place / f"in/{number:03}"))
    written: list[Sequence[Any]] = []
    source = spark.readStream.schema(f"topic STRING, {KAFKA}").option("maxFilesPerTrigger", 1)
    raw = source.parquet(f"{place}/in/*")
    results = result(raw.where("topic = 'changes'"), raw.where("topic = 'flights'"))

    def keep(batch: DataFrame, _: int) -> None:
        written.extend(batch.collect())

    plan = results.writeStream.outputMode("update").foreachBatch(keep).trigger(availableNow=True)
    plan.option("checkpointLocation", str(place / "checkpoint")).start().awaitTermination()
    return folded(written)


@pytest.mark.parametrize("seed", range(4))
def test_neither_order_nor_repetition_changes_the_answer(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    """Topics are read at any pace, and a source that was killed sends changes again."""
    draw = random.Random(seed)
    again = draw.sample(CHANGES, 6)
    records = [("changes", change) for change in (*CHANGES, *again)] + [
        ("flights", flight) for flight in FLIGHTS
    ]
    if seed:
        draw.shuffle(records)
    cuts = [0, *sorted(draw.sample(range(1, len(records)), 4)), len(records)]
    batches = [records[a:b] for a, b in pairwise(cuts)]
    assert streamed(spark, tmp_path, batches) == EXPECTED


def test_a_change_that_cannot_be_read_ends_the_query(spark: SparkSession) -> None:
    for value, message in ((b'{"after": "N1"', "(?i)malformed"), (b'{"payload": {}}', NO_CHANGE)):
        broken = spark.createDataFrame([(b'{"tailnum": "N1"}', value)], KAFKA)
        with pytest.raises(Exception, match=message):
            result(broken, spark.createDataFrame(FLIGHTS, KAFKA)).collect()


@pytest.mark.parametrize("dimension", DIMENSIONS, ids=lambda dimension: dimension.table)
def test_results_say_what_they_are(spark: SparkSession, dimension: Dimension) -> None:
    """As Kafka Connect's JSON converter reads them."""
    key = {dimension.key: "X"}
    row = dict.fromkeys(dimension.columns)
    value = {"after": key | row, "source": {"snapshot": "false", "lsn": 1}, "op": "c"}
    made = spark.createDataFrame([(json.dumps(key).encode(), json.dumps(value).encode())], KAFKA)
    [result_row] = result(made, spark.createDataFrame([], KAFKA), dimension).collect()
    schema, payload = json.loads(result_row.key).values()
    assert payload == key
    assert [(field["field"], field["optional"]) for field in schema["fields"]] == [
        (dimension.key, False)
    ]
    schema, payload = json.loads(result_row.value).values()
    assert [field["field"] for field in schema["fields"]] == list(payload)
    assert payload == {**row, **dict.fromkeys(FACTS, 0), "dep_delay_sum": None}
    assert all(field["optional"] for field in schema["fields"])


def test_the_tables_are_those_of_the_package() -> None:
    planes, airports = rows(PLANES), rows(AIRPORTS)
    for table, dimension in ((planes, PLANES), (airports, AIRPORTS)):
        keys = [entry[dimension.key] for entry in table]
        assert len(keys) == len({*keys}) > 1000
        assert {*dimension.columns} < {*dimension.types}
    assert any(plane["year"] is None for plane in planes)


def test_the_statements_make_both_tables_and_the_answer_reads_them() -> None:
    for dimension in DIMENSIONS:
        text = statements(dimension)
        assert f"CREATE TABLE source.{dimension.table} (" in text
        assert f"CREATE TABLE results.{dimension.result} (" in text
        assert f"FROM source.{dimension.table} " in answer(dimension)


def test_it_reads_and_writes_what_it_is_given() -> None:
    arguments = arguments_of(["--client-config=c", "--checkpoint=/srv/c", "--flights=others"])
    assert (arguments.flights, arguments.checkpoint) == ("others", "/srv/c")
