"""Wrong inventories and legal variations: what operators write about Kafka Connect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.unit.rules.draft import Case, Draft, Legal


def closed(draft: Draft) -> Draft:
    """Let the REST interface require client certificates."""
    return draft.connect().variable("connect_security", "standard")


def own(key: str, value: Any = "x") -> Callable[[Draft], Draft]:
    """Return what gives the workers a property."""
    return lambda draft: draft.connect().variable("connect_config", {key: value})


REFUSED: list[Case] = [
    *(
        ("unknown-key", key, own(key), ("Kafka Connect 4.3.1", key, near))
        for key, near in {
            "heartbeat.intervall.ms": "heartbeat.interval.ms",
            "producer.compression.typ": "producer.compression.type",
            "num.partitions": "connect_config[num.partitions]",
            "listeners.https.ssl.keystore.loaction": "listeners.https.ssl.keystore.location",
            "admin.listeners.https.ssl.protocoll": "admin.listeners.https.ssl.protocol",
            "offset.storage.partition": "offset.storage.partitions",
            "status.storage.replication.factors": "status.storage.replication.factor",
        }.items()
    ),
    (
        "unknown-key",
        "beside a reporter of Kafka",
        lambda d: d.connect().variable(
            "connect_config",
            {
                "metric.reporters": "org.apache.kafka.common.metrics.JmxReporter",
                "heartbeat.intervall.ms": 1,
            },
        ),
        ("heartbeat.intervall.ms", "heartbeat.interval.ms"),
    ),
    (
        "unknown-key",
        "of another policy",
        own("connector.client.config.override.allowlist", "acks"),
        ("connector.client.config.override.allowlist",),
    ),
    ("key-value", "of TLS", own("listeners.https.ssl.client.auth", "always"), ("required",)),
    ("key-value", "type", own("offset.flush.interval.ms", "1 minute"), ("offset.flush.interval",)),
    ("key-value", "choice", own("plugin.discovery", "all"), ("SERVICE_LOAD",)),
    ("key-boolean", "acks", own("producer.acks", True), ("producer.acks",)),
    (
        "class-name",
        "of a provider",
        own(
            "config.providers.file.class",
            "org.apache.kafka.common.config.provider.FileConfigProvidr",
        ),
        ("FileConfigProvider",),
    ),
    (
        "connect-without-kafka",
        "workers alone",
        lambda d: d.connect().drop_group("kafka_brokers").drop_group("kafka_controllers"),
        ("k1 and k2", "kafka_brokers"),
    ),
    (
        "connect-groups-differ",
        "one of two",
        lambda d: d.connect().variable("connect_group", "other", on=("k1",)),
        ("other on k1", "connect on k2"),
    ),
    (
        "connect-name-taken",
        "an entry",
        lambda d: (
            d.connect()
            .variable("kafka_security", "standard")
            .variable("kafka_users", [{"name": "connect"}])
        ),
        ("kafka_users", "connect"),
    ),
    *(
        (
            "connect-replication",
            str(copies),
            lambda d, copies=copies: d.connect().variable(
                "connect_config", {"status.storage.replication.factor": copies}
            ),
            (f"status.storage.replication.factor is {copies}", ": 3"),
        )
        for copies in (4, 0)
    ),
    (
        "connect-repeats",
        "prepared only",
        lambda d: d.connect().variable(
            "connect_config", {"exactly.once.source.support": "preparing"}
        ),
        ("preparing", "connect_config[exactly.once.source.support]"),
    ),
    *(
        (
            "protection-weakened",
            f"of Kafka Connect: {key}",
            lambda d, key=key, value=value: closed(d).variable("connect_config", {key: value}),
            (key, follows),
        )
        for key, value, follows in (
            ("listeners.https.ssl.client.auth", "requested", "change connectors"),
            ("listeners.https.ssl.enabled.protocols", "TLSv1.1", "old protocol"),
            ("config.providers.file.param.allowed.paths", "/", "any file"),
        )
    ),
    (
        "owned-key",
        "of Kafka Connect",
        lambda d: d.connect().variable("connect_config", {"group.id": "mine"}),
        ("group.id", "connect_group"),
    ),
    (
        "open-to-everybody",
        "Kafka Connect",
        lambda d: (
            d.without_spark()
            .connect()
            .variable("kafka_security", "standard")
            .reached_at("k2", "8.8.8.8")
        ),
        ("connect_security: standard", "8.8.8.8"),
    ),
]

LEGAL: list[Legal] = [
    *(
        ("unknown-key", key, own(key, value))
        for key, value in {
            "producer.linger.ms": 5,
            "config.providers.vault.class": "org.acme.Vault",
            "value.converter.schemas.enable": False,
            "listeners.https.ssl.protocol": "TLSv1.3",
            "admin.listeners.https.ssl.client.auth": "required",
            "config.storage.retention.ms": 1,
            "offset.storage.min.insync.replicas": 2,
            "status.storage.segment.bytes": 1,
        }.items()
    ),
    (
        "unknown-key",
        "of an extension",
        lambda d: d.connect().variable(
            "connect_config", {"rest.extension.classes": "org.acme.Users", "acme.users": "x"}
        ),
    ),
    *(
        (
            "unknown-key",
            f"of the policy {policy}",
            lambda d, policy=policy: d.connect().variable(
                "connect_config",
                {
                    "connector.client.config.override.policy": policy,
                    "connector.client.config.override.allowlist": "acks",
                },
            ),
        )
        for policy in (
            "Allowlist",
            "org.apache.kafka.connect.connector.policy.AllowlistConnectorClientConfigOverridePolicy",
        )
    ),
    ("key-value", "a short name", own("key.converter", "StringConverter")),
    ("connect-without-kafka", "workers beside brokers", lambda d: d.connect()),
    (
        "connect-groups-differ",
        "one name",
        lambda d: d.connect().variable("connect_group", "databases"),
    ),
    (
        "connect-name-taken",
        "no workers",
        lambda d: d.variable("kafka_security", "standard").variable(
            "kafka_users", [{"name": "connect"}]
        ),
    ),
    (
        "connect-replication",
        "two copies",
        lambda d: d.connect().variable("connect_config", {"config.storage.replication.factor": 2}),
    ),
    (
        "connect-repeats",
        "as it is anyway",
        lambda d: d.connect().variable(
            "connect_config", {"exactly.once.source.support": "enabled"}
        ),
    ),
]
