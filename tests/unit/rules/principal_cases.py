"""Wrong inventories and legal variations: who connects to Kafka, and as whom."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.unit.rules.draft import Case, Change, Draft, Legal
from tests.unit.rules.security_cases import closed

STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
LOGIN = {
    "sasl.mechanism": "SCRAM-SHA-512",
    "sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
}
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
INTERNAL = ("INTERNAL", 9094, "SSL")
CLIENTS = ("CLIENT_TLS", 9095, "SASL_SSL")
PARTNERS = ("PARTNERS", 9097, "SSL")
MECHANISMS = "listener.name.client_tls.sasl.enabled.mechanisms"
ENTRY = "listener.name.client_tls.plain.sasl.jaas.config"
SCRAM_ENTRY = "listener.name.client_tls.scram-sha-512.sasl.jaas.config"
HANDLER = "listener.name.client_tls.plain.sasl.server.callback.handler.class"
GUESTS_AUTH = "listener.name.guests.ssl.client.auth"
EVERYBODY = "allow.everyone.if.no.acl.found"
PUBLIC = "8.8.8.8"
GUESTS_MAY: Mapping[str, Mapping[str, Any]] = {
    "as super users": {"users": "User:ANONYMOUS"},
    "without an ACL": {"everybody": True},
}
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


def guests(draft: Draft, *, users: str = "", everybody: bool = False, address: str = "") -> Draft:
    """Close a cluster, but for a listener that asks for no certificate."""
    closed(draft).listeners(CLIENTS, INTERNAL, ("GUESTS", 9097, "SSL"))
    draft.own(GUESTS_AUTH, "none").own(EVERYBODY, everybody)
    if users:
        draft.own("super.users", f"User:kafka-nodes;User:admin;{users}")
    if address:
        draft.variable("kafka_advertised_host", address, on=("k2",))
        draft.variable("spark_security", "standard")
    return draft


def partners(draft: Draft, *users: Mapping[str, Any], **config: str) -> Draft:
    """Close a cluster, and add a listener for clients with certificates."""
    closed(draft).listeners(CLIENTS, INTERNAL, PARTNERS).variable("kafka_users", [*users])
    for key, value in config.items():
        draft.own(key, value)
    return draft


def site_keys(draft: Draft) -> Draft:
    """Give an open cluster keys of the site, and an authorizer."""
    draft.pem().listeners(("CLIENT", 9092, "SSL")).controller_listener("CONTROLLER", protocol="SSL")
    return draft.own("authorizer.class.name", STANDARD).own("super.users", "User:nodes")


REFUSED: list[Case] = [
    (
        "super-users-missing",
        "the preset's, overridden",
        lambda d: closed(d).own("super.users", ""),
        ("kafka_config[super.users] of", "User:admin;User:kafka-nodes"),
    ),
    (
        "super-users-commas",
        "a list of YAML",
        lambda d: closed(d).own("super.users", ["User:kafka-nodes", "User:admin"]),
        ("Set super.users: User:kafka-nodes;User:admin.",),
    ),
    (
        "super-users-type",
        "no name",
        lambda d: own(d, "User:admin;User:"),
        ("super.users has User:.", "Delete it"),
    ),
    *(
        (
            "super-users-unknown",
            wrong,
            lambda d, wrong=wrong: own(d, f"User:admin;{wrong}", FORMER),
            (wrong, "kafka_config[super.users] of k1, k2, k3", *phrases),
        )
        for wrong, *phrases in (
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
            (wrong, phrase),
        )
        for wrong, phrase in (("User:partners", "Write User:partner,"), ("User:former", "former"))
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
    (
        "super-users-anonymous",
        "no certificates between nodes",
        site_keys,
        ("CLIENT (SSL) and CONTROLLER (SSL)", "kafka_config[super.users]"),
    ),
    *(
        (
            "nodes-anonymous",
            name,
            lambda d, name=name: closed(d).own(f"listener.name.{name}.ssl.client.auth", "none"),
            (name.upper(), f"kafka_config[listener.name.{name}.ssl.client.auth]", "required"),
        )
        for name in ("internal", "controller_tls")
    ),
    ("listener-anonymous", "guests", guests, ("GUESTS", f"kafka_config[{GUESTS_AUTH}]")),
    *(
        (
            rule,
            f"guests may do everything, {name}",
            lambda d, settings=settings: guests(d, **settings),
            (f"kafka_config[{GUESTS_AUTH}] of k1, k2, k3", "required"),
        )
        for name, settings in GUESTS_MAY.items()
        for rule, settings in (
            ("opened-again", settings),
            ("open-to-everybody", {**settings, "address": PUBLIC}),
        )
    ),
    (
        "opened-again",
        "users may do everything",
        lambda d: closed(d).own(EVERYBODY, True),
        (f"kafka_config[{EVERYBODY}] of k1, k2, k3", f"{EVERYBODY}: false"),
    ),
    *(
        ("listener-users", name, change, ("kafka_users of k1, k2, k3", listener))
        for name, listener, change in (
            ("no partner", "PARTNERS", partners),
            ("the only one is removed", "PARTNERS", lambda d: partners(d, FORMER)),
            ("those with passwords", "PARTNERS", lambda d: partners(d, {"name": "app"})),
            (
                "no passwords",
                "CLIENT_TLS",
                lambda d: closed(d).listeners(("CLIENT_TLS", 9095, "SSL"), INTERNAL),
            ),
            ("one for all", "CLIENT", lambda d: closed(d).listeners(("CLIENT", 9092, "SSL"))),
        )
    ),
    (
        "listener-users",
        "another mechanism",
        lambda d: (
            closed(d)
            .listeners(CLIENTS, INTERNAL, ("OLD", 9097, "SASL_SSL"))
            .own("listener.name.old.sasl.enabled.mechanisms", "SCRAM-SHA-256")
        ),
        ("OLD", "kafka_config[listener.name.old.sasl.enabled.mechanisms]", "SCRAM-SHA-512"),
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
    *(
        (
            "super-users-nodes",
            f"a config provider, {users}",
            lambda d, users=users: closed(d).provided("super.users", users),
        )
        for users in ("${file:/etc/kafka/names:all}", "User:admin;${file:/etc/kafka/names:nodes}")
    ),
    (
        "super-users-mapped",
        "the name of a certificate that another node's listener takes",
        lambda d: (
            own(d, "User:admin;User:CN=ops,OU=A", PARTNER)
            .controllers("k1", "k2", "k3")
            .listeners(CLIENTS, INTERNAL, PARTNERS)
            .own("listener.name.partners.ssl.principal.mapping.rules", "DEFAULT")
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
    *(
        (
            "super-users-unknown",
            f"the login of brokers, {name}",
            lambda d, change=change: (
                own(d, "User:admin;User:broker")
                .variable("kafka_client_config", LOGIN)
                .listeners(CLIENTS)
                .own("sasl.mechanism.inter.broker.protocol", "SCRAM-SHA-512")
                and change(d)
            ),
        )
        for name, change in (
            ("from a file", lambda d: d.provided(SCRAM_ENTRY, "${file:/etc/kafka/x:jaas}")),
            (
                "from a vault",
                lambda d: d.own(
                    SCRAM_ENTRY,
                    "org.apache.kafka.common.security.scram.ScramLoginModule required "
                    'username="broker" password="hunter2";',
                ).vault(f"kafka_config[{SCRAM_ENTRY}]"),
            ),
        )
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
    (
        "super-users-anonymous",
        "a class of the site makes the principals",
        lambda d: site_keys(d).own("principal.builder.class", "com.example.Builder"),
    ),
    (
        "super-users-anonymous",
        "a class of the site does TLS",
        lambda d: site_keys(d).own("ssl.engine.factory.class", "com.example.Engine"),
    ),
    *(
        ("nodes-anonymous", name, change)
        for name, change in (
            ("the default of other listeners", lambda d: closed(d).own("ssl.client.auth", "none")),
            (
                "required",
                lambda d: closed(d).own("listener.name.internal.ssl.client.auth", "required"),
            ),
            (
                "a login",
                lambda d: (
                    closed(d)
                    .listeners(CLIENTS)
                    .login("CLIENT_TLS")
                    .own("sasl.mechanism.inter.broker.protocol", "SCRAM-SHA-512")
                    .own("listener.name.client_tls.ssl.client.auth", "none")
                    .variable("kafka_client_config", LOGIN)
                ),
            ),
        )
    ),
    ("listener-anonymous", "certificates", lambda d: partners(d, PARTNER)),
    (
        "listener-anonymous",
        "another authorizer",
        lambda d: guests(d).own("authorizer.class.name", "com.example.Ranger"),
    ),
    ("opened-again", "as it is made", lambda d: closed(d).own(EVERYBODY, False)),
    *(
        ("listener-users", name, change)
        for name, change in (
            ("a partner", lambda d: partners(d, PARTNER)),
            (
                "a partner alone",
                lambda d: (
                    closed(d)
                    .listeners(("CLIENT_TLS", 9095, "SSL"), INTERNAL)
                    .variable("kafka_users", [{"name": "partner"}])
                ),
            ),
            (
                "a super user",
                lambda d: partners(d).own(
                    "super.users", "User:kafka-nodes;User:admin;User:operator"
                ),
            ),
            (
                "a CA of the site",
                lambda d: partners(d).variable(
                    "kafka_ca_certificate", "-----BEGIN CERTIFICATE-----"
                ),
            ),
            (
                "certificates of another CA",
                lambda d: partners(
                    d,
                    **{
                        "listener.name.partners.ssl.truststore.type": "PEM",
                        "listener.name.partners.ssl.truststore.location": "/etc/kafka/tls/ca.pem",
                    },
                ),
            ),
            ("keys of the site", lambda d: partners(d.pem())),
            (
                "names that are mapped",
                lambda d: partners(d).own(
                    "listener.name.partners.ssl.principal.mapping.rules", "RULE:^.*$/partner/"
                ),
            ),
            (
                "another authorizer",
                lambda d: partners(d, **{"authorizer.class.name": "com.example.Ranger"}),
            ),
            ("SCRAM-SHA-256 alone", lambda d: closed(d).own(MECHANISMS, "SCRAM-SHA-256")),
            ("PLAIN", plain(f'{PLAIN} user_ops="hunter2";')),
        )
    ),
]
