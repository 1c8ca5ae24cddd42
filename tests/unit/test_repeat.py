"""What goes on beside a test goes on until its end, and does not fail unnoticed."""

from __future__ import annotations

import threading

import pytest

from tests.support.repeat import repeated

SECONDS = 60
"""For a thread that never comes; it is waited for no longer than it takes."""


def test_a_step_is_repeated_until_the_block_ends() -> None:
    steps: list[int] = []
    third = threading.Event()

    def step() -> None:
        steps.append(threading.get_ident())
        if len(steps) == 3:
            third.set()

    with repeated(step, 0):
        assert third.wait(SECONDS)
    (thread,) = set(steps)
    assert thread not in {thread_alive.ident for thread_alive in threading.enumerate()}


def test_a_step_that_fails_fails_the_block() -> None:
    begun = threading.Event()

    def step() -> None:
        begun.set()
        raise ValueError

    with pytest.raises(ValueError), repeated(step, 0):  # noqa: PT011 - it has no text
        assert begun.wait(SECONDS)
