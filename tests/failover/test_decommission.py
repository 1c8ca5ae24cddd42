"""Members of services leave by decommission.yml, others do their work, and site.yml takes them back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest
from testinfra.host import Host

from tests.support.faults.target import skip_unless_full
from tests.support.lab.change import Plays
from tests.support.lab.topology import Topology
from tests.support.services.spark import Load, active_master, master_state
from tests.support.wait import wait_for

Leave = Callable[..., None]
HDFS = "runuser -u hdfs -- /usr/local/bin/hdfs"


def member(topology: Topology, group: str, least: int = 2) -> str:
    """The last host of a group that has enough of them."""
    names = topology.group(group)
    if len(names) < least:
        pytest.skip(f"fewer than {least} hosts in {group}")
    return names[-1]


def state(host: Host, unit: str) -> tuple[str, str]:
    """Return whether a unit runs, and whether it starts at boot, in the words of systemd."""
    words = ("is-active", "is-enabled")
    running, enabled = (host.run(f"systemctl {word} %s", unit).stdout.strip() for word in words)
    return running, enabled


def is_on(host: Host, unit: str) -> bool:
    return state(host, unit) == ("active", "enabled")


@pytest.fixture
def leave(plays: Plays, hosts: dict[str, Host]) -> Iterator[Leave]:
    """Takes a member out of service; at the end it is taken back.

    Check mode changes nothing, and a second run neither.
    """
    skip_unless_full()
    gone = []

    def leave_group(node: str, group: str, unit: str, *more: str) -> None:
        words = ("-e", f"node={node}", "-e", f"only={group}", *more)
        plays.succeed("decommission", *words, "--check")
        assert is_on(hosts[node], unit)
        gone.append(node)
        assert f"Remove {node} from these groups" in plays.succeed("decommission", *words)
        assert state(hosts[node], unit) == ("inactive", "disabled")
        assert f"{node} has left {group}" in plays.succeed("decommission", *words)

    yield leave_group
    if gone:
        plays.succeed("site")
        wait_for(lambda: plays.run("health")[0] == 0, seconds=240, what="a healthy cluster")


@pytest.mark.parametrize(
    ("group", "unit"), [("kafka_connect", "connect"), ("schema_registry", "schema_registry")]
)
def test_a_member_of_a_group_leaves_and_the_last_one_stays(
    topology: Topology, hosts: dict[str, Host], plays: Plays, leave: Leave, group: str, unit: str
) -> None:
    node = member(topology, group)
    leave(node, group, unit)
    for other in topology.group(group)[:-1][:1]:
        refusal = plays.refuse("decommission", "-e", f"node={other}", "-e", f"only={group}")
        assert "Nothing was changed" in refusal
        assert is_on(hosts[other], unit)


def test_an_application_goes_on_without_a_worker(
    topology: Topology, hosts: dict[str, Host], leave: Leave
) -> None:
    node = member(topology, "spark_workers")
    before = len(topology.group("spark_workers"))
    job = Load(hosts[topology.group("spark_workers")[0]])
    job.start()
    try:
        job.wait_for_rounds(3, seconds=60)
        leave(node, "spark_workers", "spark-worker")
        leader = active_master(topology)
        assert master_state(topology, leader)["aliveworkers"] == before - 1
        job.wait_for_rounds(3, seconds=60)
        report = job.finish()
        assert report["total"] == report["rounds"] * sum(range(100))
    finally:
        job.remove()


def test_another_master_leads_when_one_leaves(topology: Topology, leave: Leave) -> None:
    node = member(topology, "spark_masters")
    leave(node, "spark_masters", "spark-master")
    assert active_master(topology) != node


def test_a_datanode_leaves_once_its_blocks_are_elsewhere(
    topology: Topology, hosts: dict[str, Host], plays: Plays, leave: Leave
) -> None:
    node = member(topology, "hdfs_datanodes", least=3)
    namenode = hosts[topology.group("hdfs_namenode")[0]]
    copies = topology.cluster.hdfs[node].config["dfs.replication"]
    remaining = len(topology.group("hdfs_datanodes")) - 1
    fewer: tuple[str, ...] = ()
    if int(copies) > remaining:
        words = ("-e", f"node={node}", "-e", "only=hdfs_datanodes")
        assert "fewer than dfs.replication" in plays.refuse("decommission", *words)
        assert is_on(hosts[node], "hdfs-datanode")
        config = {**topology.cluster.hdfs[node].settings["hdfs_config"]}
        fewer = ("-e", json.dumps({"hdfs_config": {**config, "dfs.replication": remaining}}))
        plays.succeed("site", *fewer)
        namenode.check_output(f"{HDFS} dfs -setrep -R {remaining} /")
    namenode.check_output(f"{HDFS} dfs -mkdir -p /decommission")
    namenode.check_output(f"{HDFS} dfs -put -f /etc/hosts /decommission/hosts")
    try:
        leave(node, "hdfs_datanodes", "hdfs-datanode", *fewer)
        report = namenode.check_output(f"{HDFS} fsck /decommission -files -blocks -locations")
        assert "is HEALTHY" in report
        assert namenode.check_output("cat /etc/hdfs/decommissioned")
        plays.succeed("site", *fewer)
        assert namenode.check_output("cat /etc/hdfs/decommissioned") == ""
        assert is_on(hosts[node], "hdfs-datanode")
    finally:
        namenode.run(f"{HDFS} dfs -rm -r -skipTrash /decommission")
        if fewer:
            plays.succeed("site")
            namenode.run(f"{HDFS} dfs -setrep -R {copies} /")
