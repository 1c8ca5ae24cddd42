"""The catalogue of faults under change data capture.

Whether results are equal to the tables, row by row, is checked after each of them.
"""

from __future__ import annotations

import socket
from functools import partial

from ansible_collections.millrace.streaming.plugins.plugin_utils.services.postgresql.model import (
    PORT,
    UNIT,
)

from tests.support.faults.catalogue.entry import catalogue
from tests.support.faults.changes_target import Changes
from tests.support.faults.target import DROP_ANSWERS, STOP_DROPPING, Record
from tests.support.services.changes import SINK_NAME, SOURCE_NAME
from tests.support.services.connect import moves_within
from tests.support.services.postgresql import answers
from tests.support.services.unit import lost
from tests.support.wait import wait_for

FAULTS, fault = catalogue(Changes)
WORKER = "connect"
GIVEN_UP_SECONDS = 120
"""The server ends a connection that was silent for a minute (wal_sender_timeout)."""


def lose_worker_of(target: Changes, record: Record, name: str) -> None:
    """Kill the worker of a connector's task while there is work: the other one has it then."""
    record.node = where = target.worker_of(name)
    limit = moves_within(target.topology.cluster.connect[where])
    before = target.main_pid(where, WORKER)
    target.change()
    with lost(target.hosts[where], WORKER) as since:
        target.change()

        def moved() -> bool:
            return target.both_run and target.worker_of(name) != where

        wait_for(moved, seconds=limit, what="all tasks on the other worker")
        record.recovered(since, limit)
        target.captured.settled()
        record.proof = f"process {before} is gone, {target.worker_of(name)} has the task of {name}"


@fault(59, "kill -9 of the worker that has a source's task")
def worker_of_source_killed(target: Changes, record: Record) -> None:
    lose_worker_of(target, record, SOURCE_NAME)


@fault(59, "kill -9 of the worker that has a sink's task")
def worker_of_sink_killed(target: Changes, record: Record) -> None:
    lose_worker_of(target, record, SINK_NAME)


@fault(60, "kill -9 of a database")
def database_killed(target: Changes, record: Record) -> None:
    """Its unit starts it again, and the connectors find it by themselves."""
    record.node = where = target.captured.database.host.name
    target.change()
    before = target.main_pid(where, UNIT)
    target.sh(where, "systemctl kill --signal=KILL %s", UNIT)
    pid = target.restarted(where, UNIT, before)
    wait_for(
        partial(answers, target.hosts[where], target.captured.database),
        seconds=60,
        what="the database again",
    )
    target.change()
    record.proof = f"process {before} is gone, {pid} came"


@fault(61, "a database is stopped, and started again later")
def database_stopped(target: Changes, record: Record) -> None:
    """The tasks try again, and Kafka Connect shows them as running: `health` shows the database.

    A sink fails nevertheless if it asks a server that is shutting down, and has to be restarted.
    """
    record.node = where = target.captured.database.host.name
    target.change()
    target.sh(where, "systemctl stop %s", UNIT)
    assert "PostgreSQL does not answer" in target.plays.refuse("health")
    target.sh(where, "systemctl start %s", UNIT)
    target.captured.connectors("running", "-e", "connector_restart=failed")
    target.change()
    record.proof = "health refused while it was stopped"


@fault(61, "a database cannot be reached: its host drops what it answers")
def database_unreachable(target: Changes, record: Record) -> None:
    """Nobody is refused: clients wait, and the server has given their connection up."""
    database = target.captured.database
    record.node = where = database.host.name
    port = database.ports[PORT]
    slots = "SELECT slot_name FROM pg_replication_slots WHERE NOT active"
    target.sh(where, DROP_ANSWERS, str(port))
    target.change()
    try:
        socket.create_connection((target.topology.addresses[where], port), timeout=3).close()
    except TimeoutError:
        pass
    else:
        message = "the database answers"
        raise AssertionError(message)
    [slot] = wait_for(
        lambda: target.captured.sql(slots), seconds=GIVEN_UP_SECONDS, what="a slot nobody reads"
    )
    target.sh(where, STOP_DROPPING)
    target.change()
    record.proof = f"nobody read the slot {slot}"
