"""What an application on Spark costs while it has nothing to do, by the processes' own counters."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from testinfra.host import Host

from tests.support.lab.topology import Topology
from tests.support.services.spark import active_master, master_state
from tests.support.wait import wait_for

WINDOW = 30.0
"""Seconds over which the cost is taken: several heartbeats, and tens of triggers."""
# The processes of a unit, and those of an application's executors; without brackets a shell that
# looks for them would find itself.
UNIT = "cat /sys/fs/cgroup$(systemctl show --value --property=ControlGroup {0})/cgroup.procs"
EXECUTORS = "pgrep -f -- '[-]-app-id {0}'"
# User and system time are the 14th and the 15th field, and the second one may have spaces
# (proc_pid_stat(5)).
TICKS = (
    "for pid in $({0}); do sed 's/.*) //' /proc/$pid/stat; done 2> /dev/null"
    " | awk '{{ ticks += $12 + $13 }} END {{ print ticks / '$(getconf CLK_TCK)' }}'"
)

LIMIT = 0.03
"""Of a core: what a stream may cost that has nothing to do."""


@dataclass
class Application:
    """A job: the unit of its driver on a host, and its executors on the workers."""

    hosts: Mapping[str, Host]
    driver: str
    unit: str
    workers: Sequence[str]
    app: str
    _taken: tuple[float, float] = field(default=(0.0, 0.0))

    def cpu_seconds(self) -> float:
        """Return the processor time that it has taken so far."""
        commands = [(self.driver, UNIT.format(self.unit))]
        commands += [(where, EXECUTORS.format(self.app)) for where in self.workers]
        return sum(
            float(self.hosts[where].check_output(TICKS.format(command)) or 0)
            for where, command in commands
        )

    def share(self) -> float | None:
        """Return the share of a core that it took in the last window, None before its end."""
        now, (since, before) = time.monotonic(), self._taken
        if since and now < since + WINDOW:
            return None
        self._taken = now, self.cpu_seconds()
        return (self._taken[1] - before) / (now - since) if since else None

    def wait_until_cheap(self) -> float:
        """Wait until a window was below the limit; the first ones have the JVM's compiler in them.

        Raises:
            AssertionError: none was.

        """
        seen: list[float] = []

        def cheap() -> float | None:
            share = self.share()
            seen.extend([] if share is None else [round(share, 4)])
            return share if share is not None and 0 < share < LIMIT else None

        try:
            return wait_for(cheap, seconds=8 * WINDOW, what=f"{self.unit} below {LIMIT} of a core")
        except AssertionError as error:
            message = f"{error}; it took {seen}"
            raise AssertionError(message) from None


def application_of(
    topology: Topology, hosts: Mapping[str, Host], unit: str, name: str
) -> Application:
    """Return the application of that name, whose driver is a unit on the first master's host."""

    def known() -> str | None:
        apps = master_state(topology, active_master(topology))["activeapps"]
        return next((str(entry["id"]) for entry in apps if entry["name"] == name), None)

    app = wait_for(known, seconds=60, what=f"an application {name}")
    driver, workers = topology.group("spark_masters")[0], topology.group("spark_workers")
    return Application(hosts, driver, unit, workers, app)
