"""A limit for what an action waits for, which Ansible's `timeout` of a task makes a failure."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from typing import Any


class _Over(BaseException):
    """The time is over. No `except Exception` on the way may take it for an error of its own."""


def within(seconds: float, call: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
    """Return a result, or one that says that there was none in so many seconds.

    A task of Ansible runs in the main thread of a process of its own, where signals arrive.
    """

    def end(*_: object) -> None:
        raise _Over

    if seconds <= 0:
        return {"failed": True, "msg": "it was not read: the time for it was over"}
    former = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return dict(call())
    except _Over:
        return {"failed": True, "msg": f"there was no answer within {seconds:.1f} s"}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)
