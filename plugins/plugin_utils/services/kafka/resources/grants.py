"""Grants of `kafka_grants`, by role or as operations, in the form that `kafka_users` has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Grant = dict[str, Any]

USER = "User:"
"""How the principal of a user begins."""
RESOURCES = ("topic", "group", "transactional_id")
ROLES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "producer": {"topic": ("write",), "transactional_id": ("write",)},
    "consumer": {"topic": ("read",), "group": ("read",)},
    "consumer_group": {"group": ("read",)},
    "transactional": {"transactional_id": ("write",), "topic": ("write",)},
    "admin": dict.fromkeys(RESOURCES, ("all",)),
}
"""Role -> resource -> the operations that it needs there (Kafka: Authorization using ACLs).

Those who may read or write may describe, too (KIP-290).
"""
NEEDED: Mapping[str, str] = {
    "producer": "topic",
    "consumer": "topic",
    "consumer_group": "group",
    "transactional": "transactional_id",
    "admin": "prefix",
}
"""Role -> the key without which it means nothing."""


def principal(entry: Mapping[str, Any]) -> str:
    """Return the principal of an entry of `kafka_grants`, empty without one."""
    if entry.get("principal"):
        return str(entry["principal"])
    return f"{USER}{entry['user']}" if entry.get("user") else ""


def user(entry: Mapping[str, Any]) -> str:
    """Return the user of an entry of `kafka_grants`, by whichever key, empty if it is for none."""
    name = principal(entry)
    return name[len(USER) :] if name.startswith(USER) else ""


def grants(entry: Mapping[str, Any]) -> Iterator[Grant]:
    """Yield what an entry of `kafka_grants` grants: an operation list for each resource.

    An entry that rules refuse yields what it has.
    """
    pattern = str(entry.get("pattern") or "literal")
    role = entry.get("role")
    if role == "admin":
        names = dict.fromkeys(RESOURCES, entry.get("prefix"))
        pattern = "prefixed"
    else:
        names = {kind: entry.get(kind) for kind in RESOURCES}
    operations: Mapping[str, tuple[str, ...]] = ROLES.get(str(role), {})
    if not role:
        explicit = tuple(entry.get("operations") or ())
        operations = dict.fromkeys((*RESOURCES, "cluster"), explicit)
        if entry.get("cluster"):
            yield _grant(entry, {"cluster": True}, explicit)
    for kind, name in names.items():
        if name and operations.get(kind):
            yield _grant(entry, {kind: str(name), "pattern": pattern}, operations[kind])


def _grant(
    entry: Mapping[str, Any], resource: Mapping[str, Any], operations: tuple[str, ...]
) -> Grant:
    conditions = {
        key: entry[key]
        for key, default in (("host", "*"), ("permission", "allow"))
        if entry.get(key, default) != default
    }
    return {**resource, "operations": list(operations), **conditions}
