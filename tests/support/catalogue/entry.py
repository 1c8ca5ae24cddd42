"""What an entry of the catalogue is made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.availability import (
    Policy,
    stop_blockers,
)
from ansible_collections.millrace.streaming.plugins.module_utils.cluster_health import Expected
from kafka import KafkaProducer  # type: ignore[import-untyped] # no types
from kafka.errors import NotEnoughReplicasError  # type: ignore[import-untyped] # no types

from tests.support.faults import Fault, Place, Record, Site
from tests.support.wait import wait_for

S = TypeVar("S", bound=Site)
FAULTS: list[Fault] = []
KILL = "systemctl kill --signal=KILL kafka"
AGAIN = "systemctl reset-failed kafka; systemctl start kafka"
CLIENT_MS = 3000


def fault(
    number: int, name: str, *, on: Place = "kraft", long: bool = False
) -> Callable[[Callable[[Site, Record], None]], Fault]:
    """Put a function into the catalogue."""

    def add(inject: Callable[[Site, Record], None]) -> Fault:
        FAULTS.append(Fault(number, name, inject, on, long))
        return FAULTS[-1]

    return add


def narrowed(kind: type[S], inject: Callable[[S, Record], None]) -> Callable[[Site, Record], None]:
    """What wants one kind of site, as a fault has it."""

    def on(site: Site, record: Record) -> None:
        assert isinstance(site, kind)
        inject(site, record)

    return on


def catalogue(
    kind: type[S],
) -> tuple[list[Fault], Callable[[int, str], Callable[[Callable[[S, Record], None]], Fault]]]:
    """A catalogue of its own for one kind of site, and what puts functions into it."""
    found: list[Fault] = []

    def fault(number: int, name: str) -> Callable[[Callable[[S, Record], None]], Fault]:
        def add(inject: Callable[[S, Record], None]) -> Fault:
            found.append(Fault(number, name, narrowed(kind, inject)))
            return found[-1]

        return add

    return found, fault


def begin(site: Site, record: Record, node: int) -> str:
    """Say which node it is; returns its host."""
    record.node = site.topology.node(node)
    return record.node


def restarted(site: Site, where: str, before: int) -> int:
    """Wait until systemd has brought a killed node back; its new process."""

    def other() -> int | None:
        pid = site.pid(where)
        return pid if pid not in (0, before) else None

    return wait_for(other, seconds=30, what=f"systemd starts Kafka on {where} again")


def follower(site: Site) -> int:
    """A broker that does not lead the ledger's first partition."""
    return min(set(site.topology.brokers) - {site.led_by()})


def stop(site: Site, where: str) -> None:
    site.sh(where, "systemctl stop kafka")


def start(site: Site, where: str) -> None:
    site.sh(where, AGAIN)


def said_since(
    site: Site, where: str, mark: str, words: str, *, seconds: float = 60, unit: str = "kafka"
) -> str:
    """Wait until a unit's journal says something after `mark`; returns that line."""

    def line() -> str:
        command = "journalctl --unit %s --output cat --since %s | grep -F -m 1 -- %s"
        return str(site.hosts[where].run(command, unit, mark, words).stdout).strip()

    return wait_for(line, seconds=seconds, what=f"{where} says {words!r}")[:200]


def clock(site: Site, where: str) -> str:
    """The host's own time, as its journal has it."""
    return site.sh(where, "date '+%F %T'")


def gate_shuts(site: Site, node: int, predicate: str, *, without: int = -1) -> None:
    """Wait until the gate refuses to stop a node, and says so by `predicate`."""
    controller = node in site.topology.voters

    def refused() -> bool:
        snapshot = site.snapshot(without=without)
        found = snapshot and stop_blockers(
            snapshot,
            node,
            broker=not controller,
            controller=controller,
            expected=Expected(),
            policy=Policy(strict=False),
        )
        return any(blocker.predicate == predicate for blocker in found or ())

    wait_for(refused, seconds=60, what=f"the gate is shut for {node}: {predicate}")


def refuses(site: Site, node: int) -> None:
    """A leader without enough replicas has to refuse a record, whoever asks it."""
    producer = KafkaProducer(
        bootstrap_servers=[site.topology.brokers[node]],
        acks="all",
        retries=0,
        enable_idempotence=False,
    )
    try:
        with pytest.raises(NotEnoughReplicasError):
            producer.send(site.side_topic, b"too few", partition=0).get(30)
    finally:
        producer.close(timeout=1)
