"""The rules about keys and certificates of listeners, and whether Millrace itself can connect."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from .....module_utils.formats.key_table import nearest
from .....module_utils.formats.values import listing, texts
from ....cluster.cluster import Cluster
from ....rules.engine import Finding, Findings, rule
from ....rules.shared import brokers, falls_back_to_default, nodes, nodes_as_written, place
from ..listeners import Listener
from ..node import KafkaNode
from ..stores import encrypted, is_pem

# Any of them gives a listener its key; the last is a class of one's own.
_KEYS = ("ssl.keystore.location", "ssl.keystore.key", "ssl.engine.factory.class")
_SET_KEYSTORE = (
    "ssl.keystore.type: PEM and ssl.keystore.location: /etc/kafka/tls/node.pem in kafka_config"
)
_SET_TRUSTSTORE = (
    "ssl.truststore.type: PEM and ssl.truststore.location: /etc/kafka/tls/ca.pem in kafka_config"
)
_LISTENERS = ("kafka_listeners", "kafka_inter_broker_listener", "kafka_security")
_TYPES = ("PEM", "PKCS12", "JKS", "JCEKS", "DKS", "PKCS11")
_PEM_ENDS, _BINARY_ENDS = (".pem", ".crt", ".key"), (".jks", ".p12", ".pfx")
_SWITCHED_OFF = ("SSLv2Hello", "SSLv3", "TLSv1", "TLSv1.1")
_PREFIXES = ("ssl.", "sasl.", "security.")
_OF_CLIENTS = ("security.protocol", "security.providers", "sasl.mechanism", "sasl.jaas.config")
_SUITE_OF_1_3 = re.compile(r"TLS_(?:AES|CHACHA20)_")


@rule("listener-stores", each=nodes_as_written, where="kafka_config[ssl.keystore.location]")
def _listener_stores(node: KafkaNode) -> Findings:
    """Without a key and a certificate every TLS handshake fails."""
    for listener in node.listeners.all:
        config = node.properties.at(listener)
        if listener.encrypted and not any(config.get(key) for key in _KEYS):
            fix = f"Set {_SET_KEYSTORE}; and {_SET_TRUSTSTORE}."
            yield Finding(
                f"The listener {listener.name} ({listener.protocol}) has no key store.", fix
            )


@rule("store-password", each=nodes_as_written)
def _store_password(node: KafkaNode) -> Findings:
    """Kafka opens a Java key store only with its password, and refuses a password for a PEM file,
    in which only the key may be encrypted (DefaultSslEngineFactory).
    """
    for kind, store, config in _stores(node):
        if _misnamed(store, config, kind):
            continue
        pem = is_pem(config, kind)
        where = f"kafka_config[ssl.{kind}.password]"
        if pem and config.get(f"ssl.{kind}.password"):
            fix = f"Delete ssl.{kind}.password; an encrypted key has ssl.key.password."
            yield Finding(f"The PEM file {store} has a password.", fix, where)
        elif kind == "keystore" and not pem and not config.get("ssl.keystore.password"):
            fix = "Set ssl.keystore.password from a vault, or use PEM."
            yield Finding(f"The key store {store} has no password.", fix, where)


@rule("store-name", each=nodes_as_written)
def _store_name(node: KafkaNode) -> Findings:
    """Kafka reads a store by its type, whatever its name, and does not start if it cannot. The
    default type is JKS.
    """
    for kind, store, config in _stores(node):
        if _misnamed(store, config, kind):
            problem = f"{store} is read as {_type_of(config, kind)}."
            if store.lower().endswith(_PEM_ENDS):
                fix = f"Set ssl.{kind}.type: PEM."
            else:
                fix = f"Set ssl.{kind}.location to a file in PEM."
            yield Finding(problem, fix, f"kafka_config[ssl.{kind}.type]")


def _misnamed(store: str, config: Mapping[str, Any], kind: str) -> bool:
    pem = is_pem(config, kind)
    return store.lower().endswith(_BINARY_ENDS if pem else _PEM_ENDS)


@rule("store-path", each=nodes_as_written)
def _store_path(node: KafkaNode) -> Findings:
    """Its location would depend on the working directory of the service."""
    for kind, store, _ in _stores(node):
        if not store.startswith(("/", "${")):
            fix = f"Set an absolute path, such as /etc/kafka/tls/{store.rpartition('/')[2]}."
            yield Finding(
                f"{store!r} is not an absolute path.", fix, f"kafka_config[ssl.{kind}.location]"
            )


@rule("store-type", each=nodes_as_written)
def _store_type(node: KafkaNode) -> Findings:
    """Java supports no other type, and a listener with one does not start."""
    for kind, store, config in _stores(node):
        store_type = _type_of(config, kind)
        options = " ".join(node.settings["kafka_java_options"])
        brings_more = (
            config.get("security.providers")
            or config.get("ssl.provider")
            or "-Djava.security.properties=" in options
        )
        if store_type not in _TYPES and not brings_more and "${" not in store_type:
            near = nearest(store_type, [*_TYPES[:3]], 0.5) or "PEM"
            fix = f"Set ssl.{kind}.type: {near}; Java's own are {listing(_TYPES)}."
            problem = f"The store {store} has the type {store_type}."
            yield Finding(problem, fix, f"kafka_config[ssl.{kind}.type]")


@rule("tls-suites", each=nodes_as_written)
def _tls_suites(node: KafkaNode) -> Findings:
    """A cipher suite belongs to TLS 1.3 or to older versions: without one for an enabled protocol
    every handshake fails.
    """
    for listener in node.listeners.all:
        config = node.properties.at(listener) if listener.encrypted else {}
        suites = texts(config.get("ssl.cipher.suites"))
        enabled = texts(config.get("ssl.enabled.protocols")) or ["TLSv1.2", "TLSv1.3"]
        newest = {bool(_SUITE_OF_1_3.match(suite)) for suite in suites}
        if suites and not newest & {protocol == "TLSv1.3" for protocol in enabled}:
            problem = f"{listing(suites)} is not for {listing(enabled)}."
            fix = "Set ssl.cipher.suites to suites of these protocols, or delete it."
            yield Finding(problem, fix, "kafka_config[ssl.cipher.suites]")


@rule("client-certificate-optional", each=nodes_as_written)
def _client_certificate_optional(node: KafkaNode) -> Findings:
    """With `requested` a client without a certificate is let in as User:ANONYMOUS."""
    for listener in node.listeners.all:
        config = node.properties.at(listener) if listener.encrypted else {}
        if str(config.get("ssl.client.auth")).lower() == "requested":
            problem = (
                f"The listener {listener.name} requests a certificate and does not require it."
            )
            listener_key = f"listener.name.{listener.name.lower()}.ssl.client.auth"
            key = listener_key if listener_key in node.config else "ssl.client.auth"
            fix = f"Set {key}: required, or none where clients log in by SASL."
            yield Finding(problem, fix, place(node, key))


def _stores(node: KafkaNode) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield kind and path of each store that is a file, and its listener's properties."""
    for _, config in encrypted(node):
        for kind in ("keystore", "truststore"):
            if config.get(f"ssl.{kind}.location"):
                yield kind, str(config[f"ssl.{kind}.location"]), config


