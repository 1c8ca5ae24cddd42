"""What a page shows of a cluster, out of its inventory and of what was read."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import Cluster
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.entry import HealthCheck
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.registry import (
    HEALTH_CHECKS,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.operations import report

from tests.unit.cluster import small

GROUPS = {
    **dict.fromkeys(("kafka_controllers", "kafka_brokers"), ("k1", "k2", "k3")),
    "kafka_connect": ["c1"],
    "spark_masters": ["k3"],
    "spark_workers": ["c1"],
}
IDS = {
    name: {"kafka_node_id": at, "kafka_rack": name}
    for at, name in enumerate(GROUPS["kafka_brokers"], 1)
}
UNREACHABLE = {"unreachable": True, "msg": "no route to host", "changed": False}
HOST = {
    "units": [{"name": "kafka", "active": "active"}],
    "pending": ["kafka"],
    "disks": [{"path": "/data", "total": 9, "free": 3}],
    "certificates": [{"place": "/etc/kafka/node.pem", "days": 3.0, "wrong": ""}],
    "operation": {},
}
RECORD = {"id": "a", "started": "2026-11-27T01:00:00Z", "state": "running", "done": [], "age": 9.0}


@pytest.fixture
def cluster() -> Cluster:
    return small.cluster(GROUPS, IDS)


def snapshot(cluster: Cluster, hosts: Any, services: Any) -> dict[str, Any]:
    return report.snapshot(cluster, hosts, services, 1.0)


def part(name: str) -> HealthCheck:
    return next(check for check in HEALTH_CHECKS if check.name == name)


def test_the_first_host_that_was_reached_reads_a_service(cluster: Cluster) -> None:
    assert report.reader(part("kafka"), cluster, ["k3", "k2", "c1"]) == "k2"
    assert report.reader(part("connect"), cluster, ["k3", "k2"]) == ""
    assert report.reader(part("zookeeper"), cluster, ["k1"]) == ""


def test_all_that_was_read_is_shown(cluster: Cluster) -> None:
    kafka = {"error": "", "topics": [], "changed": False, "invocation": {"module_args": {}}}
    state = snapshot(
        cluster,
        dict.fromkeys(cluster.hosts, HOST),
        {"k1": {"parts": {"kafka": kafka}}, "c1": {"parts": {"connect": {"healthy": True}}}},
    )
    assert state["kafka"] == {"error": "", "topics": []}
    assert state["connect"] == {"healthy": True}
    assert "registry" not in state
    k2 = state["hosts"][1]
    assert k2["groups"] == ["kafka_controllers", "kafka_brokers"]
    assert (k2["rack"], k2["error"], k2["pending"]) == ("k2", "", ["kafka"])
    assert {"host": "k2", **HOST["certificates"][0]} in state["certificates"]  # type: ignore[index]  # a list of dictionaries


def test_what_was_not_reached_has_its_reason(cluster: Cluster) -> None:
    hosts = {"k1": HOST, "k2": UNREACHABLE, "c1": UNREACHABLE, "k3": {"msg": "no Python"}}
    services = {"k1": {"parts": {"kafka": {"failed": True, "msg": "kafka-python is not there"}}}}
    state = snapshot(cluster, hosts, services)
    errors = {host["name"]: host["error"] for host in state["hosts"]}
    assert errors == {
        "k1": "",
        "k2": "no route to host",
        "c1": "no route to host",
        "k3": "no Python",
    }
    assert state["kafka"] == {"error": "kafka-python is not there"}
    assert state["connect"] == {"error": report.NO_HOST}
    assert state["spark"] == {"error": report.NOT_READ}
    wrong = report.problems(state)
    assert "k2: no route to host" in wrong
    assert f"connect: {report.NO_HOST}" in wrong


def test_what_the_run_leaves_out_is_named(cluster: Cluster) -> None:
    kafka = {"error": "", "topics": []}
    state = snapshot(cluster, {"k1": HOST}, {"k1": {"parts": {"kafka": kafka}}})
    errors = {host["name"]: host["error"] for host in state["hosts"]}
    assert errors == {"k1": "", **dict.fromkeys(("k2", "k3", "c1"), report.LEFT_OUT)}
    assert state["kafka"] == kafka
    assert state["spark"] == {"error": report.LEFT_OUT}
    assert f"spark: {report.LEFT_OUT}" in report.problems(state)


def test_nothing_was_read_at_all(cluster: Cluster) -> None:
    state = snapshot(cluster, dict.fromkeys(cluster.hosts, UNREACHABLE), {})
    assert {host["error"] for host in state["hosts"]} == {"no route to host"}
    assert state["kafka"] == {"error": report.NO_HOST}


def test_an_operation_is_shown_once_as_it_was_written_last(cluster: Cluster) -> None:
    later = {**RECORD, "done": ["k1"], "age": 2.0}
    another = {**RECORD, "id": "b", "started": "2026-11-27T02:00:00Z"}
    records = {"k1": RECORD, "k2": later, "k3": another}
    state = snapshot(
        cluster, {name: {**HOST, "operation": record} for name, record in records.items()}, {}
    )
    assert state["operations"] == [{**another, "hosts": ["k3"]}, {**later, "hosts": ["k1", "k2"]}]


def test_jobs_have_their_commits_in_hdfs() -> None:
    cluster = small.cluster({**GROUPS, "hdfs_namenode": ["k1"], "hdfs_datanodes": ["k1"]}, IDS)
    job = {"state": "active", "checkpoint_age": None, "late": False}
    jobs = {"healthy": True, "jobs": {"archive": job}, "problems": []}
    late = {"checkpoint_age": 90, "late": True}

    def shown(**of_hdfs: Any) -> dict[str, Any]:
        services = {"k3": {"parts": {"jobs": jobs}}, "k1": {"parts": {"hdfs_jobs": of_hdfs}}}
        return snapshot(cluster, dict.fromkeys(cluster.hosts, HOST), services)

    state = shown(healthy=False, jobs={"archive": late}, problems=["archive is late"])
    assert state["jobs"]["jobs"] == {"archive": {**job, **late}}
    assert "jobs: archive is late" in report.problems(state)
    state = shown(healthy=False, problems=["no answer"])
    assert state["jobs"]["jobs"] == {"archive": job}
    assert "jobs: no answer" in report.problems(state)
    assert "hdfs_jobs" not in state


def test_problems_of_services_are_named(cluster: Cluster) -> None:
    services = {"k1": {"parts": {"connect": {"healthy": False, "problems": ["a task has failed"]}}}}
    state = snapshot(cluster, dict.fromkeys(cluster.hosts, HOST), services)
    assert "connect: a task has failed" in report.problems(state)


def test_sizes_are_a_part_of_their_own_as_on_the_console(cluster: Cluster) -> None:
    kafka = {"error": "", "topics": [], "sizes": {"error": "", "disks": []}}
    hosts = dict.fromkeys(cluster.hosts, HOST)
    state = snapshot(cluster, hosts, {"k1": {"parts": {"kafka": kafka}}})
    assert state["sizes"] == {"error": "", "disks": []}
    assert "sizes" not in state["kafka"]
    assert "sizes" not in snapshot(cluster, hosts, {"k1": {"parts": {"kafka": {"error": "down"}}}})
