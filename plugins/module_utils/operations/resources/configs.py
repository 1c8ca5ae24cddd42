"""What makes configurations of groups and client metrics subscriptions as their entries have them.

Those of consumer and share groups (KIP-848, KIP-932), and of subscriptions to clients' metrics
(KIP-714), have dynamic keys and nothing else: without keys there is none. Pure: the caller reads
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from . import values
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

GROUPS, CLIENT_METRICS = "groups", "client_metrics"


@dataclass(frozen=True)
class ConfigEntry:
    """A configuration as it is described."""

    name: str
    config: Mapping[str, str] = field(default_factory=dict)
    """All of its keys."""
    absent: bool = False
    source: Source = NOBODY

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> ConfigEntry:
        """Return the configuration of an entry."""
        config = values.texts(settings.get("config"))
        absent = settings.get("state") == "absent"
        return cls(settings["name"], config, absent, Source.of(settings))


@dataclass(frozen=True)
class ConfigItem(Item):
    """What is done with a configuration."""

    config: Mapping[str, str | None] = field(default_factory=dict)
    """Keys to set, None to delete one."""


def plan(
    kind: str,
    entries: Iterable[ConfigEntry],
    configs: Mapping[str, Mapping[str, str]],
    policy: Policy,
) -> list[Item]:
    """Return the items of one of both kinds."""
    items: list[Item] = []
    described = by_key(entries, lambda entry: entry.name)
    for name, claims in described.items():
        if len(claims) > 1:
            items.append(repeated(kind, name, (entry.source for entry in claims)))
        else:
            items.append(_planned(kind, claims[0], configs.get(name, {})))
    for name, current in configs.items():
        if name in described or not current or not policy.is_unmanaged(kind, name):
            continue
        if not policy.in_scope(name):
            continue
        if kind == GROUPS and policy.prunes(name):
            items.append(_planned(kind, ConfigEntry(name, absent=True), current))
        else:
            items.append(ConfigItem(kind, name, UNMANAGED))
    return items


def _planned(kind: str, entry: ConfigEntry, current: Mapping[str, str]) -> ConfigItem:
    desired = {} if entry.absent else entry.config
    config = values.changes(desired, current)
    if not config:
        action = SAME
    elif not current:
        action = CREATE
    else:
        action = CHANGE if desired else DELETE
    difference = differences(
        label(kind, entry.name),
        {key: current[key] for key in config if key in current},
        {key: text for key, text in config.items() if text is not None},
    )
    return ConfigItem(kind, entry.name, action, entry.source, difference, config=config)
