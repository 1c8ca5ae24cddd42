"""The schema registry: what its instances run with, who they are, and who may use them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.formats.properties import (
    parse_or_empty,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.service import (
    CLIENTS,
    LOOPBACK,
    NODES,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.security import User
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.schema_registry import (
    KAFKA_USER,
    schemas,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.schema_registry.model import (
    PROPERTIES,
    STORE,
    Registry,
    topics,
)

from tests.unit.cluster.small import Variables, cluster, with_secrets

KAFKA = {"kafka_brokers": ["k1", "k2"], "kafka_controllers": ["k1"]}
GROUPS = {**KAFKA, "schema_registry": ["k2", "r1"]}
IDS = {"k1": {"kafka_node_id": 1}, "k2": {"kafka_node_id": 2}}
CLOSED: dict[str, Any] = {"kafka_security": "standard", "schema_registry_security": "standard"}
USERS = "quarkus.security.users.embedded."
GIVEN = "a-password-of-theirs"
AVRO = {"type": "record", "namespace": "flights", "name": "Plane", "fields": []}


def instances(
    of_hosts: Mapping[str, Variables] | None = None, **variables: Any
) -> dict[str, Registry]:
    host_variables = {**IDS, **(of_hosts or {})}
    return dict(with_secrets(cluster(GROUPS, host_variables, **variables)).schema_registry)


def written(instance: Registry) -> dict[str, str]:
    return parse_or_empty(instance.files()[PROPERTIES]["content"])


def test_clients_and_others_find_each_instance() -> None:
    registries = instances(
        {"r1": {"schema_registry_host": "10.0.0.9", "schema_registry_port": 9081}}
    )
    config = written(registries["r1"])
    assert config["quarkus.http.port"] == "9081"
    assert config["apicurio.kafkasql.bootstrap.servers"] == "k1:9092,k2:9092"
    assert [*registries["k2"].rest_addresses.values()] == ["k2:8081", "10.0.0.9:9081"]
    assert registries["k2"].callers("schema_registry_port") == (CLIENTS, NODES)


def test_the_host_alone_may_ask_for_health_and_metrics() -> None:
    instance = instances()["r1"]
    assert written(instance)["quarkus.management.host"] == "127.0.0.1"
    assert instance.callers("schema_registry_management_port") == (LOOPBACK,)


def test_a_closed_registry_has_no_port_without_tls() -> None:
    config = written(instances(**CLOSED)["r1"])
    assert config["quarkus.http.insecure-requests"] == "disabled"
    assert config["quarkus.http.ssl-port"] == "8081"
    assert "quarkus.http.port" not in config


def test_passwords_are_not_in_the_file_of_an_instance() -> None:
    reader = {"name": "given", "role": "read", "password": GIVEN}
    users = [{"name": "writer", "role": "write"}, reader]
    instance = instances(schema_registry_users=users, **CLOSED)["r1"]
    entry, config = instance.files()[PROPERTIES], written(instance)
    assert {config[f"{USERS}roles.{user}"] for user in ("admin", "writer", "given")} == {
        "sr-admin",
        "sr-developer",
        "sr-readonly",
    }
    assert config[f"{USERS}plain-text"] == "false"
    text = f"given:Quarkus:{GIVEN}"
    assert config[f"{USERS}users.given"] == hashlib.sha512(text.encode()).hexdigest()
    assert not any(user.password in entry["content"] for user in instance.users)
    assert (entry["mode"], entry["group"], entry["secret"]) == ("0640", "schema_registry", True)


def test_the_admin_may_be_an_entry_with_a_password() -> None:
    users = [{"name": "admin", "role": "admin", "password": GIVEN}]
    instance = instances(schema_registry_users=users, **CLOSED)["r1"]
    assert [user.name for user in instance.users] == ["admin"]
    assert instance.login == f"admin:{GIVEN}"


def test_instances_log_in_to_kafka_and_check_its_host_names() -> None:
    config = written(instances(**CLOSED)["r1"])
    assert f'username="{KAFKA_USER}"' in config["apicurio.kafka.common.sasl.jaas.config"]
    assert config["apicurio.kafka.common.security.protocol"] == "SASL_SSL"
    assert config["apicurio.kafka.common.ssl.endpoint.identification.algorithm"] == "https"


def test_the_certificate_is_not_one_of_a_client_of_kafka() -> None:
    instance = instances(**CLOSED)["r1"]
    (certificate,) = instance.certificates
    assert not certificate.client
    entry = instance.files()[STORE]
    assert (entry["mode"], entry["owner"], entry["secret"]) == ("0400", "schema_registry", True)
    assert STORE not in instances()["r1"].files()


def test_instances_may_use_their_topics_and_no_others() -> None:
    def registry_users(groups: Mapping[str, list[str]]) -> list[User]:
        users = cluster(groups, IDS, **CLOSED).kafka["k1"].security.users
        return [user for user in users if user.name == KAFKA_USER]

    (user,) = registry_users(GROUPS)
    names = {str(grant["topic"]) for grant in user.grants if "topic" in grant}
    assert names == {*topics(1)}
    assert {operation for grant in user.grants for operation in grant["operations"]} == {
        "describe_configs",
        "read",
        "write",
    }
    assert registry_users(KAFKA) == []


def test_nothing_of_the_topics_is_ever_deleted() -> None:
    for topic in topics(3).values():
        assert (topic["num_partitions"], topic["replication_factor"]) == (1, 3)
        assert topic["configs"]["retention.ms"] == topic["configs"]["retention.bytes"] == "-1"
        assert topic["configs"]["cleanup.policy"] == "delete"


def test_the_user_of_the_instances_is_made_where_kafka_has_users() -> None:
    deployment = cluster(GROUPS, IDS, **CLOSED)
    assert KAFKA_USER in {user.name for user in deployment.kafka["k1"].security.users}
    without = cluster(KAFKA, IDS, **CLOSED)
    assert KAFKA_USER not in {user.name for user in without.kafka["k1"].security.users}


def test_what_is_missing_is_named() -> None:
    deployment = cluster(GROUPS, IDS, **CLOSED)
    assert set(deployment.missing_secrets("r1", "schema_registry")) == {
        "r1/schema_registry",
        "ca.pem",
        f"the password of {KAFKA_USER}",
        "passwords/schema_registry/admin",
    }
    assert not with_secrets(deployment).missing_secrets("r1", "schema_registry")


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        ({"subject": "any"}, "any"),
        ({"topic": "t"}, "t-value"),
        ({"topic": "t", "part": "key"}, "t-key"),
        ({"strategy": schemas.RECORD, "schema": AVRO}, "flights.Plane"),
        ({"topic": "t", "strategy": schemas.TOPIC_RECORD, "schema": AVRO}, "t-flights.Plane"),
        ({"strategy": schemas.RECORD, "schema": {"name": "a.B", "namespace": "c"}}, "a.B"),
        ({"strategy": schemas.RECORD, "schema": {"title": "Plane"}, "type": "JSON"}, "Plane"),
        (
            {
                "strategy": schemas.RECORD,
                "type": "PROTOBUF",
                "schema": 'syntax = "proto3";\npackage f.g;\nmessage Plane {}\nmessage B {}\n',
            },
            "f.g.Plane",
        ),
    ],
)
def test_a_subject_is_named_as_serializers_do(entry: dict[str, Any], name: str) -> None:
    (subject,) = schemas.of_settings({schemas.VARIABLE: [entry]}, "")
    assert subject.name == name


def test_a_file_is_relative_to_the_directory_of_the_inventory(tmp_path: Path) -> None:
    (tmp_path / "plane.avsc").write_text('{"type": "int"}')
    entry = {"topic": "t", "file": "../plane.avsc"}
    (subject,) = schemas.of_settings(
        {schemas.VARIABLE: [entry]}, str(tmp_path / "inventory" / "..")
    )
    assert subject.error
    (tmp_path / "inventory").mkdir()
    (subject,) = schemas.of_settings({schemas.VARIABLE: [entry]}, str(tmp_path / "inventory"))
    assert (subject.text, subject.error) == ('{"type": "int"}', "")
