"""What an entry of the catalogue is made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import errors
from ansible_collections.millrace.streaming.plugins.module_utils.operations.gate import (
    Expected,
    Node,
    Policy,
    stop_blockers,
)

from tests.support.faults.target import Fault, Place, Record, Target
from tests.support.wait import wait_for

D = TypeVar("D", bound=Target)
FAULTS: list[Fault] = []
KILL = "systemctl kill --signal=KILL kafka"
AGAIN = "systemctl reset-failed kafka; systemctl start kafka"
CLIENT_MS = 3000


def fault(
    number: int, name: str, *, on: Place = "kraft", long: bool = False
) -> Callable[[Callable[[Target, Record], None]], Fault]:
    """Put a function into the catalogue."""

    def add(inject: Callable[[Target, Record], None]) -> Fault:
        FAULTS.append(Fault(number, name, inject, on, long))
        return FAULTS[-1]

    return add


def narrowed(
    kind: type[D], inject: Callable[[D, Record], None]
) -> Callable[[Target, Record], None]:
    """A function of one kind of target, as a fault has it."""

    def on(target: Target, record: Record) -> None:
        assert isinstance(target, kind)
        inject(target, record)

    return on


def catalogue(
    kind: type[D],
) -> tuple[list[Fault], Callable[[int, str], Callable[[Callable[[D, Record], None]], Fault]]]:
    """A catalogue of its own for one kind of target, and what puts functions into it."""
    faults: list[Fault] = []

    def fault(number: int, name: str) -> Callable[[Callable[[D, Record], None]], Fault]:
        def add(inject: Callable[[D, Record], None]) -> Fault:
            faults.append(Fault(number, name, narrowed(kind, inject)))
            return faults[-1]

        return add

    return faults, fault


def begin(target: Target, record: Record, node: int) -> str:
    """Record which node it is; returns its host."""
    record.node = target.topology.node(node)
    return record.node


def restarted(target: Target, where: str, before: int) -> int:
    """Wait until systemd has restarted a killed node; returns its new process id."""

    def other() -> int | None:
        pid = target.pid(where)
        return pid if pid not in (0, before) else None

    return wait_for(other, seconds=30, what=f"systemd starts Kafka on {where} again")


def follower(target: Target) -> int:
    """A broker that does not lead the ledger's first partition."""
    return min(set(target.topology.brokers) - {target.led_by()})


def stop(target: Target, where: str) -> None:
    target.sh(where, "systemctl stop kafka")


def start(target: Target, where: str) -> None:
    target.sh(where, AGAIN)


def journal_line(
    target: Target,
    where: str,
    mark: str,
    words: str,
    *,
    seconds: float = 60,
    unit: str = "kafka",
) -> str:
    """Wait until a unit's journal has some words after `mark`; returns that line."""

    def line() -> str:
        command = "journalctl --unit %s --output cat --since %s | grep -F -m 1 -- %s"
        return str(target.hosts[where].run(command, unit, mark, words).stdout).strip()

    return wait_for(line, seconds=seconds, what=f"{words!r} in the journal of {where}")[:200]


def clock(target: Target, where: str) -> str:
    """The host's own time, as its journal has it."""
    return target.sh(where, "date '+%F %T'")


def wait_for_gate_refusal(target: Target, node: int, predicate: str, *, without: int = -1) -> None:
    """Wait until the gate refuses to stop a node, and names `predicate`."""
    controller = node in target.topology.voters

    def refused() -> bool:
        snapshot = target.snapshot(without=without)
        stopped = Node(node, broker=not controller, controller=controller)
        blockers = snapshot and stop_blockers(snapshot, stopped, Expected(), Policy(strict=False))
        return any(blocker.predicate == predicate for blocker in blockers or ())

    wait_for(refused, seconds=60, what=f"the gate refuses to stop {node}: {predicate}")


def refuses(target: Target, node: int) -> None:
    """Check that a leader with too few in-sync replicas refuses a record."""
    connection = target.topology.connection.at(target.topology.brokers[node])
    producer = clients.producer(connection, acks="all", retries=0, enable_idempotence=False)
    try:
        with pytest.raises(errors.NotEnoughReplicasError):
            producer.send(target.side_topic, b"too few", partition=0).get(30)
    finally:
        producer.close(timeout=1)
