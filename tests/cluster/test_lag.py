"""Consumer lag as Prometheus gets it: what a group is behind, and that nothing stays for ever."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.lag_exporter.model import (
    LagExporter,
)
from testinfra.host import Host

from tests.support.lab.topology import Topology
from tests.support.services.groups import commit
from tests.support.wait import wait_for

RECORDS = 100
# The program has the same answer for everybody on its host; curl may not be there.
FETCH = "import urllib.request as u; print(u.urlopen('{}', timeout=10).read().decode())"
Lag = Callable[[str], float | None]
"""Returns the value of a metric of the group, None while there is none."""


@pytest.fixture(scope="module")
def exporter(topology: Topology) -> LagExporter:
    exporters = topology.cluster.lag_exporters
    if not exporters:
        pytest.skip("no monitoring here")
    return next(iter(exporters.values()))


@pytest.fixture
def topic(topology: Topology, exporter: LagExporter, admin: Any) -> Iterator[str]:
    """A topic with one partition, and records in it."""
    name = f"millrace-lag-{uuid.uuid4().hex[:8]}"
    admin.create_topics({name: {"num_partitions": 1}}, wait_for_metadata=True)
    write(topology, name)
    yield name
    if name in admin.list_topics():
        admin.delete_topics([name])


@pytest.fixture
def lag(hosts: dict[str, Host], exporter: LagExporter, topic: str) -> Lag:
    host = hosts[exporter.name]
    (port,) = exporter.ports.values()
    program = FETCH.format(f"http://127.0.0.1:{port}/metrics")

    def value(metric: str) -> float | None:
        text = host.check_output(f'python3 -c "{program}"')
        sample = rf"^kafka_consumer_group_{metric}{{.*group=\"{topic}\".*}} (\S+)"
        match = re.search(sample, text, re.MULTILINE)
        return float(match[1]) if match else None

    return value


def write(topology: Topology, topic: str) -> None:
    """Write records."""
    producer = clients.producer(topology.connection, acks="all")
    try:
        sent = [producer.send(topic, b"x", partition=0) for _ in range(RECORDS)]
        for future in sent:
            future.get(timeout=30)
    finally:
        producer.close()


def test_a_group_is_behind_until_it_has_read_all(
    topology: Topology, admin: Any, exporter: LagExporter, topic: str, lag: Lag
) -> None:
    seconds = 3 * exporter.settings["lag_exporter_interval"] + 45
    commit(admin, topic, RECORDS)
    wait_for(lambda: lag("lag_records") == 0, seconds=seconds, what="a group without lag")
    assert lag("lag_seconds") == 0
    write(topology, topic)
    behind = wait_for(lambda: lag("lag_records"), seconds=seconds, what="a group that is behind")
    assert behind == RECORDS
    first = wait_for(lambda: lag("lag_seconds"), seconds=seconds, what="a lag in seconds")
    wait_for(
        lambda: (lag("lag_seconds") or 0) > first + 5, seconds=seconds, what="a lag that grows"
    )
    commit(admin, topic, 2 * RECORDS)
    wait_for(lambda: lag("lag_records") == 0, seconds=seconds, what="a group that caught up")
    assert lag("lag_seconds") == 0
    admin.delete_groups([topic])
    wait_for(lambda: lag("lag_records") is None, seconds=seconds, what="no lag of a deleted group")


def test_its_login_is_for_its_account_alone(hosts: dict[str, Host], exporter: LagExporter) -> None:
    ownership = hosts[exporter.name].check_output(f"stat -c '%U %G %a' {exporter.properties_file}")
    assert ownership == f"root {exporter.product} 640"
