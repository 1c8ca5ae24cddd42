"""Overrides that weaken a closed service, which only are warned of, and those that do not."""

from __future__ import annotations

from typing import Any

from tests.unit.rules.draft import Case, Change, Draft, Legal

WEAK_SUITE = "TLS_RSA_WITH_NULL_SHA256"
SUITES = "TLS_AES_256_GCM_SHA384,TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"
CLOSED = "standard"
CRYPTO = "spark.network.crypto"
ALGORITHM = "ssl.endpoint.identification.algorithm"
# Of Kafka, in a variable: key, value and what the message says.
OF_KAFKA: tuple[tuple[str, str, Any, str], ...] = (
    ("kafka_config", "ssl.enabled.protocols", "TLSv1.2,TLSv1.1", "TLSv1.1"),
    ("kafka_config", "listener.name.client_tls.ssl.enabled.protocols", ["TLSv1.3", "TLSv1"], "old"),
    ("kafka_config", "ssl.cipher.suites", f"{SUITES},{WEAK_SUITE}", WEAK_SUITE),
    ("kafka_config", ALGORITHM, "", "certificate of the CA"),
    ("kafka_config", f"listener.name.internal.{ALGORITHM}", "", "certificate of the CA"),
    ("kafka_config", "connections.max.reauth.ms", 0, "former password"),
    ("kafka_host_config", "auto.create.topics.enable", True, "so that it is false"),
    ("kafka_client_config", ALGORITHM, "", "certificate of the CA"),
    ("kafka_local_client_config", "ssl.enabled.protocols", "TLSv1.1,TLSv1.2", "TLSv1.1"),
    ("spark_kafka_client_config", ALGORITHM, " ", "certificate of the CA"),
)
OF_SPARK: tuple[tuple[str, Any], ...] = (
    (f"{CRYPTO}.enabled", False),
    (f"{CRYPTO}.saslFallback", True),
    (f"{CRYPTO}.cipher", "AES/CTR/NoPadding"),
    (f"{CRYPTO}.authEngineVersion", 1),
    ("spark.io.encryption.enabled", False),
    ("spark.ui.filters", ""),
    ("spark.master.ui.decommission.allow.mode", "ALLOW"),
)
OF_ZOOKEEPER: tuple[tuple[str, Any], ...] = (
    ("ssl.clientAuth", "want"),
    ("ssl.quorum.clientAuth", "none"),
    ("ssl.quorum.hostnameVerification", False),
    ("ssl.enabledProtocols", "TLSv1.3,TLSv1.1"),
    ("sslQuorum", False),
    ("portUnification", True),
    ("skipACL", "yes"),
)


def of_kafka(variable: str, key: str, value: object) -> Change:
    """Override a property of closed services."""

    def change(draft: Draft) -> None:
        draft.variable("kafka_security", CLOSED).variable("spark_security", CLOSED)
        draft.variable(variable, {key: value})

    return change


def of_spark(key: str, value: object) -> Change:
    """Override a property of closed Spark."""
    return lambda d: d.variable("spark_security", CLOSED).own_spark(key, value)


def of_zookeeper(key: str, value: object) -> Change:
    """Override a property of a closed ensemble."""

    def change(draft: Draft) -> None:
        draft.zookeeper_mode().own_zookeeper(key, value)
        for host in draft.groups["all"]:
            draft.variable("zookeeper_security", CLOSED, on=(host,))

    return change


RULE = "protection-weakened"
REFUSED: list[Case] = [
    *(
        (RULE, f"{variable}[{key}]", of_kafka(variable, key, value), (f"{variable}[{key}]", phrase))
        for variable, key, value, phrase in OF_KAFKA
    ),
    (
        RULE,
        "no authorizer",
        of_kafka("kafka_config", "authorizer.class.name", ""),
        ("may do everything", "StandardAuthorizer"),
    ),
    *(
        (RULE, f"{key}: {value}", of_spark(key, value), (f"spark_config[{key}]",))
        for key, value in OF_SPARK
    ),
    (
        RULE,
        "Spark without its secret",
        lambda d: (
            of_spark("spark.authenticate", False)(d),
            d.own_spark("spark.ssl.rpc.enabled", True).own_spark(f"{CRYPTO}.enabled", False),
        ),
        ("spark_config[spark.authenticate]", "so that it is true"),
    ),
    *(
        (RULE, f"{key}: {value}", of_zookeeper(key, value), (f"zookeeper_config[{key}]",))
        for key, value in OF_ZOOKEEPER
    ),
    (
        RULE,
        "of brokers in the ensemble",
        lambda d: (
            of_zookeeper("skipACL", "no")(d),
            d.variable("kafka_security", CLOSED).own("zookeeper.set.acl", False),
        ),
        ("kafka_config[zookeeper.set.acl]", "so that it is true"),
    ),
]
LEGAL: list[Legal] = [
    *(
        (
            RULE,
            f"open, {key}",
            lambda d, variable=variable, key=key, value=value: d.variable(variable, {key: value}),
        )
        for variable, key, value, _ in OF_KAFKA
        if "listener" not in key
    ),
    *(
        (RULE, f"of an open Spark, {key}", lambda d, key=key, value=value: d.own_spark(key, value))
        for key, value in OF_SPARK
    ),
    *(
        (RULE, f"{key}: {value}", of_kafka("kafka_config", key, value))
        for key, value in (
            ("ssl.enabled.protocols", "TLSv1.3"),
            ("ssl.cipher.suites", SUITES),
            (ALGORITHM, "HTTPS"),
            ("auto.create.topics.enable", False),
            ("authorizer.class.name", "com.example.Authorizer"),
        )
    ),
    (
        RULE,
        "overridden for the host",
        lambda d: (
            of_kafka("kafka_config", "auto.create.topics.enable", True)(d),
            d.own_host("auto.create.topics.enable", False),
        ),
    ),
    (
        RULE,
        "TLS of Spark's own instead",
        lambda d: (
            of_spark(f"{CRYPTO}.enabled", False)(d),
            d.own_spark("spark.ssl.rpc.enabled", True),
        ),
    ),
    *(
        (RULE, f"{key}: {value}", of_spark(key, value))
        for key, value in (
            (f"{CRYPTO}.authEngineVersion", "2"),
            ("spark.ui.filters", "com.example.Login"),
            ("spark.master.ui.decommission.allow.mode", "LOCAL"),
        )
    ),
    (RULE, "certificates of both", of_zookeeper("ssl.clientAuth", "NEED")),
]
