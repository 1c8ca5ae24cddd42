"""Whether a service can do without one of its members, by what it answers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.operations import (
    connect_health,
    hdfs_health,
    spark_health,
    spark_leave,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations.spark_health import (
    Master,
)

from tests.unit.operations import test_hdfs_health as hdfs
from tests.unit.operations.test_connect_health import answer

EXECUTOR = {"id": 3, "memory": 512, "appid": "app-1", "appdesc": {"name": "flights"}}


def check(problems: list[str], *expected: tuple[str, ...]) -> None:
    assert len(problems) == len(expected), problems
    for text, fragments in zip(problems, expected, strict=True):
        assert all(fragment in text for fragment in fragments), text


# Spark


def worker(host: str, used: int, cores: int = 4, state: str = "ALIVE") -> dict[str, Any]:
    """Return a master's report of a worker; each core has 256 MiB."""
    sizes = {"memory": cores * 256, "memoryused": used * 256}
    return {"host": host, "state": state, "cores": cores, "coresused": used, **sizes}


def leader(*workers: dict[str, Any], address: str = "m1:8080") -> Master:
    return spark_health.master(address, {"status": "ALIVE", "workers": workers})


STANDBY = Master("m2:8080", "STANDBY")


@pytest.mark.parametrize(
    ("workers", "expected"),
    [
        pytest.param([worker("w1", 2), worker("w2", 2)], [], id="enough"),
        pytest.param(
            [worker("w1", 4), worker("w2", 1)],
            [("hold 5 of cores", "w1 have 4", "add a worker"), ("1280 MiB of memory", "1024 MiB")],
            id="too-few-cores-and-memory",
        ),
        pytest.param([worker("w1", 0)], [("w1 is the only Spark worker",)], id="last"),
        pytest.param(
            [worker("w1", 0), worker("w2", 0, state="DEAD")], [("only",)], id="last-that-lives"
        ),
        pytest.param(
            [worker("w1", 4, state="DECOMMISSIONED"), worker("w2", 4)], [], id="already-leaving"
        ),
        pytest.param([worker("w2", 4)], [], id="not-registered"),
    ],
)
def test_a_worker_leaves_if_the_others_can_run_what_runs(
    workers: list[dict[str, Any]], expected: list[tuple[str, ...]]
) -> None:
    check(spark_leave.worker_problems([leader(*workers), STANDBY], "w1"), *expected)


def test_a_worker_stays_while_no_master_leads() -> None:
    check(spark_leave.worker_problems([STANDBY], "w1"), ("no master", "m2:8080 STANDBY"))


@pytest.mark.parametrize(
    ("masters", "drivers", "expected"),
    [
        pytest.param([leader(), STANDBY], [], [], id="a-standby"),
        pytest.param([leader()], [], [("m1:8080 is the only Spark master",)], id="only"),
        pytest.param(
            [leader(), Master("m2:8080", reason="refused")],
            [],
            [("could take over", "m2:8080 does not answer: refused")],
            id="no-standby",
        ),
        pytest.param(
            [leader(), STANDBY], ["a"], [("drivers of jobs", ": a.", "absent")], id="jobs"
        ),
    ],
)
def test_a_master_leaves_if_another_can_take_over(
    masters: list[Master], drivers: list[str], expected: list[tuple[str, ...]]
) -> None:
    check(spark_leave.master_problems(masters, "m1:8080", drivers), *expected)


def test_the_others_go_on_without_a_master_and_a_worker() -> None:
    masters = [Master("m1:8080", reason="refused"), leader(worker("w2", 0), address="m2:8080")]
    assert spark_leave.remaining_problems(masters, ["w1", "w2"], "m1:8080", "w1") == []
    still = [leader(worker("w1", 0), worker("w2", 0), address="m2:8080")]
    check(spark_leave.remaining_problems(still, ["w1", "w2"], "", "w1"), ("w1", "not expected"))


def test_executors_are_named_with_their_applications() -> None:
    assert spark_leave.executors({"executors": [EXECUTOR]}) == ["3 of flights (app-1)"]
    assert spark_leave.executors({"executors": []}) == []


