"""What looks like a secret in a text, without any knowledge of secrets."""

from __future__ import annotations

import time

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.formats.redaction import (
    MARK,
    is_secret_name,
    without_private_keys,
    without_secrets,
)

KEY = "-----BEGIN PRIVATE KEY-----\nMIICANARY\n-----END PRIVATE KEY-----"


@pytest.mark.parametrize(
    "text",
    [
        "ssl.keystore.password=CANARY",
        "ssl.keystore.password = CANARY",
        '{"password" : "a\\"CANARY b", "x": 1}',
        '{\\"password\\":\\"CANARY\\"}',
        'sasl.jaas.config=org.X required username="u" password="a;CANARY";',
        'required user_bob="CANARY";',
        "KAFKA_PASSWORD=CANARY",
        "program --password CANARY --other",
        "java -Djavax.net.ssl.trustStorePassword=CANARY -jar x",
        "<name>fs.s3a.secret.key</name>\n  <value>CANARY</value>",
        "jdbc:postgresql://u:CANARY@h/db",
        "jdbc:postgresql://h/db?password=CANARY&x=1",
        "Authorization: Basic CANARYdTpwYXNzd29yZA==",
        "authorization: bearer CANARYdTpwYXNzd29yZA",
        "secret: 'a b CANARY'",
        'password="CANARY x',
        'x password=\\"CANARY',
        "SCRAM-SHA-512=stored_key=CANARY,server_key=CANARY",
        "cookie eyJhbGciOiJIUzI1.eyJDQU5BUlki.CANARY-x end",
        "root:$6$salt$CANARYaaaaaaaaaaaaaaaa:1",
        "//server/share cifs username=u,password=CANARY,rw",
        "İ password=CANARY",
        f"before\n{KEY}\nafter",
        f"json {KEY!r} after",
        "MIICANARY\nCANARY\n-----END EC PRIVATE KEY-----\nafter",
        "before\n-----BEGIN RSA PRIVATE KEY-----\nMIICANARY",
    ],
)
def test_a_secret_is_removed_and_the_text_around_it_stays(text: str) -> None:
    redacted = without_secrets(text)
    assert "CANARY" not in redacted
    assert MARK in redacted
    assert without_secrets(redacted) == redacted
    for word in ("username", "before", "after", "--other", "-jar x", "end"):
        assert (word in redacted) == (word in text)


@pytest.mark.parametrize(
    "text",
    [
        "password.encoder.iterations and passwords are fine",
        "sasl.password = ${file:/etc/kafka/users:key}",
        "ssl.key.password = [hidden]",
        '{"ssl.key.password": {"layer": "owned"}}',
        "Topic: flights\tPartition: 0\tLeader: 1\n",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert without_secrets(text) == text


def test_two_keys_and_what_is_between_them() -> None:
    assert without_private_keys(f"a{KEY}b{KEY}c") == f"a{MARK}b{MARK}c"


def test_names_of_secrets() -> None:
    assert is_secret_name("ssl.key.password")
    assert not is_secret_name("password.encoder.iterations")


@pytest.mark.parametrize("part", ["user_.", "eyJ-", 'password="' + 2 * "\\"])
def test_a_hostile_line_is_read_in_time_that_grows_with_its_length(part: str) -> None:
    begun = time.process_time()
    without_secrets(part * (100_000 // len(part)))
    assert time.process_time() - begun < 10
