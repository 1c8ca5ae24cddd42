"""Dynamic configuration: what is asked of a broker, and what its answers mean."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import configs
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.configs import Setting
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import errors

KEY, ALIAS = "log.retention.ms", "log.retention.hours"


def synonym(source: str, value: str | None, name: str = KEY) -> dict[str, Any]:
    return {"name": name, "value": value, "source": source}


OWN = synonym("DYNAMIC_BROKER_CONFIG", "1")
OF_ALL = synonym("DYNAMIC_DEFAULT_BROKER_CONFIG", "2")
STATIC = synonym("STATIC_BROKER_CONFIG", "3")
DEFAULT = synonym("DEFAULT_CONFIG", "4")


@pytest.mark.parametrize(
    ("synonyms", "expected"),
    [
        ([], Setting("LONG")),
        ([DEFAULT], Setting("LONG", "4", below="4", default="4")),
        (
            [OWN, OF_ALL, STATIC, DEFAULT],
            Setting("LONG", "1", entry="1", below="2", static="3", default="4"),
        ),
        ([OWN], Setting("LONG", "1", entry="1")),
        # Another key that Kafka reads for want of this one.
        ([synonym("STATIC_BROKER_CONFIG", "168", ALIAS)], Setting("LONG")),
    ],
)
def test_a_setting_has_its_layers(synonyms: list[dict[str, Any]], expected: Setting) -> None:
    value = synonyms[0]["value"] if synonyms and synonyms[0]["name"] == KEY else None
    described = {"value": value, "config_type": "LONG", "synonyms": synonyms}
    assert configs.setting(KEY, described) == expected


class Admin:
    """An admin client whose broker answers with one code."""

    def __init__(self, code: int = 0, message: str | None = None) -> None:
        self._answer = SimpleNamespace(error_code=code, error_message=message)
        self._manager = self
        self.sent: list[tuple[int, Any]] = []

    def run(self, send: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        return asyncio.run(send())

    async def send(self, request: Any, node_id: int) -> Any:
        self.sent.append((node_id, request))
        return SimpleNamespace(responses=[self._answer])

    def alter(self, *, cluster_wide: bool = False, validate_only: bool = False) -> str:
        return configs.alter(
            self, 7, {"a": "1", "b": None}, cluster_wide=cluster_wide, validate_only=validate_only
        )


@pytest.mark.parametrize(("cluster_wide", "name"), [(False, "7"), (True, "")])
@pytest.mark.parametrize("validate_only", [False, True])
def test_the_broker_itself_is_asked_to_change_its_own_keys_or_those_of_all(
    cluster_wide: bool, name: str, validate_only: bool
) -> None:
    admin = Admin()
    assert admin.alter(cluster_wide=cluster_wide, validate_only=validate_only) == ""
    ((node, request),) = admin.sent
    ((_, resource_name, entries),) = request.resources
    assert (node, resource_name, request.validate_only) == (7, name, validate_only)
    set_, delete = 0, 1  # AlterConfigOp
    assert entries == [("a", set_, "1"), ("b", delete, None)]


@pytest.mark.parametrize(
    ("code", "message", "expected"),
    [
        (40, "Invalid value 9 for configuration a: at most 8", "9"),
        (42, "no such key", "no such key"),
        (44, "the policy forbids it", "the policy forbids it"),
        (40, None, ""),
    ],
)
def test_what_kafka_refuses_is_returned(code: int, message: str | None, expected: str) -> None:
    refused = Admin(code, message).alter()
    assert refused
    assert expected in refused


def test_another_error_is_raised() -> None:
    with pytest.raises(errors.NotControllerError):
        Admin(41, "moved").alter()
