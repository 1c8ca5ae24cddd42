"""Wrong inventories and legal variations: values that their use cannot have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.inventory import Expression

from tests.unit.rules.connector_cases import connector, connectors, secrets
from tests.unit.rules.draft import Case, Change, Draft, Legal
from tests.unit.rules.monitoring_cases import watched
from tests.unit.rules.security_cases import kafka_users

DEBEZIUM = "io.debezium.connector.postgresql.PostgresConnector"
PEM = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----"
MIGRATION = "zookeeper.metadata.migration.enable"


def granted(**grant: Any) -> Change:
    """Give a user one grant."""
    return kafka_users({"name": "app", "grants": [{"operations": ["read"], **grant}]})


def captured(name: str, **config: object) -> dict[str, Any]:
    """Return a connector that captures tables of PostgreSQL."""
    keys = {key.replace("_", "."): value for key, value in config.items()}
    return {"name": name, "config": {"connector.class": DEBEZIUM, **keys}}


def notified(*configs: Mapping[str, Any], kind: str = "email_configs") -> Change:
    """Notify somebody."""
    return watched(monitoring_receivers=[{"name": "team", kind: [*configs]}])


def named(group: str, name: str, **variables: object) -> Change:
    """Add a host of a group to the brokers' hosts."""

    def change(draft: Draft) -> None:
        draft.add_host(name, **variables)
        draft.groups[group] = [name]

    return change


