"""The catalogue of faults, one after the other under one ledger, and its verdict at the end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from testinfra.host import Host

from tests.support.faults.catalogue import FAULTS
from tests.support.faults.ledger_run import assert_nothing_lost, suite
from tests.support.faults.target import FULL, Fault, Target, skip_unless_full
from tests.support.faults.verifiable import Programs, agrees, verifiable
from tests.support.lab.change import Plays
from tests.support.lab.topology import Topology

GAP = {"kill -9 of a partition's leader", "clean stop of a leader"}
"""Those whose time without acknowledgements is limited."""
QUICK = GAP | {
    "kill -9 of the active controller",
    "a leader is isolated from all other nodes",
    "fewer brokers than min.insync.replicas",
}
"""What every `./lab test` makes: a process, a machine and a network that fail, and too few."""


@pytest.fixture(scope="module")
def target(topology: Topology, hosts: dict[str, Host], plays: Plays) -> Iterator[Target]:
    if not topology.brokers:
        pytest.skip("no Kafka here")
    if not topology.voters and not FULL:
        pytest.skip("ZooKeeper elects the controller here")
    if len(members := topology.voters or topology.group("zookeeper")) < 3:
        pytest.skip(f"{len(members)} controllers: none of them may be lost")
    with suite(topology, hosts, plays, Target, transactions=FULL) as target:
        yield target


@pytest.fixture(scope="module")
def second(target: Target) -> Iterator[Programs]:
    """Kafka's own programs, from the first fault to the last."""
    with verifiable(target.topology, target.folder / "verifiable") as programs:
        yield programs


@pytest.mark.usefixtures("second")
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.number}, {fault.name}")
def test_fault(target: Target, fault: Fault) -> None:
    if why := fault.unsupported_reason(target.topology):
        pytest.skip(why)
    if fault.name not in QUICK:
        skip_unless_full()
    target.run(fault)


def test_nothing_was_lost(target: Target, second: Programs) -> None:
    """By the ledger, and by Kafka's own programs: both verdicts have to agree."""
    made = {fault.name for fault in FAULTS if not fault.unsupported_reason(target.topology)}
    second.end()
    assert_nothing_lost(target, GAP & made)
    agrees(second)
