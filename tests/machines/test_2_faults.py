"""The catalogue of machines, one after the other under one ledger, and its verdict at the end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaAdminClient  # type: ignore[import-untyped] # no types
from kafka.admin import ConfigResource, ConfigResourceType  # type: ignore[import-untyped] # no types
from testinfra.host import Host

from ledger.journal import load
from tests.support.beside import judged, nothing_was_lost, suite, under_a_ledger
from tests.support.catalogue.machines import ALL_OFF, FAULTS
from tests.support.change import Plays
from tests.support.faults import Fault, long_one
from tests.support.machines import Machines
from tests.support.topology import Topology

RATE = 5
"""Records a second: emulated machines share the processors with whoever counts."""
GAP = {43}
"""Those whose time without acknowledgements is limited."""
WRITTEN_BACK = 45
"""Seconds after which the kernel has begun to write every page (vm.dirty_expire_centisecs 3000,
vm.dirty_writeback_centisecs 500), and ended."""


@pytest.fixture(scope="module")
def site(topology: Topology, hosts: dict[str, Host], plays: Plays) -> Iterator[Machines]:
    if not topology.machines:
        pytest.skip("no machines here")
    long_one()
    with suite(topology, hosts, plays, Machines, rate=RATE) as found:
        yield found


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.number}, {fault.name}")
def test_fault(site: Machines, fault: Fault) -> None:
    site.run(fault)


def test_what_nobody_flushed_is_measured_when_all_power_is_cut(
    site: Machines, tmp_path: Path, facts: dict[str, Any]
) -> None:
    """From here on each write of the suite's ledger is flushed; of the one beside it, none."""
    flush_each_write(site)
    where, rate = tmp_path / "unflushed", RATE
    with under_a_ledger(
        site.topology, site.hosts, site.plays, where, Machines, rate=rate, topic="millrace-memory"
    ) as beside:
        beside.acks_flow(rate * (WRITTEN_BACK + 15), seconds=4 * WRITTEN_BACK)
        record = site.run(ALL_OFF)
        found, text = judged(beside)
    lost = [round(site.cut_at - at, 1) for at in no_longer_read(where)]
    facts["power"] = {
        "acknowledged": found["counts"]["acked"],
        "lost": len(lost),
        "oldest_lost_seconds": max(lost, default=0.0),
    }
    record.proof += f"; of {found['counts']['acked']} records that nobody flushed, {len(lost)} lost"
    assert found["counts"]["acked"] > rate * WRITTEN_BACK, text
    assert all(0 <= seconds <= WRITTEN_BACK for seconds in lost), facts["power"]


def flush_each_write(site: Machines) -> None:
    """Let Kafka answer only what is on the disk, in the ledger's topic."""
    topic = ConfigResource(ConfigResourceType.TOPIC, site.topic, configs={"flush.messages": "1"})
    with KafkaAdminClient(bootstrap_servers=list(site.topology.brokers.values())) as admin:
        answer = admin.alter_configs([topic], raise_on_unknown=False)
    assert answer == {"topic": {site.topic: "OK"}}


def no_longer_read(folder: Path) -> list[float]:
    """When each record was acknowledged that is gone at the end, in monotonic seconds."""
    history = load(folder)
    kept = {read.value for one in history.readers if one.kind == "final" for read in one.reads}
    return [one.acked for one in history.sends if one.acked is not None and one.value not in kept]


def test_nothing_was_lost(site: Machines) -> None:
    nothing_was_lost(site, GAP)
