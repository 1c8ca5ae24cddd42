"""Kafka client properties, and what kafka-python gets of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.connection import (
    Connection,
    ConnectionDescriptionError,
)

from tests.support.lab.topology import write_client_config

MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule required"
PEM = {
    "security.protocol": "SSL",
    "ssl.truststore.type": "PEM",
    "ssl.truststore.location": "/etc/ca.pem",
}
KEY = {"ssl.keystore.type": "PEM", "ssl.keystore.location": "/etc/own.pem"}


def security(**properties: str) -> dict[str, Any]:
    named = {key.replace("_", "."): value for key, value in properties.items()}
    return Connection(("k1:9092",), named).security()


def scram(jaas: str, **properties: str) -> dict[str, Any]:
    return security(
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism="SCRAM-SHA-256",
        sasl_jaas_config=f"{MODULE} {jaas};",
        **properties,
    )


# Addresses


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("k1:9092", ("k1:9092",)),
        (" k1:9092 , k2:9093,", ("k1:9092", "k2:9093")),
        ("[fe80::1]:9092", ("[fe80::1]:9092",)),
    ],
)
def test_addresses_are_those_of_bootstrap_servers(written: str, expected: tuple[str, ...]) -> None:
    connection = Connection.of({"bootstrap.servers": written, "client.id": "me"})
    assert connection.bootstrap == expected
    assert connection.properties == {"client.id": "me"}
    assert connection.settings() == {
        "bootstrap_servers": list(expected),
        "security_protocol": "PLAINTEXT",
    }


@pytest.mark.parametrize("written", ["", " , ", "k1", "k1:", "k1:port", "k1:9092,k2"])
def test_addresses_without_a_port_are_refused(written: str) -> None:
    with pytest.raises(ConnectionDescriptionError, match=r"bootstrap\.servers needs host:port"):
        Connection.of({"bootstrap.servers": written})


def test_other_addresses_replace_them() -> None:
    properties = {"bootstrap.servers": "k1", "security.protocol": "SSL"}
    connection = Connection.of(properties, ["10.0.0.1:9092"])
    assert connection.bootstrap == ("10.0.0.1:9092",)
    assert connection.at("a:1", "b:2") == Connection(("a:1", "b:2"), connection.properties)


def test_values_are_read_as_yaml_gives_them() -> None:
    properties = {"bootstrap.servers": "k1:9092", "a": True, "b": 5, "c": None, "d": ["x", "y"]}
    assert Connection.of(properties).properties == {"a": "true", "b": "5", "d": "x,y"}


def test_a_secret_is_not_shown() -> None:
    assert "hunter2" not in repr(Connection.of({"sasl.jaas.config": "hunter2"}, ["k1:9092"]))


# Files


def test_a_file_is_read_as_kafka_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_text("# of k1\nbootstrap.servers = k1:9092,\\\n  k2:9092\nsecurity.protocol: SSL\n")
    connection = Connection.read(path)
    assert connection.bootstrap == ("k1:9092", "k2:9092")
    assert connection.properties == {"security.protocol": "SSL"}
    assert Connection.read(path, ["h:1"]).bootstrap == ("h:1",)


@pytest.mark.parametrize("content", [None, b"a=\\u12\n", b"\xff"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "client.properties"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConnectionDescriptionError, match=f"{path} cannot be read"):
        Connection.read(path)


def test_what_the_tests_write_for_programs_is_read_back(tmp_path: Path) -> None:
    connection = Connection(("k1:9092", "k2:9092"), {**PEM, "ssl.key.password": "p=q"})
    path = write_client_config(connection, tmp_path / "client.properties", request_timeout_ms=5)
    assert path.stat().st_mode & 0o777 == 0o600
    connection_read = Connection.read(path)
    assert connection_read.bootstrap == connection.bootstrap
    assert connection_read.properties == {**connection.properties, "request.timeout.ms": "5"}


# TLS


def test_pem_stores_are_files_of_certificates_and_keys() -> None:
    config = Connection(("k1:9092",), {**PEM, **KEY, "ssl.key.password": "p"}).security()
    assert config == {
        "security_protocol": "SSL",
        "ssl_cafile": "/etc/ca.pem",
        "ssl_certfile": "/etc/own.pem",
        "ssl_keyfile": "/etc/own.pem",
        "ssl_password": "p",
    }


def test_without_stores_the_system_knows_the_authorities() -> None:
    assert security(security_protocol="SSL") == {"security_protocol": "SSL"}


@pytest.mark.parametrize("store", ["truststore", "keystore"])
@pytest.mark.parametrize("kind", [None, "JKS", "PKCS12"])
def test_a_store_that_is_not_pem_is_refused(store: str, kind: str | None) -> None:
    properties = {**PEM, **KEY, f"ssl.{store}.type": kind}
    configured = {key: value for key, value in properties.items() if value is not None}
    with pytest.raises(ConnectionDescriptionError, match=rf"set ssl\.{store}\.type: PEM"):
        Connection(("k1:9092",), configured).security()


@pytest.mark.parametrize(("algorithm", "checked"), [("", False), ("https", True), (None, True)])
def test_an_empty_algorithm_turns_the_check_of_host_names_off(
    algorithm: str | None, checked: bool
) -> None:
    properties = {} if algorithm is None else {"ssl.endpoint.identification.algorithm": algorithm}
    config = Connection(("k1:9092",), {**PEM, **properties}).security()
    assert config.get("ssl_check_hostname", True) is checked


def test_stores_of_an_open_listener_are_not_read() -> None:
    assert security(ssl_truststore_location="/x.jks") == {"security_protocol": "PLAINTEXT"}


# SASL


@pytest.mark.parametrize(
    ("jaas", "user", "password"),
    [
        ('username="u" password="p"', "u", "p"),
        ("username=u password=p", "u", "p"),
        ('password="a \\"b\\" \\\\c;=" username="o\'u"', "o'u", 'a "b" \\c;='),
        ('username = "u"\n password = ""', "u", ""),
    ],
)
def test_the_user_is_read_from_the_jaas_text(jaas: str, user: str, password: str) -> None:
    assert scram(jaas) == {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "SCRAM-SHA-256",
        "sasl_plain_username": user,
        "sasl_plain_password": password,
    }


def test_sasl_over_tls_has_both() -> None:
    jaas = {"sasl.mechanism": "PLAIN", "sasl.jaas.config": 'username="u" password="p"'}
    config = Connection(("k:1",), {**PEM, **jaas, "security.protocol": "SASL_SSL"}).security()
    assert (config["ssl_cafile"], config["sasl_mechanism"]) == ("/etc/ca.pem", "PLAIN")


@pytest.mark.parametrize(
    "properties",
    [
        {},
        {"sasl_mechanism": "GSSAPI", "sasl_jaas_config": 'username="u" password="p"'},
        {"sasl_mechanism": "PLAIN"},
        {"sasl_mechanism": "PLAIN", "sasl_jaas_config": 'username="u"'},
    ],
)
def test_a_mechanism_or_user_that_is_missing_is_refused(properties: dict[str, str]) -> None:
    with pytest.raises(ConnectionDescriptionError, match="PLAIN, SCRAM-SHA-256, SCRAM-SHA-512"):
        security(security_protocol="SASL_SSL", **properties)


@pytest.mark.parametrize("password", ["p", 'a"b\\c;d', "p=q r", "ä"])
def test_a_user_of_scram_is_connected_as(password: str) -> None:
    connection = Connection(("k1:9092",), PEM | {"security.protocol": "SASL_SSL"})
    assert connection.as_user("SCRAM-SHA-512", "app", password).security() == {
        "security_protocol": "SASL_SSL",
        "ssl_cafile": "/etc/ca.pem",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": "app",
        "sasl_plain_password": password,
    }
    assert "sasl.mechanism" not in connection.properties
    assert "hunter2" not in repr(connection.as_user("SCRAM-SHA-512", "app", "hunter2"))


def test_a_name_is_sent_as_scram_has_it() -> None:
    """kafka-python sends it as it is, and Kafka takes that for no message of SCRAM (RFC 5802)."""
    config = scram('username="CN=a,O=b" password="p"')
    assert config["sasl_plain_username"] == "CN=3Da=2CO=3Db"
    plain = {"security_protocol": "SASL_SSL", "sasl_mechanism": "PLAIN"}
    jaas = 'PlainLoginModule required username="a=b" password="p";'
    assert security(**plain, sasl_jaas_config=jaas)["sasl_plain_username"] == "a=b"


@pytest.mark.parametrize("protocol", ["SASL_PLAINTXT", "sasl_ssl", "TLS"])
def test_a_protocol_that_kafka_does_not_have_is_refused(protocol: str) -> None:
    with pytest.raises(ConnectionDescriptionError, match=f"security.protocol is {protocol}: "):
        Connection.of({"security.protocol": protocol}, ["k1:9092"]).security()
