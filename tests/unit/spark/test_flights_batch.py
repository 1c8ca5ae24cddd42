"""The verdict: equal only if everything is equal, and every kind of difference is named."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from flights.batch import expected_rejects, expected_windows
from flights.differences import ABSENT, Difference, Row, compare
from flights.kafka_log import Record
from flights.schemas import WINDOW_COLUMNS
from flights.source import Damage, damaged, flights
from flights.verify import EXIT_CODES, State, Verdict, find_differences, main, report

LIMIT, CORRUPT = 3000, 10


@pytest.fixture(scope="module")
def expected() -> dict[str, Row]:
    return expected_windows(LIMIT, CORRUPT)


def test_known_window() -> None:
    """The first hour at Newark, counted by hand from the package's table."""
    assert expected_windows(5)["EWR|2013-01-01T10:00:00Z"] == {
        "origin": "EWR",
        "hour": "2013-01-01T10:00:00Z",
        "flights": 2,
        "cancelled": 0,
        "dep_delay_sum": -2,
        "dep_delay_max": 2,
        "arr_delay_sum": 23,
        "arr_delay_max": 12,
        "temp": 39.02,
        "wind_speed": 12.658579999999999,
        "precip": 0.0,
        "visib": 10.0,
    }


def test_expected_counts_every_undamaged_flight_and_is_json(expected: dict[str, Row]) -> None:
    assert sum(row["flights"] for row in expected.values()) == LIMIT - CORRUPT
    assert all(tuple(row) == WINDOW_COLUMNS for row in expected.values())
    assert json.loads(json.dumps(expected, allow_nan=False)) == expected


def test_an_hour_without_weather_has_none() -> None:
    row = expected_windows(LIMIT)["EWR|2013-01-01T17:00:00Z"]
    assert (row["flights"], row["temp"], row["visib"]) == (22, None, None)


def test_an_hour_of_cancelled_flights_has_no_delay() -> None:
    rows = expected_windows(60_000).values()
    silent = [row for row in rows if row["cancelled"] == row["flights"]]
    assert silent
    assert {row["dep_delay_sum"] for row in silent} == {None}
    assert {row["arr_delay_max"] for row in silent} == {None}


def test_equal_rows_have_no_differences(expected: dict[str, Row]) -> None:
    assert compare(expected, json.loads(json.dumps(expected))) == []


@pytest.mark.parametrize("column", WINDOW_COLUMNS)
@pytest.mark.parametrize("value", [None, -1, "x", 1e-9, True])
def test_a_changed_column_is_named(expected: dict[str, Row], column: str, value: object) -> None:
    key = "JFK|2013-01-02T20:00:00Z"
    actual = expected | {key: expected[key] | {column: value}}
    assert compare(expected, actual) == [Difference(key, column, expected[key][column], value)]


def test_missing_and_extra_rows_and_columns_are_named(expected: dict[str, Row]) -> None:
    key = next(iter(expected))
    row = expected[key]
    shorter = {name: value for name, value in expected.items() if name != key}
    assert compare(expected, shorter) == [Difference(key, "*", row, ABSENT)]
    assert compare(shorter, expected) == [Difference(key, "*", ABSENT, row)]
    short = {name: value for name, value in row.items() if name != "temp"}
    assert compare({key: row}, {key: short}) == [Difference(key, "temp", row["temp"], ABSENT)]
    assert compare({key: short}, {key: row}) == [Difference(key, "temp", ABSENT, row["temp"])]


def test_a_flag_is_not_a_number() -> None:
    assert compare({"k": {"n": 1}}, {"k": {"n": True}})
    assert not compare({"k": {"n": 10}}, {"k": {"n": 10.0}})


def window_records(expected: dict[str, Row]) -> Iterator[Record]:
    for offset, (key, row) in enumerate(expected.items()):
        yield Record(0, offset, key.encode(), json.dumps(row).encode(), {})


