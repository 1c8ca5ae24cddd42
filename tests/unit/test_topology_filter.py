from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.filter.topology import (
    client_tls,
    health_security,
    roll_order,
)

CONFIG = {
    "ssl.client.auth": "required",
    "ssl.keystore.type": "PEM",
    "ssl.keystore.location": "/node.pem",
    "ssl.key.password": "hidden",
    "ssl.truststore.type": "PEM",
    "ssl.truststore.location": "/ca.pem",
    "ssl.truststore.password": "hidden",
    "log.retention.hours": 1,
}
STORES = {key: CONFIG[key] for key in CONFIG if key.endswith(("store.type", "store.location"))}
TRUST = {key: value for key, value in STORES.items() if "truststore" in key}
OWN = {"listener.name.client.ssl.truststore.location": "/own.pem"}
OTHER = {"listener.name.inner.ssl.truststore.location": "/other.pem"}
CLIENT = {"security.protocol": "SSL", **STORES}
SECURITY = {"protocol": "SSL", "cafile": "/ca.pem", "certfile": "/node.pem", "keyfile": "/node.pem"}


@pytest.mark.parametrize(
    ("config", "protocol", "expected"),
    [
        pytest.param(CONFIG, "PLAINTEXT", {}, id="plaintext"),
        pytest.param(CONFIG, "SASL_PLAINTEXT", {}, id="sasl"),
        pytest.param(CONFIG, "SSL", STORES, id="ssl"),
        pytest.param(CONFIG, "SASL_SSL", STORES, id="sasl-ssl"),
        pytest.param({**CONFIG, "ssl.client.auth": "none"}, "SSL", TRUST, id="nobody-asks"),
        pytest.param({**TRUST}, "SSL", TRUST, id="kafkas-default-asks-nobody"),
        pytest.param(
            {**CONFIG, **OWN, **OTHER},
            "SSL",
            {**STORES, "ssl.truststore.location": "/own.pem"},
            id="the-listeners-own",
        ),
        pytest.param(
            {**CONFIG, "ssl.enabled.protocols": ["TLSv1.3"], "ssl.cipher.suites": "x"},
            "SSL",
            {**STORES, "ssl.enabled.protocols": ["TLSv1.3"]},
            id="protocols",
        ),
    ],
)
def test_a_client_takes_over_stores_and_no_password(
    config: dict[str, Any], protocol: str, expected: dict[str, Any]
) -> None:
    assert client_tls(config, {"name": "CLIENT", "protocol": protocol}) == expected


@pytest.mark.parametrize(
    ("client", "expected"),
    [
        pytest.param({"security.protocol": "PLAINTEXT"}, {}, id="plaintext"),
        pytest.param({**CLIENT, "security.protocol": "SASL_SSL"}, {}, id="sasl-has-no-account"),
        pytest.param(CLIENT, SECURITY, id="mutual"),
        pytest.param(
            {**TRUST, "security.protocol": "SSL"},
            {"protocol": "SSL", "cafile": "/ca.pem"},
            id="without-own-certificate",
        ),
        pytest.param(
            {**CLIENT, "ssl.keystore.type": "PKCS12", "ssl.truststore.type": "JKS"},
            {"protocol": "SSL"},
            id="stores-that-python-cannot-read",
        ),
    ],
)
def test_health_connects_as_a_client_does(client: dict[str, Any], expected: dict[str, str]) -> None:
    assert health_security(client) == expected


HOSTS: dict[str, dict[str, Any]] = {
    "b1": {"kafka_node_id": 11, "kafka_rack": "r2"},
    "b2": {"kafka_node_id": 12, "kafka_rack": "r1"},
    "b3": {"kafka_node_id": 13, "kafka_rack": "r1"},
    "c1": {"kafka_node_id": 1},
    "c2": {"kafka_node_id": 2},
}
GROUPS = {"kafka_brokers": ["b1", "b2", "b3"], "kafka_controllers": ["c1", "c2"]}


def health(leader: int, *fenced: int) -> dict[str, Any]:
    brokers = [{"id": number, "fenced": number in fenced} for number in (11, 12, 13)]
    return {"brokers": brokers, "controller": leader}


def test_controllers_come_first_and_the_active_one_last_of_them() -> None:
    assert roll_order(list(HOSTS), HOSTS, GROUPS, health(1)) == ["c2", "c1", "b2", "b3", "b1"]
    assert roll_order(list(HOSTS), HOSTS, GROUPS, health(2)) == ["c1", "c2", "b2", "b3", "b1"]


def test_a_way_back_takes_brokers_first() -> None:
    found = roll_order(list(HOSTS), HOSTS, GROUPS, health(1), backwards=True)
    assert found == ["b2", "b3", "b1", "c2", "c1"]


def test_what_serves_nobody_comes_before_all() -> None:
    down = {**HOSTS, "b3": {**HOSTS["b3"], "__kafka_look": {"running": False}}}
    assert roll_order(["b1", "b2", "b3"], HOSTS, GROUPS, health(1, 11)) == ["b1", "b2", "b3"]
    assert roll_order(["b1", "b2", "b3"], down, GROUPS, health(1)) == ["b3", "b2", "b1"]


def test_without_an_answer_brokers_are_unready() -> None:
    assert roll_order(["b1", "c1"], HOSTS, GROUPS, {}) == ["b1", "c1"]


def test_with_zookeeper_the_controller_broker_is_the_last() -> None:
    groups = {"kafka_brokers": ["b1", "b2", "b3"], "zookeeper": ["z1"]}
    assert roll_order(["b1", "b2", "b3"], HOSTS, groups, health(12)) == ["b3", "b1", "b2"]
