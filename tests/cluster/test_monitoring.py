"""Monitoring from outside: all exporters are asked, and nobody else gets metrics."""

from __future__ import annotations

import contextlib
import http.client
import ssl
import urllib.parse
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host.prometheus_rest import Servers
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.connect.connectors import (
    CLASS,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.monitoring.model import (
    Monitoring,
)

from apps.console.panels import panels
from tests.support.lab.topology import Topology
from tests.support.repeat import repeated
from tests.support.wait import wait_for_none

PANEL_SECONDS = 120
"""Until rates of a minute have been seen twice, and the readings of the lag exporter."""


def status(address: str, path: str, authority: str, authorization: str = "") -> int:
    """The status that a server answers with."""
    host, _, port = address.rpartition(":")
    context = ssl.create_default_context(cafile=authority)
    connection = http.client.HTTPSConnection(host, int(port), timeout=10, context=context)
    with contextlib.closing(connection):
        headers = {"Authorization": authorization} if authorization else {}
        connection.request("GET", path, headers=headers)
        return connection.getresponse().status


def refuses_clear_text(address: str) -> bool:
    """Whether a server answers a request without TLS with an error alone, as those in Go do."""
    host, _, port = address.rpartition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=10)
    with contextlib.closing(connection):
        connection.request("GET", "/")
        return connection.getresponse().status == 400


def test_every_exporter_answers_prometheus(topology: Topology, servers: Servers) -> None:
    targets = servers.data("targets?state=active")["activeTargets"]
    seen = {
        (target["labels"]["job"], target["labels"]["host"]): target["health"] for target in targets
    }
    assert all(health == "up" for health in seen.values()), seen
    expected = {
        (job, name) for name, metrics in topology.cluster.metrics.items() for job in metrics.modules
    }
    assert expected
    assert expected <= seen.keys()


def test_each_kind_of_exporter_has_what_it_is_for(topology: Topology, servers: Servers) -> None:
    """A series of each job that only the real service can have."""
    series = {
        "node": "node_load1",
        "host": "millrace_certificate_expiry_timestamp_seconds",
        "kafka": "kafka_server_replicamanager_partitioncount",
        "connect": "kafka_connect_worker_connector_count",
        "registry": "jvm_memory_used_bytes",
        "lag": "kafka_lag_exporter_last_success_timestamp_seconds",
        "spark_master": "metrics_master_aliveWorkers_Value",
    }
    jobs = {job for metrics in topology.cluster.metrics.values() for job in metrics.modules}
    present = {job: name for job, name in series.items() if job in jobs}
    assert {"node", "host"} <= present.keys()
    empty = [
        f"{job}: {name}"
        for job, name in present.items()
        if not servers.data(f'query?query={name}{{job="{job}"}}')["result"]
    ]
    assert not empty


def test_metrics_are_for_prometheus_alone(
    topology: Topology, monitoring: Monitoring, monitoring_authority: str
) -> None:
    if monitoring.is_open:
        pytest.skip("they are open here")
    if topology.has_firewall:
        pytest.skip("a firewall keeps this machine out")
    for name, metrics in topology.cluster.metrics.items():
        address = f"{topology.addresses[name]}:{metrics.settings['metrics_port']}"
        codes = {"": 401, "Bearer wrong": 401, f"Bearer {metrics.token}": 200}
        for authorization, code in codes.items():
            actual = status(address, "/proxy?module=node", monitoring_authority, authorization)
            assert actual == code, name
        assert refuses_clear_text(address)


def test_the_servers_ask_for_a_password(
    monitoring: Monitoring, monitoring_authority: str, monitoring_addresses: dict[str, str]
) -> None:
    if monitoring.is_open:
        pytest.skip("they are open here")
    for address in monitoring_addresses.values():
        assert status(address, "/", monitoring_authority) == 401
        assert refuses_clear_text(address)


@pytest.fixture
def load(topology: Topology, admin: Any) -> Iterator[None]:
    """A producer, and a group that reads what it writes."""
    name = f"millrace-load-{uuid.uuid4().hex[:8]}"
    copies = min(3, len(topology.brokers))
    layout = {"num_partitions": 3, "replication_factor": copies}
    admin.create_topics({name: layout}, wait_for_metadata=True)
    producer = clients.producer(topology.connection, acks="all")
    consumer = clients.consumer(topology.connection, group_id=name)
    consumer.subscribe([name])

    def work() -> None:
        for _ in range(20):
            producer.send(name, b"x" * 200)
        consumer.poll(timeout_ms=100)
        consumer.commit()

    try:
        with repeated(work, 0.1):
            yield
    finally:
        consumer.close()
        producer.close()
        admin.delete_topics([name])
        admin.delete_groups([name])


def parts(topology: Topology) -> set[str]:
    """What panels may need and this cluster has."""
    cluster = topology.cluster
    jobs = {job for metrics in cluster.metrics.values() for job in metrics.modules}
    connectors = [
        connector
        for worker in cluster.connect.values()
        for connector in worker.connectors
        if connector.present
    ]
    available = {
        "kraft": topology.voters,
        "zookeeper_brokers": cluster.brokers and not topology.voters,
        "certificate": topology.closed,
        "connector": connectors,
        "source": [connector for connector in connectors if not connector.is_sink],
        "sink": [connector for connector in connectors if connector.is_sink],
        "debezium": [
            connector
            for connector in connectors
            if "debezium" in connector.given[CLASS] and not connector.is_sink
        ],
        "stream": [
            job for spark in cluster.spark.values() for job in spark.drivers.jobs if job.services
        ],
    }
    return {*jobs, *(name for name, value in available.items() if value)}


@pytest.mark.load
def test_every_panel_has_data_under_load(topology: Topology, servers: Servers, load: None) -> None:
    """Panels of parts that this cluster does not have are left out."""
    available = parts(topology)
    shown = [(view, panel) for view, panel in panels() if panel.needs <= available]
    assert len(shown) > len(panels()) / 2

    def without_data() -> list[str]:
        return [
            f"{view}: {panel.title}"
            for view, panel in shown
            if not any(answer(servers, query.of()) for query in panel.queries)
        ]

    wait_for_none(without_data, seconds=PANEL_SECONDS, what="data in every panel")


def answer(servers: Servers, query: str) -> list[Any]:
    """The series that a query finds."""
    series: list[Any] = servers.data(f"query?{urllib.parse.urlencode({'query': query})}")["result"]
    return series