def letter_records() -> Iterator[Record]:
    for offset, (seq, damage) in enumerate(damaged(LIMIT, CORRUPT).items()):
        headers = {
            "seq": f"{seq}".encode(),
            "reason": damage.encode(),
            "source.partition": b"0",
            "source.offset": f"{seq}".encode(),
        }
        yield Record(0, offset, b"k", b"v", headers)


def state_of(windows: Iterable[Record], letters: Iterable[Record]) -> State:
    state = State()
    for record in windows:
        state.take_window(record)
    for record in letters:
        state.take_letter(record)
    return state


def differences(
    windows: Iterable[Record], letters: Iterable[Record], published: int = LIMIT
) -> list[tuple[str, str]]:
    state = state_of(windows, letters)
    return [(d.key, d.column) for d in find_differences(state, published, LIMIT, LIMIT, CORRUPT)]


def test_a_complete_result_is_equal(expected: dict[str, Row]) -> None:
    assert differences(window_records(expected), letter_records()) == []


def test_the_newest_value_of_a_window_counts(expected: dict[str, Row]) -> None:
    key = next(iter(expected))
    old = Record(0, 0, key.encode(), json.dumps(expected[key] | {"flights": 1}).encode(), {})
    assert differences([old, *window_records(expected)], letter_records()) == []
    assert differences([*window_records(expected), old], letter_records()) == [
        ("events", "parsed"),
        (key, "flights"),
    ]


def test_a_repeated_dead_letter_counts_once(expected: dict[str, Row]) -> None:
    letters = list(letter_records())
    assert differences(window_records(expected), [*letters, letters[0]]) == []
    assert state_of([], [*letters, letters[0]]).letters == CORRUPT + 1


def test_every_fault_of_the_log_and_the_dead_letters_is_named(expected: dict[str, Row]) -> None:
    first, *further = letter_records()
    seq = first.headers["seq"].decode()
    nameless = first._replace(headers={k: v for k, v in first.headers.items() if k != "reason"})
    wrong = first._replace(headers=first.headers | {"reason": b"missing dest"})
    elsewhere = first._replace(headers=first.headers | {"source.offset": b"999999"})
    windows = list(window_records(expected))
    assert differences(windows, further) == [("events", "rejected"), (seq, "*")]
    assert differences(windows, [nameless, *further]) == [(seq, "reason")]
    assert differences(windows, [wrong, *further]) == [(seq, "reason")]
    assert differences(windows, [first, elsewhere, *further]) == [("events", "rejected")]
    assert differences(windows, [first, *further], published=LIMIT + 1) == [("events", "published")]


def test_expected_rejects_follow_the_damage() -> None:
    rejects = expected_rejects(LIMIT, CORRUPT)
    assert {row["reason"] for row in rejects.values()} == {damage.value for damage in Damage}
    assert rejects.keys() == {str(seq) for seq in damaged(len(flights(LIMIT)), CORRUPT)}


@pytest.mark.parametrize(
    ("complete", "differences", "verdict"),
    [
        (True, [], "equal"),
        (True, [Difference("k", "temp", 1.0, 2.0)], "different"),
        (False, [Difference("k", "*", {}, ABSENT)], "incomplete"),
        (False, [], "incomplete"),
    ],
)
def test_verdict(complete: bool, differences: list[Difference], verdict: str) -> None:
    result = Verdict(
        published=1,
        parsed=1,
        rejected=0,
        repeats=0,
        windows=1,
        differences=differences,
        complete=complete,
        seconds=0.1,
    )
    assert result.verdict == verdict
    assert (EXIT_CODES[result.verdict] == 0) == (verdict == "equal")
    assert report(result).startswith(f"{verdict}: ")
    assert all(difference.key in report(result) for difference in differences)
    assert json.loads(json.dumps(result.facts()))["differences"] == len(differences)


def test_without_client_properties_nothing_is_verified(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    missing = tmp_path / "client.properties"
    assert main(["--client-config", str(missing)]) == EXIT_CODES["incomplete"]
    assert str(missing) in caplog.text
