"""Which stores the site brings, and what nodes expect of them."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.stores import (
    Store,
    of_host,
)

from tests.unit.cluster.small import kafka, with_secrets

NODE, TRUSTED = "/etc/ssl/node.pem", "/etc/ssl/ca.pem"
OWN = {
    "ssl.keystore.type": "PEM",
    "ssl.keystore.location": NODE,
    "ssl.truststore.type": "PEM",
    "ssl.truststore.location": TRUSTED,
}
PROVIDED = "${file:/etc/kafka/secrets:x}"
CLIENTS = Store(NODE, True, "")
NODES = Store(NODE, True, "", TRUSTED, mutual=True)


def found(config: dict[str, Any], *, brokers: int = 3, security: str = "standard") -> list[Store]:
    nodes = kafka(brokers, brokers, kafka_security=security, kafka_config=config).kafka
    return of_host(nodes["b1"])


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, [CLIENTS, NODES, Store(TRUSTED)]),
        (
            {"ssl.key.password": PROVIDED},
            [
                Store(NODE, True, None),
                Store(NODE, True, None, TRUSTED, mutual=True),
                Store(TRUSTED),
            ],
        ),
        ({"ssl.truststore.location": PROVIDED}, [CLIENTS, Store(NODE, True, "", mutual=True)]),
        ({"ssl.keystore.location": PROVIDED}, [Store(TRUSTED)]),
        (
            {"listener.name.internal.ssl.client.auth": "none"},
            [CLIENTS, Store(NODE, True, "", TRUSTED), Store(TRUSTED)],
        ),
        ({"ssl.engine.factory.class": "com.example.Engine"}, [Store(NODE, True), Store(TRUSTED)]),
    ],
)
def test_what_nodes_expect(changes: dict[str, Any], expected: list[Store]) -> None:
    assert found({**OWN, **changes}) == expected


def test_a_listener_has_a_store_of_its_own() -> None:
    configured = {"listener.name.client_tls.ssl.keystore.location": "/etc/ssl/clients.pem"}
    assert found({**OWN, **configured}) == [
        Store("/etc/ssl/clients.pem", True, ""),
        NODES,
        Store(TRUSTED),
    ]


def test_what_millrace_writes_is_trusted_as_it_will_be() -> None:
    name = "listener.name.internal.ssl.keystore"
    config = {f"{name}.type": "PEM", f"{name}.location": NODE}
    made = with_secrets(kafka(1, 1, kafka_security="standard", kafka_config=config))
    authority = made.inventory.secrets.authority
    assert of_host(made.kafka["b1"]) == [Store(NODE, True, "", "", authority, mutual=True)]


def test_the_password_is_not_shown() -> None:
    assert "hunter22" not in str(found({**OWN, "ssl.key.password": "hunter22"}))
