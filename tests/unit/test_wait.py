"""Deadlines of tests: what others take of the processors lengthens them."""

from __future__ import annotations

import time

import pytest

from tests.support import wait
from tests.support.faults.target import Record


def test_nobody_else_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wait, "processors", lambda: (300, 40))
    assert wait.slowed((100, 40)) == 1


def test_half_of_it_taken_doubles_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wait, "processors", lambda: (300, 140))
    assert wait.slowed((100, 40)) == 2


def test_a_machine_counts_both() -> None:
    passed, stolen = wait.processors()
    assert passed > stolen >= 0


def test_a_limit_is_lengthened(monkeypatch: pytest.MonkeyPatch) -> None:
    record = Record(1, "kill", begun=(100, 40))
    monkeypatch.setattr(wait, "processors", lambda: (300, 140))
    record.recovered(time.monotonic() - 7, 5)
    assert record.as_fault().limit_seconds == 10


def test_a_recovery_above_it_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    record = Record(1, "kill", begun=(100, 40))
    monkeypatch.setattr(wait, "processors", lambda: (300, 40))
    with pytest.raises(AssertionError):
        record.recovered(time.monotonic() - 7, 5)
    assert record.as_fault().limit_seconds == 5


def test_what_does_not_come_is_named() -> None:
    with pytest.raises(AssertionError, match=r"a ship.*None"):
        wait.wait_for(lambda: None, seconds=0, what="a ship")
