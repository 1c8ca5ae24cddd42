"""Charts of series over time, as SVG that a page shows: lines, and a scale in a panel's unit."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from xml.sax.saxutils import escape

from .prometheus import Series

COLORS = 8
"""The classes of lines, which the page's style has: `line0` and so on."""
WIDTH, HEIGHT = 480, 200
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 8, 12, 24
_LINES = 4
_STEPS = (1, 2, 2.5, 5)
_DAY = 86400
_THOUSAND, _KIB = ("", "k", "M", "G", "T"), ("", "Ki", "Mi", "Gi", "Ti")
# Unit of a panel, as Grafana calls it -> sign after a value, its prefixes, and the step of these.
_UNITS: Mapping[str, tuple[str, Sequence[str], float]] = {
    "short": ("", _THOUSAND, 1000),
    "bytes": ("B", _KIB, 1024),
    "decmbytes": ("B", ("M", "G", "T"), 1000),
    "Bps": ("B/s", _THOUSAND, 1000),
    "ops": ("/s", _THOUSAND, 1000),
    "reqps": ("/s", _THOUSAND, 1000),
}


def value_text(value: float, unit: str) -> str:
    """Return a value for people, with its unit."""
    if not math.isfinite(value):
        return "none"
    if unit == "percentunit":
        return f"{value * 100:.3g} %"
    if unit in {"s", "dtdurations"}:
        return _duration(value)
    sign, prefixes, step = _UNITS.get(unit, (f" {unit}", _THOUSAND, 1000))
    at = 0
    while abs(value) >= step and at < len(prefixes) - 1:
        value, at = value / step, at + 1
    number = f"{value:.0f}" if value == round(value) else f"{value:.3g}"
    after = f"{prefixes[at]}{sign}"
    return f"{number} {after}" if after and not after.startswith("/") else f"{number}{after}"


def _duration(seconds: float) -> str:
    for least, name in ((_DAY, "days"), (3600, "h"), (60, "min"), (1, "s")):
        if abs(seconds) >= 2 * least or (least == 1 and abs(seconds) >= 1):
            return f"{seconds / least:.3g} {name}"
    return "0 s" if seconds == 0 else f"{seconds * 1000:.3g} ms"


def drawing(series: Sequence[Series], start: float, end: float, unit: str, label: str) -> str:
    """Return the chart of series between two times, as one element of SVG; `label` says it."""
    values = [value for curve in series for _, value in curve.points if math.isfinite(value)]
    scale = _scale(min([0.0, *values]), max([0.0, *values]), binary=unit == "bytes")
    low, high = scale[0], scale[-1]

    def x(at: float) -> float:
        return _LEFT + (at - start) / max(1.0, end - start) * (WIDTH - _LEFT - _RIGHT)

    def y(value: float) -> float:
        return HEIGHT - _BOTTOM - (value - low) / (high - low) * (HEIGHT - _TOP - _BOTTOM)

    elements = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" class="chart"'
        f' role="img" aria-label={_quoted(label)}>'
    ]
    elements += [
        f'<path class="grid" d="M{_LEFT} {y(value):.1f}H{WIDTH - _RIGHT}"/>'
        f'<text x="{_LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">'
        f"{escape(value_text(value, unit))}</text>"
        for value in scale
    ]
    elements += [
        f'<text x="{x(at):.1f}" y="{HEIGHT - 6}" text-anchor="{anchor}"'
        f' data-time="{at:.0f}">{_clock(at, end - start)}</text>'
        for at, anchor in ((start, "start"), ((start + end) / 2, "middle"), (end, "end"))
    ]
    step = _step(series)
    for number, curve in enumerate(series):
        lines = " ".join(
            "M" + "L".join(f"{x(at):.1f} {y(value):.1f}" for at, value in segment)
            for segment in _parts(curve, step)
        )
        elements.append(f'<path class="line line{number % COLORS}" d="{lines}"/>')
    return "".join([*elements, "</svg>"])


def _clock(at: float, seconds: float) -> str:
    """Return a time in UTC; a page with a script replaces it by that of the browser's zone."""
    return time.strftime("%H:%M" if seconds <= _DAY else "%m-%d %H:%M", time.gmtime(at))


def _step(series: Sequence[Series]) -> float:
    """Return the time between two points."""
    gaps = [
        b[0] - a[0]
        for curve in series
        for a, b in zip(curve.points, curve.points[1:], strict=False)
    ]
    return min(gaps, default=0.0)


def _parts(curve: Series, step: float) -> Iterator[list[tuple[float, float]]]:
    """Yield the points without a gap; one alone twice, so that it is seen."""
    segment: list[tuple[float, float]] = []
    for at, value in curve.points:
        if segment and (not math.isfinite(value) or at - segment[-1][0] > 1.5 * step):
            yield segment if len(segment) > 1 else [*segment, (segment[0][0] + 1, segment[0][1])]
            segment = []
        if math.isfinite(value):
            segment.append((at, value))
    if segment:
        yield segment if len(segment) > 1 else [*segment, (segment[0][0] + 1, segment[0][1])]


def _scale(low: float, high: float, *, binary: bool) -> list[float]:
    """Return the values of the lines of a scale: few of them, short numbers, around all values."""
    rough = (high - low or 1) / _LINES
    if binary:
        step = 2.0 ** math.ceil(math.log2(rough))
    else:
        power = 10.0 ** math.floor(math.log10(rough))
        step = power * next((factor for factor in _STEPS if factor * power >= rough), 10)
    first, last = math.floor(low / step), max(math.ceil(high / step), 1)
    return [step * number for number in range(first, last + 1)]


def _quoted(text: str) -> str:
    return '"' + escape(text, {'"': "&quot;"}) + '"'