def _type_of(config: Mapping[str, Any], kind: str) -> str:
    return str(config.get(f"ssl.{kind}.type") or "JKS").upper()


@rule("tls-protocols", each=nodes_as_written)
def _tls_protocols(node: KafkaNode) -> Findings:
    """Java switches these off (jdk.tls.disabledAlgorithms): every handshake would fail."""
    options = " ".join(node.settings["kafka_java_options"])
    for listener in node.listeners.all if "-Djava.security.properties=" not in options else ():
        config = node.properties.at(listener) if listener.encrypted else {}
        enabled = texts(config.get("ssl.enabled.protocols"))
        if enabled and {*enabled} <= {*_SWITCHED_OFF}:
            problem = f"The listener {listener.name} has only {listing(enabled)}."
            fix = "Set ssl.enabled.protocols to TLSv1.2 and TLSv1.3, or delete it."
            yield Finding(problem, fix, "kafka_config[ssl.enabled.protocols]")


@rule("client-key", each=nodes)
def _client_key(node: KafkaNode) -> Findings:
    """Clients ignore an unknown key with a warning, and could not connect without the right one."""
    client_keys = [*_OF_CLIENTS, *(key for key in node.table if key.startswith(_PREFIXES))]
    for variable in ("kafka_client_config", "kafka_local_client_config"):
        for key in map(str, node.settings[variable]):
            near = (
                ""
                if key in client_keys or not key.startswith(_PREFIXES)
                else nearest(key, client_keys)
            )
            if near:
                problem = f"Clients have no key {key}."
                yield Finding(problem, f"Did you mean {near}?", f"{variable}[{key}]")


