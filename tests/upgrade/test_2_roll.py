"""A roll under the ledger, and one that is interrupted again and again."""

from __future__ import annotations

import json

from testinfra.host import Host

from tests.support.faults.target import skip_unless_full
from tests.support.lab.change import PROVE, TASKS, Plays, kept_all, starts, watching
from tests.support.lab.topology import Topology
from tests.support.recap import changed

ALL = ("-e", "rolling_restart_all=true")


def test_a_roll_loses_nothing(plays: Plays, topology: Topology, hosts: dict[str, Host]) -> None:
    """Every other test has rolls of the same tasks."""
    skip_unless_full()
    before = starts(hosts, topology)
    with watching(topology) as watcher:
        plays.succeed("rolling_restart", *ALL, *PROVE)
    assert starts(hosts, topology) == {host: count + 1 for host, count in before.items()}
    assert watcher.seen_down == set(topology.brokers)
    assert watcher.most == 1, watcher.down
    tasks = plays.remote_tasks()
    assert all(0 < tasks[host] <= TASKS for host in before), tasks
    report = plays.proof()
    kept_all(report)
    assert {change["node"] for change in report["changes"]} == set(before)
    assert report["gaps"]["by_change"]["worst"] <= 1.0, report["gaps"]


def test_a_roll_takes_little_more_than_its_nodes(plays: Plays) -> None:
    """Gates, canaries and Ansible included: at most half of what stop, start and ISR take."""
    skip_unless_full()
    changes = json.loads((plays.state / "prove/report.json").read_text())["changes"]
    needed = sum(
        change["seconds"][phase] for change in changes for phase in ("stop", "start", "ready")
    )
    begun = min(change["start"] - change["seconds"]["gate"] for change in changes)
    took = max(change["end"] for change in changes) - begun
    assert took <= 1.5 * needed, (took, needed)


def test_a_second_run_restarts_nothing(
    plays: Plays, topology: Topology, hosts: dict[str, Host]
) -> None:
    before = starts(hosts, topology)
    assert changed(plays.succeed("rolling_restart")) == 0
    assert starts(hosts, topology) == before


def test_killed_at_each_step_and_run_again(
    plays: Plays, topology: Topology, hosts: dict[str, Host]
) -> None:
    """Killed as it plans, stops, starts, and between nodes: the same command completes the roll."""
    skip_unless_full()
    before = starts(hosts, topology)
    short = ("-e", "roll_slice=0.1")  # so that every step is reported
    with watching(topology) as watcher:
        plays.kill_at("roll_plan | Plan", "rolling_restart", *ALL)
        plays.kill_at(": stopping, ", "rolling_restart", *ALL, *short)
        for words in (": starting, ", " restarted in "):
            plays.kill_at(words, "rolling_restart", *short)
        plays.succeed("rolling_restart")
    assert watcher.most == 1, watcher.down
    assert starts(hosts, topology) == {host: count + 1 for host, count in before.items()}
