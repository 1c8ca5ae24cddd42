"""The catalogue of faults, one after the other under one ledger, and its verdict at the end."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator

import pytest
from testinfra.host import Host

from tests.support.beside import PAGE, RUNS, judged, report, under_a_ledger
from tests.support.catalogue import FAULTS
from tests.support.change import Plays
from tests.support.faults import FULL, Fault, Site
from tests.support.topology import Topology

QUICK = {1, 2, 4, 5, 10, 39}
"""What every `./lab test` makes: a process, a machine and a network that fail, and too few."""
GAP = {1, 2}
"""Those whose time without acknowledgements is limited."""


@pytest.fixture(scope="module")
def site(topology: Topology, hosts: dict[str, Host], plays: Plays) -> Iterator[Site]:
    if not topology.brokers:
        pytest.skip("no Kafka here")
    if not topology.voters and not FULL:
        pytest.skip("ZooKeeper elects the controller here")
    if len(members := topology.voters or topology.group("zookeeper")) < 3:
        pytest.skip(f"{len(members)} controllers: none of them may be lost")
    folder = RUNS / topology.name
    shutil.rmtree(folder, ignore_errors=True)
    with under_a_ledger(topology, hosts, plays, folder, Site, transactions=FULL) as found:
        yield found


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.number}, {fault.name}")
def test_fault(site: Site, fault: Fault) -> None:
    if why := fault.unfit(site.topology):
        pytest.skip(why)
    if fault.number not in QUICK and not FULL:
        pytest.skip("part of ./lab test --full")
    site.run(fault)


def test_nothing_was_lost(site: Site) -> None:
    """The ledger's verdict over all of it, with what each replica holds on its disk."""
    verdict, text = judged(site)
    site.save("failover")
    said = report()
    assert PAGE.is_file(), said
    assert verdict["verdict"] == "PASS", text
    assert verdict["counts"]["replicas"] == len(site.topology.brokers), text
    gaps = {change["phase"]: change["gap"] for change in verdict["changes"]}
    limits = {one.name: one.limit_seconds for one in site.records if one.number in GAP}
    assert len(limits) == len([one for one in FAULTS if made(one, site.topology, GAP)])
    late = {
        name: (gaps[name], limit)
        for name, limit in limits.items()
        if limit is None or gaps[name] > limit
    }
    assert not late, "seconds without acknowledgements"


def made(fault: Fault, topology: Topology, numbers: Collection[int]) -> bool:
    """Whether it is one of these, and a topology is put to it."""
    return fault.number in numbers and not fault.unfit(topology)
