"""Legal inventories, for each rule at least one: properties."""

from __future__ import annotations

from tests.unit.rules.draft import TMP, Draft, Legal

SECRET = "spark.authenticate.secret"
STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


def authorized(draft: Draft, name: str) -> Draft:
    """Set an authorizer that lets nodes without certificates in."""
    draft.own("authorizer.class.name", name)
    return draft.own("super.users", "User:ANONYMOUS")


CASES: list[Legal] = [
    ("owned-key", "the user's", lambda d: d.own("num.partitions", 3)),
    (
        "unknown-key",
        "of one listener",
        lambda d: d.own("listener.name.client.ssl.client.auth", "required"),
    ),
    (
        "unknown-key",
        "of an older version",
        lambda d: d.zookeeper_mode().own("zookeeper.set.acl", True),
    ),
    ("deprecated-key", "not yet", lambda d: d.zookeeper_mode().own("log.cleaner.enable", True)),
    ("key-boolean", "a boolean key", lambda d: d.own("auto.create.topics.enable", False)),
    ("key-boolean", "plug-in's key", lambda d: d.own("allow.everyone.if.no.acl.found", True)),
    *(
        (
            "key-value",
            f"version {version}",
            lambda d, version=version: d.zookeeper_mode().own(
                "inter.broker.protocol.version", version
            ),
        )
        for version in ("3.9", "3.9.2", "3.9-IV0", 3.9, "0.10.2")
    ),
    ("key-value", "text of digits", lambda d: d.own("num.io.threads", "8")),
    ("list-empty-entry", "empty list", lambda d: d.own("metric.reporters", "")),
    (
        "list-empty-entry",
        "before 4.2",
        lambda d: d.variable("kafka_version", "4.1.2").own("metric.reporters", "a.B,"),
    ),
    (
        "list-duplicate-entry",
        "each once",
        lambda d: d.own("log.cleanup.policy", ["compact", "delete"]),
    ),
    ("value-blanks", "inside", lambda d: d.own("sasl.jaas.config", 'X required a="b";')),
    (
        "secret-visible",
        "vaulted",
        lambda d: d.own("ssl.key.password", "hunter2").vault("kafka_config[ssl.key.password]"),
    ),
    (
        "secret-visible",
        "an expression for all",
        lambda d: d.own("ssl.key.password", "hunter2").vault("kafka_config"),
    ),
    (
        "secret-visible",
        "config provider",
        lambda d: d.provided("ssl.key.password", "${file:/etc/kafka/secret:key}"),
    ),
    (
        "secret-visible",
        "Kerberos",
        lambda d: d.own("sasl.jaas.config", 'Krb5LoginModule required keyTab="/etc/k.keytab";'),
    ),
    ("heartbeat-interval", "half", lambda d: d.own("broker.heartbeat.interval.ms", 4500)),
    (
        "replica-fetch-wait",
        "equal",
        lambda d: d.own("replica.fetch.wait.max.ms", 30000),
    ),
    ("cleaner-buffer", "enough", lambda d: d.own("log.cleaner.threads", 127)),
    ("request-queue", "no limit", lambda d: d.own("queued.max.request.bytes", -1)),
    ("authentication-delay", "long", lambda d: d.own("connections.max.idle.ms", 101)),
    (
        "group-limits",
        "at both ends",
        lambda d: (
            d.own("group.consumer.heartbeat.interval.ms", 15000),
            d.own("group.share.heartbeat.interval.ms", 5000),
        ),
    ),
    ("message-over-request", "equal", lambda d: d.own("socket.request.max.bytes", 1048588)),
    (
        "message-over-fetch",
        "raised together",
        lambda d: d.own("message.max.bytes", 2097164).own("replica.fetch.max.bytes", 2097152),
    ),
    ("retention-zero", "for ever", lambda d: d.own("log.retention.ms", -1)),
    (
        "retention-below-roll",
        "rolled in time",
        lambda d: d.own("log.retention.hours", 24).own("log.roll.ms", 3600000),
    ),
    (
        "retention-below-segment",
        "no limit",
        lambda d: d.own("log.retention.bytes", -1),
    ),
    ("setting-duplicate", "one unit", lambda d: d.own("log.retention.ms", 604800000)),
    (
        "super-users-missing",
        "set",
        lambda d: d.own("authorizer.class.name", "x.Y").own(
            "super.users", "User:ANONYMOUS;User:admin"
        ),
    ),
    ("authorizer-mode", "KRaft", lambda d: authorized(d, STANDARD)),
    (
        "authorizer-mode",
        "ZooKeeper",
        lambda d: authorized(d.zookeeper_mode(), "kafka.security.authorizer.AclAuthorizer"),
    ),
    (
        "super-users-anonymous",
        "certificates",
        lambda d: (
            authorized(d.pem(), STANDARD)
            .own("super.users", "User:nodes")
            .own("ssl.client.auth", "required"),
            d.listeners(("CLIENT", 9092, "SSL")).controller_listener("CONTROLLER", protocol="SSL"),
        ),
    ),
    (
        "super-users-anonymous",
        "everybody may",
        lambda d: (
            authorized(d, STANDARD)
            .own("super.users", "User:k1")
            .own("allow.everyone.if.no.acl.found", True)
        ),
    ),
    *(
        ("zookeeper-key", key, lambda d, key=key: d.own_zookeeper(key, "x"))
        for key in ("dataLogDir", "authProvider.1", "x.y", "ssl.quorum.keyStore.location")
    ),
    *(
        ("zookeeper-value", key, lambda d, key=key, value=value: d.own_zookeeper(key, value))
        for key, value in {
            "tickTime": 100,
            "syncLimit": "5",
            "minSessionTimeout": -1,
            "jute.maxbuffer": "0xfffff",
        }.items()
    ),
    (
        "spark-secret-missing",
        "off",
        lambda d: d.own_spark("spark.authenticate", False),
    ),
    (
        "spark-secret-missing",
        "set",
        lambda d: (
            d.own_spark("spark.authenticate", True)
            .own_spark(SECRET, "hunter2" * 3)
            .vault(f"spark_config[{SECRET}]")
        ),
    ),
    (
        "spark-executor-cores",
        "fits one worker",
        lambda d: (
            d.own_spark("spark.executor.cores", 4)
            .variable("spark_worker_cores", 2, on=("k2",))
            .variable("spark_worker_cores", 4, on=("k3",))
        ),
    ),
    (
        "spark-executor-cores",
        "a worker of unknown size",
        lambda d: d.own_spark("spark.executor.cores", 4).variable(
            "spark_worker_cores", 2, on=("k2",)
        ),
    ),
    (
        "super-users-commas",
        "a certificate's name",
        lambda d: d.own("super.users", "User:CN=a,O=b;User:CN=c,O=b"),
    ),
    ("spark-key-prefix", "Hadoop's", lambda d: d.own_spark("spark.hadoop.fs.s3a.endpoint", "x")),
    ("spark-rest", "the master's own", lambda d: d.own_spark("spark.master.ui.title", "x")),
    ("spark-metastores", "none", lambda d: d.drop_group("spark_metastore")),
    (
        "spark-masters",
        "with an ensemble",
        lambda d: d.ensemble().join("spark_masters", "k2"),
    ),
    (
        "spark-secret-short",
        "sixteen bytes",
        lambda d: d.own_spark(SECRET, "0123456789abcdef").vault(f"spark_config[{SECRET}]"),
    ),
    (
        "secret-visible",
        "of Spark, vaulted",
        lambda d: d.own_spark(SECRET, "hunter2" * 3).vault(f"spark_config[{SECRET}]"),
    ),
    (
        "spark-packages",
        "this Spark's",
        lambda d: d.own_spark(
            "spark.jars.packages",
            "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0, io.delta:delta_2.13:4.0.0,a:b:1",
        ),
    ),
    (
        "spark-checkpoint",
        "a name that begins alike",
        lambda d: d.own_spark("spark.sql.streaming.checkpointLocation", f"{TMP}data/c"),
    ),
    ("spark-executor-memory", "equal", lambda d: d.own_spark("spark.executor.memory", "2g")),
]
