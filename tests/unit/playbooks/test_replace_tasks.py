"""The tasks by which a node takes its place again, or leaves: their order, and what never stays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tests.support.lab.topology import ROOT
from tests.unit.playbooks.runs import run

TASKS = ROOT / "roles/kafka/tasks"
REPLACE, NODE = "millrace.streaming.kafka_replace", "millrace.streaming.kafka_node"
REMOVE_VOTER = "millrace.streaming.kafka_remove_voter"
HOSTS = """
kafka_controllers: {hosts: {c1: {kafka_node_id: 1}, c2: {kafka_node_id: 2}, c3: {kafka_node_id: 3}}}
kafka_brokers: {hosts: {b1: {kafka_node_id: 4}, b2: {kafka_node_id: 5}, b3: {kafka_node_id: 6}}}
"""


def tasks(name: str) -> Any:
    return yaml.safe_load((TASKS / f"{name}.yml").read_text())


def test_nothing_on_the_host_changes_before_the_judgement_and_no_throttle_stays() -> None:
    inspected, whole = tasks("replace")
    assert inspected["ansible.builtin.include_role"]["tasks_from"] == "inspect"
    states = [task.get(REPLACE, {}).get("state") for task in whole["block"]]
    configured = next(
        number for number, task in enumerate(whole["block"]) if "replace_node.yml" in str(task)
    )
    assert states.index("throttled") < configured < states.index("refilled")
    released, ended = whole["rescue"]
    assert released[REPLACE]["state"] == "released"
    assert "ansible.builtin.fail" in ended
    assert "unlock.yml" in str(whole["always"])
    assert whole["block"][-1][NODE] == {"complete": True}


def test_a_broker_that_copies_its_replicas_is_not_waited_for_when_it_starts() -> None:
    *_, kafka = tasks("replace_node")
    assert kafka["vars"] == {"__kafka_refills": True}
    (waits,) = [task for task in tasks("start") if "health.yml" in str(task)]
    assert "not __kafka_refills | default(false)" in str(waits["when"])


def test_the_vote_is_judged_before_replicas_move_and_ends_as_the_version_wants() -> None:
    (whole,) = tasks("decommission")
    names = [next((key for key in task if "kafka_" in key), "") for task in whole["block"]]
    judged = whole["block"][names.index(REMOVE_VOTER)]
    assert judged["check_mode"] is True
    assert names.index(REMOVE_VOTER) < names.index("millrace.streaming.kafka_rebalance")
    leaves = tasks("decommission_leave")
    stop = next(n for n, task in enumerate(leaves) if "ansible.builtin.systemd_service" in task)
    first, last = (n for n, task in enumerate(leaves) if "decommission_vote.yml" in str(task))
    assert first < stop < last
    assert leaves[first]["when"].endswith("and __kafka_lock.vote_ends_first")
    assert leaves[last]["when"].endswith("and not __kafka_lock.vote_ends_first")


def test_who_is_not_in_the_inventory_is_refused_before_a_host_is_touched(tmp_path: Path) -> None:
    pattern = ("-e", "node=b1:b2", "--limit", "b1,b2")
    named = ("-e", "node=kafka_brokers", "--limit", "b1:b2")
    for options in (
        (),
        ("-e", "node=b9"),
        pattern,
        named,
        ("-e", "node=all", "--limit", "b1"),
    ):
        code, output = run(tmp_path, HOSTS, *options, playbook="replace")
        assert code != 0
        assert "one of b1, b2, b3, c1, c2, c3. Nothing was changed." in " ".join(output.split())
    code, output = run(tmp_path, HOSTS, "-e", "node=b2", "--limit", "b1", playbook="replace")
    assert code != 0
    assert "--limit leaves out b2" in output
