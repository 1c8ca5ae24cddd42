"""Clients of the schema registry as they are: confluent-kafka, Spark and Kafka Connect."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster import files
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.connect.connectors import (
    secret_file,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.connect.model import (
    KAFKA_AUTHORITY,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.schema_registry.model import (
    Registry,
)
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from testinfra.host import Host

from millrace_job import REASON
from tests.support.clients import guide
from tests.support.clients.delivery import Client, client_of
from tests.support.lab.change import Plays
from tests.support.lab.topology import ROOT, Topology
from tests.support.services.connectors import ALIAS, NAME, connector
from tests.support.services.postgresql import sql
from tests.support.wait import scaled, wait_for

SECTION = "Schemas in a registry"
JOB = ROOT / "tests/support/services/jobs/avro_orders.py"
USER = "writer"
"""One of the inventory's users of the registry, which may register schemas and no more."""
CONVERTER = "io.apicurio.registry.utils.converter.AvroConverter"
FORMER = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": "int"}, {"name": "item", "type": "string"}],
}
NEWER = {
    **FORMER,
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "item", "type": "string"},
        {"name": "price", "type": "double", "default": 1.5},
    ],
}


@dataclass(frozen=True)
class Clients:
    """The registry as its user on this machine reaches it."""

    client: Client
    registry: SchemaRegistryClient
    model: Registry
    directory: Path
    """What `clients.yml` has written, with the login of the registry's user."""


@pytest.fixture(scope="module")
def registry(
    topology: Topology, plays: Plays, admin: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Clients]:
    instances = topology.cluster.schema_registry
    if not instances:
        pytest.skip("no schema registry here")
    directory = tmp_path_factory.mktemp("clients")
    plays.succeed("clients", "-e", f"path={directory}")
    written = directory / "schema-registry.conf"
    assert written.stat().st_mode & 0o077 == 0
    model = next(iter(instances.values()))
    config = model.client_config(USER, str(directory / "ca.pem"))
    written.write_text(files.properties(config))
    with client_of(admin, topology) as client, SchemaRegistryClient(config) as registry_client:
        yield Clients(client, registry_client, model, directory)


@pytest.fixture
def topic(registry: Clients, topology: Topology) -> str:
    """A topic whose schemas no other test has, with one partition."""
    return registry.client.topic(replicas=sorted(topology.brokers)[:3])


