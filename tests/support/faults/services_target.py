"""The target of faults of services beside Kafka, with a load of their own instead of the ledger."""

from __future__ import annotations

from ansible_collections.millrace.streaming.plugins.plugin_utils.services.postgresql.model import (
    UNIT as DATABASE,
)

from tests.support.faults.target import HEAL, Record, Target
from tests.support.wait import wait_for


class ServicesTarget(Target):
    """Kafka and the services of its hosts."""

    def units(self, where: str) -> list[str]:
        """The units of a host's services, in the order in which they are started."""
        cluster = self.topology.cluster
        units = [unit for service in cluster.services(where).values() for unit in service.units]
        return [*units, *([DATABASE] if where in cluster.databases else [])]

    def restarted(self, where: str, unit: str, before: int) -> int:
        """Wait until systemd has started a killed service again; its new process."""

        def other() -> int | None:
            pid = self.main_pid(where, unit)
            return pid if pid not in (0, before) else None

        return wait_for(other, seconds=30, what=f"{unit} on {where} again")

    def heal(self) -> None:
        for where in self.topology.hosts:
            units = " ".join(self.units(where))
            self.hosts[where].run(f"{HEAL}systemctl reset-failed {units}; systemctl start {units}")

    def record_event(self, record: Record) -> None:
        """There is no ledger."""
