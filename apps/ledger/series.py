"""A history second by second, and made to fit the width of a plot."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from apps.ledger.history import History

Point = tuple[float, float]
"""Seconds since the series began, and a value."""


@dataclass(frozen=True)
class Series:
    """Each second of a load; the first begins with it."""

    start: float
    """In the clock of the history."""
    acks: Sequence[int]
    latency: Sequence[float | None]
    """The longest time from send to acknowledgement, in seconds, of those acknowledged in this
    second; None where none was."""
    complete: int
    """The seconds in all of which there was a load."""

    def complete_acks(self) -> Sequence[int]:
        """Return the acknowledgements of the seconds that can be compared; all if none can."""
        return self.acks[: self.complete] or self.acks


def per_second(history: History) -> Series:
    """Return a history's seconds, from the load's begin to its end or its last answer."""
    acked = [send for send in history.sends if send.acked is not None]
    first = min((send.invoked for send in history.sends), default=history.run.monotonic)
    start = first if history.started is None else min(first, history.started)
    stopped = start if history.stopped is None else history.stopped
    last = max((send.acked or start for send in acked), default=start)
    length = max(1, math.ceil(stopped - start), math.floor(last - start) + 1)
    acks = [0] * length
    latency: list[float | None] = [None] * length
    for send in acked:
        at = send.acked or start
        second = math.floor(at - start)
        acks[second] += 1
        latency[second] = max(latency[second] or 0.0, at - send.invoked)
    return Series(start, acks, latency, math.floor(stopped - start))


def outline(values: Sequence[float], most: int) -> list[Point]:
    """Return a line through values of a second each, which keeps every dip and every peak.

    Of as many seconds as share a column, the least and the greatest stay, in their order.

    Args:
        values: one for each second.
        most: the columns that there is room for.

    """
    points: list[Point] = []
    for column in _columns(len(values), most):
        ends = {min(column, key=values.__getitem__), max(column, key=values.__getitem__)}
        points += [(second + 0.5, float(values[second])) for second in sorted(ends)]
    return points


def peaks(values: Sequence[float | None], most: int) -> list[list[Point]]:
    """Return lines through the greatest value of each column, broken where there is none."""
    lines: list[list[Point]] = [[]]
    for column in _columns(len(values), most):
        measured = [(value, second) for second in column if (value := values[second]) is not None]
        if measured:
            value, second = max(measured)
            lines[-1].append((second + 0.5, value))
        elif lines[-1]:
            lines.append([])
    return [line for line in lines if line]


def _columns(length: int, most: int) -> Iterator[range]:
    size = math.ceil(length / most)
    return (range(begin, min(begin + size, length)) for begin in range(0, length, size or 1))
