"""The module kafka_resources_export, against a cluster in memory."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import users
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.acls import Acl
from ansible_collections.millrace.streaming.plugins.module_utils.operations import options

from tests.unit.in_process import call_module
from tests.unit.operations.resources.memory import Asking, Memory, use_memory


class Kafka(Asking):
    """A cluster that is asked, and left."""

    def ask(self, question: Any) -> Any:
        return self(question)

    def close(self) -> None:
        """Nothing is open."""


@pytest.mark.parametrize("name", ["a\x1b[2J", "a\nb", "a{{ lookup('pipe', 'id') }}", "{% set a %}"])
def test_what_a_file_cannot_have_is_left_out_and_named(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    memory = Memory(
        acls={Acl("User:a", "topic", name, "literal", "read")},
        quotas={(("user", name),): {"producer_byte_rate": 1.0}},
        groups={name: {"k": "v"}, "a": {"k": "v"}},
        metrics={name: {"k": "v"}},
    )
    use_memory(monkeypatch)
    monkeypatch.setattr(options, "Cluster", lambda *_, **__: Kafka(memory))
    monkeypatch.setattr(users, "read_all", lambda _: {})
    result = call_module(
        "kafka_resources_export", {"client_properties": {"bootstrap.servers": "k1:9092"}}
    )
    assert result["resources"] == {"groups": [{"name": "a", "config": {"k": "v"}}]}
    assert [line.split()[0] for line in result["left_out"]] == [
        "User:a:",
        "quota",
        "configuration",
        "client",
    ]
    assert all(line.isprintable() for line in result["left_out"])