REFUSED: list[Case] = [
    (
        "variable-value",
        "boolean in a grant",
        granted(topic=True),
        ("topic of grants of kafka_users is True", "without quotes"),
    ),
    (
        "variable-value",
        "mapping of users",
        lambda d: d.variable("kafka_users", {"app": {"grants": []}}),
        ("kafka_users is a mapping", "hyphen", "Set kafka_users to a list"),
    ),
    (
        "variable-value",
        "block of properties",
        lambda d: d.variable("kafka_config", "log.retention.hours: 5\n"),
        ("kafka_config is one text", "|", "Set kafka_config to a dict"),
    ),
    (
        "variable-value",
        "blank at the end",
        lambda d: d.variable("kafka_cluster_id", "4L6g3nShT-eMCtK--X86sw "),
        ("kafka_cluster_id ends with a blank",),
    ),
    (
        "variable-value",
        "line break of a block",
        lambda d: d.variable("connect_group", "pipelines\n"),
        ("connect_group ends with a line break", "|-"),
    ),
    (
        "variable-value",
        "blank in a list",
        lambda d: d.variable("kafka_data_dirs", ["/data/a", " /data/b"]),
        ("An entry of kafka_data_dirs begins with a blank",),
    ),
    (
        "value-blanks",
        "lines of a certificate as signs",
        lambda d: d.own("ssl.truststore.certificates", PEM.replace("\n", "\\n")),
        ("ssl.truststore.certificates", "|-"),
    ),
    (
        "address",
        "without an interface",
        lambda d: d.reached_at("k1", "fe80::23"),
        ("'fe80::23'", "%eth0", "ansible_host of k1"),
    ),
    (
        "address",
        "every one",
        lambda d: d.reached_at("k1", "0.0.0.0"),  # noqa: S104 - what it refuses
        ("'0.0.0.0'", "every address", "ansible_host of k1"),
    ),
    (
        "python-interpreter",
        "2.7",
        lambda d: d.connection("ansible_python_interpreter", "/usr/bin/python2.7"),
        ("/usr/bin/python2.7", "3.9"),
    ),
    (
        "python-interpreter",
        "3.6",
        lambda d: d.connection("ansible_python_interpreter", "python3.6", on=("k2",)),
        ("python3.6", "k2"),
    ),
    (
        "message-over-segment",
        "of all topics",
        lambda d: (
            d.own("message.max.bytes", 2_000_000)
            .own("replica.fetch.max.bytes", 2_000_000)
            .own("log.segment.bytes", 1_048_576)
        ),
        ("message.max.bytes 2000000", "log.segment.bytes 1048576"),
    ),
    (
        "zookeeper-migration",
        "brokers of an ensemble",
        lambda d: d.zookeeper_mode().own(MIGRATION, True),
        (MIGRATION, "Delete it"),
    ),
    (
        "user-grant",
        "a beginning",
        granted(topic="orders-*"),
        ("orders-*", "topic: orders-", "pattern: prefixed"),
    ),
    (
        "user-grant",
        "a beginning, twice",
        granted(group="g*", pattern="prefixed"),
        ("group: g ", "pattern: prefixed"),
    ),
    (
        "connector-grant",
        "a beginning",
        lambda d: connectors(
            connector(kafka_user="orders", grants=[{"topic": "or*", "operations": ["read"]}])
        )(d),
        ("or*", "pattern: prefixed", "connect_connectors[orders].grants"),
    ),
    (
        "secret-visible",
        "of a mail server",
        notified({"to": "x@example.org", "auth_password": "hunter2"}),
        ("email_configs.auth_password", "monitoring_receivers", "ansible-vault", "_file"),
    ),
    (
        "secret-visible",
        "address of Slack",
        notified(
            {"api_url": "https://hooks.slack.com/services/T0/B0/hunter2"}, kind="slack_configs"
        ),
        ("slack_configs.api_url", "monitoring_receivers", "_file"),
    ),
    (
        "secret-visible",
        "of a web hook",
        notified(
            {"url": "https://x", "http_config": {"basic_auth": {"password": "hunter2"}}},
            kind="webhook_configs",
        ),
        ("http_config.basic_auth.password",),
    ),
    (
        "connector-provider",
        "environment",
        connectors(connector(config={"connection.user": "${env:DB_USER}"})),
        ("connection.user of orders", "env", "the workers have file", "config.providers"),
    ),
    (
        "connector-placeholder",
        "of Camel",
        connectors(connector(config={"camel.source.path.name": "${date:now:yyyyMMdd}"})),
        ("camel.source.path.name of orders", "date", "the connector itself", "config.providers"),
    ),
    (
        "value-backslashes",
        "of a file",
        lambda d: d.own("sasl.kerberos.principal.to.local.rules", r"RULE:[1:$1](a\\.b)s/x/y/"),
        ("has two backslashes", "Write one"),
    ),
    (
        "value-backslashes",
        "Spark",
        lambda d: d.own_spark("spark.redaction.regex", r"a\\d"),
        ("spark.redaction.regex", "Write one"),
    ),
    (
        "connect-secret-file",
        "empty",
        secrets({"warehouse": {"password": ""}}),
        ("password of warehouse is empty", "connect_secrets"),
    ),
    (
        "connect-secret-file",
        "without a value",
        secrets({"warehouse": {"password": None}}),
        ("password of warehouse is empty",),
    ),
    (
        "connector-slot",
        "by default",
        connectors(
            captured("planes", database_hostname="DB1"),
            captured("ships", database_hostname="db1", database_port="5432", slot_name="debezium"),
        ),
        ("planes and ships", "debezium", "db1:5432", "slot.name"),
    ),
    (
        "variable-without-group",
        "no workers",
        lambda d: d.variable("connect_connectors", [connector()]),
        ("connect_connectors is set", "kafka_connect"),
    ),
    (
        "variable-without-group",
        "no registry",
        lambda d: d.variable("schema_registry_subjects", [{"subject": "a", "schema": "{}"}]),
        ("schema_registry_subjects", "schema_registry"),
    ),
    (
        "service-name-underscore",
        "TLS of Kafka",
        lambda d: (
            d.pem()
            .listeners(("CLIENT", 9092, "SSL"))
            .own("ssl.client.auth", "required")
            .variable("kafka_advertised_host", "kafka_1", on=("k1",))
        ),
        ("kafka_1", "TLS", "kafka_advertised_host of k1"),
    ),
    (
        "service-name-underscore",
        "workers among each other",
        lambda d: d.connect().variable("connect_host", "k_1", on=("k1",)),
        ("k_1", "http://", "connect_host of k1"),
    ),
    (
        "service-name-underscore",
        "HDFS",
        lambda d: d.hdfs().variable("hdfs_host", "k_1", on=("k1",)),
        ("k_1", "hdfs://", "hdfs_host of k1"),
    ),
    *(
        (
            "spark-python-version",
            text,
            lambda d, text=text: d.variable("spark_python_version", text),
            (f"spark_python_version is {text}", "in quotes"),
        )
        for text in ("3.1", "3.9", "cp311", "3")
    ),
    (
        "unknown-key",
        "HDFS",
        lambda d: d.hdfs().variable("hdfs_config", {"dfs.replicaton.max": 4}),
        ("dfs.replicaton.max", "dfs.replication.max", "hdfs_config"),
    ),
    (
        "unknown-key",
        "core-site.xml",
        lambda d: d.hdfs().variable("hdfs_config", {"fs.trash.intervall": 60}),
        ("fs.trash.interval?",),
    ),
    (
        "key-value",
        "HDFS, boolean",
        lambda d: d.hdfs().variable("hdfs_config", {"dfs.namenode.acls.enabled": "ja"}),
        ("dfs.namenode.acls.enabled", "a boolean"),
    ),
    (
        "key-value",
        "HDFS, number",
        lambda d: d.hdfs().variable("hdfs_config", {"dfs.namenode.handler.count": "many"}),
        ("dfs.namenode.handler.count", "a number"),
    ),
    (
        "unknown-key",
        "registry",
        lambda d: d.registry().variable(
            "schema_registry_config", {"apicurio.rest.artifact.deletion.enable": True}
        ),
        ("apicurio.rest.artifact.deletion.enabled", "schema_registry_config"),
    ),
    (
        "unknown-key",
        "Quarkus",
        lambda d: d.registry().variable("schema_registry_config", {"quarkus.http.bodylimit": "1"}),
        ("quarkus.http.bodylimit",),
    ),
    (
        "key-value",
        "registry",
        lambda d: d.registry().variable(
            "schema_registry_config", {"quarkus.http.limits.max-connections": "some"}
        ),
        ("quarkus.http.limits.max-connections", "an int"),
    ),
]
LEGAL: list[Legal] = [
    ("variable-value", "quoted words in a grant", granted(topic="on")),
    ("variable-value", "without blanks", lambda d: d.racks("Zürich 1", "Zürich 2", "Genève")),
    ("value-blanks", "lines of a certificate", lambda d: d.own("ssl.truststore.certificates", PEM)),
    ("address", "with an interface", lambda d: d.reached_at("k1", "fe80::23%eth0")),
    ("address", "IPv6", lambda d: d.reached_at("k1", "fd00::23")),
    *(
        (
            "python-interpreter",
            text,
            lambda d, text=text: d.connection("ansible_python_interpreter", text),
        )
        for text in ("/usr/bin/python3", "/usr/bin/python3.11", "auto_silent", "/opt/py/bin/python")
    ),
    (
        "message-over-segment",
        "equal",
        lambda d: d.own("message.max.bytes", 1_048_576).own("log.segment.bytes", 1_048_576),
    ),
    (
        "zookeeper-migration",
        "off",
        lambda d: d.zookeeper_mode().own(MIGRATION, False),
    ),
    ("user-grant", "a beginning", granted(topic="orders-", pattern="prefixed")),
    ("user-grant", "every topic", granted(topic="*")),
    (
        "secret-visible",
        "receivers with files",
        notified({"to": "x@example.org", "auth_password_file": "/etc/alerts/password"}),
    ),
    (
        "secret-visible",
        "receivers with a vault",
        lambda d: (
            notified({"to": "x@example.org", "auth_password": "hunter2"})(d),
            d.expression("monitoring_receivers", Expression({"x@example.org": "a.yml:1"})),
        ),
    ),
    (
        "connector-provider",
        "added",
        lambda d: (
            connectors(connector(config={"connection.user": "${env:DB_USER}"}))(d),
            d.variable(
                "connect_config",
                {
                    "config.providers": "file,env",
                    "config.providers.env.class": "org.apache.kafka.common.config.provider."
                    "EnvVarConfigProvider",
                },
            ),
        ),
    ),
    (
        "connector-placeholder",
        "of a provider",
        connectors(connector(config={"topic.format": "${topic}-a"})),
    ),
    ("value-backslashes", "one", lambda d: d.own_spark("spark.redaction.regex", r"a\d")),
    (
        "value-backslashes",
        "XML",
        lambda d: d.hdfs().variable("hdfs_config", {"hadoop.security.auth_to_local": r"a\\d"}),
    ),
    ("connector-provider", "a word", connectors(connector(config={"table.format": "${topic}"}))),
    (
        "connector-slot",
        "of two servers",
        connectors(captured("a", database_hostname="d1"), captured("b", database_hostname="d2")),
    ),
    (
        "connector-slot",
        "by two names",
        connectors(captured("a", slot_name="a"), captured("b", slot_name="b")),
    ),
    (
        "connector-slot",
        "one is absent",
        connectors(captured("a"), {**captured("b"), "state": "absent"}),
    ),
    *(
        ("unknown-key", key, lambda d, key=key: d.hdfs().variable("hdfs_config", {key: "1"}))
        for key in (
            "dfs.blocksize",
            "dfs.namenode.rpc-bind-host",
            "hadoop.proxyuser.hive.hosts",
            "ipc.8020.callqueue.impl",
            "fs.s3a.endpoint.region",
            "dfs.image.transfer.timeout",
            "io.file.buffer.size",
            "dfs.datanode.max.xcievers",
        )
    ),
    (
        "key-value",
        "sizes and times of HDFS",
        lambda d: d.hdfs().variable(
            "hdfs_config",
            {
                "dfs.blocksize": "256m",
                "dfs.namenode.checkpoint.period": "10m",
                "dfs.namenode.safemode.threshold-pct": 0.9,
                "fs.permissions.umask-mode": "u=rwx,g=rx,o=",
                "dfs.namenode.acls.enabled": False,
            },
        ),
    ),
    *(
        (
            "unknown-key",
            key,
            lambda d, config={key: value}: d.registry().variable("schema_registry_config", config),
        )
        for key, value in {
            "quarkus.log.level": "DEBUG",
            'quarkus.log.category."io.apicurio".level': "DEBUG",
            "%prod.quarkus.http.limits.max-body-size": "10M",
            "apicurio.kafka.common.client.id": "x",
            "apicurio.kafkasql.consumer.fetch.min.bytes": 1,
            "apicurio.rules.global.integrity": "NONE",
            "apicurio.rest.deletion.artifact.enabled": True,
            "mp.jwt.verify.issuer": "x",
        }.items()
    ),
    *(
        (
            "spark-python-version",
            text or "that of the hosts",
            lambda d, text=text: d.variable("spark_python_version", text),
        )
        for text in ("3.10", "3.13", "")
    ),
    ("variable-without-group", "with workers", connectors(connector())),
    (
        "service-name-underscore",
        "no TLS",
        lambda d: d.variable("kafka_advertised_host", "kafka_1", on=("k1",)),
    ),
    (
        "service-name-underscore",
        "names not compared",
        lambda d: (
            d.pem()
            .listeners(("CLIENT", 9092, "SSL"))
            .own("ssl.client.auth", "required")
            .own("ssl.endpoint.identification.algorithm", "")
            .variable("kafka_advertised_host", "kafka_1", on=("k1",))
        ),
    ),
]
