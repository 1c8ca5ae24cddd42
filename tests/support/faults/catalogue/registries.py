"""The catalogue of faults of the schema registry, while schemas are registered and looked up."""

from __future__ import annotations

from tests.support.faults.catalogue.entry import catalogue
from tests.support.faults.registries_target import Registries
from tests.support.faults.target import Record
from tests.support.services.unit import lost

FAULTS, fault = catalogue(Registries)
UNIT = "schema_registry"


@fault(62, "kill -9 of each instance of the schema registry, one after the other")
def instances_killed(target: Registries, record: Record) -> None:
    """Clients use the other instance meanwhile, and so does the playbook."""
    killed = []
    for where in target.topology.cluster.schema_registry:
        record.node = where
        killed.append(target.main_pid(where, UNIT))
        with lost(target.hosts[where], UNIT):
            target.registrations.goes_on()
            target.plays.succeed("schemas", *target.schemas)
        target.wait_until_healthy()
    record.proof = f"the processes {killed} are gone, and clients went on after each"
