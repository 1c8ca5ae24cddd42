"""How tests wait: on a state, with a deadline."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
_slowness = 1.0


def slower(times: float) -> None:
    """Make every deadline from now on this many times longer: emulated machines are slow."""
    global _slowness
    _slowness = times


def scaled(seconds: float) -> float:
    """Return how long to wait here for what takes `seconds` on other machines."""
    return seconds * _slowness


def processors() -> tuple[int, int]:
    """Ticks of this machine's processors, and those that others had of them (steal, proc(5))."""
    ticks = [int(count) for count in Path("/proc/stat").read_text().split(maxsplit=9)[1:9]]
    return sum(ticks), ticks[-1]


def slowed(since: tuple[int, int]) -> float:
    """Return how many times longer everything took because others had the processors too.

    `since` is what `processors()` returned when it began.
    """
    passed, stolen = (now - then for now, then in zip(processors(), since, strict=True))
    return max(passed, 1) / max(passed - stolen, 1)


def wait_for(state: Callable[[], T | None], *, seconds: float, what: str) -> T:
    """Return the first truthy value of `state`, or fail: `what` did not come true in time."""
    begun, since = time.monotonic(), processors()
    while True:
        value = state()
        if value:
            return value
        passed = time.monotonic() - begun
        if passed > scaled(seconds) * slowed(since):
            message = f"{what}: not within {passed:.0f} s; last seen {value!r}"
            raise AssertionError(message)
        threading.Event().wait(min(scaled(0.2), 2))  # a slow machine is asked less often


def wait_for_none(problems: Callable[[], list[str]], *, seconds: float, what: str) -> None:
    """Wait until a function returns an empty list.

    Raises:
        AssertionError: it does not in time; the message has what it returned last.

    """
    last: list[str] = []

    def nothing() -> bool:
        last[:] = problems()
        return not last

    try:
        wait_for(nothing, seconds=seconds, what=what)
    except AssertionError as error:
        raise AssertionError("\n".join([str(error), *last])) from None
