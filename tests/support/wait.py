"""The one way in which tests wait: on a state, with a deadline."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
_slowness = 1.0


def slower(times: float) -> None:
    """Make every deadline from here on so many times longer: emulated machines are slow."""
    global _slowness
    _slowness = times


def scaled(seconds: float) -> float:
    """Return how long to wait here for what takes so long elsewhere."""
    return seconds * _slowness


def wait_for(state: Callable[[], T | None], *, seconds: float, what: str) -> T:
    """Return the first truthy value of `state`, or fail saying `what` did not come true in time."""
    deadline = time.monotonic() + scaled(seconds)
    while True:
        value = state()
        if value:
            return value
        if time.monotonic() > deadline:
            message = f"{what}: not within {scaled(seconds):.0f} s; last seen {value!r}"
            raise AssertionError(message)
        threading.Event().wait(min(scaled(0.2), 2))  # who is slow is not asked as often
