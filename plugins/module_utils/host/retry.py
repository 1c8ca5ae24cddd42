"""Doing something again that fails for a while."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
E = TypeVar("E", bound=Exception)


def retried(
    work: Callable[[], T],
    errors: type[E],
    seconds: float,
    pause: float,
    again: Callable[[E], bool] = lambda _: True,
) -> T:
    """Return what `work` returns, after such errors for `seconds`.

    `again` returns whether an error is retried.

    Raises the last error when the time is over.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            return work()
        except errors as error:
            if not again(error) or time.monotonic() > deadline:
                raise
        time.sleep(pause)