# Kafka Connect


def test_the_tasks_of_a_worker_that_has_left_run_elsewhere() -> None:
    left, stays = "k2:8083", "k3:8083"
    moved = connect_health.connectors({"orders": answer("RUNNING", "RUNNING", worker=stays)})
    assert connect_health.problems({}, [stays], moved, former=left) == []
    still = connect_health.connectors({"orders": answer("RUNNING", "RUNNING", worker=left)})
    check(connect_health.problems({}, [stays], still, former=left), (left, "has left", "no other"))


# HDFS

NAMES = ("h1:9866", "h2:9866", "h3:9866")
LEAVES = "Decommission In Progress"


def state(
    *nodes: dict[str, Any] | None, dead: bool | None = None, **changed: Any
) -> hdfs_health.State:
    """Return the NameNode's report of DataNodes, of which the first leaves."""
    live = {name: node for name, node in zip(NAMES, nodes, strict=False) if node}
    gone = {} if dead is None else {NAMES[0]: {"lastContact": 200, "decommissioned": dead}}
    values = {"LiveNodes": json.dumps(live), "DeadNodes": json.dumps(gone), **changed}
    return hdfs_health.state(hdfs.beans(**values), hdfs.NOW)


NODE = hdfs.datanode()


@pytest.mark.parametrize(
    ("reported", "copies", "expected"),
    [
        pytest.param(state(NODE, NODE, NODE), 2, [], id="enough"),
        pytest.param(
            state(NODE, NODE, NODE),
            3,
            [("2 DataNodes", "fewer than dfs.replication, 3", "setrep -R 2")],
            id="fewer-than-copies",
        ),
        pytest.param(state(NODE), 1, [("h1:9866 is the only DataNode",)], id="last"),
        pytest.param(
            state(NODE, NODE, hdfs.datanode(state=LEAVES)),
            2,
            [("the 1 DataNodes",)],
            id="two-leave",
        ),
        # 200 bytes, of which 160 are free: 20 more fill 30 %.
        pytest.param(state(hdfs.datanode(used=20), NODE, NODE), 1, [], id="fits"),
        pytest.param(
            state(hdfs.datanode(used=80), hdfs.datanode(used=50), hdfs.datanode(used=50)),
            1,
            [("100 % full", "h1:9866")],
            id="full",
        ),
        pytest.param(
            state(NODE, NODE, NODE, Safemode="on", MissingBlocks=3),
            1,
            [("safe mode",), ("3 blocks", "no copy")],
            id="not-healthy",
        ),
        pytest.param(state(hdfs.datanode(state="Decommissioned"), NODE), 3, [], id="has-left"),
        pytest.param(state(None, NODE, dead=True), 3, [], id="has-left-and-stopped"),
        pytest.param(
            state(hdfs.datanode(state=LEAVES, used=80), NODE, NODE), 2, [], id="has-begun"
        ),
    ],
)
def test_a_datanode_leaves_if_the_others_can_hold_its_blocks(
    reported: hdfs_health.State, copies: int, expected: list[tuple[str, ...]]
) -> None:
    check(hdfs_health.leave_problems(reported, NAMES, NAMES[0], copies), *expected)


@pytest.mark.parametrize(
    ("reported", "expected"),
    [
        pytest.param(state(hdfs.datanode(state="Decommissioned")), [], id="decommissioned"),
        pytest.param(state(None, dead=True), [], id="stopped-afterwards"),
        pytest.param(state(None, dead=False), [("does not run",)], id="stopped-before"),
        pytest.param(state(NODE), [("h1:9866 is In Service",)], id="not-begun"),
        pytest.param(
            state(
                hdfs.datanode(state=LEAVES),
                DecomNodes=json.dumps({NAMES[0]: {"underReplicatedBlocks": 7}}),
            ),
            [("In Progress, 7 blocks",)],
            id="in-progress",
        ),
    ],
)
def test_a_datanode_stops_only_once_its_blocks_are_elsewhere(
    reported: hdfs_health.State, expected: list[tuple[str, ...]]
) -> None:
    check(hdfs_health.not_left(reported, NAMES[0]), *expected)
