"""Which members of services leave with a host."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.errors import AnsibleActionFail
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ansible_collections.millrace.streaming.plugins.action import leave_plan
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster import registry

from tests.support.lab.topology import ROOT
from tests.unit.actions.bare_task import Tasks
from tests.unit.cluster import small
from tests.unit.in_process import Answer

GROUPS = {
    "kafka_controllers": ["k1"],
    "kafka_brokers": ["k1", "k2", "k3"],
    "kafka_connect": ["k2", "k3"],
    "schema_registry": ["k2", "k1"],
    "hdfs_namenode": ["k1"],
    "hdfs_datanodes": ["k1", "k2", "k3"],
    "spark_masters": ["k1"],
    "spark_workers": ["k2", "k3"],
    "monitoring": ["k3"],
}
CLUSTER = small.cluster(GROUPS)


@pytest.fixture
def tasks(monkeypatch: pytest.MonkeyPatch) -> Tasks:
    return Tasks(monkeypatch, CLUSTER)


def plan(tasks: Tasks, node: str, *, hosts: tuple[str, ...] = ("k1", "k2"), **args: Any) -> Answer:
    return tasks.run(leave_plan, {"node": node, **args}, {"ansible_play_hosts": list(hosts)})


def test_a_host_leaves_all_its_groups(tasks: Tasks) -> None:
    assert plan(tasks, "k2")["leaving"] == {
        "connect": ["kafka_connect"],
        "schema_registry": ["schema_registry"],
        "hdfs": ["hdfs_datanodes"],
        "spark": ["spark_workers"],
    }


def test_a_host_leaves_some_of_its_groups(tasks: Tasks) -> None:
    some = plan(tasks, "k2", only="spark_workers,kafka_brokers")
    assert some["leaving"] == {"spark": ["spark_workers"]}
    assert some["groups"] == ["spark_workers"]
    # As a play for a broker that is down runs it.
    assert plan(tasks, "k3", hosts=("k1", "k2"), only=["kafka_brokers"])["leaving"] == {}


def test_moves_that_are_put_back_let_nothing_leave(tasks: Tasks) -> None:
    assert plan(tasks, "k2", cancel=True)["leaving"] == {}


@pytest.mark.parametrize(
    ("node", "args", "expected"),
    [
        ("", {}, ["-e node=HOST"]),
        ("k9", {}, ["no host k9"]),
        ("kafka_brokers", {}, ["no host kafka_brokers"]),
        ("k3", {}, ["monitoring", "-e only=kafka_brokers,kafka_connect,"]),
        ("k1", {"only": ["hdfs_namenode", "spark_workers"]}, ["NameNode", "group spark_workers"]),
        ("k2", {"only": ["spark_workers"], "cancel": True}, ["replicas of a broker"]),
        ("k3", {"only": ["spark_workers"]}, ["--limit leaves out k3", "spark"]),
    ],
)
def test_what_cannot_leave_is_refused_at_once(
    tasks: Tasks, node: str, args: dict[str, Any], expected: list[str]
) -> None:
    with pytest.raises(AnsibleActionFail) as refused:
        plan(tasks, node, **args)
    assert "Nothing was changed" in str(refused.value)
    for text in expected:
        assert text in str(refused.value)


@pytest.mark.parametrize("group", [*registry.GROUPS])
def test_kafka_itself_leaves_with_its_own_groups_alone(group: str) -> None:
    loader = DataLoader()
    path = str(ROOT / "playbooks/vars/decommission.yml")
    expression = loader.load_from_file(path, trusted_as_template=True)["decommission_kafka"]
    for only in (group, [group], f"spark_workers,{group}"):
        variables = {"groups": GROUPS, "node": "k2", "only": only}
        leaves = Templar(loader, variables=variables).template(expression)
        assert leaves == (group in registry.groups_of("kafka")), only


def test_each_group_whose_members_leave_has_the_tasks_for_it() -> None:
    for product in leave_plan.members([*registry.GROUPS]):
        for name in ("leave_check", "leave"):
            assert (ROOT / f"roles/{product}/tasks/{name}.yml").is_file()
