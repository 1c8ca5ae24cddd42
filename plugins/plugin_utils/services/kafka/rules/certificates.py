"""The rules about keys that Millrace does not make, and what their certificates say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from .....module_utils.formats.pem import is_for
from .....module_utils.formats.values import listing
from .....module_utils.host import key_stores
from .....module_utils.host.certificate_expiry import DAYS_TO_RENEW, LEAST_DAYS
from ....cluster.x509 import store_facts
from ....rules.engine import Checked, Finding, Findings, host_rule, rule
from ....rules.inspection import Certificate, InspectedHost
from ....rules.shared import nodes_as_written, place
from .. import stores
from ..listeners import Listener
from ..node import KafkaNode
from ..stores import Store

_KEY, _CHAIN = stores.KEY, stores.CHAIN
_PUT = (
    "Put the private key (PKCS #8), its certificate and then those that signed it there, all PEM; "
    "ssl.key.password is for an encrypted key."
)
_ONE = "Delete one of them, or put the key into a file and name it in ssl.keystore.location."
_SIGNED = "Get it from a CA of the trust store, for server and client authentication."
_RENEW = "Renew it."
_SIGNER = "A certificate that signed the one in"


@rule("inline-key", each=nodes_as_written)
def _inline_key(node: KafkaNode) -> Findings:
    """The broker would not start, or nodes and clients would refuse it."""
    shown: dict[tuple[str, str, Store], list[tuple[Listener, Mapping[str, Any]]]] = {}
    for listener, config in stores.encrypted(node):
        key, chain = config.get(_KEY), config.get(_CHAIN)
        if misplaced := _misplaced(config):
            yield Finding(*misplaced, _place(node, listener))
        elif stores.is_known(key) and stores.is_known(chain):
            material = str(key), str(chain), stores.key_store(node, listener)
            shown.setdefault(material, []).append((listener, config))
    for (key, chain, store), listeners in shown.items():
        result = key_stores.inline_store(
            key, chain, store.password, store.authorities, mutual=store.mutual
        )
        certificate = Certificate(_CHAIN, **store_facts(result))
        for finding in (*_faults(certificate), *_name_missing(node, certificate, listeners)):
            yield replace(finding, where=_place(node, listeners[0][0]))


def _place(node: KafkaNode, listener: Listener) -> str:
    """Name the property that gives a listener its key."""
    prefix = f"listener.name.{listener.name.lower()}."
    return place(node, f"{prefix}{_KEY}", f"{prefix}{_CHAIN}", _KEY, _CHAIN)


def _misplaced(config: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return why Kafka would not read a key in its configuration, and what to set."""
    key, chain = config.get(_KEY), config.get(_CHAIN)
    if not key and not chain:
        return None
    if not key or not chain:
        missing = _CHAIN if key else _KEY
        return f"{_KEY if key else _CHAIN} is set without {missing}.", f"Set {missing}, too."
    if config.get("ssl.keystore.location"):
        return f"{_KEY} is set, and ssl.keystore.location too.", _ONE
    if not stores.is_pem(config, "keystore") and stores.is_known(
        config.get("ssl.keystore.type") or "JKS"
    ):
        return f"{_KEY} is set, and ssl.keystore.type is not PEM.", "Set ssl.keystore.type: PEM."
    return None


def _certificates(host: InspectedHost) -> Checked:
    """Yield each store that was found on a host."""
    return ((host, certificate) for certificate in host.inspection.kafka.certificates)


def _located(host: InspectedHost, certificate: Certificate, findings: Findings) -> Findings:
    """Yield findings about a store at the property that names it."""
    node = host.kafka
    keys = [key for key, value in node.config.items() if value == certificate.path] if node else []
    for finding in findings:
        yield replace(finding, where=place(node, *keys)) if node and keys else finding


@host_rule("store-unusable", each=_certificates, where="kafka_config")
def _store_unusable(host: InspectedHost, certificate: Certificate) -> Findings:
    """The broker would not start, or nodes and clients would refuse it."""
    return _located(host, certificate, _unusable(certificate))


def _unusable(certificate: Certificate) -> Findings:
    if not certificate.exists:
        yield Finding(f"{certificate.path} does not exist.", "Put it there, or correct the path.")
    elif not certificate.readable:
        problem = f"Kafka's user cannot read {certificate.path}."
        yield Finding(problem, "Give its group read permission.")
    else:
        yield from _faults(certificate)


