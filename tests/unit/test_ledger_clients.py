"""What the ledger's clients do that kafka-python does not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ledger import clients

FIRST = [SimpleNamespace(node_id="bootstrap-0"), SimpleNamespace(node_id="bootstrap-1")]


@pytest.mark.parametrize(
    ("known", "waiting", "asked"),
    [
        (3, set(), {3}),
        (None, set(), {"bootstrap-0", "bootstrap-1"}),
        (None, {"bootstrap-0"}, {"bootstrap-1"}),
        (None, {"bootstrap-0", "bootstrap-1"}, {None}),
    ],
)
def test_a_client_that_reaches_nobody_begins_again(
    monkeypatch: pytest.MonkeyPatch, known: int | None, waiting: set[str], asked: set[object]
) -> None:
    manager: Any = SimpleNamespace(
        least_loaded_node=lambda: known,
        cluster=SimpleNamespace(bootstrap_brokers=lambda: FIRST),
        connection_delay=lambda node: 1.0 if node in waiting else 0.0,
    )
    monkeypatch.setattr(clients, "KafkaNetClient", lambda **_: SimpleNamespace(_manager=manager))
    client = clients.begins_again()
    assert {client._manager.least_loaded_node() for _ in range(50)} == asked
