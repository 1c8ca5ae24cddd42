"""What rules of several subjects share: properties and their places, and which hosts differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from ansible_collections.millrace.streaming.plugins.module_utils.model import (
    kafka,
    spark,
    zookeeper,
)
from ansible_collections.millrace.streaming.plugins.module_utils.model.cluster import Cluster
from ansible_collections.millrace.streaming.plugins.module_utils.model.values import listing

# The variables in which the inventory sets properties of each service.
LAYERS: Mapping[str, tuple[str, ...]] = {
    "kafka": kafka.LAYERS,
    "zookeeper": zookeeper.LAYERS,
    "spark": spark.LAYERS,
}

Value = TypeVar("Value")


@dataclass(frozen=True)
class Property:
    """A property that the inventory sets for a host: in which variable, the key and the value."""

    host: str
    service: str
    layer: str
    key: str
    value: Any

    @property
    def where(self) -> str:
        """The variable and the key."""
        return f"{self.layer}[{self.key}]"


def own_properties(cluster: Cluster, *services: str, owned: bool = False) -> Iterator[Property]:
    """Give each property that the inventory sets for these services.

    Keys that only Millrace writes are left out, or given alone with `owned`.
    """
    for host in cluster.hosts:
        for name, service in cluster.services(host).items():
            for layer in LAYERS[name] if name in services else ():
                for key, value in service.layers[layer].items():
                    if (key in service.owned) == owned:
                        yield Property(host, name, layer, key, value)


def place(node: kafka.KafkaNode, *keys: str) -> str:
    """Name variable and key of the first of some Kafka properties that the inventory sets."""
    key = next((key for key in keys if node.layer_of(key)), keys[0])
    layer = node.layer_of(key)
    return f"{layer}[{key}]" if layer else f"kafka_config[{key}] (not set)"


def has_default_instead(cluster: Cluster, host: str, variable: str) -> bool:
    """Tell whether a variable was not taken as it is written, so that its default is judged.

    That is a problem of its own (unresolved-variable, variable-value), what follows from it none.
    """
    unresolved = variable in cluster.inventory.hosts[host].unresolved
    return unresolved or any(one.name == variable for one in cluster.invalid.get(host, ()))


def holders(values: Mapping[str, Value]) -> dict[Value, list[str]]:
    """Return value -> the hosts that have it."""
    found: dict[Value, list[str]] = {}
    for host, value in values.items():
        found.setdefault(value, []).append(host)
    return found


def differing(cluster: Cluster, variable: str, values: Mapping[str, str]) -> str:
    """Say which hosts have which value of a variable, empty if it is the same everywhere."""
    taken = {
        host: value
        for host, value in values.items()
        if not has_default_instead(cluster, host, variable)
    }
    found = holders(taken)
    parts = (f"{value or 'none'} on {listing(hosts)}" for value, hosts in found.items())
    return listing(parts) if len(found) > 1 else ""
