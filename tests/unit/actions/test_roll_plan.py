"""Which nodes a roll takes, in which order, and whether it has the lock of the cluster."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.action import roll_plan
from ansible_collections.millrace.streaming.plugins.module_utils.host.operation_file import (
    FINISHED,
    QUIET_SECONDS,
    RUNNING,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils import operation
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import Cluster
from ansible_collections.millrace.streaming.plugins.plugin_utils.operations import roll_stages

from tests.unit.actions.bare_task import Tasks
from tests.unit.cluster import small

Node = dict[str, Any]


def node(**facts: Any) -> Node:
    """A node as the module kafka_node finds it, by default one that needs nothing."""
    nothing = {
        "running": True,
        "marked": False,
        "replaced": [],
        "home": "kafka-4.3.1-0123456789ab",
        "settled": True,
        "reboot_required": False,
        "expiring": [],
        "container": False,
        "holder": {},
        "previous_operation": {},
    }
    return {**nothing, **facts}


# Which nodes


@pytest.mark.parametrize(
    ("action", "facts", "expected"),
    [
        ("restart", node(), False),
        ("restart", node(marked=True), True),
        ("restart", node(running=False), True),
        ("restart", node(replaced=["/usr/lib/jvm/java-17/lib/server/libjvm.so"]), True),
        ("upgrade", node(replaced=["/usr/lib/jvm/java-17/lib/server/libjvm.so"]), False),
        ("restart", node(settled=False, reboot_required=True), False),
        ("upgrade", node(), False),
        ("upgrade", node(settled=False), True),
        # It has no distribution: nothing is there to upgrade.
        ("upgrade", node(settled=False, home=""), False),
        ("reboot", node(), False),
        ("reboot", node(reboot_required=True), True),
        ("reboot", node(marked=True, running=False), False),
    ],
)
def test_a_node_is_taken_if_it_needs_the_action(action: str, facts: Node, expected: bool) -> None:
    assert roll_plan.is_wanted(action, facts) is expected


def test_only_a_reboot_is_refused_on_containers_and_beside_zookeeper() -> None:
    groups = {"kafka_brokers": ["b1", "b2"], "zookeeper": ["b2", "z1"]}
    ids = {name: {"kafka_node_id": id_} for id_, name in enumerate(("b1", "b2"), start=1)}
    members = {name: {"zookeeper_id": id_} for id_, name in enumerate(("b2", "z1"), start=1)}
    variables = {
        name: {**ids.get(name, {}), **members.get(name, {})} for name in ("b1", "b2", "z1")
    }
    cluster = small.cluster(groups, variables, kafka_version="3.9.2")
    assert roll_plan.refusals(cluster, "reboot", {"b1": node()}) == ""
    nodes = {"b1": node(container=True), "b2": node()}
    refused = roll_plan.refusals(cluster, "reboot", nodes)
    assert "b1" in refused
    assert "b2" in refused
    assert roll_plan.refusals(cluster, "restart", nodes) == ""


def test_no_host_of_hdfs_is_rebooted_without_its_blocks_elsewhere() -> None:
    groups = {"kafka_brokers": ["b1"], "hdfs_namenode": ["h1"], "hdfs_datanodes": ["b1"]}
    cluster = small.cluster(groups, {"b1": {"kafka_node_id": 1}})
    refused = roll_plan.refusals(cluster, "reboot", {"b1": node()})
    assert "b1: HDFS" in refused


@pytest.mark.parametrize("action", ["restart", "upgrade", "reboot"])
def test_no_node_is_taken_whose_certificate_is_about_to_expire(action: str) -> None:
    cluster = small.cluster({"kafka_brokers": ["b1"]}, {"b1": {"kafka_node_id": 1}})
    assert roll_plan.refusals(cluster, action, {"b1": node()}) == ""
    refused = roll_plan.refusals(cluster, action, {"b1": node(expiring=["/keys/b1.pem"])})
    assert "b1" in refused
    assert "/keys/b1.pem" in refused


def test_versions_that_run_are_those_that_differ_from_the_inventorys() -> None:
    cluster = small.kafka(3, 0, kafka_version="4.3.1")
    nodes = {
        "b1": node(home="kafka-4.1.2-aa"),
        "b2": node(home="kafka-4.3.1-bb"),
        "b3": node(home=""),
    }
    assert roll_plan.running_versions(cluster, nodes) == ["4.1.2"]


# Order


def health(*registered: int, leader: int, fenced: tuple[int, ...] = ()) -> dict[str, Any]:
    brokers = [{"id": broker, "fenced": broker in fenced} for broker in registered]
    return {"brokers": brokers, "controller": leader}


NOW, FENCED = health(1, 2, 3, leader=11), health(1, 2, 3, leader=11, fenced=(3,))


@pytest.mark.parametrize(
    ("now", "down", "backwards", "expected"),
    [
        (NOW, set(), False, ["c2", "c3", "c1", "b2", "b1", "b3"]),
        (NOW, set(), True, ["b2", "b1", "b3", "c2", "c3", "c1"]),
        # Nodes that are down, fenced or not registered come first.
        (NOW, {"c1"}, False, ["c1", "c2", "c3", "b2", "b1", "b3"]),
        (FENCED, set(), False, ["b3", "c2", "c3", "c1", "b2", "b1"]),
        (health(1, 2, leader=11), set(), False, ["b3", "c2", "c3", "c1", "b2", "b1"]),
        # Nobody answered: brokers of which nothing is known come first.
        ({}, set(), False, ["b2", "b1", "b3", "c1", "c2", "c3"]),
    ],
)
def test_nodes_are_in_the_order_of_the_gate(
    now: dict[str, Any], down: set[str], backwards: bool, expected: list[str]
) -> None:
    racks = {"b1": "b", "b2": "a", "b3": "b"}
    cluster = small.kafka(3, 3, {name: {"kafka_rack": rack} for name, rack in racks.items()})
    nodes = {name: node(running=name not in down) for name in cluster.kafka}
    members = roll_plan.gate_nodes(cluster, list(nodes), nodes, now)
    assert roll_plan.order(cluster, members, now, backwards=backwards) == expected


# Which brokers go together


RACKS = {f"b{number}": {"kafka_rack": "ab"[number % 2]} for number in range(1, 5)}
SERVING = health(1, 2, 3, 4, leader=11)


def stages(cluster: Cluster, now: dict[str, Any], *, backwards: bool = False) -> list[Any]:
    nodes = {name: node() for name in cluster.kafka}
    members = roll_plan.gate_nodes(cluster, list(nodes), nodes, now)
    names = roll_plan.order(cluster, members, now, backwards=backwards)
    parts = roll_stages.stages(names, roll_plan.groups(cluster, members))
    return [(" ".join(part.names), part.most) for part in parts]


@pytest.mark.parametrize(
    ("parallel", "now", "backwards", "expected"),
    [
        ("1", SERVING, False, [("c2 c3 c1 b2 b4 b1 b3", 1)]),
        ("rack", SERVING, False, [("c2 c3 c1", 1), ("b2 b4", 4), ("b1 b3", 4)]),
        ("rack", SERVING, True, [("b2 b4", 4), ("b1 b3", 4), ("c2 c3 c1", 1)]),
        (2, SERVING, False, [("c2 c3 c1", 1), ("b2 b4", 2), ("b1 b3", 2)]),
        # Those that do not serve make no set with those that do.
        (
            "rack",
            health(1, 2, 3, 4, leader=11, fenced=(2,)),
            False,
            [("b2 c2 c3 c1 b4", 1), ("b1 b3", 4)],
        ),
        ("rack", {}, False, [("b2 b4", 4), ("b1 b3", 4), ("c1 c2 c3", 1)]),
    ],
)
def test_brokers_of_a_rack_are_a_stage_where_the_inventory_says_so(
    parallel: object, now: dict[str, Any], backwards: bool, expected: list[Any]
) -> None:
    cluster = small.kafka(4, 3, RACKS, kafka_roll_parallel=parallel)
    assert stages(cluster, now, backwards=backwards) == expected


def test_without_racks_all_brokers_are_one_stage() -> None:
    cluster = small.kafka(4, 1, kafka_roll_parallel=2)
    assert stages(cluster, SERVING) == [("c1", 1), ("b1 b2 b3 b4", 2)]


def test_what_may_be_the_controller_goes_alone() -> None:
    names = ["k1", "k2", "k3"]
    ids = {name: {"kafka_node_id": id_} for id_, name in enumerate(names, start=1)}
    combined = {"kafka_brokers": names, "kafka_controllers": names}
    for groups in (combined, {"kafka_brokers": names, "zookeeper": ["z1"]}):
        hosts = {**ids, "z1": {"zookeeper_id": 1}}
        of_groups = {name: hosts[name] for members in groups.values() for name in members}
        cluster = small.cluster(groups, of_groups, kafka_roll_parallel=3, kafka_version="3.9.2")
        assert [most for _, most in stages(cluster, health(1, 2, 3, leader=1))] == [1]


def test_a_node_with_a_failed_directory_needs_a_restart_and_goes_first(
    monkeypatch: pytest.MonkeyPatch, local_tmp: Path
) -> None:
    """A repaired one is out of use until then, and other nodes would wait for its replicas."""
    cluster = small.kafka(3, 3)
    health_now = {**NOW, "failed_directories": [3]}
    for action, marked, expected in (
        ("restart", [], ["b3"]),
        ("restart", ["b1", "c1"], ["b3", "c1", "b1"]),
        ("upgrade", [], []),
    ):
        nodes = {name: node(marked=name in marked) for name in cluster.kafka}
        args = {"action": action, "nodes": nodes, "other_nodes": [], "health": health_now}
        result = Tasks(monkeypatch, cluster).run(roll_plan, args, check=True)
        assert result["plan"] == expected
        assert result["failed_directories"] == [name for name in expected if name == "b3"]


def test_without_an_answer_no_combined_node_is_taken_for_the_active_controller() -> None:
    nodes = {name: node() for name in COMBINED.kafka}
    members = roll_plan.gate_nodes(COMBINED, list(nodes), nodes, {})
    ordered = roll_plan.order(COMBINED, members, {}, backwards=False)
    assert ordered == ["k1", "k2", "k3"]


def test_on_zookeeper_the_controller_goes_last() -> None:
    cluster = small.kafka(3, 0)
    nodes = {name: node() for name in cluster.kafka}
    now = health(1, 2, 3, leader=2)
    members = roll_plan.gate_nodes(cluster, list(nodes), nodes, now)
    ordered = roll_plan.order(cluster, members, now, backwards=False)
    assert ordered == ["b1", "b3", "b2"]


# The lock

CLUSTER = small.kafka(2, 3)
OTHER = {
    "id": "other",
    "state": RUNNING,
    "what": "rolling_upgrade",
    "who": "somebody",
    "machine": "another",
    "done": ["b1"],
}


def lost(age: float = 5, **settings: Any) -> Node:
    """A node of which another operation has the lock."""
    record = {**OTHER, "age": age, **settings}
    return node(holder=record, previous_operation=record)


@pytest.mark.parametrize(
    ("nodes", "lock"),
    [
        ({"c1": node(), "c2": node(), "c3": node()}, "taken"),
        ({"c1": node(), "c2": node()}, "taken"),
        # Another operation began at the same moment, and has fewer.
        ({"c1": node(), "c2": node(), "c3": lost()}, "taken"),
        ({"c1": node(), "c2": lost(), "c3": lost()}, "held"),
        ({"c1": lost(), "c2": lost(), "c3": lost()}, "held"),
        ({"c1": node()}, "incomplete"),
        ({}, "incomplete"),
        ({"c1": node(), "c2": lost()}, "held"),
        # Brokers do not hold the lock where there are controllers.
        ({"c1": node(), "b1": node(), "b2": node()}, "incomplete"),
    ],
)
def test_a_majority_of_its_hosts_makes_the_lock(nodes: dict[str, Node], lock: str) -> None:
    result = operation.lock(CLUSTER, nodes)
    assert result["lock"] == lock
    assert bool(result["refused"]) is (lock != "taken")


def test_who_has_the_lock_is_named() -> None:
    result = operation.lock(CLUSTER, {name: lost() for name in CLUSTER.kafka})
    assert result["holder"] == "other"
    for text in ("rolling_upgrade", "somebody", "b1"):
        assert text in result["refused"]


def test_hosts_that_cannot_be_reached_are_named() -> None:
    refused = operation.lock(CLUSTER, {"c2": node()})["refused"]
    assert "c1" in refused
    assert "c3" in refused


@pytest.mark.parametrize(
    ("ages", "lock"),
    [
        ({}, "abandoned"),
        # It works on this node now, and is heard of there alone.
        ({"b2": 3}, "held"),
        ({"c3": 3}, "held"),
    ],
)
def test_the_lock_of_a_holder_that_is_silent_on_every_host_is_abandoned(
    ages: dict[str, float], lock: str
) -> None:
    silent = QUIET_SECONDS + 60
    nodes = {name: lost(ages.get(name, silent)) for name in CLUSTER.kafka}
    assert operation.lock(CLUSTER, nodes)["lock"] == lock


def test_a_holder_on_this_machine_is_asked_by_its_process(local_tmp: Path) -> None:
    machine = operation.current("x")["machine"]
    for pid, lock in ((os.getpid(), "held"), (2**22 + 1, "abandoned")):
        nodes = {name: lost(3, machine=machine, pid=pid) for name in CLUSTER.kafka}
        assert operation.lock(CLUSTER, nodes)["lock"] == lock


# The task

COMBINED = small.cluster(
    {"kafka_brokers": ["k1", "k2", "k3"], "kafka_controllers": ["k1", "k2", "k3"]},
    {name: {"kafka_node_id": id_} for id_, name in enumerate(("k1", "k2", "k3"), start=1)},
)


@pytest.fixture
def tasks(local_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> Tasks:
    return Tasks(monkeypatch, COMBINED)


def plan(
    tasks: Tasks, nodes: dict[str, Node], *, check: bool = False, **options: Any
) -> dict[str, Any]:
    args = {"action": "restart", "health": health(1, 2, 3, leader=1), **options}
    return tasks.run(roll_plan, {"nodes": nodes, **args}, check=check)


MARKED = {name: node(marked=True) for name in ("k1", "k2", "k3")}


def test_the_plan_is_part_of_the_operations_record(tasks: Tasks) -> None:
    planned = plan(tasks, {**MARKED, "k2": node()}, check=True)
    assert operation.current("")["plan"] == []
    made = plan(tasks, {**MARKED, "k2": node()})
    assert made == planned
    assert (made["plan"], made["lock"], made["refused"]) == (["k3", "k1"], "taken", "")
    assert made["changed"] is False
    assert "k3, k1" in "\n".join(made["lines"])
    record = operation.current("")
    assert (record["plan"], record["left"], record["done"]) == (["k3", "k1"], ["k3", "k1"], [])
    assert (record["state"], record["reason"]) == (RUNNING, "")


def test_a_second_roll_of_a_run_begins_anew(tasks: Tasks) -> None:
    first = {"state": FINISHED, "done": ["k1"], "reason": "k1: broken"}
    operation.save({**operation.current("rolling_restart"), **first})
    plan(tasks, MARKED)
    record = operation.current("")
    assert (record["state"], record["done"], record["reason"]) == (RUNNING, [], "")


def test_current_blockers_are_shown_and_refuse_nothing(tasks: Tasks) -> None:
    state = health(1, 2, 3, leader=1) | {"blockers": [{"text": "orders-0 is short"}]}
    made = plan(tasks, MARKED, health=state)
    assert "orders-0 is short" in "\n".join(made["lines"])
    assert made["refused"] == ""


def test_nothing_to_do_is_no_refusal(tasks: Tasks) -> None:
    made = plan(tasks, dict.fromkeys(MARKED, node()))
    assert (made["plan"], made["refused"]) == ([], "")
    assert made["lines"]


def test_the_lock_of_another_operation_refuses_the_roll(tasks: Tasks) -> None:
    made = plan(tasks, dict.fromkeys(MARKED, lost()))
    assert (made["lock"], made["holder"]) == ("held", "other")
    assert "rolling_upgrade" in made["refused"]
    assert operation.current("")["reason"] == made["refused"]


def test_what_cannot_be_rebooted_refuses_the_roll(tasks: Tasks) -> None:
    nodes = {**MARKED, "k2": node(reboot_required=True, container=True)}
    made = plan(tasks, nodes, action="reboot")
    assert made["plan"] == ["k2"]
    assert "k2" in made["refused"]


def test_hosts_outside_the_play_hold_the_lock_too(tasks: Tasks) -> None:
    """With --limit the rest of the lock's hosts are asked apart."""
    answers = [{**node(), "item": "k2"}, {"item": "k3", "unreachable": True}]
    limited = {"k1": MARKED["k1"]}
    assert plan(tasks, limited, other_nodes=answers)["lock"] == "taken"
    assert plan(tasks, limited, other_nodes=answers[1:])["lock"] == "incomplete"
    assert plan(tasks, limited, other_nodes=answers)["plan"] == ["k1"]
