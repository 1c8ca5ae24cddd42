"""The table of legal inventories: for each rule at least one that it must let pass."""

from __future__ import annotations

from tests.unit.inventory_draft import TMP, Draft, Mistake

SECRET = "spark.authenticate.secret"  # noqa: S105 - the name of a key
CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"


def one_node(draft: Draft) -> Draft:
    """Leave one combined node."""
    return draft.without_kafka("k2", "k3").replication(1, 1)


def vaulted(draft: Draft, key: str) -> Draft:
    """Say that a property of Spark comes from a vault."""
    draft.vaulted |= {host: {f"spark_config[{key}]"} for host in draft.groups["all"]}
    return draft


# Rule, name of the variation, the variation.
LEGAL: list[tuple[str, str, Mistake]] = [
    ("empty-group", "absent", lambda d: d.drop_group("spark_history")),
    *(
        ("unknown-group", name, lambda d, name=name: d.groups.update({name: ["k1"]}))
        for name in ("kafka", "spark", "kafka_clients", "brokers", "kafka2", "kafka_brokers_east")
    ),
    ("lonely-group", "brokers on an ensemble", lambda d: d.zookeeper_mode()),
    ("idle-zookeeper", "Spark's", lambda d: d.ensemble()),
    ("host-without-group", "ZooKeeper alone", lambda d: d.ensemble("z1", "z2", "z3")),
    (
        "same-address",
        "forwarded ports",
        lambda d: d.reached_at("k1", "10.0.0.1", 2201).reached_at("k2", "10.0.0.1", 2202),
    ),
    (
        "loopback-address",
        "forwarded port",
        lambda d: d.reached_at("k1", "127.0.0.1", 2201),
    ),
    ("unknown-variable", "of a role", lambda d: d.variable("kafka_heap", "1g")),
    ("variable-value", "number in quotes", lambda d: d.variable("host_memory_mb", "6144")),
    ("variable-value", "without a value", lambda d: d.variable("kafka_heap", None)),
    ("not-describable", "nothing to describe", lambda d: d.ensemble()),
    ("version", "older", lambda d: d.kafka("version", value="4.2.1")),
    (
        "version-differs",
        "of two products",
        lambda d: d.ensemble().kafka("version", value="4.0.2"),
    ),
    ("zookeeper-mode", "Kafka 3.9", lambda d: d.zookeeper_mode("3.9.2")),
    (
        "archive-incomplete",
        "file",
        lambda d: d.archive(url="/srv/kafka_2.13-4.3.1.tgz", sha512="0aB" + "c" * 125),
    ),
    (
        "archive-name",
        "own name",
        lambda d: d.archive(url="https://mirror/kafka.tgz", sha512="a" * 128),
    ),
    ("port-range", "highest", lambda d: d.listeners(("CLIENT", 65535, "PLAINTEXT"))),
    (
        "port-clash",
        "on two hosts",
        lambda d: d.descriptions["k1"]["spark"]["ports"].update(spark_master_port=8081),
    ),
    ("heap-value", "KiB", lambda d: d.kafka("heap", value="524288k")),
    (
        "heap-over-memory",
        "memory unknown",
        lambda d: (
            d.descriptions["k2"]["host"].update(memory_mb=None),
            d.descriptions["k2"]["spark"]["heaps"].update(spark_worker_memory="900g"),
        ),
    ),
    ("heap-over-half", "half", lambda d: d.kafka("heap", value="3g")),
    (
        "heap-over-half",
        "small host",
        lambda d: (
            d.kafka("heap", value="700m", on=("k3",)),
            d.descriptions["k3"]["host"].update(memory_mb=1300),
            d.descriptions["k3"]["spark"]["heaps"].clear(),
        ),
    ),
    ("data-dir-relative", "spark", lambda d: d.spark("k1", data_dirs=["/mnt/spark"])),
    (
        "data-dir-in-tmp",
        "a name that begins alike",
        lambda d: d.kafka("data_dirs", value=[f"{TMP}fs/a", "/data/kafka", "/data/kafka2"]),
    ),
    ("data-dir-system", "below /srv", lambda d: d.kafka("data_dirs", value=["/srv/kafka"])),
    (
        "data-dir-nested",
        "metadata in the first",
        lambda d: d.kafka("metadata_dir", value="/var/lib/kafka/data"),
    ),
    ("data-dir-nested", "metadata", lambda d: d.kafka("metadata_dir", value="/data/meta")),
    ("node-id-missing", "zero", lambda d: d.ids(k1=0)),
    ("node-id-invalid", "text of digits", lambda d: d.ids(k2="7")),
    ("node-id-duplicate", "ids of both systems", lambda d: d.ensemble("k1", "k2", "k3")),
    ("quorum-size", "one combined node", one_node),
    (
        "quorum-size",
        "unsafe allowed",
        lambda d: (d.controllers("k1", "k2"), d.kafka("allow_unsafe_quorum", value=True)),
    ),
    ("broker-id-reserved", "KRaft", lambda d: d.ids(k1=5000)),
    (
        "broker-id-reserved",
        "raised",
        lambda d: d.zookeeper_mode().ids(k1=5000).own("reserved.broker.max.id", 5000),
    ),
    (
        "zookeeper-id",
        "highest",
        lambda d: d.ensemble().descriptions["z3"]["zookeeper"].update(id="255"),
    ),
    (
        "zookeeper-id-duplicate",
        "not in order",
        lambda d: d.ensemble().descriptions["z3"]["zookeeper"].update(id=9),
    ),
    ("ensemble-size", "five", lambda d: d.ensemble("z1", "z2", "z3", "z4", "z5")),
    (
        "ensemble-size",
        "unsafe allowed",
        lambda d: (
            d.ensemble("z1").descriptions["z1"]["zookeeper"].update(allow_unsafe_ensemble=True)
        ),
    ),
    ("cluster-id", "minted", lambda d: d.kafka("cluster_id", value=CLUSTER_ID)),
    ("cluster-id-differs", "same", lambda d: d.kafka("cluster_id", value=CLUSTER_ID)),
    (
        "listener-port",
        "side by side",
        lambda d: d.pem().listeners(("CLIENT", 9092, "PLAINTEXT"), ("REPLICATION", 9094, "SSL")),
    ),
    (
        "listener-name",
        "small letters",
        lambda d: d.pem().listeners(("CLIENT", 9092, "SSL"), ("client_2-x", 9094, "SSL")),
    ),
    (
        "listener-duplicate",
        "similar",
        lambda d: d.pem().listeners(("CLIENT", 9092, "SSL"), ("CLIENTS", 9094, "SSL")),
    ),
    (
        "listener-protocol",
        "SASL",
        lambda d: d.pem().listeners(("CLIENT", 9092, "SSL"), ("USERS", 9094, "SASL_SSL")),
    ),
    (
        "listener-stores",
        "of one listener",
        lambda d: d.listeners(("CLIENT", 9092, "PLAINTEXT"), ("TLS", 9094, "SSL")).own(
            "listener.name.tls.ssl.keystore.location", "/etc/kafka/tls/node.p12"
        ),
    ),
    (
        "listener-unreachable",
        "certificates of both ends",
        lambda d: d.pem().listeners(("CLIENT", 9092, "SSL")).own("ssl.client.auth", "required"),
    ),
    (
        "listener-unreachable",
        "a key store that no client needs",
        lambda d: d.pem().listeners(("CLIENT", 9092, "SSL")).own("ssl.keystore.type", "PKCS12"),
    ),
    (
        "inter-broker-listener",
        "second",
        lambda d: (
            d.pem()
            .listeners(("CLIENT", 9092, "SSL"), ("REPLICATION", 9094, "SSL"))
            .kafka("inter_broker_listener", value="REPLICATION")
        ),
    ),
    ("controller-listener", "other name", lambda d: d.controller_listener("QUORUM")),
    (
        "advertised-host",
        "IPv6",
        lambda d: d.kafka("advertised_host", value="[2001:db8::1]", on=("k1",)),
    ),
    (
        "advertised-host",
        "address",
        lambda d: d.kafka("advertised_host", value="10.0.0.1", on=("k1",)),
    ),
    (
        "advertised-nowhere",
        "a single host",
        lambda d: (
            one_node(d).kafka("advertised_host", value="localhost"),
            [d.drop_group(f"spark_{group}") for group in ("masters", "workers", "history")],
            d.groups.update(all=["k1"]),
        ),
    ),
    (
        "advertised-twice",
        "names that begin alike",
        lambda d: d.kafka("advertised_host", value="k11", on=("k2",)),
    ),
    (
        "listeners-differ",
        "text of digits",
        lambda d: d.kafka("listeners", 0, "port", value="9092", on=("k2",)),
    ),
    (
        "listeners-differ",
        "a controller alone",
        lambda d: (
            d.kafka("roles", value=["controller"], on=("k3",)),
            d.kafka("listeners", 0, value=None, on=("k3",)),
            d.descriptions["k3"]["kafka"]["listeners"].pop(0),
        ),
    ),
    ("quorum-kind-differs", "static", lambda d: d.kafka("quorum", value="static")),
    (
        "quorum-kind-differs",
        "ZooKeeper",
        lambda d: d.zookeeper_mode().kafka("quorum", value="static", on=("k1",)),
    ),
    (
        "plaintext-listener",
        "encrypted",
        lambda d: (
            d.pem().kafka("listeners", 0, "protocol", value="SSL"),
            d.kafka("listeners", 1, "protocol", value="SSL"),
            d.kafka("allow_plaintext", value=False),
        ),
    ),
    ("replication-factor", "as many as brokers", lambda d: d.replication(3, 2)),
    (
        "replication-factor",
        "a key that the version lacks",
        lambda d: d.zookeeper_mode().kafka(
            "config", "share.coordinator.state.topic.replication.factor", value=9
        ),
    ),
    ("min-isr", "one of one", one_node),
    ("rack-missing", "none", lambda d: d.racks("", "", "")),
    ("rack-too-few", "three", lambda d: d.racks("north", "east", "west")),
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
        lambda d: d.kafka("version", value="4.1.2").own("metric.reporters", "a.B,"),
    ),
    (
        "list-duplicate-entry",
        "each once",
        lambda d: d.own("log.cleanup.policy", ["compact", "delete"]),
    ),
    ("value-blanks", "inside", lambda d: d.own("sasl.jaas.config", 'X required a="b";')),
    (
        "plain-password",
        "vaulted",
        lambda d: d.own("ssl.key.password", "hunter2").vault("kafka_config[ssl.key.password]"),
    ),
    (
        "plain-password",
        "an expression for all",
        lambda d: d.own("ssl.key.password", "hunter2").vault("kafka_config"),
    ),
    (
        "plain-password",
        "config provider",
        lambda d: d.own("ssl.key.password", "${file:/etc/kafka/secret:key}"),
    ),
    (
        "plain-password",
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
    (
        "setting-twice",
        "over the profile",
        lambda d: d.kafka("config", "log.retention.hours", value=100).own(
            "log.retention.ms", 604800000
        ),
    ),
    (
        "super-users-missing",
        "set",
        lambda d: d.own("authorizer.class.name", "x.Y").own("super.users", "User:admin"),
    ),
    (
        "super-users-commas",
        "a certificate's name",
        lambda d: d.own("super.users", "User:CN=a,O=b;User:CN=c,O=b"),
    ),
    ("spark-key-prefix", "Hadoop's", lambda d: d.own_spark("spark.hadoop.fs.s3a.endpoint", "x")),
    ("spark-rest", "the master's own", lambda d: d.own_spark("spark.master.ui.title", "x")),
    (
        "spark-masters",
        "with an ensemble",
        lambda d: d.ensemble().join("spark_masters", "k2"),
    ),
    (
        "spark-secret-short",
        "sixteen bytes",
        lambda d: vaulted(d.own_spark(SECRET, "0123456789abcdef"), SECRET),
    ),
    (
        "spark-secret-plain",
        "vaulted",
        lambda d: vaulted(d.own_spark(SECRET, "hunter2" * 3), SECRET),
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
