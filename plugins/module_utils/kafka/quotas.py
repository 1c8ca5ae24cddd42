"""Quotas of clients: of users, client ids and addresses, and the defaults of each (KIP-546)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Optional

from . import library
from .answers import check, refusal
from .requests import batches, send

Entity = tuple[tuple[str, Optional[str]], ...]
"""Pairs of type (user, client-id or ip) and name, sorted by type; the name None is the default."""


def entity(pairs: Iterable[tuple[str, str | None]]) -> Entity:
    """Return the entity of pairs in any order."""
    return tuple(sorted(pairs, key=lambda pair: pair[0]))


def read(admin: Any) -> dict[Entity, dict[str, float]]:
    """Return entity -> key -> value, of all entities that have a quota.

    Raises:
        RefusedError: Kafka refuses to show them.

    """
    response = send(admin, library.DescribeClientQuotasRequest(components=[], strict=False))
    check(response)
    quotas = {
        _answered(entry): {setting.key: setting.value for setting in entry.values}
        for entry in response.entries or ()
    }
    return {name: values for name, values in quotas.items() if values}


def alter(
    admin: Any,
    changes: Mapping[Entity, Mapping[str, float | None]],
    *,
    validate_only: bool,
) -> dict[Entity, str]:
    """Set and remove quotas; return entity -> why Kafka refuses, of those that it does.

    `changes` is entity -> key -> value, None to remove the key.

    Raises:
        LookupError: the answer lacks an entity.

    """
    message = library.AlterClientQuotasRequest
    reasons: dict[Entity, str] = {}
    for batch in batches(changes.items()):
        entries = [
            message.EntryData(
                entity=[
                    message.EntryData.EntityData(entity_type=kind, entity_name=name)
                    for kind, name in pairs
                ],
                ops=[
                    message.EntryData.OpData(key=key, value=value or 0.0, remove=value is None)
                    for key, value in values.items()
                ],
            )
            for pairs, values in batch
        ]
        response = send(admin, message(entries=entries, validate_only=validate_only))
        refusals = {_answered(entry): refusal(entry) for entry in response.entries}
        if missing := [pairs for pairs, _ in batch if entity(pairs) not in refusals]:
            text = f"no answer about the quotas of {missing[:10]}"
            raise LookupError(text)
        reasons.update((pairs, refusals[entity(pairs)]) for pairs, _ in batch)
    return {pairs: reason for pairs, reason in reasons.items() if reason}


def _answered(entry: Any) -> Entity:
    return entity((part.entity_type, part.entity_name) for part in entry.entity)
