"""What watches a cluster never hurts it: servers and exporters that hang or are killed."""

from __future__ import annotations

import time
from pathlib import Path

from ansible_collections.millrace.streaming.plugins.module_utils.host.prometheus_rest import Servers
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.monitoring.packaged import (
    Packaged,
)
from testinfra.host import Host

from tests.support.faults.ledger_run import checked, ledger_running
from tests.support.faults.target import Record, Target
from tests.support.lab.change import Plays, kept_all
from tests.support.lab.topology import Topology
from tests.support.wait import wait_for

READY_SECONDS = 60


def test_a_cluster_goes_on_without_what_watches_it(
    topology: Topology, hosts: dict[str, Host], plays: Plays, servers: Servers, tmp_path: Path
) -> None:
    units = {
        name: [
            unit
            for service in topology.cluster.deployed(name).values()
            if isinstance(service, Packaged)
            for unit in service.units
        ]
        for name in topology.hosts
    }
    assert all(units.values())

    def every(command: str) -> None:
        for name, host_units in units.items():
            hosts[name].check_output(f"{command} {' '.join(host_units)}")

    with ledger_running(topology, hosts, plays, tmp_path / "ledger", Target) as target:
        record = Record(0, "what watches the cluster hangs, and is killed", start=time.time())
        try:
            for signal in ("STOP", "KILL"):
                every(f"systemctl kill --signal={signal}")
                target.wait_for_acks(600)
        finally:
            every("systemctl restart")
        record.healthy = time.time()
        target.record_event(record)
        report, _ = checked(target)
    kept_all(report)
    wait_for(lambda: not servers.not_ready(), seconds=READY_SECONDS, what="both servers")
