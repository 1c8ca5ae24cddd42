"""The rule about what removes a part of the protection of a closed service."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...module_utils.formats.key_table import table_key
from ...module_utils.formats.values import by_name, is_true, listing, property_text, texts
from ..cluster.cluster import Cluster
from ..cluster.service import Service
from ..services.connect.connectors import SECRETS
from ..services.connect.model import ALLOWED_PATHS, CLIENT_AUTHENTICATION
from ..services.kafka.security import REAUTHENTICATION
from ..services.schema_registry.model import BASIC, HOST_CHECK, INSECURE, PROTOCOLS, ROLE_BASED
from ..services.spark.model import UI_FILTERS
from .engine import Finding, Findings, rule
from .shared import CLIENT_SETTINGS, all_services

_OLD_TLS = ("SSL", "SSLv2", "SSLv2Hello", "SSLv3", "TLSv1", "TLSv1.1")
_WEAK_SUITE = re.compile(r"_(?:NULL|anon|EXPORT|RC4|DES|DES40|3DES)_", re.IGNORECASE)


@dataclass(frozen=True)
class _Weakness:
    """A key, which of its values are weak and what follows from them.

    If a property of `instead` is true, that one protects, and the key does not matter.
    """

    key: str
    is_weak: Callable[[Any], bool]
    follows: str
    instead: Sequence[str] = ()


def _is_empty(value: object) -> bool:
    return value is None or not str(value).strip()


def _is_false(value: object) -> bool:
    return str(value).lower() in ("false", "no", "off", "0")


def _is_old(value: object) -> bool:
    return not {*texts(value)}.isdisjoint(_OLD_TLS)


def _has_weak_suite(value: object) -> bool:
    return any(map(_WEAK_SUITE.search, texts(value)))


def _other_than(*words: str) -> Callable[[object], bool]:
    return lambda value: not any(word in str(value).upper() for word in words)


_READ = "Whoever is between two hosts may read and change what they send"
_NAMES = "Any certificate of the CA is accepted, whatever host it is for"
_OLD = "Connections with an old protocol can be read where Java allows it"
_ENCRYPTED_OTHERWISE = ("spark.ssl.rpc.enabled", "spark.authenticate.enableSaslEncryption")
# By the product whose keys they are.
_WEAKNESSES: Mapping[str, Sequence[_Weakness]] = {
    "kafka": (
        _Weakness("ssl.enabled.protocols", _is_old, _OLD),
        _Weakness("ssl.protocol", _is_old, _OLD),
        _Weakness("ssl.cipher.suites", _has_weak_suite, _READ),
        _Weakness("ssl.endpoint.identification.algorithm", _is_empty, _NAMES),
        _Weakness(
            REAUTHENTICATION,
            _is_false,
            "Who has a former password keeps what is connected",
        ),
        _Weakness("authorizer.class.name", _is_empty, "Whoever logs in may do everything"),
        _Weakness(
            "auto.create.topics.enable",
            is_true,
            "A misspelt name creates a topic, to which grants for others may apply",
        ),
        _Weakness(
            "zookeeper.set.acl", _is_false, "Every client of ZooKeeper may change Kafka's znodes"
        ),
        _Weakness("zookeeper.ssl.enabled.protocols", _is_old, _OLD),
        _Weakness("zookeeper.ssl.cipher.suites", _has_weak_suite, _READ),
        _Weakness("zookeeper.ssl.endpoint.identification.algorithm", _is_empty, _NAMES),
    ),
    "zookeeper": (
        _Weakness("sslQuorum", _is_false, _READ),
        _Weakness("portUnification", is_true, "Members accept connections without TLS too"),
        _Weakness("client.portUnification", is_true, "Clients may connect without TLS too"),
        _Weakness("skipACL", is_true, "Every client may change everything"),
        *(
            weakness
            for prefix in ("ssl.", "ssl.quorum.")
            for weakness in (
                _Weakness(
                    f"{prefix}clientAuth", _other_than("NEED"), "No certificate is asked for"
                ),
                _Weakness(f"{prefix}hostnameVerification", _is_false, _NAMES),
                _Weakness(f"{prefix}protocol", _is_old, _OLD),
                _Weakness(f"{prefix}enabledProtocols", _is_old, _OLD),
                _Weakness(f"{prefix}ciphersuites", _has_weak_suite, _READ),
            )
        ),
    ),
    "spark": (
        _Weakness(
            "spark.authenticate",
            _is_false,
            "Whoever reaches the master may submit jobs, which are code",
        ),
        _Weakness("spark.network.crypto.enabled", _is_false, _READ, _ENCRYPTED_OTHERWISE),
        _Weakness(
            "spark.network.crypto.cipher",
            _other_than("GCM"),
            "Whoever is between two hosts may change what they send",
            _ENCRYPTED_OTHERWISE,
        ),
        _Weakness(
            "spark.network.crypto.authEngineVersion",
            _other_than("2"),
            "Keys are made by an older protocol, which is weaker",
            _ENCRYPTED_OTHERWISE,
        ),
        _Weakness(
            "spark.network.crypto.saslFallback",
            is_true,
            "A process may choose SASL to authenticate, which is weaker",
        ),
        _Weakness(
            "spark.io.encryption.enabled", _is_false, "What executors spill is readable on disks"
        ),
        _Weakness(
            UI_FILTERS,
            _is_empty,
            "Whoever reaches a web interface may see settings and end jobs",
        ),
        _Weakness(
            "spark.master.ui.decommission.allow.mode",
            lambda value: str(value).upper() == "ALLOW",
            "Whoever reaches the master's web interface may remove workers",
        ),
    ),
    "connect": (
        _Weakness(
            CLIENT_AUTHENTICATION,
            _other_than("REQUIRED"),
            "Whoever reaches the REST interface may change connectors",
        ),
        _Weakness("listeners.https.ssl.enabled.protocols", _is_old, _OLD),
        _Weakness("listeners.https.ssl.endpoint.identification.algorithm", _is_empty, _NAMES),
        _Weakness(
            ALLOWED_PATHS,
            lambda value: str(value) != SECRETS,
            "A connector may take values from any file that the workers can read",
        ),
    ),
    "schema_registry": (
        _Weakness(INSECURE, _other_than("DISABLED"), "Clients may connect without TLS, too"),
        _Weakness(PROTOCOLS, _is_old, _OLD),
        _Weakness(BASIC, _is_false, "Whoever reaches the registry may change schemas"),
        _Weakness(ROLE_BASED, _is_false, "Every user may change schemas"),
        _Weakness(
            "apicurio.auth.anonymous-read-access.enabled", is_true, "Anybody may read schemas"
        ),
        _Weakness(HOST_CHECK, _is_empty, _NAMES),
    ),
    "hdfs": (
        _Weakness(
            "dfs.block.access.token.enable",
            _is_false,
            "DataNodes serve every block without a token of the NameNode",
        ),
        _Weakness("dfs.permissions.enabled", _is_false, "Every user may read and remove all files"),
    ),
}


def _given(cluster: Cluster) -> Iterator[tuple[str, Service, str, str, Any]]:
    """Yield variable, key and value of each property in force of a service, and of its clients."""
    for host, service in all_services(cluster):
        clients = CLIENT_SETTINGS.get(service.product, ())
        for variable in (*service.own_layers, *clients):
            for key, value in by_name(service.settings[variable]).items():
                if variable in clients or (
                    key not in service.owned and service.config[key] == value
                ):
                    yield host, service, variable, key, value


@rule("protection-weakened", each=_given, severity="warning")
def _protection_weakened(service: Service, variable: str, key: str, value: object) -> Findings:
    """It removes a part of the protection of `standard`, or of `hosts`."""
    of_kafka = "kafka" in variable
    for one in _WEAKNESSES["kafka" if of_kafka else service.product]:
        known = one.key == (table_key(key) if of_kafka else key)
        otherwise = any(is_true(service.config.get(other)) for other in one.instead)
        weak = known and "${" not in str(value) and one.is_weak(value)
        if weak and not otherwise and not service.is_open:
            written = listing(texts(value)) or ("empty" if _is_empty(value) else str(value).lower())
            preset = next((x[key] for x in service.layers.values() if key in x), None)
            again = "" if preset in (None, value) else f", so that it is {property_text(preset)}"
            yield Finding(
                f"{key} is {written}. {one.follows}.", f"Delete it{again}.", f"{variable}[{key}]"
            )
