"""The page's numbers by the second, what is left of them in few columns, and where it is drawn."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest

from apps.ledger import plot
from apps.ledger.history import History, Run, Send
from apps.ledger.plot import LANES, LEFT, RIGHT, WIDTH, Span
from apps.ledger.series import Series, outline, peaks, per_second

END = WIDTH - RIGHT


def history(*acks: tuple[float, float], started: float | None, stopped: float | None) -> History:
    """Of sends with their moments of sending and acknowledgement."""
    sends = [Send(f"v{n}", "p", 0, n, at, "ok", acked, n) for n, (at, acked) in enumerate(acks)]
    return History(Run("r", "t", 1, 2, 0.0, 100.0), sends, (), started=started, stopped=stopped)


# By the second


def test_each_second_has_its_acknowledgements_and_the_slowest_of_them() -> None:
    run = history((10.2, 10.3), (10.4, 12.9), (11.0, 12.0), started=10.0, stopped=13.5)
    series = per_second(run)
    assert (series.start, list(series.acks), series.complete) == (10.0, [1, 0, 2, 0], 3)
    assert list(series.latency) == [pytest.approx(0.1), None, pytest.approx(2.5), None]
    assert list(series.complete_acks()) == [1, 0, 2]


@pytest.mark.parametrize(
    ("started", "stopped", "acks", "complete"),
    [
        (10.0, 12.0, [1, 1, 0, 1], 2),  # an answer after the end
        (10.0, None, [1, 1, 0, 1], 0),  # a load that did not get to its end
        (None, 14.0, [1, 1, 0, 1], 3),  # it began with its first record
        (8.0, 12.0, [0, 0, 1, 1, 0, 1], 4),
    ],
)
def test_seconds_go_from_the_begin_to_the_last_answer(
    started: float | None, stopped: float | None, acks: list[int], complete: int
) -> None:
    run = history((10.2, 10.3), (10.4, 11.4), (11.0, 13.5), started=started, stopped=stopped)
    series = per_second(run)
    assert (list(series.acks), series.complete) == (acks, complete)


def test_an_answer_on_the_border_belongs_to_the_second_that_it_begins() -> None:
    assert per_second(history((10, 12.0), started=10.0, stopped=12.0)).acks == [0, 0, 1]


def test_without_acknowledgements_there_are_seconds_still() -> None:
    assert per_second(history(started=10.0, stopped=13.0)).acks == [0, 0, 0]
    nothing = per_second(history(started=None, stopped=None))
    assert (nothing.start, nothing.acks, nothing.latency) == (100.0, [0], [None])
    assert nothing.complete_acks() == [0]


# Fewer columns


def test_what_fits_is_kept_as_it_is() -> None:
    assert outline([3, 1, 2], 3) == [(0.5, 3), (1.5, 1), (2.5, 2)]
    assert outline([], 3) == []
    assert peaks([0.5, None, 0.2], 3) == [[(0.5, 0.5)], [(2.5, 0.2)]]


def test_dips_and_peaks_stay_in_fewer_columns() -> None:
    values = [200.0] * 3600
    values[1234], values[1240], values[3599] = 0.0, 900.0, 7.0
    points = outline(values, 460)
    assert len(points) <= 2 * 460
    assert {(1234.5, 0.0), (1240.5, 900.0), (3599.5, 7.0)} <= set(points)
    assert [at for at, _ in points] == sorted(at for at, _ in points)


def test_latencies_break_only_where_a_whole_column_has_none() -> None:
    values: list[float | None] = [0.1, None, 0.3, 0.2, None, None, 0.4, 0.1]
    assert peaks(values, 4) == [[(0.5, 0.1), (2.5, 0.3)], [(6.5, 0.4)]]
    assert peaks([None, None], 1) == []


# Scales and paths


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, [0, 0.25, 0.5, 0.75, 1]),
        (200, [0, 50, 100, 150, 200]),
        (201, [0, 50, 100, 150, 200, 250]),
        (4000, [0, 1000, 2000, 3000, 4000, 5000]),
        (5001, [0, 2500, 5000, 7500, 10000]),
    ],
)
def test_ticks_are_round_and_reach_the_value(value: float, expected: list[float]) -> None:
    assert plot.ticks(value) == expected


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (1, ["0:00", "0:01"]),
        (30, ["0:00", "0:05", "0:10", "0:15", "0:20", "0:25", "0:30"]),
        (1500, ["0:00", "5:00", "10:00", "15:00", "20:00", "25:00"]),
        (7300, ["0:00", "15:00", "30:00", "45:00", "1:00:00", "1:15:00", "1:30:00", "1:45:00"]),
    ],
)
def test_moments_are_few_and_read_as_a_clock(seconds: int, expected: list[str]) -> None:
    assert [plot.clock(at) for at in plot.moments(seconds)][: len(expected)] == expected


@pytest.mark.parametrize("seconds", [1, 9, 61, 599, 3600, 36_000, 400_000])
def test_moments_are_at_most_ten_steps(seconds: int) -> None:
    assert 2 <= len(plot.moments(seconds)) <= 11


def test_a_path_goes_through_its_points() -> None:
    across, up = plot.linear(0, 10, 0, 100), plot.linear(0, 1, 50, 0)
    assert plot.path([(0, 0), (5, 1)], across, up) == "M0.0 50.0L50.0 0.0"
    assert plot.path([(5, 1)], across, up) == "M50.0 0.0h0"
    assert plot.path([], across, up) == ""
    assert plot.area([(0, 1), (5, 1)], across, up) == "M0.0 0.0L50.0 0.0L50.0 50.0L0.0 50.0Z"
    assert plot.area([], across, up) == ""


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.001, "1 ms"), (0.1, "100 ms"), (1.0, "1 s"), (100.0, "100 s")]
)
def test_durations_have_units(seconds: float, text: str) -> None:
    assert plot.duration(seconds) == text


# Windows


def span(start: float, end: float, label: str = "1", *, failed: bool = False) -> Span:
    return Span(label, start, (start + end) / 2, end, failed, "")


ACROSS = plot.linear(0, 100, LEFT, END)


def test_a_window_lies_where_it_was() -> None:
    (box,) = plot.boxes([span(10, 30)], ACROSS)
    assert box.x == pytest.approx(ACROSS(10))
    assert box.x + box.width == pytest.approx(ACROSS(30))
    assert box.healed == pytest.approx(ACROSS(20))
    assert box.middle == pytest.approx(ACROSS(20))
    assert box.lane == 0


@pytest.mark.parametrize(("start", "end"), [(-20, 5), (95, 200), (50, 50), (100, 100), (-5, 300)])
def test_a_window_is_seen_and_stays_in_the_plot(start: float, end: float) -> None:
    (box,) = plot.boxes([span(start, end)], ACROSS)
    assert LEFT <= box.x <= box.healed <= box.x + box.width <= END + 0.001
    assert box.width >= plot.LEAST_WIDTH


def test_labels_do_not_touch_and_those_of_failures_come_first() -> None:
    random = Random(1)
    starts = [random.uniform(0, 95) for _ in range(400)]
    spans = [span(at, at + 3, "12", failed=n % 40 == 0) for n, at in enumerate(starts)]
    boxes = plot.boxes(spans, ACROSS)
    assert len(boxes) == 400
    assert all(box.lane is not None for box in boxes[:5])
    assert all(box.span.failed for box in boxes[:10])
    assert any(box.lane is None for box in boxes)
    for lane in range(LANES):
        middles = sorted(box.middle for box in boxes if box.lane == lane)
        assert len(middles) > 20
        assert all(after - before >= 16 for before, after in pairwise(middles))


# All of it


def series(*acks: int) -> Series:
    return Series(0.0, acks, [0.01 if n else None for n in acks], len(acks))


def test_windows_outside_the_load_are_left_out() -> None:
    drawn = plot.timeline(
        series(*[2] * 100), [span(-9, -1), span(-9, 1), span(99, 130), span(101, 130)], 2
    )
    assert [box.span.start for box in drawn.boxes] == [-9, 99]


def test_a_burst_is_cut_and_mentioned() -> None:
    drawn = plot.timeline(series(200, 0, 3000, 200), [], 200)
    assert [label for _, label in drawn.acks.ticks] == ["0", "100", "200", "300", "400", "500"]
    (remark,) = drawn.remarks
    for text in ("500", "3,000"):
        assert text in remark
    assert drawn.rate == pytest.approx(drawn.acks.bottom - 0.4 * plot.UPPER)
    heights = [float(point.split()[1]) for point in drawn.acks.line[1:].split("L")]
    assert heights[1] == drawn.acks.bottom
    assert heights[2] == drawn.acks.top
    assert not plot.timeline(series(200, 0, 390, 200), [], 200).remarks


def test_the_scale_of_latencies_holds_the_slowest() -> None:
    slow = replace(series(1, 1), latency=[0.002, 31.0])
    labels = [label for _, label in plot.timeline(slow, [], 1).latency.ticks]
    assert labels == ["1 ms", "10 ms", "100 ms", "1 s", "10 s", "100 s"]
    labels = [label for _, label in plot.timeline(series(0, 0), [], 1).latency.ticks]
    assert labels == ["1 ms", "10 ms", "100 ms"]


def test_numbers_without_room_are_counted() -> None:
    drawn = plot.timeline(series(*[2] * 100), [span(50, 51)] * 5, 2)
    (remark,) = drawn.remarks
    assert "2 numbers" in remark
    assert drawn.acks.top > plot.timeline(series(2), [], 2).acks.top
