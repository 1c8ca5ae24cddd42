"""The rule about the times of jobs and systemd itself agree."""

from __future__ import annotations

import pytest
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.spark.rules.jobs import (
    wrong_time,
)

from tests.unit.cluster.systemd_analyze import analyze, needs_systemd

TIMES = (
    "daily",
    "Hourly",
    "Mon..Fri 06:30",
    "Sat,Sun 12:00",
    "Mon,Wed..Fri *-*-* 10:00:00",
    "*:0/15",
    "*-*-* 4:00",
    "2026-12-24 18:00 Europe/Berlin",
    "*-02~03",
    "*-*-01",
    "12-24",
    "Thu,Fri 2012-*-1,5 11:12:13",
    "00..23/2:30",
    "06:30 UTC",
    "weekly UTC",
    "10:00:00.5",
    # Not CET, which Debian 13 has in a package of its own.
    "06:30 Asia/Tokyo",
    "hourly Etc/GMT",
    "*-*-* utc",
    "26-01-01 06:30",
    "monday",
    "*:*:0/10",
    "2026-1..6/2-15 00:00",
    "Mon *-05~07/1",
)
NO_TIMES = (
    "dialy",
    "25:00",
    "Mon..Fry 06:30",
    "2026-13-01",
    "*-*-* 06:30 daily",
    "06:61",
    "06",
    "Mon 06:30 later",
    "*-*-*-*",
    "1:2:3:4",
    "Mon-Blue",
    "10..8:00",
    "every day",
    "*-*-32",
    "*/3:00",
    "*:*/5",
    "*-*-*/2",
    "Fri..Mon 06:30",
    "12:59:60",
    "06:30 Mars/Olympus",
)


@pytest.mark.parametrize("time", TIMES)
def test_a_time_is_accepted(time: str) -> None:
    assert wrong_time(time) == ""


@pytest.mark.parametrize("time", NO_TIMES)
def test_what_is_no_time_is_refused(time: str) -> None:
    assert wrong_time(time)


@needs_systemd
@pytest.mark.parametrize("time", [*TIMES, *NO_TIMES])
def test_systemd_says_the_same(time: str) -> None:
    assert (analyze("calendar", time).returncode == 0) == (time in TIMES)
