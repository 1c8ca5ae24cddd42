"""The timeline of a page: its scales, paths and windows, in the units of an SVG.

What is returned is text and numbers that the template writes down as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from apps.ledger.series import Point, Series, outline, peaks

WIDTH = 1000
LEFT = 78
RIGHT = 28
LANE = 17
"""Height of a row of labels above the plots."""
LANES = 3
UPPER = 210
LOWER = 100
BETWEEN = 34
BELOW = 44
COLUMNS = 460
LETTER = 7.5
"""Width of a digit of a label, with some room."""
LEAST_WIDTH = 2.0
LEAST_SECONDS = 0.001
"""Where the scale of latencies begins."""
CUT = 2.0
"""Times the rate asked for, up to which the upper scale goes: a burst after a stall is many times
that, and what counts is how far the rate falls."""
ROUND = ((1.0, 4), (2.0, 4), (2.5, 5), (5.0, 5), (10.0, 4))
"""Tops of a scale, times a power of ten, each with the number of its steps."""
STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600)
"""Seconds between ticks of the time."""
Scale = Callable[[float], float]


@dataclass(frozen=True)
class Span:
    """A time to be shaded, in seconds since the load began."""

    label: str
    start: float
    healed: float
    end: float
    failed: bool
    title: str


@dataclass(frozen=True)
class Box:
    """A span as it is drawn."""

    span: Span
    x: float
    healed: float
    """X from which on the fault is taken away and the cluster is not yet healthy."""
    width: float
    lane: int | None
    """Row of its label, the lowest is 0; None where there is no room for one."""

    @property
    def middle(self) -> float:
        """X of its label."""
        return self.x + self.width / 2


@dataclass(frozen=True)
class Panel:
    """One plot: where it is, its line, and its ticks with their y."""

    title: str
    """Of its axis, with the unit."""
    top: float
    bottom: float
    line: str
    area: str
    ticks: Sequence[tuple[float, str]]


@dataclass(frozen=True)
class Timeline:
    """All that is drawn."""

    width: int
    height: float
    left: int
    right: int
    """X of the end of the plots."""
    acks: Panel
    latency: Panel
    rate: float
    """Y of the rate that the load was asked for."""
    remarks: Sequence[str]
    """What is not to be seen."""
    times: Sequence[tuple[float, str]]
    boxes: Sequence[Box]


def timeline(series: Series, spans: Sequence[Span], rate: float) -> Timeline:
    """Return a load's timeline; spans that lie outside it are left out.

    Args:
        series: the load's seconds.
        spans: what to shade.
        rate: records a second that the load was asked for.

    """
    length = len(series.acks)
    across = linear(0, length, LEFT, WIDTH - RIGHT)
    drawn = boxes([span for span in spans if span.end >= 0 and span.start <= length], across)
    nameless = sum(box.lane is None for box in drawn)
    hidden = f"{nameless} numbers have no room; hover over a shade to see it." if nameless else ""
    top = LANE * (1 + max((box.lane for box in drawn if box.lane is not None), default=-1)) + 24.0
    upper, cut = _acks(series, across, top, rate)
    lower = _latency(series, across, upper.bottom + BETWEEN)
    return Timeline(
        width=WIDTH,
        height=lower.bottom + BELOW,
        left=LEFT,
        right=WIDTH - RIGHT,
        acks=upper,
        latency=lower,
        rate=linear(0, float(upper.ticks[-1][1]), upper.bottom, upper.top)(rate),
        remarks=[text for text in (cut, hidden) if text],
        times=[(across(at), clock(at)) for at in moments(length)],
        boxes=drawn,
    )


def _acks(series: Series, across: Scale, top: float, rate: float) -> tuple[Panel, str]:
    """Return the upper plot, and what was cut off."""
    highest = max(series.acks)
    steps = ticks(max(rate, min(highest, CUT * rate)))
    bottom = top + UPPER
    up = linear(0, steps[-1], bottom, top)
    # A second in which the load ran only partly would show as a drop.
    points = [(at, min(count, steps[-1])) for at, count in outline(series.complete_acks(), COLUMNS)]
    panel = Panel(
        "acks per second",
        top,
        bottom,
        path(points, across, up),
        area(points, across, up),
        [(up(value), f"{value:g}") for value in steps],
    )
    remark = f"The upper plot is cut at {steps[-1]:g}; the most in one second was {highest:,}."
    return panel, remark if highest > steps[-1] else ""


def _latency(series: Series, across: Scale, top: float) -> Panel:
    """Return the lower plot: a logarithmic scale, as a stall is thousands of times the usual."""
    decades = range(
        -3, max(-1, _decade(max((seconds or 0.0 for seconds in series.latency), default=0.0))) + 1
    )
    bottom = top + LOWER
    log = linear(decades[0], decades[-1], bottom, top)

    def up(value: float) -> float:
        return log(math.log10(max(value, LEAST_SECONDS)))

    return Panel(
        "latency (log)",
        top,
        bottom,
        "".join(path(line, across, up) for line in peaks(series.latency, COLUMNS)),
        "",
        [(log(decade), duration(10.0**decade)) for decade in decades],
    )


def linear(low: float, high: float, start: float, end: float) -> Scale:
    """Return a scale from the values `low` to `high` onto `start` to `end`."""
    return lambda value: start + (value - low) / ((high - low) or 1) * (end - start)


def path(points: Sequence[Point], across: Scale, up: Scale) -> str:
    """Return an SVG path through points; one point alone is a dot, with round ends of lines."""
    places = [f"{across(at):.1f} {up(value):.1f}" for at, value in points]
    return "".join(f"{'L' if n else 'M'}{place}" for n, place in enumerate(places)) + (
        "h0" if len(places) == 1 else ""
    )


def area(points: Sequence[Point], across: Scale, up: Scale) -> str:
    """Return the SVG path of what lies between a line and zero."""
    if not points:
        return ""
    first, last = across(points[0][0]), across(points[-1][0])
    return f"{path(points, across, up)}L{last:.1f} {up(0):.1f}L{first:.1f} {up(0):.1f}Z"


def boxes(spans: Sequence[Span], across: Scale) -> list[Box]:
    """Return what is drawn of spans; labels that touch lie in rows, and some have no room."""
    low, high = across(0), WIDTH - RIGHT
    drawn: list[Box] = []
    taken: list[list[tuple[float, float]]] = [[] for _ in range(LANES)]
    # Labels of those that failed come first.
    for span in sorted(spans, key=lambda span: (not span.failed, span.start)):
        left_edge = min(max(low, across(span.start)), high - LEAST_WIDTH)
        width = max(LEAST_WIDTH, min(across(span.end), high) - left_edge)
        half = LETTER * (len(span.label) + 1) / 2
        place = (left_edge + width / 2 - half, left_edge + width / 2 + half)
        lane = next((n for n, row in enumerate(taken) if not _touches(place, row)), None)
        if lane is not None:
            taken[lane].append(place)
        healed = min(max(left_edge, across(span.healed)), left_edge + width)
        drawn.append(Box(span, left_edge, healed, width, lane))
    return drawn


def _touches(place: tuple[float, float], row: Sequence[tuple[float, float]]) -> bool:
    return any(place[0] < end and start < place[1] for start, end in row)


def ticks(value: float) -> list[float]:
    """Return steps from 0 to the least round number that is not below a value."""
    power = 10.0 ** math.floor(math.log10(max(value, 1.0)))
    top, count = next((n * power, count) for n, count in ROUND if n * power >= value)
    return [top * n / count for n in range(count + 1)]


def moments(seconds: int) -> list[int]:
    """Return the ticks of so many seconds: at most ten steps."""
    step = next((step for step in STEPS if seconds / step <= 10), STEPS[-1])
    step *= math.ceil(seconds / step / 10)
    return list(range(0, seconds + 1, step))


def clock(seconds: float) -> str:
    """Return seconds as minutes and seconds, from an hour on with hours."""
    minutes, remainder = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{remainder:02}" if hours else f"{minutes}:{remainder:02}"


def duration(seconds: float) -> str:
    """Return seconds for people."""
    return f"{seconds * 1000:g} ms" if seconds < 1 else f"{seconds:g} s"


def _decade(value: float) -> int:
    return math.ceil(math.log10(value)) if value > 0 else -3
