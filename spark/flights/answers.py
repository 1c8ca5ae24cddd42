"""The answers of the pipelines in batch, from the source: pandas and plain Python, no Spark.

`closed` is the watermark that a stream has reached when it has read everything: the newest event's
time less the delay. Of rows that are written once, when they are final, those are expected that
were final by then; None stands for no watermark, as if time had gone on.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final

import pandas as pd

from flights.differences import Row
from flights.schemas import (
    DELAYED_MINUTES,
    FLIGHT,
    JOINED_COLUMNS,
    RESULTS,
    SESSION_GAP_HOURS,
    SLIDING_HOURS,
    TOP_DELAYS,
)
from flights.source import damaged, flights, weather

HOUR: Final = timedelta(hours=1)


def source(limit: int | None = None, corrupt: int = 0) -> pd.DataFrame:
    """Return the undamaged ones of the first `limit` flights."""
    stream = flights(limit)
    return stream.drop(index=list(damaged(len(stream), corrupt)))


def watermark(events: pd.DataFrame, late: timedelta) -> datetime:
    """Return the watermark after all events."""
    return _time(events["event_time"].max()) - late


def expected(
    name: str, events: pd.DataFrame, closed: datetime | None = None, final: bool = False
) -> dict[str, Row]:
    """Compute the answer of the pipeline `name`: key -> row.

    Args:
        name: one of `RESULTS`.
        events: flights as `source` has them; duplicates and all.
        closed: the watermark.
        final: rows of windows are written once, too.

    """
    once = final or not RESULTS[name].updates
    rows = _ANSWERS[name](events, closed if once else None)
    return {"|".join(str(row[column]) for column in RESULTS[name].key): row for row in rows}


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _text(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def _over(end: datetime, closed: datetime | None) -> bool:
    return closed is None or end <= closed


def _plain(frame: pd.DataFrame) -> list[Row]:
    objects = frame.astype(object)
    rows = objects.where(objects.notna(), None).to_dict("records")
    return [{str(name): value for name, value in row.items()} for row in rows]


def _tumbling(events: pd.DataFrame, closed: datetime | None) -> list[Row]:
    groups = events.assign(day=events["event_time"].str[:10]).groupby(["carrier", "day"])
    table = pd.DataFrame(
        {
            "flights": groups.size(),
            "cancelled": groups["cancelled"].sum(),
            "dep_delay_sum": groups["dep_delay"].sum(min_count=1),
            "dep_delay_max": groups["dep_delay"].max(),
        }
    )
    rows = _plain(table.reset_index())
    return [r for r in rows if _over(_time(f"{r['day']}T00:00:00Z") + 24 * HOUR, closed)]


def _sliding(events: pd.DataFrame, closed: datetime | None) -> list[Row]:
    """Put each flight into every window that its hour belongs to."""
    hours = events.assign(
        departures=events["dep_delay"].notna().astype("int64"),
        delayed=(events["dep_delay"] >= DELAYED_MINUTES).fillna(value=False).astype("int64"),
    )
    table = hours.groupby(["origin", "time_hour"])[["departures", "delayed"]].sum()
    windows: dict[tuple[str, datetime], list[int]] = {}
    for place, departures, delayed in table.itertuples():
        origin, hour = place
        for back in range(SLIDING_HOURS):
            counts = windows.setdefault((origin, _time(hour) - back * HOUR), [0, 0])
            counts[0] += departures
            counts[1] += delayed
    length = SLIDING_HOURS * HOUR
    return [
        {
            "origin": origin,
            "start": _text(start),
            "end": _text(start + length),
            "departures": departures,
            "delayed": delayed,
        }
        for (origin, start), (departures, delayed) in windows.items()
        if _over(start + length, closed)
    ]


def _sessions(events: pd.DataFrame, closed: datetime | None) -> list[Row]:
    gap = timedelta(hours=SESSION_GAP_HOURS)
    sessions: list[dict[str, Any]] = []
    identified = events[events["tailnum"].notna()].sort_values(["tailnum", "event_time"])
    columns = identified[["tailnum", "event_time", "distance"]]
    for tailnum, text, distance in columns.itertuples(index=False):
        time = _time(text)
        last = sessions[-1] if sessions and sessions[-1]["tailnum"] == tailnum else None
        # An event right at the end of a session still belongs to it, as in Spark.
        if last is None or time > last["last"] + gap:
            last = {"tailnum": tailnum, "start": time, "flights": 0, "distance": 0}
            sessions.append(last)
        last |= {"last": time, "flights": last["flights"] + 1}
        last["distance"] += distance
    order = ("tailnum", "start", "last", "flights", "distance")
    closed_sessions = [session for session in sessions if _over(session["last"] + gap, closed)]
    return [
        {
            name: _text(session[name]) if name in {"start", "last"} else session[name]
            for name in order
        }
        for session in closed_sessions
    ]


def _distinct(events: pd.DataFrame, closed: datetime | None) -> list[Row]:
    del closed  # a flight is there with its first event
    columns = [*FLIGHT, "dep_delay", "arr_delay"]
    return _plain(events.drop_duplicates(list(FLIGHT))[columns])


def _joined(events: pd.DataFrame, closed: datetime | None) -> list[Row]:
    table = weather()
    rows = events.drop_duplicates(list(FLIGHT)).merge(
        table, how="left", on=["origin", "time_hour"], validate="m:1", indicator=True
    )
    if closed is not None:
        none = rows["_merge"] == "left_only"
        rows = rows[~none | (rows["event_time"] < _text(closed))]
    return _plain(rows[list(JOINED_COLUMNS)])


def _top_delays(events: pd.DataFrame, closed: datetime | None) -> list[Row]:
    del closed
    departures = events[events["dep_delay"].notna()].drop_duplicates(list(FLIGHT))
    order = ["carrier", "dep_delay", "event_time", "origin", "flight"]
    ranked = departures.sort_values(order, ascending=[True, False, True, True, True])
    ranked = ranked.assign(rank=ranked.groupby("carrier").cumcount() + 1)
    return _plain(ranked[ranked["rank"] <= TOP_DELAYS][[order[0], "rank", *order[1:]]])


_ANSWERS: Final[dict[str, Callable[[pd.DataFrame, datetime | None], list[Row]]]] = {
    "tumbling": _tumbling,
    "sliding": _sliding,
    "sessions": _sessions,
    "distinct": _distinct,
    "joined": _joined,
    "top-delays": _top_delays,
}
