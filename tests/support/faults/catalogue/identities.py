"""Clients, users and certificates that a closed cluster must refuse, and name where it does."""

from __future__ import annotations

import contextlib
import re
import secrets
import socket
import ssl
import struct
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import (
    clients,
    configs,
    users,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.connection import Connection
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import errors
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import Cluster
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.service import LOOPBACK
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets import certificates
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets.store import (
    given_authority,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka import security

from tests.support.faults.catalogue.entry import begin, clock, fault, follower, journal_line
from tests.support.faults.target import Record, Target
from tests.support.wait import wait_for

REFUSED = "Failed authentication with"
DENIALS = "/var/log/kafka/authorizer.log"
ALERT = b"\x15"
REFUSALS = re.compile(rb"HTTP/1\.\d 40[013] |..\xd0.{5}\x12[\x45\x4c]", re.DOTALL)
"""Of a web interface: not in its protocol, no token, a wrong one. Of Derby: not in its protocol
(PRCCNVRM and SYNTAXRM of DRDA).
"""
METADATA = struct.pack(">hhihi", 3, 4, 1, -1, -1) + b"\0"
"""A request of all topics (API 3, version 4), from a client without a name."""
OPENINGS = {
    "HTTP": b"GET / HTTP/1.0\r\n\r\n",
    "Kafka": struct.pack(">i", len(METADATA)) + METADATA,
    "ZooKeeper": b"srvr",
}
"""What somebody without credentials sends first, to see what is there."""
SILENT_SECONDS = 1.0
CLIENT_MS = 2000
ALLOWED = 100
PER_ADDRESS = "max.connections.per.ip"
USER = "millrace-faults-user"


def unverified() -> ssl.SSLContext:
    """A client's context that takes any certificate and shows none."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def tls_1_1() -> ssl.SSLContext:
    context = unverified()
    context.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    return context


def listeners(target: Target) -> Iterator[tuple[str, str]]:
    """Yield the host and the address of each listener of each Kafka node, all of them with TLS."""
    for where, node in target.topology.cluster.kafka.items():
        for listener in node.listeners.all:
            assert listener.encrypted, listener
            yield where, f"{target.topology.addresses[where]}:{listener.port}"


def answer(address: str, opening: bytes, context: ssl.SSLContext | None = None) -> bytes:
    """What a port answers first to an opening, empty if it closes the connection or is silent.

    Raises OSError where nothing listens: that is no refusal.
    """
    host, _, port = address.rpartition(":")
    client = socket.create_connection((host, int(port)), SILENT_SECONDS * 10)
    client.settimeout(SILENT_SECONDS)
    with client, contextlib.suppress(OSError), contextlib.ExitStack() as stack:
        if context:
            client = stack.enter_context(context.wrap_socket(client))
        client.sendall(opening)
        return client.recv(200)
    return b""


def refuses(address: str) -> None:
    """Check that a port gives nothing to a client without credentials, with or without TLS."""
    for protocol, opening in OPENINGS.items():
        for context in (None, unverified()):
            response = answer(address, opening, context)
            refused = not response or response.startswith(ALERT) or REFUSALS.match(response)
            assert refused, f"{address} answers {protocol}: {response!r}"


@fault(50, "a client without TLS", on="closed")
def client_without_tls(target: Target, record: Record) -> None:
    """Each listener closes the connection, and the node's log has it."""
    record.node, since, count = "the client", marks(target), 0
    for _, address in listeners(target):
        response = answer(address, OPENINGS["Kafka"])
        assert not response or response.startswith(ALERT), f"{address}: {response!r}"
        count += 1
    for where, mark in since.items():
        journal_line(target, where, mark, REFUSED)
    record.proof = f"{count} listeners closed the connection, and every node logged it"


@fault(51, "a client with TLS 1.1", on="closed")
def client_with_old_tls(target: Target, record: Record) -> None:
    """No listener agrees to a protocol below TLS 1.2."""
    record.node, since = "the client", marks(target)
    context, refusals = tls_1_1(), set()
    for _, address in listeners(target):
        host, _, port = address.rpartition(":")
        with socket.create_connection((host, int(port)), SILENT_SECONDS * 10) as plain:
            with pytest.raises(ssl.SSLError) as refusal:
                context.wrap_socket(plain)
            refusals.add(refusal.value.reason)
    for where, mark in since.items():
        journal_line(target, where, mark, REFUSED)
    assert refusals == {"TLSV1_ALERT_PROTOCOL_VERSION"}, refusals  # sent by the server
    record.proof = f"{refusals} at each listener; every node logged it"


@fault(52, "every port is tried without credentials", on="closed")
def unauthenticated(target: Target, record: Record) -> None:
    """No port of any service serves whoever shows nothing, whatever protocol is tried."""
    record.node = "the client"
    cluster = target.topology.cluster
    ports = [
        (
            f"{target.topology.addresses[host]}:{endpoint.port}",
            f"{endpoint.service}: {endpoint.name}",
        )
        for host in cluster.hosts
        for endpoint in cluster.listening(host)
        if endpoint.port and endpoint.callers != (LOOPBACK,)
    ]
    with ThreadPoolExecutor(8) as pool:
        tried = list(pool.map(lambda port: is_tried(port[0]), ports))
    # One member of ZooKeeper, its leader, listens to the others: elsewhere that port is closed.
    names = {name for (_, name), attempted in zip(ports, tried, strict=True) if attempted}
    assert names == {name for _, name in ports}, {name for _, name in ports} - names
    record.proof = f"{sum(tried)} ports gave nothing away"


def is_tried(address: str) -> bool:
    """Check a port as `refuses` does; return whether anything listens there."""
    try:
        refuses(address)
    except ConnectionRefusedError:
        return False
    return True


@fault(53, "a wrong password", on="closed")
def wrong_password(target: Target, record: Record) -> None:
    """Of a user that exists, and of one that does not: both get the same refusal."""
    record.node, since, refusals = "the client", marks(target), set()
    for name in ("admin", "nobody"):
        refusals.add(refused(as_user(target, name, "wrong-password")))
    assert len(refusals) == 1, refusals
    record.proof = logged(target, since)


@fault(54, "a deleted user", on="closed")
def deleted_user(target: Target, record: Record) -> None:
    """Who could connect before cannot any more."""
    record.node, since = "the client", marks(target)
    with user(target) as connection:
        clients.admin(connection, bootstrap_timeout_ms=CLIENT_MS).close()
    refused(connection)
    record.proof = logged(target, since)


@fault(55, "a user without a grant", on="closed")
def missing_grant(target: Target, record: Record) -> None:
    """What is not granted is denied, and the authorizer's log names the user."""
    record.node = "the client"
    with user(target) as connection:
        producer = clients.producer(connection, max_block_ms=CLIENT_MS, enable_idempotence=False)
        try:
            with pytest.raises(errors.TopicAuthorizationFailedError):
                producer.send(target.topic, b"not granted").get(30)
        finally:
            producer.close(timeout=1)
        brokers = target.topology.group("kafka_brokers")
        command = "grep -c -- %s %s || true"
        denials = sum(
            int(target.sh(broker, command, f"User:{USER} ", DENIALS)) for broker in brokers
        )
        assert denials, f"{DENIALS} does not name {USER}"
    record.proof = f"denied, {denials} lines in {DENIALS}"


@fault(56, "more idle connections than max.connections.per.ip", on="closed")
def idle_connections(target: Target, record: Record) -> None:
    """A limit, set online, is kept; those who are connected and other hosts are served on."""
    node = follower(target)
    where = begin(target, record, node)
    mark = clock(target, where)
    with (
        contextlib.closing(clients.admin(target.topology.connection)) as admin,
        contextlib.ExitStack() as stack,
    ):
        assert limit(admin, node, str(ALLOWED)) == ""
        stack.callback(limit, admin, node, None)
        host, _, port = target.topology.brokers[node].rpartition(":")
        idle: list[socket.socket] = []

        def some_are_closed() -> bool:
            """Open more: with ZooKeeper the broker gets the limit only after the answer."""
            idle.extend(
                stack.enter_context(socket.create_connection((host, int(port)), 10))
                for _ in range(ALLOWED)
            )
            return sum(map(ended, idle)) >= ALLOWED

        wait_for(some_are_closed, seconds=30, what="an end of connections above the limit")
        line = journal_line(target, where, mark, "Rejected connection")
        target.wait_for_acks()
        assert target.topic in admin.list_topics()
        count = sum(map(ended, idle))
    record.proof = f"{count} of {len(idle)} closed: {line}"


def limit(admin: Any, node: int, value: str | None) -> str:
    """Set how many connections a broker takes from one address; why Kafka refuses, if it does."""
    changes = {PER_ADDRESS: value}
    return configs.alter(admin, node, changes, cluster_wide=True, validate_only=False)


def ended(connection: socket.socket) -> bool:
    """Whether the other side has closed a connection."""
    connection.setblocking(False)
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


@fault(57, "a broker's certificate has expired", on="closed", long=True)
def expired_certificate(target: Target, record: Record) -> None:
    """Clients go on by the other brokers, and health says which one it is."""
    with mock.patch.object(certificates, "LEAF_DAYS", 0):
        shows(target, record, names=())


@fault(58, "a broker's certificate has the name of another host", on="closed", long=True)
def wrong_name(target: Target, record: Record) -> None:
    """As one that has expired."""
    shows(target, record, names=("another-host",))


def shows(target: Target, record: Record, names: tuple[str, ...]) -> None:
    """Let a broker show clients another certificate of its CA, with these names or its own."""
    node = follower(target)
    where = begin(target, record, node)
    cluster, address = target.topology.cluster, target.topology.brokers[node]
    certificate = next(
        candidate
        for candidate in cluster.kafka[where].certificates
        if candidate.path.endswith("clients.pem")
    )
    text = certificates.issue(
        authority(cluster), replace(certificate, names=names or certificate.names)
    )
    target.sh(where, f"cp -p {certificate.path} {certificate.path}.own")
    try:
        target.sh(
            where, f"cat > {certificate.path} <<'END'\n%s\nEND\nsystemctl restart kafka", text
        )
        serves_again(target, where)
        why = refused(target.topology.connection.at(address))
        code, output = target.plays.run("health")
        assert code != 0, "health is content"
        assert f"the certificate at {address} is not valid" in " ".join(output.split()), output
        target.wait_for_acks()
    finally:
        target.sh(where, f"mv {certificate.path}.own {certificate.path}; systemctl restart kafka")
        serves_again(target, where)
    record.proof = f"{why}; health names {address}"


def serves_again(target: Target, where: str) -> None:
    """Wait until a broker has caught up, as the controllers and other brokers see it."""
    node = target.topology.cluster.kafka[where].id
    assert node is not None

    def complete() -> bool:
        snapshot = target.snapshot(without=node)
        partitions = snapshot.partitions if snapshot else ()
        return bool(partitions) and not any(partition.under_replicated for partition in partitions)

    wait_for(complete, seconds=90, what=f"all replicas of {where}")


def authority(cluster: Cluster) -> certificates.Authority:
    """The CA of the cluster: that of the site, or Millrace's own."""
    folder = Path(cluster.inventory.secrets.directory)
    if configured := given_authority(cluster):
        return configured
    return certificates.Authority(
        (folder / security.AUTHORITY_FILE).read_text(), (folder / "ca.key").read_text()
    )


@contextlib.contextmanager
def user(target: Target) -> Iterator[Connection]:
    """How a user connects that has no grants, and that is there during the block alone."""
    password = secrets.token_urlsafe()
    credential = users.Credential(USER, security.MECHANISM, security.ITERATIONS, password)
    connection = as_user(target, USER, password)
    with contextlib.closing(clients.admin(target.topology.connection)) as admin:
        assert not users.set_credentials(admin, [credential])
        try:
            wait_for(lambda: accepted(connection), seconds=30, what=f"every broker knows {USER}")
            yield connection
        finally:
            assert not users.delete_credentials(admin, [USER], security.MECHANISM)


def as_user(target: Target, name: str, password: str) -> Connection:
    return target.topology.connection.as_user(security.MECHANISM, name, password)


def accepted(connection: Connection) -> bool:
    """Whether each broker takes a login."""
    for address in connection.bootstrap:
        try:
            clients.admin(connection.at(address), bootstrap_timeout_ms=CLIENT_MS).close()
        except errors.KafkaError:
            return False
    return True


def refused(connection: Connection) -> str:
    """Wait until a client cannot connect; why."""

    def why() -> str:
        try:
            clients.admin(connection, bootstrap_timeout_ms=CLIENT_MS).close()
        except errors.KafkaError as error:
            return type(error).__name__
        return ""

    return wait_for(why, seconds=30, what="a refusal")


def marks(target: Target) -> dict[str, str]:
    """The time of each host with Kafka, as its journal has it."""
    return {where: clock(target, where) for where in target.kafka_hosts}


def logged(target: Target, since: dict[str, str]) -> str:
    """Wait until a node's log names a client that was refused after `since`; the line."""

    def line() -> str:
        matches = (lines(target, where, since[where]) for where in target.kafka_hosts)
        return next(filter(None, matches), "")

    return wait_for(line, seconds=30, what="a refused client in a log")[:200]


def lines(target: Target, where: str, mark: str) -> str:
    command = "journalctl --unit kafka --output cat --since %s | grep -F -m 1 -- %s"
    return str(target.hosts[where].run(command, mark, REFUSED).stdout).strip()
