"""Wrong inventories and legal variations: keys and certificates that stand in the inventory."""

from __future__ import annotations

from typing import Any

from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets.certificates import request
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.security import (
    Certificate,
)

from tests.unit.outside_authority import SERVER, OutsideCa, pem
from tests.unit.rules.draft import NODES, Case, Change, Draft, Legal

SITE = OutsideCa.new("Site")
TRUSTED = pem(SITE.certificate)
KEY, CHAIN = "ssl.keystore.key", "ssl.keystore.certificate.chain"
PASSWORD = "hunter2"
PROVIDED = "${file:/etc/kafka/secrets:key}"


def signed(*names: str, **changes: Any) -> dict[str, str]:
    """Return a key and its certificate, of the site, for some names."""
    certificate = Certificate("x", "", "nodes", names or NODES, client=True)
    key, made = request(certificate)
    return {KEY: key, CHAIN: SITE.sign(made, **changes)}


def inline(properties: dict[str, str], **changes: str) -> Change:
    """Give the nodes of a closed cluster a key in the inventory."""
    config = {"ssl.keystore.type": "PEM", "ssl.truststore.type": "PEM", **properties}
    config |= {name.replace("_", "."): value for name, value in changes.items()}

    def change(draft: Draft) -> None:
        draft.variable("kafka_security", "standard")
        for key, value in {"ssl.truststore.certificates": TRUSTED, **config}.items():
            if value:
                draft.own(key, " ".join(value.split())).vault(f"kafka_config[{key}]")

    return change


def provided(properties: dict[str, str]) -> Change:
    """Let a provider of Kafka fill in properties of a key."""

    def change(draft: Draft) -> None:
        inline({**properties})(draft)
        for key, value in properties.items():
            if "${" in value:
                draft.provided(key, value)

    return change


def outside(draft: Draft, *hosts: str, certificate: str = TRUSTED) -> Draft:
    """Let an outside CA sign, where it is set on all hosts or some."""
    draft.variable("kafka_security", "standard")
    return draft.variable("kafka_ca_certificate", certificate, on=hosts or NODES)


def users(draft: Draft, *hosts: str, grants: str = "read") -> Draft:
    """Give a user to all hosts, or some."""
    grant = {"topic": "t", "operations": [grants]}
    draft.variable("kafka_security", "standard")
    return draft.variable("kafka_users", [{"name": "app", "grants": [grant]}], on=hosts or NODES)


GOOD = signed()
REFUSED: list[Case] = [
    (
        "ca-expiring",
        "soon",
        lambda d: outside(d).authority_ends(29),
        ("kafka_ca_certificate of k1, k2, k3", "in 29 days", "rotate_certificates.yml"),
    ),
    (
        "cluster-variable-differs",
        "a CA on a part",
        lambda d: outside(d, "k2", "k3"),
        ("kafka_ca_certificate of k1, k2, k3", "on k1 as on k2 and k3"),
    ),
    (
        "cluster-variable-differs",
        "two CAs",
        lambda d: outside(outside(d), "k2", certificate=pem(OutsideCa.new("Other").certificate)),
        ("kafka_ca_certificate of k1, k2, k3", "on k1 and k3 as on k2"),
    ),
    (
        "cluster-variable-differs",
        "users on one broker",
        lambda d: users(d, "k1"),
        ("kafka_users of k1, k2, k3", "on k1 as on k2 and k3"),
    ),
    (
        "cluster-variable-differs",
        "other grants on a controller",
        lambda d: users(users(d.leave("kafka_brokers", "k3")), "k3", grants="write"),
        ("kafka_users of k1, k2, k3", "on k1 and k2 as on k3"),
    ),
    *(
        ("inline-key", name, change, ("kafka_config[ssl.keystore.", "of k1", phrase))
        for name, change, phrase in (
            ("without a chain", inline({KEY: GOOD[KEY]}), f"without {CHAIN}"),
            ("without a key", inline({CHAIN: GOOD[CHAIN]}), f"without {KEY}"),
            ("not PEM", inline(GOOD, ssl_keystore_type="JKS"), "ssl.keystore.type: PEM"),
            ("of no type", inline(GOOD, ssl_keystore_type=""), "ssl.keystore.type: PEM"),
            ("a file too", inline(GOOD, ssl_keystore_location="/etc/kafka/n.pem"), "Delete one"),
            ("of another", inline({**GOOD, KEY: signed()[KEY]}), "not that of its first"),
            ("junk", inline({**GOOD, KEY: "hunter2"}), "no private key"),
            ("certificates that are junk", inline({**GOOD, CHAIN: "hunter2"}), "no certificate"),
            ("a password too many", inline(GOOD, ssl_key_password=PASSWORD), "not encrypted"),
            ("expired", inline(signed(begin=-9, days=-3)), "expired 3 days ago"),
            ("not valid yet", inline(signed(begin=2)), "becomes valid only in 48 hours"),
            ("for servers alone", inline(signed(purposes=[SERVER])), "purpose"),
            ("names of others", inline(signed("k2", "k3")), "not for k1"),
            (
                "of another CA",
                inline(GOOD, ssl_truststore_certificates=pem(OutsideCa.new("Other").certificate)),
                "none of the CAs",
            ),
        )
    ),
]
REFUSED += [
    (
        "inline-key",
        "beside the keys that Millrace makes",
        inline({f"listener.name.client_tls.{key}": value for key, value in GOOD.items()}),
        ("kafka_config[listener.name.client_tls.ssl.keystore.key] of k1, k2, k3", "into a file"),
    ),
]
LEGAL: list[Legal] = [
    ("ca-expiring", "later", lambda d: outside(d).authority_ends(30)),
    ("cluster-variable-differs", "a CA on all", outside),
    ("cluster-variable-differs", "users on all", users),
    (
        "cluster-variable-differs",
        "users on brokers",
        lambda d: users(d.leave("kafka_brokers", "k3"), "k1", "k2"),
    ),
    ("inline-key", "of the site", inline(GOOD)),
    ("inline-key", "a key from a provider", provided({**GOOD, KEY: PROVIDED})),
    ("inline-key", "a chain from a provider", provided({**GOOD, CHAIN: PROVIDED})),
    (
        "inline-key",
        "a password from a provider",
        provided({**signed(), "ssl.key.password": PROVIDED}),
    ),
    (
        "inline-key",
        "a trust store on the hosts",
        inline(
            GOOD,
            ssl_truststore_certificates="",
            ssl_truststore_location="/etc/kafka/tls/ca.pem",
        ),
    ),
]
