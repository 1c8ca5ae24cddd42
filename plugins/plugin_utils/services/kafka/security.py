"""What `kafka_security` sets: listeners, keys and certificates, the authorizer, and users."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ....module_utils.formats.values import canonical, texts
from . import ADMIN as ADMIN
from . import LEDGER as LEDGER
from . import PRODUCER as PRODUCER
from . import STREAM as STREAM

STANDARD, OPEN = "standard", "open"
DIRECTORY = "/etc/kafka/certificates"
NODE_STORE = f"{DIRECTORY}/node.pem"
"""The key and certificate by which a node is known to the others."""
CLIENTS_STORE = f"{DIRECTORY}/clients.pem"
"""The key and certificate that a node shows clients; nobody takes them for a node's."""
NODES = "kafka-nodes"
"""The common name by which each node knows the others: one that joins is a super user already."""
AUTHORITY_FILE = "ca.pem"
AUTHORITY = f"{DIRECTORY}/{AUTHORITY_FILE}"
SCRAM = ("SCRAM-SHA-512", "SCRAM-SHA-256")
"""The mechanisms by which users may log in with a password that Millrace makes, the best first."""
MECHANISM, ITERATIONS = SCRAM[0], 8192
MECHANISMS = "sasl.enabled.mechanisms"
_LOCATIONS = ("ssl.keystore.location", "ssl.truststore.location")
ANONYMOUS = "ANONYMOUS"
"""Whoever connects to an open listener."""
SPARK_SECRET = "spark_secret"  # noqa: S105 - its name among the secrets
SPARK_UI_KEY, SPARK_UI_TOKEN = "spark_ui_key", "spark_ui_token"
SPARK_SESSION_UI_KEY, SPARK_METASTORE = "spark_session_ui_key", "spark_metastore"
SPARK_CONNECT = "spark_connect_token"
AUTHORIZER = "authorizer.class.name"
REAUTHENTICATION, REAUTHENTICATION_MS = "connections.max.reauth.ms", 15 * 60 * 1000
"""How long after a login the connection needs another one: Kafka's own default is never, so that
who has a former password keeps what it is connected to. A login takes a client milliseconds."""
# Kafka's own, by mode.
AUTHORIZERS = {
    "kraft": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "zookeeper": "kafka.security.authorizer.AclAuthorizer",
}
_SCRAM_LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule required"

Properties = dict[str, Any]
Grant = Mapping[str, Any]


@dataclass(frozen=True)
class Preset:
    """The listeners of a choice of `kafka_security`, as variables would set them."""

    listeners: Sequence[Mapping[str, Any]]
    controller_listener: Mapping[str, Any]
    inter_broker_listener: str


# Names and ports of one are not those of the other: a running cluster is closed with both.
PRESETS: Mapping[str, Preset] = {
    STANDARD: Preset(
        [
            {"name": "CLIENT_TLS", "port": 9095, "protocol": "SASL_SSL"},
            {"name": "INTERNAL", "port": 9094, "protocol": "SSL"},
        ],
        {"name": "CONTROLLER_TLS", "port": 9096, "protocol": "SSL"},
        "INTERNAL",
    ),
    OPEN: Preset(
        [{"name": "CLIENT", "port": 9092, "protocol": "PLAINTEXT"}],
        {"name": "CONTROLLER", "port": 9093, "protocol": "PLAINTEXT"},
        "CLIENT",
    ),
}


@dataclass(frozen=True)
class Certificate:
    """A certificate that a node needs, and what it is for."""

    name: str
    """Its name in the secrets."""
    path: str
    common_name: str
    names: tuple[str, ...]
    """DNS names and IP addresses."""
    client: bool
    """Whether it is for a client too: only then the node that connects can show it to another."""


@dataclass(frozen=True)
class User:
    """A user of Kafka and what it may do."""

    name: str
    grants: Sequence[Grant] = ()
    """Each is as in `kafka_users`."""
    password: str = field(default="", repr=False)
    """Empty where none is known yet."""
    scram: bool = True
    """Whether it logs in by SCRAM; one that does not has a certificate."""
    present: bool = True
    """A user that is not present is removed."""
    generated: bool = False
    """Whether Millrace makes its password."""


def certificates(name: str, addresses: Sequence[str]) -> list[Certificate]:
    """Return the certificates of the node of a host."""
    names = tuple(dict.fromkeys(canonical(address) for address in (name, *addresses)))
    return [
        Certificate(f"{name}/node", NODE_STORE, NODES, names, client=True),
        # X.509 allows 64 characters; clients compare the other names.
        Certificate(f"{name}/clients", CLIENTS_STORE, name[:64], names, client=False),
    ]


