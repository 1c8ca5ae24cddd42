"""How long nothing was acknowledged: times between acknowledgements, overall and at a change.

A gap is between two consecutive acknowledgements of one partition, as one moved leader stalls one
partition; the worst partition counts. Production's begin and end bound the first and last gap.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from apps.ledger.history import Event, History

MARGIN = 5.0
"""Seconds around a change in which acknowledgements count as given at it."""


@dataclass(frozen=True)
class Window:
    """One change: the acknowledgements at it and the longest gap that it touches, in seconds."""

    event: Event
    acks: int
    longest: float


@dataclass(frozen=True)
class Gaps:
    """The longest gaps in seconds, and how long single records took."""

    longest: float
    """The worst partition's."""
    by_partition: Mapping[int, float]
    any_partition: float
    """The longest time in which no partition got an acknowledgement."""
    between_sends: float
    """The longest time in which the load itself sent nothing: a gap of that size is its own."""
    latency: Mapping[str, float]
    """Seconds from send to acknowledgement: median, p99 and max."""
    windows: Sequence[Window]


def measure(history: History) -> Gaps:
    """Return a history's gaps; zeros when nothing was acknowledged."""
    acks: defaultdict[int, list[float]] = defaultdict(list)
    taken: list[float] = []
    for send in history.sends:
        if send.acked is not None:
            acks[send.partition].append(send.acked)
            taken.append(send.acked - send.invoked)
    everything = sorted(at for times in acks.values() for at in times)
    sent = [send.invoked for send in history.sends]
    gaps = {p: _gaps(history, acks.get(p, [])) for p in range(history.run.partitions)}
    by_partition = {partition: _longest(spans) for partition, spans in gaps.items()}
    return Gaps(
        longest=max(by_partition.values(), default=0.0),
        by_partition=by_partition,
        any_partition=_longest(_gaps(history, everything)),
        between_sends=_longest(list(pairwise(sorted(sent)))),
        latency=_latency(taken),
        windows=[_window(history, event, everything, gaps) for event in history.events],
    )


def spread(values: Sequence[float]) -> dict[str, float]:
    """Return median and worst of some seconds; nothing for none."""
    return {"median": median(values), "worst": max(values)} if values else {}


def _gaps(history: History, acks: list[float]) -> list[tuple[float, float]]:
    times = sorted(acks)
    if history.started is not None:
        times.insert(0, min(history.started, *times[:1]) if times else history.started)
    if history.stopped is not None:
        times.append(max(history.stopped, *times[-1:]) if times else history.stopped)
    return list(pairwise(times))


def _longest(gaps: list[tuple[float, float]]) -> float:
    return max((end - start for start, end in gaps), default=0.0)


def _latency(taken: list[float]) -> dict[str, float]:
    if not taken:
        return {}
    ordered = sorted(taken)
    p99 = ordered[math.ceil(0.99 * len(ordered)) - 1]
    return {"median": median(ordered), "p99": p99, "max": ordered[-1]}


def _window(
    history: History,
    event: Event,
    acks: list[float],
    gaps: Mapping[int, list[tuple[float, float]]],
) -> Window:
    start = history.run.moment(event.start)
    end = start if event.end is None else max(start, history.run.moment(event.end))
    near = bisect_right(acks, end + MARGIN) - bisect_left(acks, start - MARGIN)
    longest = max((_longest(_touching(spans, start, end)) for spans in gaps.values()), default=0.0)
    return Window(event, near, longest)


def _touching(
    gaps: list[tuple[float, float]], start: float, end: float
) -> list[tuple[float, float]]:
    """Return those of consecutive gaps that end after a time's start and begin before its end."""
    first = bisect_right(gaps, start, key=lambda gap: gap[1])
    return gaps[first : bisect_left(gaps, end, key=lambda gap: gap[0])]
