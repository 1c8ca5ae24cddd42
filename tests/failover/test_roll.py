"""A planned restart of every Kafka node: nobody notices, whatever the topology."""

from __future__ import annotations

import pytest
from testinfra.host import Host

from tests.support.faults.target import skip_unless_full
from tests.support.lab.change import Plays, starts, watching
from tests.support.lab.topology import Topology


def test_every_node_is_restarted_and_nothing_is_lost(
    plays: Plays, topology: Topology, hosts: dict[str, Host]
) -> None:
    if not topology.brokers:
        pytest.skip("no Kafka here")
    if topology.voters:  # tests/upgrade rolls such a one
        skip_unless_full()
    before = starts(hosts, topology)
    prove = ["-e", "prove=true"] if len(topology.brokers) > 2 else []
    with watching(topology) as watcher:
        plays.succeed("rolling_restart", "-e", "rolling_restart_all=true", *prove)
    assert starts(hosts, topology) == {host: count + 1 for host, count in before.items()}
    assert watcher.most == 1, watcher.down
    if prove:
        report = plays.proof()
        assert report["verdict"] == "PASS", report
        assert {change["node"] for change in report["changes"]} == set(before)
