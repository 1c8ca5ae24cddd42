"""The rules about keys and certificates of listeners, and whether Millrace's own client gets in."""

from __future__ import annotations

from collections.abc import Iterator

from ansible_collections.millrace.streaming.plugins.module_utils.model.cluster import Cluster
from ansible_collections.millrace.streaming.plugins.module_utils.model.kafka import (
    KafkaNode,
    Listener,
)
from ansible_collections.millrace.streaming.plugins.module_utils.model.values import (
    listing,
    mapping,
)
from ansible_collections.millrace.streaming.plugins.module_utils.rules.engine import (
    Finding,
    host_rule,
    rule,
)
from ansible_collections.millrace.streaming.plugins.module_utils.rules.inspection import (
    InspectedHost,
)

# Any of them gives a listener its key; the last is a class of one's own.
_KEYS = ("ssl.keystore.location", "ssl.keystore.key", "ssl.engine.factory.class")
_SET_KEYSTORE = (
    "ssl.keystore.type: PEM and ssl.keystore.location: /etc/kafka/tls/node.pem in kafka_config"
)
_SET_TRUSTSTORE = (
    "ssl.truststore.type: PEM and ssl.truststore.location: /etc/kafka/tls/ca.pem in kafka_config"
)
_LEAST_DAYS = 2
_DAYS_TO_RENEW = 30


@rule(
    "listener-stores",
    when="a listener's protocol is SSL or SASL_SSL and `ssl.keystore.location` is not set, for all "
    "listeners or for this one",
    why="Without a key and a certificate it has nothing to show, and every connection fails.",
    remedy="Set `ssl.keystore.type: PEM` and `ssl.keystore.location`, `ssl.truststore.type: PEM` "
    "and `ssl.truststore.location` in `kafka_config`, as inventories/vms_example does.",
)
def _listener_stores(cluster: Cluster) -> Iterator[Finding]:
    for node in cluster.kafka.values():
        for one in node.listeners:
            config = node.listener_config(one)
            if one.encrypted and not any(config.get(key) for key in _KEYS):
                what = f"The listener {one.name} ({one.protocol}) has no key store."
                fix = f"Set {_SET_KEYSTORE}; and {_SET_TRUSTSTORE}."
                yield Finding("kafka_config[ssl.keystore.location]", what, fix, (node.name,))


@rule(
    "listener-unreachable",
    when="the first of `kafka_listeners` uses SASL, or it is SSL with a trust store that is not "
    "PEM, or asks for certificates while the key store is not PEM",
    why="Millrace connects to this listener to see whether brokers are healthy before and after "
    "each restart; it speaks PLAINTEXT and SSL and reads PEM alone.",
    remedy="Put a listener of protocol SSL with PEM stores first; those after it may use SASL.",
)
def _listener_unreachable(cluster: Cluster) -> Iterator[Finding]:
    for node in cluster.kafka.values():
        for one in node.broker_listeners[:1]:
            if one.protocol.startswith("SASL_"):
                what = f"Millrace would connect to {one.name}, and has no {one.protocol}."
                fix = "Set protocol: SSL, or put a listener with it first in kafka_listeners."
                yield Finding("kafka_listeners", what, fix, (node.name,))
            store = _unreadable_store(node, one) if one.protocol == "SSL" else ""
            if store:
                what = f"Millrace would connect to {one.name}, whose {store} is not PEM."
                fix = _SET_KEYSTORE if store == "key store" else _SET_TRUSTSTORE
                where = f"kafka_config[ssl.{store.replace(' ', '')}.type]"
                yield Finding(where, what, f"Set {fix}.", (node.name,))


def _unreadable_store(node: KafkaNode, listener: Listener) -> str:
    """Name the store that the health check would need and cannot read, empty if it can."""
    client_config = mapping(node.settings["kafka_client_config"])
    config = {**node.listener_config(listener), **client_config}
    stores = ["trust store"]
    if str(config.get("ssl.client.auth") or "none") != "none":
        stores.append("key store")
    for store in stores:
        prefix = f"ssl.{store.replace(' ', '')}"
        if config.get(f"{prefix}.location") and config.get(f"{prefix}.type") != "PEM":
            return store
    return ""


@host_rule(
    "store-unusable",
    when="a PEM store that Kafka's configuration names is missing, unreadable for the service's "
    f"user, or expires within {_LEAST_DAYS} days",
    why="The broker would not start, or clients would refuse it.",
    remedy="Put the file there, let the user read it, or renew the certificate.",
)
def _store_unusable(host: InspectedHost) -> Iterator[Finding]:
    for one in host.found.certificates:
        days = one.days_left
        if not one.exists:
            what, fix = f"{one.path} does not exist.", "Put it there, or correct the path."
        elif not one.readable:
            what, fix = f"Kafka's user may not read {one.path}.", "Give its group the right."
        elif days is not None and days < 0:
            what, fix = f"{one.path} expired {-days:.0f} days ago.", "Renew it."
        elif days is not None and days < _LEAST_DAYS:
            what, fix = f"{one.path} expires in {days * 24:.0f} hours.", "Renew it."
        else:
            continue
        yield Finding("kafka_config", what, fix)


@host_rule(
    "certificate-due",
    when=f"a certificate expires within {_DAYS_TO_RENEW} days, or does not name the advertised "
    "host",
    why="Clients check both, and a certificate takes time to get.",
    remedy="Renew it, with the advertised host among its names.",
    severity="warning",
)
def _certificate_due(host: InspectedHost) -> Iterator[Finding]:
    advertised = host.kafka.address if host.kafka else ""
    accepted = {advertised, f"*.{advertised.partition('.')[2]}"}
    for one in host.found.certificates:
        if one.days_left is not None and _LEAST_DAYS <= one.days_left < _DAYS_TO_RENEW:
            what = f"{one.path} expires in {one.days_left:.0f} days."
            yield Finding("kafka_config", what, "Renew it in time.")
        if advertised and one.names is not None and not accepted & {*one.names}:
            what = f"{one.path} is for {listing(one.names)}, not for {advertised}."
            yield Finding("kafka_config", what, "Renew it with that name among its SANs.")
