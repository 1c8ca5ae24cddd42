"""Real faults, the alerts that each must fire, and how each is healed.

A fault is a context manager: it injects on entry and heals on exit.
"""

from __future__ import annotations

import contextlib
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

from ansible_collections.millrace.streaming.plugins.module_utils.host.connect_rest import Rest
from ansible_collections.millrace.streaming.plugins.module_utils.host.rest import RestError
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import errors
from ansible_collections.millrace.streaming.plugins.plugin_utils import certificates
from testinfra.host import Host

from tests.support.faults.catalogue.identities import authority
from tests.support.faults.target import DROP_ANSWERS, STOP_DROPPING
from tests.support.lab.topology import Topology
from tests.support.wait import wait_for

CONFLICT, CONNECT_SECONDS, START_SECONDS = 409, 90, 90
Labels = Mapping[str, str]
Injection = Callable[["Watched"], contextlib.AbstractContextManager[None]]


@dataclass(frozen=True)
class Watched:
    """The cluster that faults are made on."""

    topology: Topology
    hosts: Mapping[str, Host]
    admin: Any
    connect: Rest
    suffix: str = field(default_factory=lambda: uuid.uuid4().hex[:8])

    def member(self, group: str, index: int = -1) -> str:
        """A host of a group."""
        return self.topology.group(group)[index]


@dataclass(frozen=True)
class AlertingFault:
    """A fault, and the alerts that it fires: name -> labels that they have."""

    name: str
    inject: Injection
    alerts: Callable[[Watched], Mapping[str, Labels]]


@contextlib.contextmanager
def stopped(host: Host, unit: str) -> Iterator[None]:
    """A unit that is stopped during the block."""
    host.check_output("systemctl stop %s", unit)
    try:
        yield
    finally:
        host.check_output("systemctl start %s", unit)


@contextlib.contextmanager
def broker_stopped(on: Watched) -> Iterator[None]:
    """The last broker is stopped; it has the only replica of one topic, and another needs it."""
    where = on.member("kafka_brokers")
    node = on.topology.cluster.kafka[where].id
    alone, strict = f"alone-{on.suffix}", f"strict-{on.suffix}"
    others = [one for one in on.topology.brokers if one != node]
    on.admin.create_topics(
        {
            alone: {"assignments": {0: [node]}},
            strict: {"assignments": {0: [*others, node]}, "configs": {"min.insync.replicas": "3"}},
        },
        wait_for_metadata=True,
    )
    try:
        with stopped(on.hosts[where], "kafka"), refused_producer(on.topology, strict):
            yield
    finally:
        remove_topics(on, {alone, strict})


def remove_topics(on: Watched, names: set[str]) -> None:
    """Remove topics; a client that asks the broker that was stopped is refused at first."""

    def are_gone() -> bool:
        with contextlib.suppress(errors.KafkaError), clients.admin(on.topology.connection) as admin:
            left = names & {*admin.list_topics()}
            if left:
                admin.delete_topics([*left])
            return not left
        return False

    wait_for(are_gone, seconds=START_SECONDS, what=f"no topics {', '.join(sorted(names))}")


@contextlib.contextmanager
def refused_producer(topology: Topology, topic: str) -> Iterator[None]:
    """A producer that goes on during the block, whatever it is answered."""
    ended = threading.Event()

    def send() -> None:
        with contextlib.closing(
            clients.producer(topology.connection, acks="all", retries=0, enable_idempotence=False)
        ) as producer:
            while not ended.wait(0.2):
                with contextlib.suppress(errors.KafkaError):
                    producer.send(topic, b"refused").get(10)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextlib.contextmanager
def proxy_unreachable(on: Watched) -> Iterator[None]:
    """No exporter of a host answers: what a cut link looks like to Prometheus."""
    name = on.member("kafka_brokers", 0)
    port = on.topology.cluster.metrics[name].ports["metrics_port"]
    on.hosts[name].check_output(DROP_ANSWERS, str(port))
    try:
        yield
    finally:
        on.hosts[name].check_output(STOP_DROPPING)


