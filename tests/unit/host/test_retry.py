"""Doing something again that fails for a while."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host import retry


class RefusedError(Exception):
    """What the work raises."""


class Work:
    """Work that fails some times, on a clock of its own."""

    def __init__(self, failures: int) -> None:
        """Start the clock."""
        self.failures, self.now = failures, 0.0

    def __call__(self) -> str:
        """Do it."""
        self.failures -= 1
        if self.failures >= 0:
            raise RefusedError(self.failures)
        return "done"

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds


def clocked(monkeypatch: pytest.MonkeyPatch, failures: int) -> Work:
    work = Work(failures)
    clock = SimpleNamespace(monotonic=lambda: work.now, sleep=work.sleep)
    monkeypatch.setattr(retry, "time", clock)
    return work


@pytest.mark.parametrize("failures", [0, 1, 5])
def test_it_is_done_again(monkeypatch: pytest.MonkeyPatch, failures: int) -> None:
    work = clocked(monkeypatch, failures)
    assert retry.retried(work, RefusedError, seconds=10, pause=1) == "done"
    assert work.now == failures


def test_the_last_error_is_raised_when_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    work = clocked(monkeypatch, failures=100)
    with pytest.raises(RefusedError):
        retry.retried(work, RefusedError, seconds=10, pause=1)
    assert 10 <= work.now < 100


def test_other_errors_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    work = clocked(monkeypatch, failures=3)
    with pytest.raises(RefusedError):
        retry.retried(work, KeyError, seconds=10, pause=1)
    assert work.now == 0


def test_an_error_that_does_not_pass_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    work = clocked(monkeypatch, failures=3)
    with pytest.raises(RefusedError):
        retry.retried(work, RefusedError, 10, 1, lambda error: error.args != (1,))
    assert work.now == 1
