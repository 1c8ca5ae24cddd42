"""The catalogue of machines, one after the other under one ledger, and its verdict at the end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import (
    ConfigResource,
    ConfigResourceType,
)
from testinfra.host import Host

from apps.ledger.journal import load
from tests.support.faults.catalogue.machines import ALL_OFF, FAULTS
from tests.support.faults.ledger_run import assert_nothing_lost, checked, ledger_running, suite
from tests.support.faults.machine_target import Machines
from tests.support.faults.target import Fault, skip_unless_full
from tests.support.lab.change import Plays
from tests.support.lab.topology import Topology

RATE = 5
"""Records a second: emulated machines share the processors with whoever counts."""
GAP = {"the power of a leader's machine is cut"}
"""Those whose time without acknowledgements is limited."""
WRITTEN_BACK = 45
"""Seconds after which the kernel has begun to write every page (vm.dirty_expire_centisecs 3000,
vm.dirty_writeback_centisecs 500), and ended."""


@pytest.fixture(scope="module")
def target(topology: Topology, hosts: dict[str, Host], plays: Plays) -> Iterator[Machines]:
    if not topology.machines:
        pytest.skip("no machines here")
    skip_unless_full()
    with suite(topology, hosts, plays, Machines, rate=RATE) as target:
        yield target


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.number}, {fault.name}")
def test_fault(target: Machines, fault: Fault) -> None:
    target.run(fault)


def test_what_nobody_flushed_is_measured_when_all_power_is_cut(
    target: Machines, tmp_path: Path, facts: dict[str, Any]
) -> None:
    """From here on each write of the suite's ledger is flushed; of the other one's, none."""
    flush_each_write(target)
    where = tmp_path / "unflushed"
    with ledger_running(
        target.topology,
        target.hosts,
        target.plays,
        where,
        Machines,
        rate=RATE,
        topic="millrace-memory",
    ) as unflushed:
        unflushed.wait_for_acks(RATE * (WRITTEN_BACK + 15), seconds=4 * WRITTEN_BACK)
        record = target.run(ALL_OFF)
        result, text = checked(unflushed)
    lost = [round(target.cut_at - at, 1) for at in no_longer_read(where)]
    facts["power"] = {
        "acknowledged": result["counts"]["acked"],
        "lost": len(lost),
        "oldest_lost_seconds": max(lost, default=0.0),
    }
    record.proof += (
        f"; of {result['counts']['acked']} records that nobody flushed, {len(lost)} lost"
    )
    assert result["counts"]["acked"] > RATE * WRITTEN_BACK, text
    assert all(0 <= seconds <= WRITTEN_BACK for seconds in lost), facts["power"]


def flush_each_write(target: Machines) -> None:
    """Let Kafka answer only what is on the disk, in the ledger's topic."""
    topic = ConfigResource(ConfigResourceType.TOPIC, target.topic, configs={"flush.messages": "1"})
    with clients.admin(target.topology.connection) as admin:
        response = admin.alter_configs([topic], raise_on_unknown=False)
    assert response == {"topic": {target.topic: "OK"}}


def no_longer_read(folder: Path) -> list[float]:
    """When each record was acknowledged that is gone at the end, in monotonic seconds."""
    history = load(folder)
    values = {
        read.value for reader in history.readers if reader.kind == "final" for read in reader.reads
    }
    return [
        send.acked for send in history.sends if send.acked is not None and send.value not in values
    ]


def test_nothing_was_lost(target: Machines) -> None:
    assert_nothing_lost(target, GAP)