@rule("client-protocol", each=nodes_as_written)
def _client_protocol(node: KafkaNode) -> Findings:
    """Clients connect to the first listener, unless bootstrap.servers names another."""
    client_config = node.settings["kafka_client_config"]
    protocol = client_config.get("security.protocol")
    for listener in (
        node.listeners.as_broker[:1] if "bootstrap.servers" not in client_config else ()
    ):
        if protocol and protocol != listener.protocol:
            problem = (
                f"security.protocol is {protocol}, "
                f"and the listener {listener.name} is {listener.protocol}."
            )
            fix = "Delete it; it follows from kafka_listeners."
            yield Finding(problem, fix, "kafka_client_config[security.protocol]")


@rule("listener-unreachable")
def _listener_unreachable(cluster: Cluster) -> Findings:
    """Millrace connects to this listener from the brokers' hosts to see whether they are healthy
    before and after each restart. It reads stores in PEM only, and does not log in by itself.
    """
    for host, node in brokers(cluster):
        listener = node.listeners.for_host
        if falls_back_to_default(cluster, host, "kafka_config", *_LISTENERS):
            continue
        if listener.protocol.startswith("SASL_") and not node.clients.config.get(
            "sasl.jaas.config"
        ):
            problem = (
                f"Millrace connects to the listener {listener.name} ({listener.protocol}) "
                "and has no user."
            )
            fix = "Set kafka_inter_broker_listener to a listener with protocol: SSL, or "
            fix += "sasl.mechanism and sasl.jaas.config in kafka_client_config."
            yield Finding(problem, fix, "kafka_listeners", (host,))
        store = _unreadable_store(node, listener) if listener.encrypted else ""
        if store:
            problem = f"Millrace would connect to {listener.name}, whose {store} is not PEM."
            fix = _SET_KEYSTORE if store == "key store" else _SET_TRUSTSTORE
            where = f"kafka_config[ssl.{store.replace(' ', '')}.type]"
            yield Finding(problem, f"Set {fix}, and delete its password.", where, (host,))


def _unreadable_store(node: KafkaNode, listener: Listener) -> str:
    """Name the store that the health check would need and cannot read, empty if it can."""
    config = {**node.properties.at(listener), **node.settings["kafka_client_config"]}
    stores = ["trust store"]
    if str(config.get("ssl.client.auth") or "none") != "none":
        stores.append("key store")
    for store in stores:
        prefix = f"ssl.{store.replace(' ', '')}"
        path = str(config.get(f"{prefix}.location") or "")
        pem = config.get(f"{prefix}.type") == "PEM" or path.lower().endswith(_PEM_ENDS)
        if path and not pem:  # store-name reports the type of a PEM file
            return store
    return ""
