from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.filter.topology import (
    client_tls,
    health_security,
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
