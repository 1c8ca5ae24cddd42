"""ZooKeeper as its clients see it, without a client library."""

from __future__ import annotations

import socket
import ssl
import struct
from pathlib import Path

from ansible_collections.millrace.streaming.plugins.plugin_utils.services.zookeeper import (
    tls as zookeeper_tls,
)

from tests.support.lab.topology import Topology


def client_port(topology: Topology, host: str) -> int:
    return topology.cluster.zookeeper[host].ports["zookeeper_client_port"]


def connection(topology: Topology, host: str) -> socket.socket:
    """A connection to a member, with its own certificate if the ensemble is closed."""
    address = topology.addresses[host], client_port(topology, host)
    plain = socket.create_connection(address, timeout=5)
    identity = topology.cluster.zookeeper[host].identity
    if identity is None:
        return plain
    secrets = Path(topology.cluster.inventory.secrets.directory)
    tls = ssl.create_default_context(cafile=secrets / zookeeper_tls.AUTHORITY_FILE)
    tls.load_cert_chain(secrets / "certificates" / f"{identity.certificate.name}.pem")
    return tls.wrap_socket(plain, server_hostname=host)


def four_letter_word(topology: Topology, host: str, word: str) -> str:
    """What a member answers to one of ZooKeeper's commands; empty if it does not answer."""
    try:
        with connection(topology, host) as link:
            link.sendall(word.encode())
            with link.makefile() as response:
                return response.read()
    except OSError:
        return ""


def modes(topology: Topology) -> dict[str, str]:
    """Member to leader, follower or standalone, of those that serve."""
    answers = {
        host: four_letter_word(topology, host, "srvr") for host in topology.group("zookeeper")
    }
    return {
        host: line.removeprefix("Mode: ")
        for host, response in answers.items()
        for line in response.splitlines()
        if line.startswith("Mode: ")
    }


def leader_of(topology: Topology) -> str:
    """The member that leads, empty if none does."""
    return next((host for host, mode in modes(topology).items() if mode == "leader"), "")


def session_timeout(topology: Topology, host: str, timeout: int) -> int:
    """Milliseconds that a member grants to a session that wants `timeout` (ConnectRequest)."""
    request = struct.pack(">iqiqi16s?", 0, 0, timeout, 0, 16, bytes(16), False)
    with connection(topology, host) as link:
        link.sendall(struct.pack(">i", len(request)) + request)
        with link.makefile("rb") as response:
            _length, _version, granted = struct.unpack(">iii", response.read(12))
    return int(granted)


def joins(topology: Topology, host: str, pem: Path) -> bool:
    """Whether a member accepts a connection with this key at its port of elections."""
    tls = ssl.create_default_context()
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    tls.load_cert_chain(pem)
    port = topology.cluster.zookeeper[host].ports["zookeeper_election_port"]
    with socket.create_connection((topology.addresses[host], port), timeout=2) as plain:
        try:
            # A refusal comes after the handshake (TLS 1.3); who is taken has to speak first.
            return bool(tls.wrap_socket(plain).recv(1))
        except TimeoutError:
            return True
        except OSError:
            return False
