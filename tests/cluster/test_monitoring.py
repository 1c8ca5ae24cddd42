"""Monitoring from outside: all exporters are asked, and nobody else gets metrics."""

from __future__ import annotations

import contextlib
import http.client
import ssl

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host.prometheus_rest import Servers
from ansible_collections.millrace.streaming.plugins.module_utils.model.monitoring import Monitoring

from tests.support.lab.topology import Topology


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
    found = servers.data("targets?state=active")["activeTargets"]
    seen = {(one["labels"]["job"], one["labels"]["host"]): one["health"] for one in found}
    assert all(health == "up" for health in seen.values()), seen
    wanted = {(job, name) for name, one in topology.cluster.metrics.items() for job in one.modules}
    assert wanted
    assert wanted <= seen.keys()


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
    jobs = {job for one in topology.cluster.metrics.values() for job in one.modules}
    known = {job: name for job, name in series.items() if job in jobs}
    assert {"node", "host"} <= known.keys()
    empty = [
        f"{job}: {name}"
        for job, name in known.items()
        if not servers.data(f'query?query={name}{{job="{job}"}}')["result"]
    ]
    assert not empty


def test_metrics_are_for_prometheus_alone(
    topology: Topology, monitoring: Monitoring, monitoring_authority: str
) -> None:
    if monitoring.is_open:
        pytest.skip("they are open here")
    for name, one in topology.cluster.metrics.items():
        address = f"{topology.addresses[name]}:{one.settings['metrics_port']}"
        wanted = {"": 401, "Bearer wrong": 401, f"Bearer {one.token}": 200}
        for given, code in wanted.items():
            found = status(address, "/proxy?module=node", monitoring_authority, given)
            assert found == code, name
        assert refuses_clear_text(address)


def test_the_servers_ask_for_a_password(
    monitoring: Monitoring, monitoring_authority: str, monitoring_addresses: dict[str, str]
) -> None:
    if monitoring.is_open:
        pytest.skip("they are open here")
    for address in monitoring_addresses.values():
        assert status(address, "/", monitoring_authority) == 401
        assert refuses_clear_text(address)
