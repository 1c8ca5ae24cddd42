"""The rules about encrypted listeners: their stores, and whether Millrace's own client gets in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.rules import (
    Finding,
    Host,
    Inventory,
    mapping,
    rule,
)
from ansible_collections.millrace.streaming.plugins.module_utils.rules_listeners import (
    broker_listeners,
    listeners,
)

_ENCRYPTED = ("SSL", "SASL_SSL")
# Any of them gives a listener its key; the last is a class of the site's own.
_KEYS = ("ssl.keystore.location", "ssl.keystore.key", "ssl.engine.factory.class")
_SET_KEYSTORE = (
    "ssl.keystore.type: PEM and ssl.keystore.location: /etc/kafka/tls/node.pem in kafka_config"
)
_SET_TRUSTSTORE = (
    "ssl.truststore.type: PEM and ssl.truststore.location: /etc/kafka/tls/ca.pem in kafka_config"
)


def listener_config(host: Host, listener: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties as one listener sees them: those of its own name win."""
    config = {str(key): value for key, value in mapping(host.kafka.get("config")).items()}
    prefix = f"listener.name.{str(listener.get('name', '')).lower()}."
    own = {key.removeprefix(prefix): config[key] for key in config if key.startswith(prefix)}
    return config | own


@rule(
    "listener-stores",
    when="a listener's protocol is SSL or SASL_SSL and `ssl.keystore.location` is not set, for all "
    "listeners or for this one",
    why="Without a key and a certificate it has nothing to show, and every connection fails.",
    remedy="Set `ssl.keystore.type: PEM` and `ssl.keystore.location`, `ssl.truststore.type: PEM` "
    "and `ssl.truststore.location` in `kafka_config`, as inventories/vms_example does.",
)
def listener_stores(inventory: Inventory) -> Iterator[Finding]:
    """Refuse an encrypted listener without a certificate."""
    for host in inventory.kafka_hosts():
        for one in listeners(host):
            config = listener_config(host, one)
            if one.get("protocol") in _ENCRYPTED and not any(config.get(key) for key in _KEYS):
                what = f"The listener {one.get('name')} ({one['protocol']}) has no key store."
                fix = f"Set {_SET_KEYSTORE}; and {_SET_TRUSTSTORE}."
                yield Finding("kafka_config[ssl.keystore.location]", what, fix, (host.name,))


@rule(
    "listener-unreachable",
    when="the first of `kafka_listeners` uses SASL, or it is SSL with a trust store that is not "
    "PEM, or asks for certificates while the key store is not PEM",
    why="Millrace connects to this listener to see whether brokers are healthy before and after "
    "each restart; it speaks PLAINTEXT and SSL and reads PEM alone.",
    remedy="Put a listener of protocol SSL with PEM stores first; those after it may use SASL.",
)
def listener_unreachable(inventory: Inventory) -> Iterator[Finding]:
    """Refuse a first listener through which no broker could be asked."""
    for host in inventory.kafka_hosts():
        for one in broker_listeners(host)[:1]:
            name, protocol = str(one.get("name")), str(one.get("protocol"))
            if protocol.startswith("SASL_"):
                what = f"Millrace would connect to the listener {name}, and has no {protocol}."
                fix = "Set protocol: SSL, or put a listener with it first in kafka_listeners."
                yield Finding("kafka_listeners", what, fix, (host.name,))
            store = _unreadable_store(host, one) if protocol == "SSL" else ""
            if store:
                what = f"Millrace would connect to the listener {name}, whose {store} is not PEM."
                fix = _SET_KEYSTORE if store == "key store" else _SET_TRUSTSTORE
                where = f"kafka_config[ssl.{store.replace(' ', '')}.type]"
                yield Finding(where, what, f"Set {fix}.", (host.name,))


def _unreadable_store(host: Host, listener: Mapping[str, Any]) -> str:
    """Name the store that the health check would need and cannot read, empty if it can."""
    config = {**listener_config(host, listener), **mapping(host.kafka.get("client_config"))}
    stores = ["trust store"]
    if str(config.get("ssl.client.auth") or "none") != "none":
        stores.append("key store")
    for store in stores:
        prefix = f"ssl.{store.replace(' ', '')}"
        if config.get(f"{prefix}.location") and config.get(f"{prefix}.type") != "PEM":
            return store
    return ""
