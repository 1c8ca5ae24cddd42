"""HDFS from outside: what is written on one host is read on another, and nobody else reaches it."""

from __future__ import annotations

import socket
import uuid
from collections.abc import Iterator

import pytest
from testinfra.host import Host

from tests.support.clients import guide
from tests.support.lab.topology import ROOT, Topology

AS_SUPERUSER = "runuser -u hdfs -- hdfs dfs"


@pytest.fixture(scope="module")
def namenode(topology: Topology) -> str:
    if not topology.group("hdfs_namenode"):
        pytest.skip("no HDFS here")
    return topology.group("hdfs_namenode")[0]


@pytest.fixture(scope="module")
def written_file(
    topology: Topology, hosts: dict[str, Host], namenode: str
) -> Iterator[tuple[str, str]]:
    """A file that the last DataNode's host has written: its path, and its checksum."""
    writer = hosts[topology.group("hdfs_datanodes")[-1]]
    path = f"/millrace-{uuid.uuid4().hex[:8]}"
    writer.check_output("head -c 3000000 /dev/urandom > /var/tmp/hdfs-probe")
    total = writer.check_output("md5sum < /var/tmp/hdfs-probe")
    try:
        writer.check_output(f"{AS_SUPERUSER} -put - {path} < /var/tmp/hdfs-probe")
        yield path, total
    finally:
        writer.run(f"{AS_SUPERUSER} -rm -skipTrash {path}; rm /var/tmp/hdfs-probe")


def test_what_one_host_writes_another_reads(
    topology: Topology, hosts: dict[str, Host], written_file: tuple[str, str]
) -> None:
    path, total = written_file
    reader = hosts[topology.group("hdfs_datanodes")[0]]
    assert reader.check_output(f"{AS_SUPERUSER} -cat {path} | md5sum") == total


def test_every_block_has_all_its_copies(
    topology: Topology, hosts: dict[str, Host], namenode: str, written_file: tuple[str, str]
) -> None:
    copies = topology.cluster.hdfs[namenode].config["dfs.replication"]
    output = hosts[namenode].check_output(
        f"runuser -u hdfs -- hdfs fsck {written_file[0]} -files -blocks"
    )
    assert "is HEALTHY" in output
    assert f"Live_repl={copies}" in output


def test_people_without_rights_write_nothing(
    hosts: dict[str, Host], namenode: str, written_file: tuple[str, str]
) -> None:
    done = hosts[namenode].run(f"runuser -u nobody -- hdfs dfs -rm -skipTrash {written_file[0]}")
    assert done.rc != 0
    assert "Permission denied" in done.stderr


def test_commands_of_the_page_work(hosts: dict[str, Host], namenode: str) -> None:
    try:
        for command in guide.commands("Who may use it", ROOT / "docs/operate/hdfs.md"):
            printed = hosts[namenode].check_output(command)
        assert "/user" in printed
    finally:
        hosts[namenode].run(f"{AS_SUPERUSER} -rm -r -skipTrash /user/analyst")


def test_only_the_hosts_of_the_inventory_connect(
    topology: Topology, hosts: dict[str, Host], namenode: str
) -> None:
    """This machine is none of them."""
    if topology.cluster.hdfs[namenode].is_open:
        pytest.skip("it is open here")
    for host, hdfs in topology.cluster.hdfs.items():
        for name, port in hdfs.ports.items():
            with pytest.raises(OSError, match=r"timed out|refused|unreachable"):
                socket.create_connection((topology.addresses[host], port), timeout=2).close()
            here = "127.0.0.1" if "_ui_" in name else topology.addresses[host]
            hosts[host].check_output(f"timeout 5 bash -c '< /dev/tcp/{here}/{port}'")


def test_web_servers_listen_for_their_own_host_alone(
    topology: Topology, hosts: dict[str, Host], namenode: str
) -> None:
    """WebHDFS believes whatever name a request gives, and cannot be switched off."""
    for host, hdfs in topology.cluster.hdfs.items():
        for name, port in hdfs.ports.items():
            if "_ui_" in name:
                (listening,) = (
                    hosts[host].check_output("ss -Hltn sport = :%s", str(port)).splitlines()
                )
                assert "127.0.0.1" in listening, f"{name} of {host}"
