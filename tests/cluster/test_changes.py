"""What an inventory's connectors and jobs make of captured tables, from outside: docs/operate/cdc.md."""

from __future__ import annotations

import time
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host.connect_rest import Rest
from ansible_collections.millrace.streaming.plugins.module_utils.host.registry_rest import (
    CONFLUENT,
    Registry,
)
from testinfra.host import Host

from changes.schemas import DIMENSIONS
from flights.kafka_log import Reader
from tests.support.lab.change import Plays
from tests.support.lab.topology import Topology
from tests.support.services.changes import SECONDS, Captured, job

AVRO = "avro.source.planes"


@pytest.fixture(scope="module")
def captured(
    topology: Topology, hosts: dict[str, Host], plays: Plays, connect_rest: Rest
) -> Captured:
    jobs = [entry for spark in topology.cluster.spark.values() for entry in spark.drivers.jobs]
    if job()["name"] not in {entry.name for entry in jobs}:
        pytest.skip("no job on captured tables here")
    return Captured(topology, hosts, plays, connect_rest)


def test_results_are_equal_to_the_tables(captured: Captured, facts: dict[str, Any]) -> None:
    captured.settled()
    facts["changes"] = {
        dimension.table: len(captured.actual(dimension)) for dimension in DIMENSIONS
    }


def test_a_captured_table_is_in_avro_with_its_schema_in_the_registry(
    topology: Topology, captured: Captured, registry: Registry
) -> None:
    subject = f"{AVRO}-value"
    newest = registry.call("GET", f"{CONFLUENT}/subjects/{subject}/versions/latest")
    reader = Reader(AVRO, topology.connection)
    try:
        values = {record.key: record.value for record in reader.read(time.monotonic() + SECONDS)}
    finally:
        reader.close()
    ids = {
        int.from_bytes(value[1:5], "big") for value in values.values() if value and value[0] == 0
    }
    assert ids == {newest["id"]}
    assert len(values) == int(captured.sql("SELECT count(*) FROM source.planes")[0])
