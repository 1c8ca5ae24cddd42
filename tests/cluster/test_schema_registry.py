"""The schema registry from outside: who may use it, what it refuses, what it keeps in Kafka."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host.network import listens
from ansible_collections.millrace.streaming.plugins.module_utils.host.registry_rest import (
    APICURIO,
    CONFLUENT,
    Registry,
)
from ansible_collections.millrace.streaming.plugins.module_utils.host.rest import RestError
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import (
    ConfigResource,
    ConfigResourceType,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.schema_registry import (
    KAFKA_USER,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.schema_registry.model import (
    CONFIG,
    RegistryUser,
    topics,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.schema_registry.model import (
    Registry as Instance,
)
from testinfra.host import Host

from tests.support.lab.topology import Topology
from tests.support.services.rest import answers_in_clear_text
from tests.support.wait import wait_for

SUBJECTS = f"{CONFLUENT}/subjects"
As = Callable[[str], Registry]


def schema(*fields: str) -> dict[str, Any]:
    """A schema of a record with some fields, as a request has it."""
    record = {
        "type": "record",
        "name": "Plane",
        "fields": [{"name": name, "type": "int"} for name in fields],
    }
    return {"schema": json.dumps(record)}


@pytest.fixture
def subject(registry: Registry) -> Iterator[str]:
    """A subject of a test's own, with one version."""
    name = f"test-{uuid.uuid4().hex[:8]}-value"
    registry.call("POST", f"{SUBJECTS}/{name}/versions", schema("seats"))
    yield name
    registry.call("DELETE", f"{SUBJECTS}/{name}")


def status(registry: Registry, method: str, path: str, body: object = None) -> int:
    """The status with which the registry refuses a request."""
    with pytest.raises(RestError) as refused:
        registry.call(method, path, body)
    return refused.value.status


def test_every_instance_serves_the_same_over_tls_alone(
    registry: Registry, registry_addresses: list[str], subject: str
) -> None:
    path = f"{SUBJECTS}/{subject}/versions/1"

    def id_at(address: str) -> int:
        """None is there as long as the instance has not read it from Kafka."""
        try:
            return int(json.loads(registry.ask(address, "GET", path))["id"])
        except RestError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            return 0

    ids = {
        wait_for(partial(id_at, address), seconds=10, what=f"{subject} at {address}")
        for address in registry_addresses
    }
    assert len(ids) == 1
    assert not [address for address in registry_addresses if answers_in_clear_text(address)]


def test_nobody_reads_schemas_without_a_password(
    registry_as: As,
    registry_addresses: list[str],
    registry_authority: str,
    registry_users: list[RegistryUser],
) -> None:
    assert status(registry_as(""), "GET", SUBJECTS) == 401
    wrong = Registry(registry_addresses, registry_authority, f"{registry_users[0].name}:wrong")
    assert status(wrong, "GET", SUBJECTS) == 401


def test_roles_limit_users(registry_as: As, subject: str) -> None:
    reader, writer = registry_as("read"), registry_as("write")
    path = f"{SUBJECTS}/{subject}/versions"
    assert reader.call("GET", path) == [1]
    assert status(reader, "POST", path, schema()) == 403
    assert status(reader, "DELETE", f"{SUBJECTS}/{subject}") == 403
    assert writer.call("POST", path, schema("seats"))["id"]
    level = {"compatibility": "NONE"}
    assert status(reader, "PUT", f"{CONFLUENT}/config/{subject}", level) == 403
    assert status(writer, "PUT", f"{CONFLUENT}/config", level) == 403
    assert status(writer, "GET", f"{APICURIO}/admin/export") == 403


def test_an_incompatible_schema_is_refused(registry_as: As, subject: str) -> None:
    path = f"{SUBJECTS}/{subject}/versions"
    assert status(registry_as("write"), "POST", path, schema("seats", "year")) == 409
    assert status(registry_as("write"), "POST", path, {"schema": '{"type": "recod"}'}) == 422
    assert registry_as("read").call("GET", path) == [1]


def test_health_and_metrics_are_for_the_host_alone(
    topology: Topology, hosts: dict[str, Host], registry_instances: dict[str, Instance]
) -> None:
    for name, instance in registry_instances.items():
        port = instance.ports["schema_registry_management_port"]
        ready = f"http://127.0.0.1:{port}/health/ready"
        program = f"import urllib.request as u; print(u.urlopen('{ready}').status)"
        assert hosts[name].check_output(f'python3 -c "{program}"') == "200"
        assert not listens(f"{topology.addresses[name]}:{port}")


def test_the_topics_keep_everything_and_have_all_copies(
    topology: Topology, registry_instances: dict[str, Instance], admin: Any
) -> None:
    copies = min(3, len(topology.brokers))
    names = list(topics(copies))
    for topic in admin.describe_topics(names):
        (partition,) = topic["partitions"]
        assert len(partition["replica_nodes"]) == copies, topic
    resources = [ConfigResource(ConfigResourceType.TOPIC, name) for name in names]
    described = admin.describe_configs(resources, config_filter="all")["topic"]
    for name in names:
        assert described[name]["retention.ms"]["value"] == "-1"
        assert described[name]["cleanup.policy"]["value"] == "delete"


def test_passwords_are_nowhere_in_clear_text(
    hosts: dict[str, Host],
    registry_instances: dict[str, Instance],
    registry_users: list[RegistryUser],
    registry_secrets: Path,
) -> None:
    """Not in arguments of processes, the journal or files that others may read."""
    passwords = [user.password for user in registry_users]
    for_kafka = (registry_secrets / "passwords" / KAFKA_USER).read_text().strip()
    assert all([*passwords, for_kafka])
    for name in registry_instances:
        host = hosts[name]
        shown = host.check_output("ps -eo args; journalctl --no-pager -u schema_registry")
        readable = host.check_output(
            f"find {CONFIG} /etc/systemd/system -type f -perm /o=r -exec cat {{}} +"
        )
        assert "QuarkusEntryPoint" in shown
        assert not [
            password
            for password in (*passwords, for_kafka)
            if password in shown or password in readable
        ]
        # Its own users are in no file at all.
        configuration = host.check_output(f"find {CONFIG} -type f -exec cat {{}} +")
        assert not [password for password in passwords if password in configuration]
