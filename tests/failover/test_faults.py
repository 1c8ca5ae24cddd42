"""The catalogue of faults, one after the other under one ledger, and its verdict at the end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from testinfra.host import Host

from tests.support.beside import judged, told, under_a_ledger
from tests.support.catalogue import FAULTS
from tests.support.change import Plays
from tests.support.faults import FULL, Fault, Site
from tests.support.topology import ROOT, Topology

PAGE = ROOT / "build/failover.html"
QUICK = {1, 2, 4, 5, 10, 39}
"""What every `./lab test` makes: a process, a machine and a network that fail, and too few."""


@pytest.fixture(scope="module")
def site(topology: Topology, hosts: dict[str, Host], plays: Plays) -> Iterator[Site]:
    if not topology.brokers:
        pytest.skip("no Kafka here")
    if not topology.voters:
        pytest.skip("ZooKeeper elects the controller here")
    if len(topology.voters) < 3:
        pytest.skip(f"{len(topology.voters)} controllers: none of them may be lost")
    with under_a_ledger(topology, hosts, plays, plays.state / "faults") as found:
        yield found


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.number}, {fault.name}")
def test_fault(site: Site, fault: Fault) -> None:
    if not fault.fits(site.topology):
        pytest.skip("its controllers are brokers too")
    if fault.number not in QUICK and not FULL:
        pytest.skip("part of ./lab test --full")
    site.run(fault)


def test_nothing_was_lost(site: Site) -> None:
    """The ledger's verdict over all of it, with what each replica holds on its disk."""
    report, text = judged(site)
    site.save("failover")
    PAGE.unlink(missing_ok=True)
    page = told("page", site.folder, "--out", str(PAGE))
    assert PAGE.is_file(), page
    assert report["verdict"] == "PASS", text
    assert report["counts"]["replicas"] == len(site.topology.brokers), text
    gaps = {change["phase"]: change["gap"] for change in report["changes"]}
    limits = {one.name: one.limit_seconds for one in site.records if one.number in (1, 2)}
    assert len(limits) == 2
    late = {
        name: (gaps[name], limit)
        for name, limit in limits.items()
        if limit is None or gaps[name] > limit
    }
    assert not late, "seconds without acknowledgements"
