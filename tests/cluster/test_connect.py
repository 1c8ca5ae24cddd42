"""Kafka Connect from outside: who may use its workers, and what they keep in Kafka."""

from __future__ import annotations

import ssl
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host.connect_rest import Rest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import (
    ConfigResource,
    ConfigResourceType,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.connect.model import (
    AUTHORITY_FILE,
    Worker,
    internal_topics,
)

from tests.support.lab.topology import Topology
from tests.support.services.rest import answers_in_clear_text


def test_every_worker_is_ready_and_has_all_plugins(connect_rest: Rest) -> None:
    plugins = []
    for worker in connect_rest.instances:
        assert connect_rest.ask(worker, "GET", "/health")["status"] == "healthy"
        plugins.append(
            {plugin["class"] for plugin in connect_rest.ask(worker, "GET", "/connector-plugins")}
        )
    assert all(classes == plugins[0] for classes in plugins)
    assert "io.debezium.connector.postgresql.PostgresConnector" in plugins[0]


@pytest.mark.parametrize("shown", ["", "node", "clients"])
def test_the_interface_refuses_others(
    topology: Topology,
    connect_workers: dict[str, Worker],
    connect_addresses: list[str],
    connect_secrets: Path,
    shown: str,
) -> None:
    """Those without a certificate, and those with one by which Kafka would take them."""
    if not next(iter(connect_workers.values())).is_secured:
        pytest.skip("they are open here")
    if shown and not topology.closed:
        pytest.skip("Kafka has no certificates here")
    pem = connect_secrets / "certificates" / topology.cluster.brokers[0].name / f"{shown}.pem"
    context = ssl.create_default_context(cafile=str(connect_secrets / AUTHORITY_FILE))
    if shown:
        context.load_cert_chain(pem)
    for address in connect_addresses:
        with pytest.raises(OSError, match=r"alert|reset|closed"):
            urllib.request.urlopen(f"https://{address}/", context=context, timeout=10)
        assert not answers_in_clear_text(address)


def test_what_the_workers_keep_is_compacted_and_has_all_copies(
    topology: Topology, admin: Any, connect_workers: dict[str, Worker]
) -> None:
    topics = list(internal_topics(next(iter(connect_workers.values())).group).values())
    copies = min(3, len(topology.brokers))
    for topic in admin.describe_topics(topics):
        assert {len(partition["replica_nodes"]) for partition in topic["partitions"]} == {copies}, (
            topic
        )
    resources = [ConfigResource(ConfigResourceType.TOPIC, name) for name in topics]
    described = admin.describe_configs(resources, config_filter="all")["topic"]
    assert {described[name]["cleanup.policy"]["value"] for name in topics} == {"compact"}
