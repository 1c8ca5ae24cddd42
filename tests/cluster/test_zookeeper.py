"""ZooKeeper from outside: an ensemble that reveals little, and replicates what is written."""

from __future__ import annotations

import contextlib
import socket
import uuid
from pathlib import Path

import pytest
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.zookeeper.model import (
    CLIENT_PROPERTIES,
)
from testinfra.host import Host

from tests.support.faults.catalogue.identities import refuses
from tests.support.lab.topology import Topology
from tests.support.services.zookeeper import (
    client_port,
    four_letter_word,
    joins,
    modes,
    session_timeout,
)


@pytest.fixture(scope="module")
def members(topology: Topology) -> list[str]:
    members = topology.group("zookeeper")
    if not members:
        pytest.skip("no ZooKeeper here")
    if topology.has_firewall:
        pytest.skip("a firewall keeps this machine out")
    return members


def test_ensemble_has_one_leader(topology: Topology, members: list[str]) -> None:
    states = modes(topology)
    assert set(states) == set(members)
    expected = {"leader": 1, "follower": len(members) - 1}
    assert {mode: list(states.values()).count(mode) for mode in expected} == expected


def test_what_is_written_to_one_member_is_read_from_another(
    topology: Topology, members: list[str], hosts: dict[str, Host]
) -> None:
    path = f"/millrace-{uuid.uuid4().hex[:8]}"
    closed = topology.cluster.zookeeper[members[0]].is_secured
    options = f"-client-configuration {CLIENT_PROPERTIES} " if closed else ""
    first, last = (
        f"zkCli.sh {options}-server {topology.addresses[host]}:{client_port(topology, host)}"
        for host in (members[0], members[-1])
    )
    try:
        hosts[members[0]].check_output(f"{first} create {path} written")
        assert "written" in hosts[members[0]].check_output(f"{last} get {path}").splitlines()
    finally:
        hosts[members[0]].run(f"{first} delete {path}")


def test_clients_are_no_members(topology: Topology, members: list[str]) -> None:
    """What brokers and Spark's masters show is worth nothing between members."""
    keys = Path(topology.cluster.inventory.secrets.directory, "certificates")
    clients = [path for path in keys.glob("*/ensemble-*.pem") if path.stem != "ensemble-zookeeper"]
    if not clients:
        pytest.skip("the ensemble is open")
    assert joins(topology, members[0], keys / members[-1] / "ensemble-zookeeper.pem")
    for key in clients:
        assert not joins(topology, members[0], key), key


def test_no_port_serves_whoever_shows_nothing(topology: Topology, members: list[str]) -> None:
    """Of a closed ensemble: without TLS, or with TLS and no certificate."""
    if not topology.cluster.zookeeper[members[0]].is_secured:
        pytest.skip("the ensemble is open")
    for member in members:
        for name, port in topology.cluster.zookeeper[member].ports.items():
            # A port that nobody listens on proves nothing; the leader alone has that of peers.
            absent = [ConnectionRefusedError] if name == "zookeeper_peer_port" else []
            with contextlib.suppress(*absent):
                refuses(f"{topology.addresses[member]}:{port}")


def test_four_letter_words_are_few(topology: Topology, members: list[str]) -> None:
    for member in members:
        assert "Zxid" in four_letter_word(topology, member, "srvr")
        for word in ("envi", "dump", "conf", "stat"):
            response = four_letter_word(topology, member, word)
            assert "not in the whitelist" in response, f"{word} on {member}"


def test_no_session_outlives_eight_seconds(topology: Topology, members: list[str]) -> None:
    """Spark asks for 60 s and Kafka for 18 s: a dead leader would keep its role that long."""
    for member in members:
        most = int(topology.cluster.zookeeper[member].config["maxSessionTimeout"])
        assert session_timeout(topology, member, 60_000) == most


def test_the_admin_server_is_off(topology: Topology, members: list[str]) -> None:
    for member in members:
        if member in topology.cluster.spark:
            continue  # Spark's own web interface may have the port
        with pytest.raises(OSError, match="refused"):
            socket.create_connection((topology.addresses[member], 8080), timeout=5)
