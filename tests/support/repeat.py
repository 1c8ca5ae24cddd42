"""Work that goes on in a thread while a test or a benchmark does something else."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager


@contextmanager
def repeated(step: Callable[[], object], seconds: float) -> Iterator[None]:
    """Call `step` every so many seconds while the block runs; raises what it raised, at the end."""
    over = threading.Event()

    def run() -> None:
        while not over.wait(seconds):
            step()

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(run)
        try:
            yield
        finally:
            over.set()
            running.result()
