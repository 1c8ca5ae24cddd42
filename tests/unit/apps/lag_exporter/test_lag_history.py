"""How old an offset is, by where the end of its partition was when."""

from __future__ import annotations

import pytest

from apps.lag_exporter.history import SAMPLES, History


def history(*samples: tuple[float, int]) -> History:
    end_history = History()
    for time, end in samples:
        end_history.add(time, end)
    return end_history


@pytest.mark.parametrize(
    ("offset", "seconds"),
    [
        (200, 0),  # all is read
        (250, 0),  # a group that read what a leader has lost since
        (199, 0.1),  # the last record came just before the last sample
        (150, 5),
        (100, 10),  # when the end was exactly there
        (50, 15),
        (0, 20),
    ],
)
def test_between_two_samples_the_end_moves_evenly(offset: int, seconds: float) -> None:
    end_history = history((0, 0), (10, 100), (20, 200))
    assert end_history.seconds_behind(offset) == pytest.approx(seconds)


def test_what_is_older_than_the_history_has_at_least_its_age() -> None:
    assert history((100, 500), (130, 600)).seconds_behind(7) == 30


def test_a_record_after_an_idle_night_is_not_as_old_as_the_night() -> None:
    end_history = history((0, 100), *((10.0 * step, 100) for step in range(1, 1000)), (10_000, 101))
    assert end_history.seconds_behind(100) <= 10
    assert len(end_history) == 3


def test_a_group_that_stopped_at_the_end_is_behind_by_the_records_since() -> None:
    end_history = history((0, 100), (10, 100), (20, 110), (30, 110), (40, 110))
    assert end_history.seconds_behind(100) == 30
    assert end_history.seconds_behind(105) == 25


def test_without_samples_nothing_is_behind() -> None:
    assert History().seconds_behind(5) == 0
    assert history((3, 10)).seconds_behind(5) == 0


def test_a_topic_that_was_made_anew_begins_anew() -> None:
    end_history = history((0, 1000), (10, 2000), (20, 5), (30, 10))
    assert end_history.seconds_behind(5) == 10
    assert len(end_history) == 2


def test_memory_is_bounded_and_old_samples_become_coarse() -> None:
    end_history = history(*((15.0 * step, 10 * step) for step in range(20_000)))
    assert len(end_history) <= SAMPLES
    last = 19_999
    # The last ten minutes to the second, and the first sample is still there.
    for step in range(last - 25, last):
        assert end_history.seconds_behind(10 * step) == pytest.approx(15 * (last - step))
    assert end_history.seconds_behind(0) == pytest.approx(15 * last)
