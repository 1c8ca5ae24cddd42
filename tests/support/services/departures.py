"""What the tables of the pipeline `departures` must hold, from the events themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta

from flights.source import Event

LONG, HOUR = 60, timedelta(hours=1)


def departure(event: Event) -> datetime:
    """The time of the event."""
    return datetime.fromisoformat(str(event["event_time"]))


def is_long(event: Event) -> bool:
    """Whether its delay counts as long."""
    return int(str(event["dep_delay"] or 0)) >= LONG


def carrier_counts(events: Iterable[Event]) -> dict[str, tuple[int, int]]:
    """Carrier -> departures, and those of them with a long delay."""
    counts: dict[str, tuple[int, int]] = {}
    for event in events:
        all_of_it, delayed = counts.get(str(event["carrier"]), (0, 0))
        counts[str(event["carrier"])] = (all_of_it + 1, delayed + is_long(event))
    return counts


def hourly_counts(events: Iterable[Event], delay: timedelta) -> dict[tuple[int, str], int]:
    """Beginning of an hour and airport -> departures, of hours that the watermark has passed."""
    flights = list(events)
    end = max(map(departure, flights)) - delay
    hours = [
        (departure(event).replace(minute=0, second=0), str(event["origin"])) for event in flights
    ]
    final = [(int(at.timestamp()), origin) for at, origin in hours if at + HOUR <= end]
    return dict(Counter(final))