@pytest.mark.parametrize("form", ["avro", "json", "protobuf"])
def test_the_commands_of_the_page(registry: Clients, topic: str, form: str) -> None:
    """As users type them: key and value come back as they were written."""
    [command] = [
        line for line in guide.commands(SECTION, guide.CLIENTS) if line.endswith(f" {form}")
    ]
    _, program, _, _, _ = command.split()
    done = subprocess.run(
        [sys.executable, program, str(registry.directory), topic, form],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=scaled(120),
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(done.stdout.splitlines()) == 3
    for side in ("key", "value"):
        assert registry.registry.get_versions(f"{topic}-{side}") == [1]


def serialized(
    registry: Clients,
    topic: str,
    schema: dict[str, Any],
    field: MessageField = MessageField.VALUE,
    **record: Any,
) -> bytes:
    """What confluent-kafka's serializer makes of a record, with a schema that it registers."""
    serializer = AvroSerializer(registry.registry, json.dumps(schema))
    made: bytes | None = serializer(record, SerializationContext(topic, field))
    assert made
    return made


def test_spark_reads_each_record_by_the_schema_of_its_writer(
    topology: Topology, plays: Plays, registry: Clients, topic: str, admin: Any
) -> None:
    if not topology.group("spark_masters"):
        pytest.skip("no Spark here")
    foreign, unknown = b"\x01" + bytes(9), b"\0" + (2**31 - 1).to_bytes(4, "big") + b"\x02"
    values = [
        serialized(registry, topic, FORMER, id=1, item="cup"),
        serialized(registry, topic, NEWER, id=2**40, item="Müsli", price=3.25),
        foreign,
        unknown,
    ]
    registry.client.write(topic, values)
    read, letters = f"{topic}.read", f"{topic}.dead-letter"
    admin.create_topics(
        {name: {"num_partitions": 1, "replication_factor": 3} for name in (read, letters)},
        wait_for_metadata=True,
    )
    job = {
        "name": "avro-orders",
        "source": str(JOB),
        "schedule": "once",
        "cores": 1,
        "memory": "512m",
        "kafka_user": USER,
        "grants": [
            {"topic": topic, "operations": ["read"]},
            *({"topic": name, "operations": ["write"]} for name in (read, letters)),
        ],
        "topics": [topic, read, letters],
        "arguments": ["avro-orders", topic, json.dumps(NEWER)],
    }
    try:
        plays.succeed("jobs", "-e", json.dumps({"spark_jobs": [job]}), "-e", "job=avro-orders")
        rows = [json.loads(text) for text in registry.client.values(read)]
        assert rows == [
            {"id": 1, "item": "cup", "price": 1.5},
            {"id": 2**40, "item": "Müsli", "price": 3.25},
        ]
        refused = registry.client.read(letters)
        reasons = {record.value: dict(record.headers)[REASON].decode() for record in refused}
        assert set(reasons) == {foreign, unknown}
        assert str(2**31 - 1) in reasons[unknown]
    finally:
        gone = {"name": job["name"], "state": "absent", "kafka_user": USER}
        plays.run("jobs", "-e", json.dumps({"spark_jobs": [gone]}), "-e", "job=avro-orders")
        admin.delete_topics([read, letters])


def converters(registry: Registry, connector: str) -> dict[str, Any]:
    """The properties of docs/operate/connect.md for key and value; `connector` has a file of secrets."""
    [text] = [
        block
        for block in guide.blocks(
            "Avro and a schema registry", "yaml", ROOT / "docs/operate/connect.md"
        )
        if CONVERTER in block
    ]
    address = next(iter(registry.rest_addresses.values()))
    lines = dict(re.findall(r"^\s*value\.converter(\S*): (.+)$", text, re.MULTILINE))
    settings = {
        ".apicurio.registry.url": f"https://{address}/apis/registry/v2",
        ".apicurio.auth.username": USER,
        ".apicurio.auth.password": f"${{file:{secret_file(connector)}:registry}}",
    }
    assert set(settings) <= set(lines)
    assert lines[".apicurio.rest.request.ssl.ca-bundle.location"] == KAFKA_AUTHORITY
    sides = ("key", "value")
    return {
        f"{side}.converter{key}": value
        for key, value in {**lines, **settings}.items()
        for side in sides
    }


def password(registry: Registry) -> str:
    [secret] = [user.password for user in registry.users if user.name == USER]
    return secret


def test_what_a_source_of_kafka_connect_writes_is_read_by_confluents_deserializer(
    topology: Topology, plays: Plays, registry: Clients, topic: str, admin: Any
) -> None:
    """MirrorMaker copies bytes; a transform makes records with one field of them."""
    if not topology.cluster.connect:
        pytest.skip("no Kafka Connect here")
    copied = [b"one", b"two", b"three"]
    registry.client.write(topic, copied)
    source = connector(topology, topic, 3)
    hoist = "org.apache.kafka.connect.transforms.HoistField$Value"
    transform = {"transforms": "x", "transforms.x.type": hoist, "transforms.x.field": "data"}
    source["config"].update(transform)
    source["config"].update(converters(registry.model, NAME))
    secrets = {NAME: {"tasks": "1", "registry": password(registry.model)}}
    target = f"{ALIAS}.{topic}"

    def given(**changes: Any) -> tuple[str, str]:
        connector_secrets = {} if "state" in changes else secrets
        variables = {
            "connect_connectors": [{**source, **changes}],
            "connect_secrets": connector_secrets,
        }
        return "-e", json.dumps(variables)

    try:
        plays.succeed("connectors", *given())
        wait_for(lambda: target in admin.list_topics(), seconds=120, what=target)

        def written() -> list[bytes]:
            received = registry.client.values(target, isolation_level="read_committed")
            return received if len(received) >= len(copied) else []

        values = wait_for(written, seconds=120, what="all records")
        read = AvroDeserializer(registry.registry)
        context = SerializationContext(target, MessageField.VALUE)
        assert sorted(read(value, context)["data"] for value in values) == sorted(copied)
    finally:
        plays.run("connectors", *given(state="absent"))
        if target in admin.list_topics():
            admin.delete_topics([target])


def test_a_sink_of_kafka_connect_reads_what_confluents_serializer_writes(
    topology: Topology, hosts: dict[str, Host], plays: Plays, registry: Clients, topic: str
) -> None:
    """Into a table, by the inventory's connector for results with another topic."""
    if not topology.cluster.databases:
        pytest.skip("no database here")
    worker = next(iter(topology.cluster.connect.values()))
    results = next(sink for sink in worker.connectors if sink.is_sink)
    name = table = topic.replace("-", "_")
    database = next(iter(topology.cluster.databases.values()))
    ask = partial(sql, hosts[database.host.name], database)
    keys = {"type": "record", "name": "Key", "fields": [{"name": "id", "type": "long"}]}
    items = {"type": "record", "name": "Item", "fields": [{"name": "item", "type": "string"}]}
    with closing(registry.client.producer(acks="all")) as producer:
        for number, item in enumerate(("cup", "Müsli")):
            key = serialized(registry, topic, keys, MessageField.KEY, id=number)
            value = serialized(registry, topic, items, item=item)
            producer.send(topic, value, key=key).get(timeout=scaled(30))
    sink = {
        "name": name,
        "kafka_user": name,
        "grants": [{"topic": topic, "operations": ["read"]}],
        "config": {
            **{key: value for key, value in results.given.items() if key != "tasks.max"},
            "topics": topic,
            "collection.name.format": f"results.{table}",
            **converters(registry.model, name),
        },
    }

    def given(**changes: Any) -> tuple[str, str]:
        secrets = {} if "state" in changes else {name: {"registry": password(registry.model)}}
        variables = {"connect_connectors": [{**sink, **changes}], "connect_secrets": secrets}
        return "-e", json.dumps(variables)

    ask(f"CREATE TABLE results.{table} (id bigint PRIMARY KEY, item text)")
    ask(f"GRANT SELECT, INSERT, UPDATE, DELETE ON results.{table} TO sink")
    try:
        plays.succeed("connectors", *given())
        rows = ["0|cup", "1|Müsli"]
        select = f"TABLE results.{table} ORDER BY id"
        wait_for(lambda: ask(select) == rows, seconds=120, what=f"{rows} in results.{table}")
    finally:
        plays.run("connectors", *given(state="absent"))
        ask(f"DROP TABLE results.{table}")


def test_a_converter_that_is_not_there_is_refused(
    topology: Topology, plays: Plays, registry: Clients, topic: str
) -> None:
    """By the workers, before a connector is made."""
    if not topology.cluster.connect:
        pytest.skip("no Kafka Connect here")
    source = connector(topology, topic, 3)
    missing = "io.confluent.connect.avro.AvroConverter"
    source["config"]["value.converter"] = missing
    variables = {"connect_connectors": [source], "connect_secrets": {NAME: {"tasks": "1"}}}
    try:
        code, output = plays.run("connectors", "-e", json.dumps(variables))
        assert code != 0
        assert missing in output
        assert "value.converter" in output
    finally:
        variables = {"connect_connectors": [{**source, "state": "absent"}], "connect_secrets": {}}
        plays.run("connectors", "-e", json.dumps(variables))
