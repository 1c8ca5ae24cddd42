"""Brokers that are restarted together: six in three racks, beside three controllers.

It is the topology `kraft_dedicated` with a second broker in each rack.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from testinfra.host import Host

from tests.support.faults.target import skip_unless_full
from tests.support.lab.change import PROVE, Plays, Watcher, kept_all, starts, watching
from tests.support.lab.lab import leftovers, succeed
from tests.support.lab.topology import ROOT, Topology, describe, over_ssh
from tests.upgrade.conftest import Inventory

pytestmark = pytest.mark.usefixtures("fetched_ahead")
NAME = "test-racks"
LAB = {"LAB_TOPOLOGY": "kraft_dedicated", "LAB_NAME": NAME}
INVENTORY = ROOT / f".lab/{NAME}/inventory"
SECOND = {
    "b4": {"kafka_node_id": 103, "kafka_rack": "north"},
    "b5": {"kafka_node_id": 104, "kafka_rack": "east"},
    "b6": {"kafka_node_id": 105, "kafka_rack": "west"},
}
ALL = ("-e", "rolling_restart_all=true")
RACK = ("-e", "kafka_roll_parallel=rack")
SETS = {frozenset({101, 104}), frozenset({100, 103}), frozenset({102, 105})}


@dataclass(frozen=True)
class Lab:
    """The lab, while it is up."""

    topology: Topology
    plays: Plays
    hosts: dict[str, Host]

    def starts(self) -> dict[str, int]:
        return starts(self.hosts, self.topology)

    def written(self, host: str) -> str:
        return str(self.hosts[host].check_output("cat /etc/kafka/server.properties"))


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """The cluster with six brokers."""
    skip_unless_full()
    succeed("down", seconds=120, env=LAB)
    INVENTORY.mkdir(parents=True)
    (INVENTORY / "second.yml").write_text(yaml.safe_dump({"kafka_brokers": {"hosts": SECOND}}))
    try:
        succeed("up", seconds=2400, env=LAB)
        os.chdir(ROOT)
        topology = describe(Path(INVENTORY))
        plays = Plays(topology, tmp_path_factory.mktemp("state"))
        yield Lab(topology, plays, over_ssh(topology))
    finally:
        succeed("down", seconds=120, env=LAB)
    assert not leftovers(NAME)


def within_racks(watcher: Watcher) -> bool:
    """Return whether brokers that were down at the same time were always of one rack."""
    return all(any(down <= members for members in SETS) for _, down in watcher.down)


def brokers_took(report: dict[str, Any]) -> float:
    """Return the seconds from the gate of the first broker to the end of the last one."""
    changes = [change for change in report["changes"] if change["node"].startswith("b")]
    begun = min(change["start"] - change["seconds"]["gate"] for change in changes)
    return float(max(change["end"] for change in changes) - begun)


def test_the_plan_shows_the_sets(lab: Lab) -> None:
    before = lab.starts()
    output = lab.plays.succeed("rolling_restart", *ALL, *RACK, "--check")
    assert "b2 + b5, b1 + b4, b3 + b6" in " ".join(output.split())
    refused = lab.plays.refuse("rolling_restart", *ALL, "-e", "kafka_roll_parallel=0")
    assert "roll-parallel" in refused
    assert lab.starts() == before


def test_a_rack_goes_at_once_faster_than_one_by_one_and_loses_nothing(lab: Lab) -> None:
    took = []
    for arguments in ((), RACK):
        before = lab.starts()
        with watching(lab.topology) as watcher:
            lab.plays.succeed("rolling_restart", *ALL, *arguments, *PROVE, seconds=1200)
        assert lab.starts() == {host: count + 1 for host, count in before.items()}
        assert watcher.seen_down == set(lab.topology.brokers)
        assert watcher.most == (2 if arguments else 1), watcher.down
        assert within_racks(watcher), watcher.down
        report = lab.plays.proof()
        kept_all(report)
        took.append(brokers_took(report))
    one_by_one, by_rack = took
    assert by_rack < one_by_one, took


def test_killed_in_a_set_and_run_again(lab: Lab) -> None:
    """Killed as brokers of a set stop, and between two of them: the same command goes on."""
    before = lab.starts()
    short = ("-e", "roll_slice=0.1")  # so that every step is reported
    with watching(lab.topology) as watcher:
        lab.plays.kill_at("b2: stopping, ", "rolling_restart", *ALL, *RACK, *short)
        lab.plays.kill_at("b1: node ", "rolling_restart", *RACK, *short)
        lab.plays.succeed("rolling_restart", *RACK)
    assert watcher.most <= 2, watcher.down
    assert within_racks(watcher), watcher.down
    assert lab.starts() == {host: count + 1 for host, count in before.items()}


def test_what_kafka_refuses_takes_one_set_down_and_is_undone(lab: Lab) -> None:
    before = {host: lab.written(host) for host in lab.topology.group("kafka_brokers")}
    inventory = Inventory(INVENTORY, lab.topology.group("kafka_brokers"))
    inventory.set(kafka_host_config={"replica.selector.class": "org.example.Missing"})
    with watching(lab.topology) as watcher:
        output = lab.plays.refuse("site", *RACK, *PROVE, seconds=1200)
    assert "org.example.Missing" in output
    assert watcher.seen_down in SETS, watcher.down
    kept_all(lab.plays.proof())
    for host, content in before.items():
        assert lab.written(host) == content, host
    inventory.set()
    lab.plays.succeed("site")
    lab.plays.succeed("health")
