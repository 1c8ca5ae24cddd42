"""A cluster that is asked through one broker: how long it may take."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import client, library
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.client import (
    REQUEST_MS,
    Cluster,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.connection import Connection


@pytest.mark.parametrize(("options", "limit"), [({}, REQUEST_MS), ({"request_ms": 30_000}, 30_000)])
def test_a_long_request_has_its_own_limit(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, int], limit: int
) -> None:
    settings: dict[str, Any] = {}
    monkeypatch.setattr(client, "connect", lambda _: None)
    monkeypatch.setattr(library, "KafkaAdminClient", lambda **names: settings.update(names))
    Cluster(Connection(("h:1",)), **options).ask(lambda _: None)
    assert settings["request_timeout_ms"] == limit
    # A broker that does not answer at all is skipped as fast as ever.
    assert settings["bootstrap_timeout_ms"] == REQUEST_MS