@contextlib.contextmanager
def certificate_ends(on: Watched) -> Iterator[None]:
    """The file of a certificate that ends tomorrow; what is running keeps the former one."""
    name = on.member("monitoring")
    own = on.topology.cluster.metrics[name].certificates[0]
    with mock.patch.object(certificates, "LEAF_DAYS", 1):
        text = certificates.issue(authority(on.topology.cluster), own)
    on.hosts[name].check_output("cp --preserve %s %s.kept", own.path, own.path)
    try:
        on.hosts[name].check_output("printf %%s %s > %s", text, own.path)
        yield
    finally:
        on.hosts[name].check_output("mv %s.kept %s", own.path, own.path)


@contextlib.contextmanager
def connector_fails(on: Watched) -> Iterator[None]:
    """A sink without a user of Kafka: its task fails while it starts."""
    path = f"/connectors/fails-{on.suffix}"
    config = {
        "connector.class": "io.debezium.connector.jdbc.JdbcSinkConnector",
        "connection.url": "jdbc:postgresql://127.0.0.1:1/nothing",
        "connection.username": "nobody",
        "connection.password": "nothing",
        "topics": f"fails-{on.suffix}",
        "tasks.max": "1",
    }
    ask(on, "PUT", f"{path}/config", config)
    try:
        yield
    finally:
        ask(on, "DELETE", path)


def ask(on: Watched, method: str, path: str, body: object = None) -> None:
    """Ask Kafka Connect again for as long as its workers share out connectors: a conflict."""

    def is_done() -> bool:
        try:
            on.connect.call(method, path, body)
        except RestError as error:
            if error.status != CONFLICT:
                raise
            return False
        return True

    wait_for(is_done, seconds=CONNECT_SECONDS, what=f"{method} {path}")


def of_unit(group: str, unit: str) -> Injection:
    """Return the fault that stops a unit on the last host of a group."""
    return lambda on: stopped(on.hosts[on.member(group)], unit)


def on_last(group: str, *alerts: str) -> Callable[[Watched], Mapping[str, Labels]]:
    """Return alerts about the last host of a group."""
    return lambda on: {name: {"host": on.member(group)} for name in alerts}


BROKER_STOPPED = AlertingFault(
    "a broker is stopped",
    broker_stopped,
    lambda on: {
        "KafkaDown": {"host": on.member("kafka_brokers")},
        "PartitionsWithoutLeader": {},
        "PartitionsUnderMinIsr": {},
        "PartitionsUnderReplicated": {},
        "ProduceErrors": {"error": "NOT_ENOUGH_REPLICAS"},
    },
)
ROUNDS = (
    (
        BROKER_STOPPED,
        AlertingFault(
            "a sink that may not log in to Kafka",
            connector_fails,
            lambda on: {"ConnectorWithoutTask": {"connector": f"fails-{on.suffix}"}},
        ),
        AlertingFault(
            "an instance of the schema registry is stopped",
            of_unit("schema_registry", "schema_registry"),
            on_last("schema_registry", "RegistryDown"),
        ),
        AlertingFault(
            "an exporter is stopped",
            of_unit("monitoring", "millrace-node-exporter"),
            lambda on: {"TargetDown": {"host": on.member("monitoring"), "job": "node"}},
        ),
        AlertingFault(
            "a certificate ends",
            certificate_ends,
            on_last("monitoring", "CertificateExpiresSoon", "CertificateExpired"),
        ),
    ),
    # Alone: of a host whose exporters do not answer nothing else is seen.
    (
        AlertingFault(
            "no exporter of a host answers",
            proxy_unreachable,
            lambda on: {"HostDown": {"host": on.member("kafka_brokers", 0)}},
        ),
        AlertingFault(
            "a worker of Kafka Connect is stopped",
            of_unit("kafka_connect", "connect"),
            on_last("kafka_connect", "ConnectWorkerDown"),
        ),
    ),
)
"""Faults that are there at the same time, after each other."""
