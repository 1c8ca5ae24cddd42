"""A live reader whose client gives nothing any more, with clients in memory."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from apps.ledger import readers
from apps.ledger.history import Run
from apps.ledger.journal import Journal

RUN = Run("id", "topic", 1, 10.0, 0.0, 0.0)
RECORDS = 6


class Consumer:
    """Gives the records of one partition from where it was placed, up to `last`."""

    def __init__(self, last: int, committed: int) -> None:
        self.last, self.at, self.closed = last, committed, False
        self._client = SimpleNamespace(_manager=SimpleNamespace(_conns={}))

    def assign(self, places: list[Any]) -> None:
        self.at = 0

    def subscribe(self, topics: list[str]) -> None:
        pass

    def seek(self, place: Any, offset: int) -> None:
        self.at = offset

    def poll(self, timeout_ms: int) -> dict[int, list[Any]]:
        time.sleep(0.005)
        offsets = range(self.at, min(self.last, self.at + 2))
        self.at = max(self.at, offsets.stop)
        return {0: [SimpleNamespace(partition=0, offset=offset, value=b"r") for offset in offsets]}

    def commit(self, offsets: dict[Any, Any], timeout_ms: int) -> None:
        pass

    def committed(self, place: Any, timeout_ms: int) -> int:
        return 0

    def beginning_offsets(self, places: list[Any], timeout_ms: int) -> dict[Any, int]:
        return {}

    end_offsets = beginning_offsets

    def close(self, **_: object) -> None:
        self.closed = True


@pytest.mark.parametrize("group", [None, "group"])
def test_a_client_that_gives_nothing_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group: str | None
) -> None:
    monkeypatch.setattr(readers, "STUCK_SECONDS", 0.05)
    made = [Consumer(RECORDS - 2, 0), Consumer(RECORDS, RECORDS - 2)]
    remaining = list(made)
    clients: Any = SimpleNamespace(consumer=lambda *_: remaining.pop(0))
    live = readers.Live(clients, RUN, Journal(tmp_path / "live.jsonl", {}), group)
    live.end_at({0: RECORDS}, time.monotonic() + 30)
    live.run()
    assert (live.progress.read, live.progress.next) == (RECORDS, {0: RECORDS})
    assert [consumer.closed for consumer in made] == [True, True]


def test_a_client_is_kept_while_there_is_no_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readers, "STUCK_SECONDS", 0.05)
    remaining = [Consumer(RECORDS, 0)]
    clients: Any = SimpleNamespace(consumer=lambda *_: remaining.pop(0))
    live = readers.Live(clients, RUN, Journal(tmp_path / "live.jsonl", {}))
    live.start()
    time.sleep(0.2)
    live.end_at({0: RECORDS}, time.monotonic() + 30)
    live.join()
    assert live.progress.read == RECORDS
