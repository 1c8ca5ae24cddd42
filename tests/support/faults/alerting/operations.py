"""Faults of Millrace's own operations."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

from tests.support.faults.alerting.watched import AlertingFault, Labels, Watched
from tests.support.faults.catalogue.resources import DROP_INS

ROLL, ALL = "rolling_restart", ("-e", "rolling_restart_all=true")
PLAYBOOK = {"playbook": ROLL}
START_SECONDS = 30
CANNOT_START = "[Service]\nExecStartPre=/bin/false"


@contextlib.contextmanager
def roll_killed(on: Watched) -> Iterator[Mapping[str, Labels]]:
    """The process of a rolling change is killed as it stops a node."""
    try:
        on.plays.kill_at(": stopping, ", ROLL, *ALL, "-e", "roll_slice=0.1")
        yield {"OperationAbandoned": PLAYBOOK}
    finally:
        on.plays.succeed(ROLL)
        on.wait_until_healthy()


@contextlib.contextmanager
def node_does_not_start(on: Watched) -> Iterator[Mapping[str, Labels]]:
    """A rolling change stops at a node whose unit cannot be started."""
    where = on.kafka_hosts[0]
    on.sh(where, f"mkdir -p {DROP_INS} && printf %s > {DROP_INS}/fault.conf", CANNOT_START)
    try:
        on.sh(where, "systemctl daemon-reload")
        on.plays.refuse(ROLL, *ALL, "-e", f"kafka_start_timeout={START_SECONDS}")
        yield {"OperationStopped": PLAYBOOK}
    finally:
        on.sh(where, f"rm -rf {DROP_INS}; systemctl daemon-reload")
        on.heal()
        on.wait_until_healthy()
        on.plays.succeed(ROLL)


@contextlib.contextmanager
def restart_pending(on: Watched) -> Iterator[Mapping[str, Labels]]:
    """A run of site.yml that changes an instance of the registry is killed before its restart."""
    where = on.member("schema_registry")
    heap = on.topology.cluster.schema_registry[where].settings["schema_registry_heap"]
    changed_heap = f"schema_registry_heap={int(heap.removesuffix('m')) + 1}m"
    try:
        on.plays.kill_at(
            "Restart instances with a pending restart", "site", "--limit", where, "-e", changed_heap
        )
        on.sh(where, "test -e /run/schema_registry/restart-pending")
        yield {"RestartPending": {"host": where, "unit": "schema_registry"}}
    finally:
        on.plays.succeed("site", "--limit", where)


ROLL_KILLED = AlertingFault(
    "the process of a rolling change is killed",
    roll_killed,
    ("OperationAbandoned",),
    needs=("kafka_controllers",),
    fires=240,
)
NODE_DOES_NOT_START = AlertingFault(
    "a node does not start during a rolling change",
    node_does_not_start,
    ("OperationStopped",),
    needs=("kafka_controllers",),
)
RESTART_PENDING = AlertingFault(
    "a run of site.yml is interrupted before its restarts",
    restart_pending,
    ("RestartPending",),
    needs=("schema_registry",),
    fires=1080,
)
