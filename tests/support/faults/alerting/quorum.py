"""Faults of controllers, and of ZooKeeper."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

from tests.support.faults.alerting.watched import AlertingFault, Labels, Watched
from tests.support.faults.catalogue.network import cut
from tests.support.wait import wait_for

ELECTIONS = 3
ELECTION_SECONDS = 60


@contextlib.contextmanager
def majority_stopped(on: Watched, group: str, unit: str) -> Iterator[None]:
    """More than half of the hosts of a group are killed, and stay down during the block."""
    members = on.topology.group(group)
    lost = members[-(len(members) // 2 + 1) :]
    try:
        for where in lost:
            on.sh(where, "systemctl kill --signal=KILL %s; systemctl stop %s", unit, unit)
        yield
    finally:
        on.heal()


@contextlib.contextmanager
def controllers_lost(on: Watched) -> Iterator[Mapping[str, Labels]]:
    """The majority of the controllers is down."""
    try:
        with majority_stopped(on, "kafka_controllers", "kafka"):
            yield {}
    finally:
        on.wait_until_healthy()


@contextlib.contextmanager
def zookeeper_lost(on: Watched) -> Iterator[Mapping[str, Labels]]:
    """The majority of ZooKeeper is down."""
    with majority_stopped(on, "zookeeper", "zookeeper"):
        yield {}


@contextlib.contextmanager
def controller_isolated(on: Watched) -> Iterator[Mapping[str, Labels]]:
    """No packet passes between the active controller and the other hosts with Kafka."""
    node = on.controller()
    where = on.topology.node(node)
    try:
        cut(on, where, [name for name in on.kafka_hosts if name != where])
        yield {name: {"host": where} for name in ("QuorumLeaderUnknown", "QuorumLag")}
    finally:
        on.heal()
        on.wait_until_healthy()


def later_epoch(on: Watched, before: int) -> None:
    """Wait until there was an election."""
    description = f"an epoch after {before}"
    wait_for(lambda: on.epoch() > before, seconds=ELECTION_SECONDS, what=description)


@contextlib.contextmanager
def controllers_killed(on: Watched) -> Iterator[Mapping[str, Labels]]:
    """The active controller is killed until there were three elections."""
    first = on.epoch()
    try:
        while (before := on.epoch()) < first + ELECTIONS:
            on.sh(on.topology.node(on.controller()), "systemctl kill --signal=KILL kafka")
            later_epoch(on, before)
            on.wait_until_healthy()
        yield {}
    finally:
        on.heal()


CONTROLLERS_LOST = AlertingFault(
    "the majority of the controllers is down",
    controllers_lost,
    ("NoActiveController",),
    needs=("kafka_controllers",),
)
CONTROLLER_ISOLATED = AlertingFault(
    "the active controller is isolated from the other controllers",
    controller_isolated,
    ("QuorumLeaderUnknown", "QuorumLag"),
    needs=("kafka_controllers",),
)
CONTROLLERS_KILLED = AlertingFault(
    "kill -9 of the active controller, several times",
    controllers_killed,
    ("ControllerChanges", "ServiceCrashed"),
    needs=("kafka_controllers",),
    clears=420,
)
ZOOKEEPER_LOST = AlertingFault(
    "the majority of ZooKeeper is down",
    zookeeper_lost,
    ("ZooKeeperWithoutLeader",),
    needs=("zookeeper",),
)
