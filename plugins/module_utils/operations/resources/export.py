"""What a cluster has, in the form of a file of resources, so that it can be kept as code.

Nothing that follows from the brokers' defaults is in it. Passwords cannot be read, hence users are
named by their grants alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...formats.values import integer
from ...kafka.acls import ANY_HOST, Acl
from ...kafka.quotas import Entity
from ...kafka.snapshot import THROTTLES
from ...kafka.topics import Topic

USER = "User:"
DEFAULT_ENTITY = "<default>"
QUOTAS = (
    "connection_creation_rate",
    "consumer_byte_rate",
    "controller_mutation_rate",
    "producer_byte_rate",
    "request_percentage",
)
_ENTITIES = {"user": "user", "client-id": "client_id", "ip": "ip"}
_RESOURCES = ("topic", "group", "transactional_id", "cluster")
_OPERATIONS = frozenset(
    (
        "all",
        "alter",
        "alter_configs",
        "cluster_action",
        "create",
        "delete",
        "describe",
        "describe_configs",
        "idempotent_write",
        "read",
        "write",
    )
)
Record = dict[str, Any]


def topics(existing: Iterable[Topic]) -> list[Record]:
    """Return topics as entries; the replication of an uneven one is left as it is."""
    return [
        {
            "name": topic.name,
            "partitions": topic.partitions,
            **({} if topic.uneven else {"replication": topic.replication}),
            **_config(topic.config or {}),
        }
        for topic in sorted(existing, key=lambda topic: topic.name)
    ]


def has_form(name: str) -> bool:
    """Return whether a file of resources can have a name: seen as it is, and no template."""
    return name.isprintable() and "{{" not in name and "{%" not in name


def grants(acls: Iterable[Acl]) -> tuple[list[Record], list[Acl]]:
    """Return ACLs as entries, one for each resource of a principal, and those that have no form."""
    operations: dict[tuple[str, ...], list[str]] = {}
    left_out: list[Acl] = []
    for acl in sorted(acls):
        texts = (acl.principal, acl.name, acl.host)
        known = acl.resource in _RESOURCES and acl.operation in _OPERATIONS
        if not known or acl.pattern not in ("literal", "prefixed") or not all(map(has_form, texts)):
            left_out.append(acl)
            continue
        key = (acl.principal, acl.resource, acl.name, acl.pattern, acl.permission, acl.host)
        operations.setdefault(key, []).append(acl.operation)
    return [_grant(key, words) for key, words in operations.items()], left_out


def _grant(key: tuple[str, ...], operations: list[str]) -> Record:
    principal, resource, name, pattern, permission, host = key
    user = principal[len(USER) :] if principal.startswith(USER) else ""
    everything = name == "*" and resource != "cluster"
    return {
        **({"user": user} if user else {"principal": principal}),
        resource: True if resource == "cluster" else name,
        # Written out, the pattern says that an asterisk is a letter.
        **({"pattern": pattern} if pattern != "literal" or _is_starred(name) else {}),
        **({"wildcard": True} if everything or user == "*" else {}),
        "operations": sorted(operations),
        **({"permission": permission} if permission != "allow" else {}),
        **({"host": host} if host != ANY_HOST else {}),
    }


def _is_starred(name: str) -> bool:
    return name.endswith("*") and name != "*"


def quotas(existing: Mapping[Entity, Mapping[str, float]]) -> list[Record]:
    """Return quotas as entries; keys and names that files do not have are left out."""
    entries = []
    for entity, values in sorted(existing.items(), key=repr):
        limits = {key: _number(values[key]) for key in QUOTAS if key in values}
        if limits and all(
            kind in _ENTITIES and (name is None or has_form(name)) for kind, name in entity
        ):
            names = {
                _ENTITIES[kind]: DEFAULT_ENTITY if name is None else name for kind, name in entity
            }
            entries.append({**names, **limits})
    return entries


def _number(value: float) -> float:
    return int(value) if value == int(value) else value


def configurations(existing: Mapping[str, Mapping[str, str]]) -> list[Record]:
    """Return groups or subscriptions with their own properties as entries, names as in `quotas`."""
    return [
        {"name": name, **_config(existing[name])}
        for name in sorted(existing)
        if existing[name] and has_form(name)
    ]


def _config(config: Mapping[str, str]) -> Record:
    """Return properties as an entry has them, without those of a reassignment."""
    kept = {key: _value(config[key]) for key in sorted(config) if key not in THROTTLES}
    return {"config": kept} if kept else {}


def _value(text: str) -> Any:
    """Return a value as people write it: a number or a boolean where Kafka's text is that of one."""
    if text in ("true", "false"):
        return text == "true"
    number = integer(text)
    return number if number is not None and str(number) == text else text
