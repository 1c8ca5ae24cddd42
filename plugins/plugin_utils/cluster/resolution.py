"""How the services of an inventory are resolved: each when another one, or the cluster, needs it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import registry
from .host import HostSettings
from .inventory import Inventory


class Resolution:
    """The services of an inventory, of which each is resolved once."""

    def __init__(
        self,
        inventory: Inventory,
        hosts: Mapping[str, HostSettings],
        resolved: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        """Start with the services that are resolved already, product -> host -> part."""
        self.inventory = inventory
        self.hosts = hosts
        self._resolved = dict(resolved or {})

    def members(self, group: str) -> dict[str, HostSettings]:
        """Return the hosts of a group."""
        return {name: self.hosts[name] for name in self.inventory.members(group)}

    def parts(self, product: str) -> Mapping[str, Any]:
        """Return host -> what a product is there."""
        if product not in self._resolved:
            self._resolved[product] = registry.model(product).resolve(self)
        return self._resolved[product]

    def all_parts(self) -> dict[str, Mapping[str, Any]]:
        """Return product -> host -> what it is there, of all products."""
        return {product: self.parts(product) for product in registry.ENTRIES}

    def without_parts(self, product: str) -> Resolution:
        """Return the resolution of the same inventory in which no host has a product."""
        return Resolution(self.inventory, self.hosts, {**self._resolved, product: {}})
