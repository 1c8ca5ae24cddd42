"""What the rules about properties share: who set a key, where, and its effective number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils import key_table
from ansible_collections.millrace.streaming.plugins.module_utils.rules import (
    LAYERS,
    Host,
    Inventory,
    integer,
    mapping,
)


def table_of(host: Host) -> key_table.Table:
    """Return the keys of the host's Kafka version, none for a version that is not known."""
    return key_table.load(str(host.kafka.get("version", "")))


def is_owned(host: Host, role: str, key: str) -> bool:
    """Say whether Millrace alone writes this property."""
    return key in mapping(host.described(role).get("owned"))


def own_layer(host: Host, key: str) -> str:
    """Return the variable in which the user set a Kafka property on this host, empty if none."""
    own = mapping(host.kafka.get("own_config"))
    layers = (layer for layer in reversed(LAYERS["kafka"]) if key in mapping(own.get(layer)))
    return next(layers, "")


def place(host: Host, key: str) -> str:
    """Name the variable and the key of a Kafka property on this host."""
    layer = own_layer(host, key)
    return f"{layer}[{key}]" if layer else f"kafka_config[{key}] (not set)"


def number(host: Host, key: str) -> int | None:
    """Return the effective whole number of a Kafka property, the version's default included.

    None for what is no number and for a key that the version does not have.
    """
    config, table = mapping(host.kafka.get("config")), table_of(host)
    if table and key not in table:
        return None
    if key in config:
        return integer(config[key])
    return integer(table.get(key, {}).get("default"))


def own_keys(
    inventory: Inventory, *roles: str, owned: bool = False
) -> Iterator[tuple[Host, str, str, Any]]:
    """Yield host, variable, key and value of each property that the user wrote for these roles.

    Keys that Millrace owns are left out, or yielded alone with `owned`.
    """
    for host in inventory.hosts.values():
        for role in roles:
            own = mapping(host.described(role).get("own_config"))
            for layer in LAYERS[role]:
                for key, value in mapping(own.get(layer)).items():
                    if is_owned(host, role, str(key)) == owned:
                        yield host, layer, str(key), value
