"""Wrong inventories and legal variations: what operators write about connectors."""

from __future__ import annotations

from typing import Any

from tests.unit.rules.draft import Case, Change, Draft, Legal

CLASS = "io.debezium.connector.jdbc.JdbcSinkConnector"
REFERENCE = "${file:/etc/connect/secrets/orders.properties:password}"
LOGIN = "${file:/etc/connect/secrets/kafka-login-orders.properties:sasl.jaas.config}"
GRANTS = [{"topic": "orders", "operations": ["read"]}]


def connector(**changes: Any) -> dict[str, Any]:
    """Return a good connector, but for what is given."""
    config = {"connector.class": CLASS, "topics": "orders", **changes.pop("config", {})}
    return {"name": "orders", "config": config, **changes}


def source(name: str = "planes") -> dict[str, Any]:
    """Return a good source connector with a user of its name."""
    config = {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "slot.name": name.replace("-", "_"),
    }
    return {"name": name, "kafka_user": name, "config": config}


def connectors(*written: object, closed: bool = False) -> Change:
    """Give all workers some connectors."""

    def change(draft: Draft) -> None:
        draft.connect().variable("connect_connectors", list(written))
        if closed:
            draft.variable("kafka_security", "standard")

    return change


def with_vault(written: object) -> Change:
    """Give all workers a connector, and a config provider for it."""
    providers = {"config.providers": "file,vault", "config.providers.vault.class": "org.x.Vault"}
    return lambda d: (connectors(written)(d), d.variable("connect_config", providers))


def secrets(written: object, *entries: object) -> Change:
    """Give all workers secrets, and perhaps connectors."""
    return lambda d: (
        d.connect()
        .variable("connect_secrets", written)
        .variable("connect_connectors", list(entries))
    )


def hidden(draft: Draft, values: dict[str, Any], *entries: object) -> None:
    """Give all workers secrets of a vault, and connectors."""
    secrets(values, *entries)(draft)
    for name in values:
        draft.vault(f"connect_secrets[{name}]")


REFUSED: list[Case] = [
    (
        "connectors-differ",
        "of one worker",
        lambda d: d.connect().variable("connect_connectors", [connector()], on=("k1",)),
        ("connect_connectors", "k2", "group variables"),
    ),
    (
        "connector-duplicate",
        "twice",
        connectors(connector(), connector(state="paused")),
        ("orders", "2 times"),
    ),
    *(
        ("connector-name", name, connectors(written), phrases)
        for name, written, phrases in (
            ("a blank", connector(name="my orders"), ("'my orders'",)),
            ("another one", connector(config={"name": "other"}), ("orders", "other")),
        )
    ),
    (
        "connector-name",
        "that of the workers' leader",
        connectors(source("cluster"), closed=True),
        ("cluster", "the workers"),
    ),
    (
        "connector-name",
        "the beginning of another",
        connectors(source(), source("planes-a"), closed=True),
        ("planes of planes", "planes-a"),
    ),
    (
        "connector-class",
        "misspelt",
        connectors({"name": "orders", "config": {"conector.class": CLASS}}),
        ("orders", "conector.class"),
    ),
    *(
        ("connector-secret", key, with_vault(connector(config={key: value})), phrases)
        for key, value, phrases in (
            (
                "connection.password",
                "geheim",
                ("connection.password", "connect_secrets[orders]", "${file:"),
            ),
            (
                "consumer.override.sasl.jaas.config",
                'x.LoginModule required password="geheim";',
                ("consumer.override.sasl.jaas.config",),
            ),
            *(
                (key, value, (key, "connect_secrets"))
                for key, value in (
                    ("connection.url", "jdbc:postgresql://db/x?user=a&password=geheim"),
                    ("connection.url", "jdbc:oracle:thin:a/geheim@//db/x"),
                    ("x.schema.registry.url", "https://u:geheim@registry"),
                    ("value.converter.basic.auth.user.info", "u:geheim"),
                    ("key.converter.apicurio.auth.password", "geheim"),
                    ("value.converter.apicurio.auth.client.secret", "geheim"),
                    ("source.cluster.ssl.keystore.key", "geheim"),
                    ("producer.override.ssl.keystore.key", "geheim"),
                    ("api.key", "geheim"),
                    ("database.password", "geheim${x"),
                    ("database.password", "geheim${vault:x:y}"),
                )
            ),
        )
    ),
    (
        "connector-reference",
        "no file",
        connectors(connector(config={"connection.password": REFERENCE})),
        ("connection.password", "orders.properties", "connect_secrets"),
    ),
    (
        "connector-reference",
        "a login where nobody logs in",
        connectors(connector(kafka_user="orders", config={"x.sasl.jaas.config": LOGIN})),
        ("kafka-login-orders",),
    ),
    (
        "connector-reference",
        "no key",
        lambda d: hidden(
            d, {"orders": {"pasword": "x"}}, connector(config={"connection.password": REFERENCE})
        ),
        ("password", "Write pasword"),
    ),
    (
        "secret-visible",
        "of a connector",
        secrets({"orders": {"password": "geheim"}}),
        ("password of connect_secrets[orders]",),
    ),
    ("connect-secret-file", "a slash", secrets({"../x": {}}), ("'../x'",)),
    ("connect-secret-file", "no keys", secrets({"orders": {}}), ("orders", "no keys")),
    *(
        ("connector-user", name, connectors(*written, closed=closed), phrases)
        for name, written, closed, phrases in (
            ("none", [connector()], True, ("orders", "kafka_user: orders")),
            ("grants alone", [connector(grants=GRANTS)], False, ("grants", "kafka_user")),
            *(
                (
                    f"that of a service, {user}",
                    [connector(kafka_user=user, grants=GRANTS)],
                    True,
                    (f"{user} of orders", "Millrace"),
                )
                for user in ("connect", "schema-registry")
            ),
            *(
                (
                    f"{user} of one to be removed",
                    [{"name": "old", "state": "absent", "kafka_user": user}],
                    True,
                    (f"{user} of old",),
                )
                for user in ("connect", "admin", "ledger")
            ),
            ("a name of no user", [connector(kafka_user="a/b", grants=GRANTS)], True, ("a/b",)),
            (
                "of two",
                [
                    connector(kafka_user="db", grants=GRANTS),
                    {**connector(kafka_user="db", grants=GRANTS), "name": "planes"},
                ],
                True,
                ("orders and planes",),
            ),
        )
    ),
    (
        "connector-grant",
        "an operation of no topic",
        connectors(
            connector(
                kafka_user="orders",
                grants=[*GRANTS, {"topic": "a", "operations": ["cluster_action"]}],
            ),
            closed=True,
        ),
        ("cluster_action",),
    ),
    (
        "connector-topic",
        "one of two",
        connectors(
            connector(kafka_user="orders", grants=GRANTS, config={"topics": "orders,planes"}),
            closed=True,
        ),
        ("planes", "read"),
    ),
    *(
        ("variable-value", name, connectors(written), phrases)
        for name, written, phrases in (
            ("a key of a connector", connector(stat="paused"), ("stat", "Did you mean state?")),
            ("a state of a connector", connector(state="halted"), ("halted", "paused")),
        )
    ),
]