def _faults(certificate: Certificate) -> Findings:
    """Yield what is wrong with a store that Kafka can read."""
    if certificate.wrong:
        yield Finding(f"{certificate.path} cannot be used: {certificate.wrong}.", _PUT)
    if certificate.days_to_begin > 0:
        description = (
            f"{certificate.path} becomes valid only in {certificate.days_to_begin * 24:.0f} hours."
        )
        yield Finding(description, "Wait, or correct the clock of the host or of the CA.")
    ends = {certificate.path: certificate.days_left}
    if certificate.chain_is_needed:
        ends[f"{_SIGNER} {certificate.path}"] = certificate.chain_days_left
    for description, days in ends.items():
        if days is not None and days < 0:
            yield Finding(f"{description} expired {-days:.0f} days ago.", _RENEW)
        elif days is not None and days < LEAST_DAYS:
            yield Finding(f"{description} expires in {days * 24:.0f} hours.", _RENEW)
    if certificate.refused:
        yield Finding(f"{certificate.path}: {certificate.refused}.", _SIGNED)


@host_rule("certificate-name", each=_certificates, where="kafka_config")
def _certificate_name(host: InspectedHost, certificate: Certificate) -> Findings:
    """Nodes compare the name by which they connect with those of the certificate, and so does
    Millrace on each host.
    """
    if node := host.kafka:
        yield from _located(
            host,
            certificate,
            _name_missing(node, certificate, _listeners_with(node, certificate.path)),
        )


def _listeners_with(node: KafkaNode, path: str) -> list[tuple[Listener, Mapping[str, Any]]]:
    """Return the listeners whose key store is at a path."""
    return [pair for pair in stores.encrypted(node) if pair[1].get("ssl.keystore.location") == path]


def _name_missing(
    node: KafkaNode, certificate: Certificate, shown: Iterable[tuple[Listener, Mapping[str, Any]]]
) -> Findings:
    """Yield that a certificate lacks the node's name, where those who connect would miss it."""
    checked = [listener.name for listener, config in shown if _is_compared(node, listener, config)]
    if checked and certificate.names is not None and not is_for(certificate.names, node.address):
        fix = (
            f"Renew it with {node.address} among its SANs, or set kafka_advertised_host to a name "
        )
        fix += "that it has."
        yield Finding(f"{_names(certificate, node)}, the address of {listing(checked)}.", fix)


def _is_compared(node: KafkaNode, listener: Listener, config: Mapping[str, Any]) -> bool:
    by_nodes = stores.is_inner(node, listener) and stores.checks_names(config)
    by_host = listener == node.listeners.for_host
    return by_nodes or (by_host and stores.checks_names(node.clients.config))


def _names(certificate: Certificate, node: KafkaNode) -> str:
    return (
        f"{certificate.path} is for {listing(certificate.names or ()) or 'no name'}, "
        f"not for {node.address}"
    )


@host_rule("certificate-expiring", each=_certificates, where="kafka_config", severity="warning")
def _certificate_expiring(host: InspectedHost, certificate: Certificate) -> Findings:
    """Clients check expiry and names, and it takes time to get a certificate."""
    yield from _located(host, certificate, _expiring(certificate))
    yield from _located(host, certificate, _name_missing_for_clients(host.kafka, certificate))


def _expiring(certificate: Certificate) -> Findings:
    days = certificate.days_left
    if days is not None and LEAST_DAYS <= days < DAYS_TO_RENEW:
        yield Finding(f"{certificate.path} expires in {days:.0f} days.", "Renew it in time.")
    days = certificate.chain_days_left
    refused = days is not None and days < LEAST_DAYS and certificate.chain_is_needed
    if days is not None and days < DAYS_TO_RENEW and not refused:
        when = f"expired {-days:.0f} days ago" if days < 0 else f"expires in {days:.0f} days"
        yield Finding(f"{_SIGNER} {certificate.path} {when}.", "Renew it in time.")


def _name_missing_for_clients(node: KafkaNode | None, certificate: Certificate) -> Findings:
    shown = _listeners_with(node, certificate.path) if node else []
    if not node or not shown or any(_is_compared(node, *pair) for pair in shown):
        return
    if certificate.names is not None and not is_for(certificate.names, node.address):
        fix = "Renew it with that name among its SANs, unless no client compares it."
        yield Finding(f"{_names(certificate, node)}.", fix)
