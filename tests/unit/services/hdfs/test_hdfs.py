"""HDFS: what its hosts run, who may connect, and what lands in which file."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from typing import Any

from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.desired import removal
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.service import (
    CLIENTS,
    LOOPBACK,
    NODES,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.hdfs.model import HdfsHost

from tests.unit.cluster.small import Variables, cluster

GROUPS = {"hdfs_namenode": ["h1"], "hdfs_datanodes": ["h1", "h2"]}


def hosts(
    groups: dict[str, list[str]] | None = None,
    of_hosts: Mapping[str, Variables] | None = None,
    **variables: Any,
) -> dict[str, HdfsHost]:
    return dict(cluster(groups or GROUPS, of_hosts, **variables).hdfs)


def site(host: HdfsHost, name: str) -> dict[str, str | None]:
    """What Hadoop reads in a file."""
    root = ET.fromstring(host.files()[f"/etc/hdfs/{name}-site.xml"]["content"])
    return {str(element.findtext("name")): element.findtext("value") for element in root}


def test_the_groups_decide_what_a_host_runs() -> None:
    nodes = hosts()
    assert nodes["h1"].units == ["hdfs-namenode", "hdfs-secondarynamenode", "hdfs-datanode"]
    assert nodes["h2"].units == ["hdfs-datanode"]
    at = ["h1:8020"]
    assert nodes["h2"].starts_after == {"hdfs-datanode": at}
    assert nodes["h1"].starts_after == {"hdfs-secondarynamenode": at, "hdfs-datanode": at}
    assert [path for _, path in nodes["h2"].data_directories] == ["/var/lib/hdfs/data"]


def test_every_host_finds_the_namenode_where_it_listens() -> None:
    variables = {"h1": {"hdfs_host": "name.example.org", "hdfs_namenode_port": 9000}}
    for host in hosts(of_hosts=variables).values():
        assert site(host, "core")["fs.defaultFS"] == "hdfs://name.example.org:9000"
        assert site(host, "hdfs")["dfs.namenode.rpc-address"] == "name.example.org:9000"


def test_the_namenode_takes_the_datanodes_of_the_inventory() -> None:
    variables = {"h2": {"hdfs_host": "10.0.0.2"}}
    nodes = hosts(of_hosts=variables)
    assert nodes["h1"].files()["/etc/hdfs/datanodes"]["content"] == "h1\n10.0.0.2\n"
    assert "/etc/hdfs/datanodes" not in nodes["h2"].files()
    addresses = nodes["h1"].addresses(nodes["h1"].datanodes, "hdfs_datanode_port")
    assert addresses == ["h1:9866", "10.0.0.2:9866"]


def test_blocks_have_as_many_copies_as_there_are_datanodes_at_most_three() -> None:
    for number, copies in ((1, 1), (2, 2), (3, 3), (5, 3)):
        names = [f"h{index}" for index in range(1, number + 1)]
        nodes = hosts({"hdfs_namenode": ["h1"], "hdfs_datanodes": names})
        assert nodes["h1"].config["dfs.replication"] == copies


def test_closed_is_for_nodes_alone_and_web_servers_are_for_the_host_itself() -> None:
    for security, callers in (("hosts", (NODES,)), ("open", (CLIENTS, NODES))):
        host = hosts(hdfs_security=security)["h1"]
        callers_by_port = {port.name: port.callers for port in host.listening}
        assert {allowed for name, allowed in callers_by_port.items() if "_ui_" not in name} == {
            callers
        }
        assert {allowed for name, allowed in callers_by_port.items() if "_ui_" in name} == {
            (LOOPBACK,)
        }
        tokens = site(host, "hdfs").get("dfs.block.access.token.enable")
        assert tokens == ("true" if security == "hosts" else None)


def test_a_property_lands_where_hadoop_reads_it_and_is_escaped() -> None:
    config = {"dfs.blocksize": "64m", "hadoop.proxyuser.x.hosts": "<&>", "dfs.a": [1, 2]}
    host = hosts(hdfs_config=config)["h2"]
    assert site(host, "hdfs")["dfs.blocksize"] == "64m"
    assert site(host, "hdfs")["dfs.a"] == "1,2"
    assert site(host, "core")["hadoop.proxyuser.x.hosts"] == "<&>"


def test_spark_knows_how_to_wait_and_where_its_tables_are() -> None:
    groups = {**GROUPS, "spark_masters": ["h1"], "spark_workers": ["h2"]}
    for system, place in (("shared", "file:///srv/spark/"), ("hdfs", "hdfs://h1:8020/user/spark/")):
        deployment = cluster(groups, spark_file_system=system)
        spark = deployment.spark["h2"]
        assert spark.config["spark.hadoop.dfs.client.retry.policy.enabled"] is True
        assert spark.config["spark.hadoop.dfs.replication"] == 2
        assert spark.sessions.config["spark.sql.warehouse.dir"] == f"{place}warehouse"
        assert ("spark.hadoop.fs.defaultFS" in spark.sessions.config) == (system == "hdfs")
        assert spark.config["spark.eventLog.dir"].startswith("file:///srv/spark/")


def test_the_namenode_has_what_spark_needs() -> None:
    deployment = cluster(
        {**GROUPS, "spark_masters": ["h2"], "spark_workers": ["h2"]}, spark_user="sp"
    )
    made = {directory["path"]: directory for directory in deployment.hdfs["h1"].shared_directories}
    assert made["/user/spark/warehouse"] == {
        "path": "/user/spark/warehouse",
        "mode": "770",
        "owner": "sp:spark-users",
    }
    assert [line for line in deployment.hdfs["h1"].accounts if "spark-users" in line]
    assert not [line for line in deployment.hdfs["h2"].accounts if "spark-users" in line]
    assert hosts()["h1"].shared_directories == []


def test_teardown_keeps_data_unless_it_is_asked_to_remove_it() -> None:
    for remove in (False, True):
        removed = removal(cluster(GROUPS, hdfs_remove_data=remove), "h1", "hdfs")["removed"]
        assert ("/var/lib/hdfs/name" in removed) == remove
        assert ("/var/lib/hdfs/data" in removed) == remove
        assert "/etc/hdfs/hdfs-site.xml" in removed
