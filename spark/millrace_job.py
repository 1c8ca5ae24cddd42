"""What the driver of a streaming job needs besides Spark: it lies beside each job on its host.

`run(queries)` returns after SIGTERM, when each query has finished its micro-batch.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Sequence

from pyspark.sql.streaming.query import StreamingQuery

STOP_SECONDS = 45.0
"""Less than systemd waits before it kills the driver, 60 s."""
_POLL_SECONDS = 0.02


class QueryEndedError(Exception):
    """A query ended although nobody asked it to."""


def stop_signal() -> threading.Event:
    """Return what SIGTERM and SIGINT set from now on; call it in the main thread."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    return stop


def run(queries: Sequence[StreamingQuery], seconds: float = STOP_SECONDS) -> None:
    """Run queries until SIGTERM, and stop them between two micro-batches.

    Raises:
        QueryEndedError: a query ended by itself; the message is Spark's.

    """
    supervise(queries, stop_signal())
    stop_between_batches(queries, seconds)


def supervise(queries: Sequence[StreamingQuery], stop: threading.Event) -> None:
    """Return when `stop` is set.

    Raises:
        QueryEndedError: a query ended by itself; the message is Spark's.

    """
    while not stop.wait(0.5):
        for query in queries:
            if not query.isActive:
                message = f"query {query.name} ended: {query.exception()}"
                raise QueryEndedError(message)


def stop_between_batches(
    queries: Sequence[StreamingQuery], seconds: float = STOP_SECONDS
) -> list[StreamingQuery]:
    """Stop each query once the micro-batch that it works on is committed.

    After `seconds` a query is stopped in its micro-batch, which the next start repeats; those are
    returned.
    """
    deadline = time.monotonic() + seconds
    begun = {query.id: _last_batch(query) for query in queries}
    waiting, interrupted = [query for query in queries if query.isActive], []
    while waiting:
        over = time.monotonic() > deadline
        for query in list(waiting):
            # One that is behind starts its next batch at once: what it had begun is committed.
            finished = not query.status["isTriggerActive"] or _last_batch(query) != begun[query.id]
            if finished or over or not query.isActive:
                interrupted += [] if finished or not query.isActive else [query]
                query.stop()
                waiting.remove(query)
        if waiting:
            time.sleep(_POLL_SECONDS)
    return interrupted


def _last_batch(query: StreamingQuery) -> int | None:
    """Return the number of the last micro-batch that is done, None before the first."""
    progress = query.lastProgress
    return None if progress is None else int(progress["batchId"])
