"""What makes quotas of users, client ids and addresses as their entries have them (KIP-546).

Pure: the caller reads them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...kafka.quotas import Entity, entity
from .items import (
    CHANGE,
    CREATE,
    DELETE,
    NOBODY,
    SAME,
    UNMANAGED,
    Item,
    Policy,
    Source,
    by_key,
    differences,
    label,
    repeated,
)

KIND = "quotas"
TYPES = ("client-id", "ip", "user")
_DEFAULT = "(default)"


@dataclass(frozen=True)
class QuotaEntry:
    """The quotas of an entity as they are described."""

    entity: Entity
    values: Mapping[str, float] = field(default_factory=dict)
    """All of its quotas."""
    absent: bool = False
    source: Source = NOBODY

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> QuotaEntry:
        """Return the quotas of an entry.

        Raises:
            ValueError: a value is no number, or the entity has none of Kafka's types.

        """
        names = entity(
            (key.replace("_", "-"), None if name is None else str(name))
            for key, name in settings["entity"].items()
        )
        if not names or {key for key, _ in names} - {*TYPES}:
            text = f"a quota is of {', '.join(TYPES)}, not of {entity_name(names) or 'nothing'}"
            raise ValueError(text)
        values = {
            key: _number(entity_name(names), key, value)
            for key, value in (settings.get("values") or {}).items()
        }
        absent = settings.get("state") == "absent"
        return cls(names, values, absent, Source.of(settings))


@dataclass(frozen=True)
class QuotaItem(Item):
    """What is done with the quotas of an entity."""

    entity: Entity = ()
    values: Mapping[str, float | None] = field(default_factory=dict)
    """Quotas to set, None to remove one."""


def plan(
    entries: Iterable[QuotaEntry], quotas: Mapping[Entity, Mapping[str, float]], policy: Policy
) -> list[Item]:
    """Return the items of quotas."""
    items: list[Item] = []
    described = by_key(entries, lambda entry: entry.entity)
    for pairs, claims in described.items():
        if len(claims) > 1:
            items.append(repeated(KIND, entity_name(pairs), (entry.source for entry in claims)))
        else:
            items.append(_planned(claims[0], quotas.get(pairs, {})))
    for pairs, current in quotas.items():
        user = dict(pairs).get("user")
        if pairs in described or not current or user in policy.service_users:
            continue
        if not policy.is_unmanaged(KIND, pairs) or not _in_scope(pairs, policy):
            continue
        if user is not None and policy.prunes(user):
            items.append(_planned(QuotaEntry(pairs, absent=True), current))
        else:
            items.append(QuotaItem(KIND, entity_name(pairs), UNMANAGED, entity=pairs))
    return items


def entity_name(pairs: Entity) -> str:
    """Return an entity as messages name it: `client-id (default), user etl`."""
    return ", ".join(f"{key} {_DEFAULT if name is None else name}" for key, name in pairs)


def _in_scope(pairs: Entity, policy: Policy) -> bool:
    names = [name for key, name in pairs if name is not None and key != "ip"]
    return not policy.scope or any(policy.in_scope(name) for name in names)


def _planned(entry: QuotaEntry, current: Mapping[str, float]) -> QuotaItem:
    desired = {} if entry.absent else entry.values
    altered: dict[str, float | None] = {
        key: value for key, value in desired.items() if current.get(key) != value
    }
    altered.update((key, None) for key in current if key not in desired)
    if not altered:
        action = SAME
    elif not current:
        action = CREATE
    else:
        action = CHANGE if desired else DELETE
    name = entity_name(entry.entity)
    difference = differences(
        label(KIND, name),
        {key: number_text(current[key]) for key in altered if key in current},
        {key: number_text(value) for key, value in altered.items() if value is not None},
    )
    return QuotaItem(
        KIND, name, action, entry.source, difference, entity=entry.entity, values=altered
    )


def _number(name: str, key: str, value: object) -> float:
    try:
        number = math.nan if isinstance(value, bool) else float(str(value))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        text = f"the quota {key} of {name} is {value}: it must be a number"
        raise ValueError(text)
    return number


def number_text(value: float) -> str:
    """Return a number as an entry has it: without a fraction of zero."""
    return str(int(value)) if value.is_integer() else str(value)