LEGAL: list[Legal] = [
    (
        "connector-name",
        "beginning with that of a sink, or on an open cluster",
        connectors(
            source(),
            {**connector(kafka_user="b", grants=GRANTS), "name": "planes-copy"},
            closed=True,
        ),
    ),
    ("connector-name", "two sources of an open cluster", connectors(source(), source("planes-a"))),
    ("connectors-differ", "on all workers", connectors(connector())),
    (
        "connector-duplicate",
        "two names",
        connectors(connector(), {**connector(), "name": "planes"}),
    ),
    (
        "connector-secret",
        "a reference to another provider",
        with_vault(connector(config={"connection.password": "${vault:orders:password}"})),
    ),
    *(
        ("connector-secret", key, with_vault(connector(config={key: value})))
        for key, value in (
            ("connection.url", "jdbc:postgresql://db/x?user=a&password=${vault:orders:password}"),
            ("connection.url", "jdbc:postgresql://db:5432/x?user=a"),
            ("x.schema.registry.url", "https://u:${vault:orders:password}@registry"),
            ("source.cluster.ssl.truststore.certificates", "geheim"),
            ("source.cluster.bootstrap.servers", "a:9092,b:9092"),
        )
    ),
    (
        "connector-grant",
        "a topic",
        connectors(connector(kafka_user="orders", grants=GRANTS), closed=True),
    ),
    (
        "connect-secret-file",
        "a key",
        lambda d: hidden(d, {"orders.db": {"password": "x"}}),
    ),
    ("connector-class", "an open cluster", connectors(connector())),
    ("connector-name", "the same name", connectors(connector(config={"name": "orders"}))),
    ("connector-class", "absent", connectors({"name": "orders", "state": "absent"})),
    (
        "connector-user",
        "one of its own",
        connectors(connector(kafka_user="orders", grants=GRANTS), closed=True),
    ),
    (
        "connector-topic",
        "the beginning of names",
        connectors(
            connector(
                kafka_user="orders",
                grants=[{"topic": "ord", "pattern": "prefixed", "operations": ["read"]}],
            ),
            closed=True,
        ),
    ),
    (
        "connector-reference",
        "a file of secrets",
        lambda d: hidden(
            d, {"orders": {"password": "x"}}, connector(config={"connection.password": REFERENCE})
        ),
    ),
    (
        "connector-reference",
        "the login of its user",
        connectors(
            connector(kafka_user="orders", grants=GRANTS, config={"x.sasl.jaas.config": LOGIN}),
            closed=True,
        ),
    ),
]
