"""The console's worker, with batches of a file instead of those of Kafka."""

from __future__ import annotations

import sys
from pathlib import Path

from ansible_collections.millrace.streaming.plugins.module_utils.kafka import library
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.connection import Connection

from apps.console import records, worker
from apps.console.records import Fetched, Request


class Consumer:
    """Reads a file of batches once."""

    def __init__(self, path: Path) -> None:
        self.batches = library.MemoryRecords(path.read_bytes())
        self.offset = 0

    def assignment(self) -> set[str]:
        return {"t-0"}

    def position(self, _: str) -> int:
        return self.offset

    def poll(self, **_: int) -> dict[str, list[object]]:
        batch = self.batches.next_batch()
        polled = [] if batch is None else list(batch)
        self.offset = sys.maxsize if batch is None else batch.next_offset
        return {"t-0": polled}


def fetch(connection: Connection, request: Request) -> Fetched:
    fetched: list[object] = []
    consumer = Consumer(Path(connection.properties["batches"]))
    problem = records._poll(consumer, request, sys.maxsize, float("inf"), fetched)
    return Fetched(0, len(fetched), fetched, problem)


if __name__ == "__main__":
    records.fetch = fetch
    sys.exit(worker.main())
