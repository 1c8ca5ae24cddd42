"""The source: order, JSON, damage, and the bounds that the stream relies on."""

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest

from flights.producer import BARRIER, partition_of
from flights.schemas import AIRPORTS, EVENT_COLUMNS, REQUIRED, WATERMARK, WEATHER_COLUMNS, Topics
from flights.source import Damage, Event, damaged, encode, events, flights, messages, weather
from flights.source import main as source_main

TOTAL = 336_776
TOPICS = Topics("flights")
PARTITIONS = TOPICS.layout()[TOPICS.events][0]


@pytest.fixture(scope="module")
def stream() -> list[Event]:
    return list(events())


def test_every_flight_once_in_event_order(stream: list[Event]) -> None:
    places = [(e["event_time"], e["origin"], e["carrier"], e["flight"]) for e in stream]
    assert len(places) == TOTAL
    assert all(event < following for event, following in pairwise(places))


def test_events_are_plain_json(stream: list[Event]) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    for event in (stream[0], *(e for e in stream if e["cancelled"])):
        assert json.loads(encode(event), parse_constant=refuse) == event
        assert all(event[name] is not None for name in REQUIRED)


def test_first_event_is_the_known_one(stream: list[Event]) -> None:
    assert stream[0] == {
        "event_time": "2013-01-01T10:15:00Z",
        "origin": "EWR",
        "dest": "IAH",
        "carrier": "UA",
        "flight": 1545,
        "tailnum": "N14228",
        "dep_delay": 2,
        "arr_delay": 11,
        "cancelled": False,
        "distance": 1400,
    }
    assert tuple(stream[0]) == EVENT_COLUMNS


def test_cancelled_flights_have_no_delays(stream: list[Event]) -> None:
    cancelled = [e for e in stream if e["cancelled"]]
    assert len(cancelled) == 8255
    assert {(e["dep_delay"], e["arr_delay"]) for e in cancelled} == {(None, None)}


def test_limit_is_a_prefix(stream: list[Event]) -> None:
    assert list(events(100)) == stream[:100]


def test_damage_is_spread_evenly_over_stream_and_kinds() -> None:
    chosen = damaged(TOTAL, 500)
    assert len(chosen) == 500
    assert set(Counter(chosen.values()).values()) == {100}
    gaps = {after - before for before, after in pairwise(chosen)}
    assert max(gaps) - min(gaps) <= 1
    assert 0 <= min(chosen) < max(chosen) < TOTAL


def test_damage_edges() -> None:
    assert damaged(10, 0) == {}
    assert list(damaged(10, 10)) == list(range(10))
    with pytest.raises(ValueError, match="cannot damage 11 of 10"):
        damaged(10, 11)


def test_each_kind_damages_what_it_says(stream: list[Event]) -> None:
    event = stream[0]
    with pytest.raises(json.JSONDecodeError):
        json.loads(encode(event, Damage.TRUNCATED))
    changes = {
        Damage.WRONG_TYPE: {"dep_delay": "late"},
        Damage.BAD_TIME: {"event_time": "2013-01-01 around noon"},
        Damage.UNKNOWN_AIRPORT: {"origin": ""},
    }
    for kind, change in changes.items():
        assert json.loads(encode(event, kind)) == event | change
    assert event.keys() - json.loads(encode(event, Damage.MISSING)).keys() == {"carrier"}


def test_damaged_messages_keep_their_key() -> None:
    clean, dirty = messages(1000), messages(1000, corrupt=10)
    differ = {intact.seq for intact, corrupt in zip(clean, dirty, strict=True) if intact != corrupt}
    assert differ == set(damaged(1000, 10))
    assert [m.key for m in clean] == [m.key for m in dirty]
    assert clean[0].key == b"EWR-UA-1545"


def test_keys_spread_evenly_and_the_watermark_covers_the_skew() -> None:
    """A reader that is behind stands at the same fraction of every partition."""
    frame = flights()
    time = pd.to_datetime(frame["event_time"])
    key = frame["origin"] + "-" + frame["carrier"] + "-" + frame["flight"].astype(str)
    partition = key.map({k: partition_of(k.encode(), PARTITIONS) for k in key.unique()})
    times_of_partitions = [
        time[partition == number].reset_index(drop=True) for number in range(PARTITIONS)
    ]
    assert max(map(len, times_of_partitions)) < 1.1 * TOTAL / PARTITIONS
    skews = []
    for percent in range(100):
        at = [times[len(times) * percent // 100] for times in times_of_partitions]
        skews.append(max(at) - min(at))
    barrier = (time.shift(-BARRIER) - time).max()
    assert max(skews) + barrier < pd.Timedelta(WATERMARK)


def test_weather_file_holds_the_exact_doubles(tmp_path: Path) -> None:
    path = tmp_path / "weather.csv"
    assert source_main(["--weather", str(path)]) == 0
    header, *lines = path.read_text().splitlines()
    assert header == ",".join(["origin", "hour", *WEATHER_COLUMNS])
    rows = {tuple(line.split(",")[:2]): line.split(",")[2:] for line in lines}
    assert len(rows) == len(lines) == 26_115
    assert {origin for origin, _ in rows} == set(AIRPORTS)
    frame = weather()
    for origin, hour, *values in frame.itertuples(index=False):
        texts = rows[origin, hour]
        assert [float(t) if t else None for t in texts] == [
            None if pd.isna(v) else v for v in values
        ]
    before = path.read_bytes()
    source_main(["--weather", str(path)])
    assert path.read_bytes() == before


def test_topics_are_named_after_the_base() -> None:
    layout = Topics("x").layout()
    assert list(layout) == ["x", "x.windows", "x.dead-letter"]
    assert layout["x"][0] == 6
    assert layout["x.windows"][1] == {"cleanup.policy": "compact"}
