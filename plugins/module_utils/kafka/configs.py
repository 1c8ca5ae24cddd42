"""Dynamic configuration of brokers: reading it with its sources, altering it (KIP-226, KIP-339)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from . import library

_BROKER = 4  # resource type
_SET, _DELETE = 0, 1
_REFUSALS = (40, 42, 44)  # INVALID_CONFIG, INVALID_REQUEST, POLICY_VIOLATION
_WRAPPING = re.compile(r"^Invalid value \S+: | for configuration Invalid dynamic configuration$")


@dataclass(frozen=True)
class Setting:
    """A key as a broker has it; each value is None where there is none."""

    kind: str
    value: str | None = None
    """The effective value."""
    entry: str | None = None
    """The broker's own dynamic value."""
    below: str | None = None
    """What would be effective without `entry`."""
    static: str | None = None
    """What the broker's file had when it started."""
    default: str | None = None
    """Kafka's own."""


def read(admin: Any, node_id: int, keys: list[str]) -> dict[str, Setting]:
    """Return key -> setting of a broker."""
    broker = library.ConfigResource(
        library.ConfigResourceType.BROKER, str(node_id), dict.fromkeys(keys)
    )
    described = admin.describe_configs([broker], include_synonyms=True, config_filter="all")
    return {
        key: setting(key, description)
        for key, description in described["broker"][str(node_id)].items()
    }


def setting(key: str, description: Mapping[str, Any]) -> Setting:
    """Return what kafka-python says of a key of a broker, asked with synonyms.

    These come in the order of precedence. One of another name is another key, such as
    log.retention.hours of log.retention.ms.
    """
    synonyms = [synonym for synonym in description.get("synonyms") or () if synonym["name"] == key]
    values = {str(synonym["source"]): synonym["value"] for synonym in synonyms}
    below = [
        synonym["value"] for synonym in synonyms if synonym["source"] != "DYNAMIC_BROKER_CONFIG"
    ]
    return Setting(
        kind=str(description.get("config_type") or ""),
        value=description["value"],
        entry=values.get("DYNAMIC_BROKER_CONFIG"),
        below=below[0] if below else None,
        static=values.get("STATIC_BROKER_CONFIG"),
        default=values.get("DEFAULT_CONFIG"),
    )


def alter(
    admin: Any,
    node_id: int,
    changes: Mapping[str, str | None],
    *,
    cluster_wide: bool,
    validate_only: bool,
) -> str:
    """Alter keys of a broker, or of all, through that broker, which validates them.

    `changes` is key -> value, None to delete its entry. Returns why Kafka refuses, empty if it
    does not. The admin client's own method knows no resource of all brokers, and gives no error
    codes.
    """
    entries = [(key, _DELETE if value is None else _SET, value) for key, value in changes.items()]
    request = library.IncrementalAlterConfigsRequest(
        resources=[(_BROKER, "" if cluster_wide else str(node_id), entries)],
        validate_only=validate_only,
    )

    async def send() -> Any:
        return await admin._manager.send(request, node_id=node_id)

    (response,) = admin._manager.run(send).responses
    if response.error_code in _REFUSALS:
        reason = response.error_message or library.errors.for_code(response.error_code).description
        return _WRAPPING.sub("", str(reason))
    if response.error_code:
        raise library.errors.for_code(response.error_code)(response.error_message)
    return ""
