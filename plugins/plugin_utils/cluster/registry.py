"""The registry of services: one entry each, in the folder of the service.

A new service has its folder below services/, and its name here. All else that a part of
Millrace has to know of every service, it asks the registry for.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

from .entry import Group, HealthCheck, ServiceEntry

PRODUCTS = (
    "kafka",
    "zookeeper",
    "connect",
    "schema_registry",
    "hdfs",
    "spark",
    "postgresql",
    "metrics",
    "monitoring",
    "lag_exporter",
    "console",
)
_SERVICES = f"{__package__.rpartition('.')[0]}.services"

ENTRIES: Mapping[str, ServiceEntry] = {
    product: import_module(f"{_SERVICES}.{product}").ENTRY for product in PRODUCTS
}
"""Product -> its entry."""
GROUPS: Mapping[str, Group] = {
    group.name: group for entry in ENTRIES.values() for group in entry.groups
}
"""Name -> group, of all groups that Millrace knows."""
PARENTS = tuple(entry.parent for entry in ENTRIES.values() if entry.parent)
"""Parent groups in the example inventories."""
JAVA_PRODUCTS = tuple(entry.product for entry in ENTRIES.values() if entry.runs_on_java)
"""The products whose services run on a JVM."""
KAFKA_USERS = frozenset(name for entry in ENTRIES.values() for name in entry.reserved_kafka_users)
"""The users of Kafka that services and Millrace's own programs have for themselves."""
HEALTH_CHECKS: tuple[HealthCheck, ...] = tuple(
    check for entry in ENTRIES.values() for check in entry.health
)
"""What a report asks, in its order."""
UNITS = "|".join(
    [*(ENTRIES[product].units or product for product in JAVA_PRODUCTS), r"millrace-[\w-]+"]
)
"""The systemd units that Millrace writes, as a regular expression: not those of packages, which may
be the site's own."""


def groups_of(product: str) -> tuple[str, ...]:
    """Return the names of the groups that have a product."""
    return tuple(group.name for group in ENTRIES[product].groups)


def model(product: str) -> ModuleType:
    """Return the module of a product's folder that resolves it."""
    return import_module(f"{_SERVICES}.{product}.{ENTRIES[product].model}")


def module(product: str, name: str) -> ModuleType | None:
    """Return a module of a product's folder, None if the folder has none of that name."""
    path = f"{_SERVICES}.{product}.{name}"
    try:
        return import_module(path)
    except ModuleNotFoundError as error:
        if error.name != path:
            raise
        return None


def rule_modules() -> list[str]:
    """Return the names of the modules with rules, in the order of the problems."""
    return [
        f"{_SERVICES}.{product}.{name}"
        for product, entry in ENTRIES.items()
        for name in entry.rules
    ]


def functions(name: str) -> list[Any]:
    """Return a function that the models of some services have, in the order of the registry."""
    models = map(model, PRODUCTS)
    return [getattr(module, name) for module in models if hasattr(module, name)]
