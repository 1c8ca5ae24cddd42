"""The target of faults of the schema registry, while schemas are registered and looked up.

It is healthy when each instance answers, and has what was registered at any of them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from ansible_collections.millrace.streaming.plugins.module_utils.host.registry_rest import (
    CONFLUENT,
    Registry,
)
from ansible_collections.millrace.streaming.plugins.module_utils.host.rest import RestError

from tests.support.clients.registrations import Registrations
from tests.support.faults.services_target import ServicesTarget


@dataclass(kw_only=True)
class Registries(ServicesTarget):
    """The instances of the registry."""

    registry: Registry
    registrations: Registrations
    schemas: Sequence[str]
    """Arguments of playbooks that name subjects."""

    def missing(self) -> list[str]:
        return [*super().missing(), *filter(None, map(self._lacks, self.registry.instances))]

    def _lacks(self, address: str) -> str:
        """What an instance lacks, empty for nothing."""
        registered = {*self.registrations.ids}
        try:
            subjects = json.loads(self.registry.ask(address, "GET", f"{CONFLUENT}/subjects"))
        except RestError as error:
            return f"{address}: {error}"
        missing = registered - {*subjects}
        return f"{address} lacks {sorted(missing)}" if missing else ""

    def wait_for_acks(self, count: int = 0, seconds: float = 0) -> None:
        """Clients have to register more."""
        del count, seconds
        self.registrations.goes_on()
