"""The JVM of a service as the inventory sets it: its heap, its options, and what these open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .jvm_options import OpenedPort, java_words, opened_ports


@dataclass(frozen=True)
class Jvm:
    """The variables of a service's JVM, and what they say."""

    product: str
    """The service, whose name begins the variables."""
    heap_name: str
    """What ends the name of the variable of the heap."""
    settings: Mapping[str, Any]
    """The variables of the host."""

    @property
    def heap_variable(self) -> str:
        """The variable with the heap that its options may set, too."""
        return f"{self.product}_{self.heap_name}"

    @property
    def options_variable(self) -> str:
        """The variable with its options."""
        return f"{self.product}_java_options"

    @property
    def words(self) -> list[str]:
        """Its options, each word by itself."""
        return java_words(self.settings[self.options_variable])

    @property
    def ports(self) -> list[OpenedPort]:
        """What its options open besides the service's own ports."""
        return opened_ports(self.words)
