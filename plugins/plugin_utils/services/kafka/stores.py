"""The PEM stores that Kafka's configuration names: what they are for, and who must trust them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .listeners import Listener
from .node import KafkaNode
from .security import pem_stores

KEY, CHAIN, CERTIFICATES = (
    "ssl.keystore.key",
    "ssl.keystore.certificate.chain",
    "ssl.truststore.certificates",
)
CLIENT_AUTH = "ssl.client.auth"
_PASSWORD, _NAMES = "ssl.key.password", "ssl.endpoint.identification.algorithm"


@dataclass(frozen=True)
class Store:
    """A PEM file, or, with an empty path, a key and certificates in properties.

    The nodes that have to trust this certificate do so by the CAs of `truststore` or `authorities`;
    both are empty where these are not known, or no node has to.
    """

    path: str
    is_keystore: bool = False
    password: str | None = field(default=None, repr=False)
    """The password of its key, empty for none, None where it is not known."""
    truststore: str = ""
    """The file with these CAs."""
    authorities: str = ""
    """The text of these CAs."""
    mutual: bool = False
    """Whether nodes also show it as clients."""


def of_host(node: KafkaNode) -> list[Store]:
    """Return the files that are on the node's host already: not those that Millrace writes."""
    written = node.certificate_files()
    named = {path: is_key for path, is_key in pem_stores(node.config).items() if is_known(path)}
    keys = [
        key_store(node, listener)
        for listener, config in encrypted(node)
        if is_pem(config, "keystore") and is_known(config.get("ssl.keystore.location"))
    ]
    remaining = [
        Store(path, is_key)
        for path, is_key in named.items()
        if path not in {store.path for store in keys}
    ]
    return [store for store in dict.fromkeys((*keys, *remaining)) if store.path not in written]


def encrypted(node: KafkaNode) -> Iterator[tuple[Listener, Mapping[str, Any]]]:
    """Yield each listener with stores, and its properties."""
    for listener in node.listeners.all:
        config = node.properties.at(listener)
        # A custom engine factory reads what it wants.
        if listener.encrypted and not config.get("ssl.engine.factory.class"):
            yield listener, config


def key_store(node: KafkaNode, listener: Listener) -> Store:
    """Return the key store of a listener, and what nodes expect of it."""
    config = node.properties.at(listener)
    password = str(config.get(_PASSWORD) or "")
    truststore, authorities = _trusted(node, config) if is_inner(node, listener) else ("", "")
    return Store(
        str(config.get("ssl.keystore.location") or ""),
        True,
        password if "${" not in password else None,
        truststore,
        authorities,
        client_auth(node, listener) == "required",
    )


def client_auth(node: KafkaNode, listener: Listener) -> str:
    """Return what Kafka does about certificates at a listener with TLS: none, requested, required.

    Where clients log in the property counts for a single listener only (KIP-684).
    """
    key = CLIENT_AUTH
    if listener.protocol == "SASL_SSL":
        key = f"listener.name.{listener.name.lower()}.{CLIENT_AUTH}"
    return str(node.properties.at(listener).get(key) or "none").lower()


def is_inner(node: KafkaNode, listener: Listener) -> bool:
    """Return whether nodes talk to each other by a listener; one controller alone does not."""
    between_brokers = listener.name.upper() == node.listeners.between_brokers.upper()
    return between_brokers or (listener in node.listeners.controllers and len(node.voters) > 1)


def checks_names(config: Mapping[str, Any]) -> bool:
    """Return whether a node compares the name of another one with its certificate."""
    value = config.get(_NAMES)
    return value is None or bool(str(value).strip())


def is_pem(config: Mapping[str, Any], kind: str) -> bool:
    """Return whether a store, `keystore` or `truststore`, is PEM."""
    return str(config.get(f"ssl.{kind}.type") or "").upper() == "PEM"


def is_known(value: object) -> bool:
    """Return whether a property has a value that no provider of Kafka fills in (KIP-297)."""
    return bool(value) and "${" not in str(value)


def _trusted(node: KafkaNode, config: Mapping[str, Any]) -> tuple[str, str]:
    path, text = (config.get(key) for key in ("ssl.truststore.location", CERTIFICATES))
    if not is_pem(config, "truststore"):
        return "", ""
    written = node.certificate_files().get(str(path))
    if written:
        return "", str(written["content"])
    return (str(path) if is_known(path) else ""), (str(text) if is_known(text) else "")
