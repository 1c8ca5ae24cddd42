"""Wrong inventories and legal variations: who connects to Kafka, and as whom."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.unit.rules.draft import Case, Change, Draft, Legal
from tests.unit.rules.security_cases import closed

STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
INTERNAL = ("INTERNAL", 9094, "SSL")
CLIENTS = ("CLIENT_TLS", 9095, "SASL_SSL")
PARTNERS = ("PARTNERS", 9097, "SSL")
MECHANISMS = "listener.name.client_tls.sasl.enabled.mechanisms"
ENTRY = "listener.name.client_tls.plain.sasl.jaas.config"
HANDLER = "listener.name.client_tls.plain.sasl.server.callback.handler.class"
PARTNER = {"name": "partner", "authentication": "tls"}
FORMER = {"name": "former", "state": "absent"}


def own(draft: Draft, users: str, *kafka_users: Mapping[str, Any], **config: str) -> Draft:
    """Close a cluster with other super users beside its nodes."""
    closed(draft).variable("kafka_users", [*kafka_users])
    for key, value in config.items():
        draft.own(key, value)
    return draft.own("super.users", f"User:kafka-nodes;{users}")


def plain(entry: str, *, users: str = "") -> Change:
    """Let clients log in by PLAIN with this entry of JAAS, from a vault."""

    def change(draft: Draft) -> None:
        closed(draft).own(MECHANISMS, "PLAIN").own(ENTRY, entry).vault(f"kafka_config[{ENTRY}]")
        if users:
            draft.own("super.users", f"User:kafka-nodes;{users}")

    return change


REFUSED: list[Case] = [
    *(
        (
            "super-users-unknown",
            wrong,
            lambda d, wrong=wrong: own(d, f"User:admin;{wrong}", FORMER),
            (wrong, "kafka_config[super.users] of k1, k2, k3", *parts),
        )
        for wrong, *parts in (
            ("User:nobody-such", "add nobody-such to kafka_users"),
            ("User:adminn", "Write User:admin,"),
            ("User:LEDGER", "Write User:ledger,"),
            ("User:former", "entry of former"),
            ("User:ANONYMOUS", "Delete"),
            ("User:k1", "Delete"),
            ("User:*", "User:admin"),
            ("Group:ops", "principal.builder.class"),
        )
    ),
    (
        "super-users-unknown",
        "admin in place of another",
        lambda d: own(d, "User:adminn"),
        ("Write User:admin,",),
    ),
    (
        "super-users-unknown",
        "the preset's, removed",
        lambda d: closed(d).variable("kafka_users", [{"name": "admin", "state": "absent"}]),
        ("User:admin", "kafka_users of k1, k2, k3"),
    ),
    (
        "super-users-unknown",
        "another than those of PLAIN",
        plain(f'{PLAIN} user_admin="hunter2" user_ops="hunter2";', users="User:admin;User:opps"),
        ("User:opps", "Write User:ops,"),
    ),
    (
        "super-users-unknown",
        "a group, with certificates of the site",
        lambda d: own(d, "User:admin;Group:ops", PARTNER).listeners(CLIENTS, INTERNAL, PARTNERS),
        ("Group:ops",),
    ),
    *(
        (
            "super-users-nearly",
            wrong,
            lambda d, wrong=wrong: own(d, f"User:admin;{wrong}", PARTNER, FORMER).listeners(
                CLIENTS, INTERNAL, PARTNERS
            ),
            (wrong, part),
        )
        for wrong, part in (("User:partners", "Write User:partner,"), ("User:former", "former"))
    ),
    (
        "super-users-admin",
        "another user",
        lambda d: own(d, "User:ops", {"name": "ops"}),
        ("admin", "kafka_config[super.users] of k1, k2, k3", "User:admin"),
    ),
    (
        "plain-users",
        "the broker's own login alone",
        plain(f'{PLAIN} username="broker" password="hunter2";'),
        ("CLIENT_TLS", f"kafka_config[{ENTRY}] of k1, k2, k3", "user_<name>"),
    ),
]

LEGAL: list[Legal] = [
    ("super-users-unknown", "the preset", closed),
    (
        "super-users-unknown",
        "users of the inventory, and of Millrace",
        lambda d: own(d, "User:admin;User:ops;User:flights-stream; User:ledger", {"name": "ops"}),
    ),
    (
        "super-users-unknown",
        "another authorizer",
        lambda d: own(
            d, "User:admin;User:*;Group:ops", **{"authorizer.class.name": "com.example.Ranger"}
        ),
    ),
    (
        "super-users-unknown",
        "principals of a class of the site",
        lambda d: own(
            d, "User:admin;User:x;Group:ops", **{"principal.builder.class": "com.example.Builder"}
        ),
    ),
    (
        "super-users-unknown",
        "a config provider",
        lambda d: closed(d).provided(
            "super.users", "User:kafka-nodes;${file:/etc/kafka/names:admins}"
        ),
    ),
    (
        "super-users-unknown",
        "those of PLAIN",
        plain(f"{PLAIN} user_ops='hunter2' \"user_a@b\"='hunter2';", users="User:ops;User:a@b"),
    ),
    *(
        (rule, "a login module of the site", plain("com.example.Login required;", users="User:ops"))
        for rule in ("super-users-unknown", "plain-users")
    ),
    *(
        (
            rule,
            "a callback handler of the site",
            lambda d: plain(f"{PLAIN};", users="User:ops")(d.own(HANDLER, "com.example.Ldap")),
        )
        for rule in ("super-users-unknown", "plain-users")
    ),
    (
        "plain-users",
        "those of a config provider",
        lambda d: closed(d).own(MECHANISMS, "PLAIN").provided(ENTRY, "${file:/etc/kafka/x:jaas}"),
    ),
    (
        "super-users-unknown",
        "the name of a certificate",
        lambda d: own(d, "User:admin;User:ops", PARTNER).listeners(CLIENTS, INTERNAL, PARTNERS),
    ),
    (
        "super-users-unknown",
        "keys of the site, one name for all nodes",
        lambda d: closed(d).pem().own("super.users", "User:brokers;User:admin"),
    ),
    (
        "super-users-unknown",
        "names that are mapped",
        lambda d: (
            closed(d)
            .own("ssl.principal.mapping.rules", "RULE:^CN=kafka-nodes$/kafka-nodes/,DEFAULT")
            .own("super.users", "User:kafka-nodes;User:admin;User:ops")
        ),
    ),
    (
        "super-users-unknown",
        "on an open cluster",
        lambda d: d.own("authorizer.class.name", STANDARD).own(
            "super.users", "User:ANONYMOUS;User:admin;User:later"
        ),
    ),
    (
        "super-users-nearly",
        "another number",
        lambda d: own(d, "User:admin;User:partner-2", {**PARTNER, "name": "partner-1"}).listeners(
            CLIENTS, INTERNAL, PARTNERS
        ),
    ),
    (
        "super-users-admin",
        "with grants",
        lambda d: own(
            d,
            "User:ops",
            {"name": "ops"},
            {"name": "admin", "grants": [{"cluster": True, "operations": ["all"]}]},
        ),
    ),
    (
        "super-users-admin",
        "removed",
        lambda d: own(d, "User:ops", {"name": "ops"}, {"name": "admin", "state": "absent"}),
    ),
]
