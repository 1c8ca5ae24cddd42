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
    """A key as a broker has it: `value` is the effective one.

    `entry` is the broker's own dynamic value, `below` what would be effective without it, `static`
    what its file had when it started, `default` Kafka's own. Each is None where there is none.
    """

    kind: str
    value: str | None = None
    entry: str | None = None
    below: str | None = None
    static: str | None = None
    default: str | None = None


def read(admin: Any, node_id: int, keys: list[str]) -> dict[str, Setting]:  # noqa: ANN401  no types
    """Return key -> setting of a broker."""
    broker = library.ConfigResource(
        library.ConfigResourceType.BROKER, str(node_id), dict.fromkeys(keys)
    )
    answer = admin.describe_configs([broker], include_synonyms=True, config_filter="all")
    return {key: setting(key, one) for key, one in answer["broker"][str(node_id)].items()}


def setting(key: str, answer: Mapping[str, Any]) -> Setting:
    """Return what kafka-python says of a key of a broker, asked with synonyms.

    These come in the order of precedence. One of another name is another key, such as
    log.retention.hours of log.retention.ms.
    """
    own = [one for one in answer.get("synonyms") or () if one["name"] == key]
    values = {str(one["source"]): one["value"] for one in own}
    below = [one["value"] for one in own if one["source"] != "DYNAMIC_BROKER_CONFIG"]
    return Setting(
        kind=str(answer.get("config_type") or ""),
        value=answer["value"],
        entry=values.get("DYNAMIC_BROKER_CONFIG"),
        below=below[0] if below else None,
        static=values.get("STATIC_BROKER_CONFIG"),
        default=values.get("DEFAULT_CONFIG"),
    )


def alter(
    admin: Any,  # noqa: ANN401  kafka-python has no types
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
    entries = [(key, _DELETE if one is None else _SET, one) for key, one in changes.items()]
    request = library.IncrementalAlterConfigsRequest(
        resources=[(_BROKER, "" if cluster_wide else str(node_id), entries)],
        validate_only=validate_only,
    )

    async def send() -> Any:  # noqa: ANN401  as above
        return await admin._manager.send(request, node_id=node_id)

    (answer,) = admin._manager.run(send).responses
    if answer.error_code in _REFUSALS:
        reason = answer.error_message or library.errors.for_code(answer.error_code).description
        return _WRAPPING.sub("", str(reason))
    if answer.error_code:
        raise library.errors.for_code(answer.error_code)(answer.error_message)
    return ""