def tls(
    protocols: Mapping[str, str],
    between_nodes: Sequence[str],
    *,
    own_keys: bool,
    given: Mapping[str, Any],
) -> Properties:
    """Return the properties of encrypted listeners: listener -> protocol.

    `between_nodes` are those by which nodes talk to each other; the others are for clients, and
    have a key of their own unless the inventory brings keys (`own_keys`). `given` are the
    properties that it sets, among which may be how clients log in.
    """
    properties: Properties = {
        "ssl.enabled.protocols": "TLSv1.3,TLSv1.2",
        "ssl.endpoint.identification.algorithm": "https",
        # A certificate's common name is the principal.
        "ssl.principal.mapping.rules": "RULE:^CN=([^,]+).*$/$1/,DEFAULT",
    }
    for name, protocol in protocols.items():
        prefix = f"listener.name.{name.lower()}."
        if protocol == "SSL":
            properties[f"{prefix}ssl.client.auth"] = "required"
        else:
            enabled = texts(given.get(f"{prefix}{MECHANISMS}", given.get(MECHANISMS)))
            for mechanism in (
                MECHANISM,
                *(mechanism for mechanism in SCRAM[1:] if mechanism in enabled),
            ):
                properties[f"{prefix}{mechanism.lower()}.sasl.jaas.config"] = f"{_SCRAM_LOGIN};"
            if MECHANISMS not in given:
                properties[f"{prefix}{MECHANISMS}"] = MECHANISM
            properties[REAUTHENTICATION] = REAUTHENTICATION_MS
        if name not in between_nodes and not own_keys:
            key_store = store("keystore", CLIENTS_STORE)
            properties |= {f"{prefix}{key}": value for key, value in key_store.items()}
    return properties


def authorization(mode: str, nodes: Sequence[str]) -> Properties:
    """Return the properties that deny what is not granted; nodes and the admin may do everything.

    `mode` is kraft or zookeeper, `nodes` are the common names of the nodes' certificates.
    """
    return {
        AUTHORIZER: AUTHORIZERS[mode],
        "allow.everyone.if.no.acl.found": False,
        "super.users": ";".join(f"User:{name}" for name in dict.fromkeys([*nodes, ADMIN])),
    }


def login(user: str, password: str, mechanism: str) -> Properties:
    """Return the client properties by which a user logs in."""
    words = f'{_SCRAM_LOGIN} username="{user}" password="{password}";'
    return {"sasl.mechanism": mechanism, "sasl.jaas.config": words}


def pem_stores(config: Mapping[str, Any]) -> dict[str, bool]:
    """Return path -> whether it is a key store, of the PEM files that Kafka's configuration names.

    A listener's own store has its name as prefix (`listener.name.client.ssl...`).
    """
    return {
        str(value): "keystore" in key
        for key, value in config.items()
        if key.endswith(_LOCATIONS)
        and str(config.get(f"{key.rpartition('.')[0]}.type", "")).upper() == "PEM"
    }


def store(kind: str, path: str) -> Properties:
    """Return the properties of a PEM file, as `keystore` or `truststore`."""
    return {f"ssl.{kind}.type": "PEM", f"ssl.{kind}.location": path}


def bearer_token(key: str) -> str:
    """Return what opens Spark's web interfaces: an empty claim, signed with a key in base64url.

    It is what `org.apache.spark.ui.JWSFilter` takes as `Authorization: Bearer` (JWS, RFC 7515).
    """
    claim = b".".join(map(_base64url, (b'{"alg":"HS256","typ":"JWT"}', b"{}")))
    secret = base64.urlsafe_b64decode(key + "=" * (-len(key) % 4))
    signature = hmac.new(secret, claim, hashlib.sha256).digest()
    return b".".join((claim, _base64url(signature))).decode()


def _base64url(text: bytes) -> bytes:
    return base64.urlsafe_b64encode(text).rstrip(b"=")


def own_users(*, with_spark: bool) -> list[User]:
    """Return the users that Millrace's own programs are, with the least grants that let them work.

    The ledger is the load of `prove=true`, the flights are the pipeline on Spark.
    """
    return [
        User(ADMIN),
        User(LEDGER, _LEDGER_GRANTS),
        *([User(PRODUCER, _PRODUCER_GRANTS), User(STREAM, _STREAM_GRANTS)] if with_spark else []),
    ]


def grant(entry: Mapping[str, Any]) -> Grant:
    """Return a grant as the inventory gives it, without keys that are not set or say nothing."""
    return {
        key: value
        for key, value in entry.items()
        if value is not None and value != _DEFAULTS.get(key)
    }


_DEFAULTS: Mapping[str, Any] = {"host": "*", "permission": "allow"}


def _grant(kind: str, name: str, *operations: str) -> Grant:
    return {kind: name, "pattern": "prefixed", "operations": list(operations)}


_LEDGER_TOPICS, _FLIGHTS = "millrace-ledger-", "flights"
_LEDGER_GRANTS = (
    _grant("topic", _LEDGER_TOPICS, "create", "delete", "read", "write"),
    _grant("group", _LEDGER_TOPICS, "delete", "read"),
    _grant("transactional_id", _LEDGER_TOPICS, "write"),
)
_PRODUCER_GRANTS = (_grant("topic", _FLIGHTS, "create", "read", "write"),)
# Its offsets are in Spark's checkpoint: it needs no group.
_STREAM_GRANTS = (_grant("topic", _FLIGHTS, "read", "write"),)
