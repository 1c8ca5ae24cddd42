"""The cluster on which faults are made for its alerts, and what such a fault is."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.host.connect_rest import Rest
from ansible_collections.millrace.streaming.plugins.module_utils.host.prometheus_rest import Servers
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import errors
from testinfra.host import Host

from tests.support.faults.services_target import ServicesTarget
from tests.support.lab.topology import Topology
from tests.support.services.monitoring import Notifications
from tests.support.wait import wait_for

START_SECONDS = 90
Labels = Mapping[str, str]


@dataclass(kw_only=True)
class Watched(ServicesTarget):
    """A cluster whose alerts reach a receiver; no ledger runs on it."""

    servers: Servers
    notifications: Notifications
    connect: Rest | None
    afterwards: contextlib.ExitStack
    """Removes what a fault leaves until its alerts have cleared."""
    suffix: str = field(default_factory=lambda: uuid.uuid4().hex[:8])

    def member(self, group: str, index: int = -1) -> str:
        """A host of a group."""
        return self.topology.group(group)[index]

    def admin(self) -> Any:
        """A new admin client, for a block.

        An older one goes on asking the broker that was named as the controller, also once that one
        is stopped.
        """
        return clients.admin(self.topology.connection)

    def create_topic(self, name: str, **layout: object) -> None:
        """Make a topic, as kafka-python has it."""
        with self.admin() as admin:
            admin.create_topics({name: layout}, wait_for_metadata=True)

    def wait_for_acks(self, count: int = 20, seconds: float = 60) -> None:
        """Wait for nothing: no ledger runs."""

    def value(self, query: str) -> float:
        """The value of the only series that a query of Prometheus finds, 0 without any."""
        series = self.servers.data(f"query?query={query}")["result"]
        return float(series[0]["value"][1]) if series else 0.0


Injection = Callable[[Watched], contextlib.AbstractContextManager[Mapping[str, Labels]]]
"""Injects on entry and heals on exit; yields alert -> labels that it must have, if any."""


@dataclass(frozen=True)
class AlertingFault:
    """A fault and the alerts that it fires.

    By default its deadlines are for an alert with a condition of 30 s at most, and a JVM that takes
    as long to start.
    """

    name: str
    inject: Injection
    alerts: tuple[str, ...]
    needs: tuple[str, ...] = ()
    """The groups without which it cannot be made."""
    needs_machine: bool = False
    """It cannot be made in a container, which has the clock of its machine."""
    fires: float = 150
    """Deadline in seconds."""
    clears: float = 150
    """Deadline in seconds."""

    def can_be_made(self, topology: Topology) -> bool:
        """Whether the cluster has what it needs."""
        groups = [topology.group(group) for group in self.needs]
        return all(groups) and (bool(topology.machines) or not self.needs_machine)


@contextlib.contextmanager
def stopped(host: Host, unit: str) -> Iterator[None]:
    """A unit that is stopped during the block."""
    host.check_output("systemctl stop %s", unit)
    try:
        yield
    finally:
        host.check_output("systemctl start %s", unit)


def unit_stopped(group: str, unit: str, alert: str, **labels: str) -> Injection:
    """Return the fault that stops a unit on the last host of a group."""

    @contextlib.contextmanager
    def inject(on: Watched) -> Iterator[Mapping[str, Labels]]:
        where = on.member(group)
        with stopped(on.hosts[where], unit):
            yield {alert: {"host": where, **labels}}

    return inject


def remove_topics(on: Watched, *names: str) -> None:
    """Remove topics; a client that asks a broker that was stopped is refused at first."""

    def are_gone() -> bool:
        with contextlib.suppress(errors.KafkaError), on.admin() as admin:
            remaining = {*names} & {*admin.list_topics()}
            if remaining:
                admin.delete_topics([*remaining])
            return not remaining
        return False

    wait_for(are_gone, seconds=START_SECONDS, what=f"no topics {', '.join(names)}")
