"""The effective properties of a Kafka node, and what they are to one listener."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ....module_utils.formats import key_table, secret_texts
from ....module_utils.formats.values import integer
from .listeners import Listener

_JAAS = "sasl.jaas.config"
_SECRET_ENDS = ("password", "secret", _JAAS)


@dataclass(frozen=True)
class ServerProperties:
    """What `server.properties` of one node says."""

    config: Mapping[str, Any] = field(repr=False)
    """The effective properties."""
    layers: Mapping[str, Mapping[str, Any]] = field(repr=False)
    """The properties in each variable of the inventory, the weakest variable first."""
    table: key_table.Table = field(repr=False)
    """The keys that the node's version knows, none for a version that is not known."""

    def at(self, listener: Listener) -> dict[str, Any]:
        """Return the properties as one listener sees them: those of its own name win."""
        prefix = f"listener.name.{listener.name.lower()}."
        of_listener = {
            key.removeprefix(prefix): value
            for key, value in self._of_listeners.items()
            if key.startswith(prefix)
        }
        return {**self.config, **of_listener}

    @cached_property
    def _of_listeners(self) -> dict[str, Any]:
        return {k: v for k, v in self.config.items() if k.startswith("listener.name.")}

    def layer_of(self, key: str) -> str:
        """Return the variable in which the inventory sets a property, empty if in none."""
        strongest_first = reversed(tuple(self.layers))
        return next((layer for layer in strongest_first if key in self.layers[layer]), "")

    def number(self, key: str) -> int | None:
        """Return the effective whole number of a property, the version's default included.

        None for a value that is not a number and for a key that the version does not have.
        """
        if self.table and key not in self.table:
            return None
        if key in self.config:
            return integer(self.config[key])
        return integer(self.table.get(key, {}).get("default"))


def may_be_secret(key: str, value: object, table: key_table.Table) -> bool:
    """Return whether a property is a secret in itself, or one by Kafka's table or by its name.

    An entry of JAAS without options has none.
    """
    if key.endswith(_JAAS) and "=" not in str(value):
        return False
    kind = table.get(key_table.table_key(key), {}).get("type")
    named = kind == "password" or key.endswith(_SECRET_ENDS)
    return named or bool(secret_texts.of_property(key, value))
