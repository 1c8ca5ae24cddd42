"""The rule about what removes a part of the protection of a closed service."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...module_utils.formats.key_table import table_key
from ...module_utils.formats.values import by_name, is_true, listing, property_text, texts
from ..cluster import registry
from ..cluster.cluster import Cluster
from ..cluster.service import Service
from .engine import Finding, Findings, rule
from .shared import CLIENT_SETTINGS, all_services
from .weakness import Weakness, is_empty


def _weaknesses(product: str) -> Sequence[Weakness]:
    """Return those of the product whose keys they are."""
    found = registry.module(product, "weaknesses")
    return found.WEAKNESSES if found else ()


def _given(cluster: Cluster) -> Iterator[tuple[str, Service, str, str, Any]]:
    """Yield variable, key and value of each property in force of a service, and of its clients."""
    for host, service in all_services(cluster):
        clients = CLIENT_SETTINGS.get(service.product, ())
        for variable in (*service.own_layers, *clients):
            for key, value in by_name(service.settings[variable]).items():
                if variable in clients or (
                    key not in service.owned and service.config[key] == value
                ):
                    yield host, service, variable, key, value


@rule("protection-weakened", each=_given, severity="warning")
def _protection_weakened(service: Service, variable: str, key: str, value: object) -> Findings:
    """It removes a part of the protection of `standard`, or of `hosts`."""
    of_kafka = "kafka" in variable
    for one in _weaknesses("kafka" if of_kafka else service.product):
        known = one.key == (table_key(key) if of_kafka else key)
        otherwise = any(is_true(service.config.get(other)) for other in one.instead)
        weak = known and "${" not in str(value) and one.is_weak(value)
        if weak and not otherwise and not service.is_open:
            written = listing(texts(value)) or ("empty" if is_empty(value) else str(value).lower())
            preset = next((x[key] for x in service.layers.values() if key in x), None)
            again = "" if preset in (None, value) else f", so that it is {property_text(preset)}"
            yield Finding(
                f"{key} is {written}. {one.follows}.", f"Delete it{again}.", f"{variable}[{key}]"
            )
