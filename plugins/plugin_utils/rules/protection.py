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
    module = registry.module(product, "weaknesses")
    return module.WEAKNESSES if module else ()


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
    for weakness in _weaknesses("kafka" if of_kafka else service.product):
        applies = weakness.key == (table_key(key) if of_kafka else key)
        otherwise = any(
            is_true(service.config.get(alternative)) for alternative in weakness.instead
        )
        weak = applies and "${" not in str(value) and weakness.is_weak(value)
        if weak and not otherwise and not service.is_open:
            written = listing(texts(value)) or ("empty" if is_empty(value) else str(value).lower())
            preset = next((layer[key] for layer in service.layers.values() if key in layer), None)
            again = "" if preset in (None, value) else f", so that it is {property_text(preset)}"
            yield Finding(
                f"{key} is {written}. {weakness.follows}.",
                f"Delete it{again}.",
                f"{variable}[{key}]",
            )
