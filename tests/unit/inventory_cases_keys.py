"""Wrong inventories: properties of Kafka, ZooKeeper and Spark."""

from __future__ import annotations

from tests.unit.inventory_draft import NODES, TMP, Case

CASES: list[Case] = [
    (
        "owned-key",
        "variable",
        lambda d: d.own("listeners", "CLIENT://:9092"),
        ("kafka_config[listeners] of k1, k2, k3", "Remove it; set kafka_listeners instead"),
    ),
    (
        "owned-key",
        "group, for one host",
        lambda d: d.kafka(
            "own_config", "kafka_host_config", value={"process.roles": "broker"}, on=("k2",)
        ),
        ("kafka_host_config[process.roles] of k2", "it follows from the groups kafka_brokers"),
    ),
    (
        "unknown-key",
        "near",
        lambda d: d.own("num.partition", 3),
        ("Kafka 4.3.1 has no key num.partition", "Did you mean num.partitions?"),
    ),
    (
        "unknown-key",
        "removed",
        lambda d: d.own("zookeeper.connect", "z:2181"),
        ("zookeeper.connect was removed in Kafka 4.0", "Delete it."),
    ),
    (
        "unknown-key",
        "renamed",
        lambda d: d.own("delegation.token.master.key", "x"),
        ("Set delegation.token.secret.key instead",),
    ),
    (
        "key-value",
        "type",
        lambda d: d.own("num.io.threads", "many"),
        ("'many' (text) is no legal value of num.io.threads", "to an int, [1,...]"),
    ),
    (
        "key-value",
        "secret",
        lambda d: d.own("ssl.keystore.password", ["hunter2"]).vault(
            "kafka_config[ssl.keystore.password]"
        ),
        ("This list is no legal value of ssl.keystore.password",),
    ),
    (
        "owned-key",
        "spark",
        lambda d: d.own_spark("spark.master.rest.enabled", True),
        (
            "spark_config[spark.master.rest.enabled] of k1, k2, k3",
            "Remove it; it stays as it is, since it is open to everybody",
        ),
    ),
    (
        "owned-key",
        "zookeeper",
        lambda d: d.ensemble().description(
            "z1",
            zookeeper={
                **d.descriptions["z1"]["zookeeper"],
                "own_config": {"zookeeper_config": {"dataDir": "/x"}},
            },
        ),
        ("zookeeper_config[dataDir] of z1", "set zookeeper_data_dir instead"),
    ),
    (
        "unknown-key",
        "of a newer version",
        lambda d: d.zookeeper_mode().own("group.streams.max.size", 10),
        ("Kafka 3.9.2 has no key group.streams.max.size",),
    ),
    (
        "deprecated-key",
        "of 4.1",
        lambda d: d.own("log.cleaner.enable", True),
        ("log.cleaner.enable is deprecated since Kafka 4.1", "kafka_config[log.cleaner.enable]"),
    ),
    (
        "key-boolean",
        "YAML's no",
        lambda d: d.own("ssl.client.auth", False),
        (
            "YAML read ssl.client.auth as False (boolean): it makes that of no, off or false",
            "[required, requested, none]",
            "in quotes",
        ),
    ),
    (
        "key-value",
        "version that never was",
        lambda d: d.zookeeper_mode().own("inter.broker.protocol.version", "3.11"),
        ("'3.11' (text) is no legal value of inter.broker.protocol.version",),
    ),
    (
        "list-empty-entry",
        "comma at the end",
        lambda d: d.own("metric.reporters", "a.B,c.D,"),
        ("metric.reporters has an empty entry", "Set metric.reporters: a.B,c.D."),
    ),
    (
        "list-duplicate-entry",
        "twice",
        lambda d: d.own("sasl.enabled.mechanisms", ["PLAIN", "GSSAPI", "PLAIN"]),
        ("names PLAIN more than once", "Set sasl.enabled.mechanisms: PLAIN,GSSAPI."),
    ),
    (
        "plain-password",
        "of a store",
        lambda d: d.own("ssl.keystore.password", "hunter2"),
        ("ssl.keystore.password stands in plain sight", "ansible-vault encrypt_string"),
    ),
    (
        "plain-password",
        "of one listener, in JAAS",
        lambda d: d.own(
            "listener.name.users.plain.sasl.jaas.config", 'X required user_a="hunter2";'
        ),
        ("listener.name.users.plain.sasl.jaas.config stands in plain sight",),
    ),
    (
        "value-blanks",
        "end",
        lambda d: d.own("compression.type", "zstd "),
        ("The value of compression.type ends with a blank", "Remove it"),
    ),
    (
        "value-blanks",
        "secret of a YAML block",
        lambda d: d.own("sasl.jaas.config", 'X required password="hunter2";\n').vault(
            "kafka_config[sasl.jaas.config]"
        ),
        ("The value of sasl.jaas.config holds a line break", "|-"),
    ),
    (
        "value-blanks",
        "tab, Spark",
        lambda d: d.own_spark("spark.executor.memory", "1g\t"),
        ("The value of spark.executor.memory holds a tab",),
    ),
    (
        "value-blanks",
        "begin",
        lambda d: d.own_spark("spark.app.name", " x"),
        ("begins with a blank",),
    ),
    (
        "spark-key-prefix",
        "forgotten",
        lambda d: d.own_spark("executor.memory", "1g"),
        ("executor.memory does not begin with spark.", "Set spark.executor.memory instead"),
    ),
    (
        "spark-rest",
        "port",
        lambda d: d.own_spark("spark.master.rest.port", 6066),
        ("spark.master.rest.port is about the REST server", "Delete it"),
    ),
    (
        "spark-masters",
        "two",
        lambda d: d.join("spark_masters", "k2"),
        ("k1 and k2 would both be leaders", "Add the group zookeeper with 3 hosts, or keep k1"),
    ),
    (
        "spark-secret-short",
        "seven bytes",
        lambda d: (
            d.own_spark("spark.authenticate.secret", "hunter2"),
            d.vaulted.update((host, {"spark_config[spark.authenticate.secret]"}) for host in NODES),
        ),
        ("spark.authenticate.secret has fewer than 16 bytes", "Set 32 random bytes"),
    ),
    (
        "spark-secret-plain",
        "in plain sight",
        lambda d: d.own_spark("spark.authenticate.secret", "hunter2" * 3),
        ("spark.authenticate.secret stands in plain sight", "ansible-vault encrypt_string"),
    ),
    (
        "spark-packages",
        "Scala",
        lambda d: d.own_spark("spark.jars.packages", "a:b_2.13:1,io.delta:delta-spark_2.12:4.0.0"),
        (
            "io.delta:delta-spark_2.12:4.0.0 does not go with Spark 4.2.0 on Scala 2.13",
            "Set io.delta:delta-spark_2.13:4.0.0",
        ),
    ),
    (
        "spark-packages",
        "connector of another Spark",
        lambda d: d.own_spark(
            "spark.jars.packages", ["org.apache.spark:spark-sql-kafka-0-10_2.13:3.5.1"]
        ),
        ("Set org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",),
    ),
    (
        "spark-checkpoint",
        "address",
        lambda d: d.own_spark("spark.sql.streaming.checkpointLocation", f"file://{TMP}/c"),
        (f"file://{TMP}/c is emptied", "checkpointLocation: /var/lib/spark/checkpoints"),
    ),
    (
        "spark-executor-memory",
        "over the worker",
        lambda d: d.own_spark("spark.executor.memory", "3g"),
        ("spark.executor.memory 3072 MiB > spark_worker_memory 2048 MiB", "2048m or less"),
    ),
    (
        "spark-executor-cores",
        "over every worker",
        lambda d: d.own_spark("spark.executor.cores", 8).variable("spark_worker_cores", 4),
        ("spark.executor.cores 8 > spark_worker_cores 4", "Set spark.executor.cores: 4 or less"),
    ),
    (
        "spark-secret-missing",
        "authenticate alone",
        lambda d: d.own_spark("spark.authenticate", True),
        ("spark.authenticate is true and spark.authenticate.secret is not set", "from a vault"),
    ),
    (
        "authorizer-mode",
        "removed",
        lambda d: d.own("authorizer.class.name", "kafka.security.authorizer.AclAuthorizer").own(
            "super.users", "User:ANONYMOUS"
        ),
        ("AclAuthorizer does not work with KRaft", "metadata.authorizer.StandardAuthorizer"),
    ),
    (
        "super-users-anonymous",
        "open listeners",
        lambda d: d.own(
            "authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
        ).own("super.users", "User:admin"),
        (
            "The nodes are User:ANONYMOUS on CLIENT and CONTROLLER (PLAINTEXT)",
            "kafka_config[super.users]",
        ),
    ),
    *(
        (
            "zookeeper-key",
            wrong,
            lambda d, wrong=wrong: d.own_zookeeper(wrong, 5),
            (f"ZooKeeper has no key {wrong}", f"Did you mean {right}?"),
        )
        for wrong, right in (
            ("ticktime", "tickTime"),
            ("initLimits", "initLimit"),
            ("autopurge.purgeIntervall", "autopurge.purgeInterval"),
        )
    ),
    *(
        (
            "zookeeper-value",
            f"{key} {value}",
            lambda d, key=key, value=value: d.own_zookeeper(key, value),
            (f"is no legal value of {key}", f"Set {key} to a whole number"),
        )
        for key, value in (
            ("tickTime", "2s"),
            ("syncLimit", 0),
            ("autopurge.purgeInterval", True),
            ("snapCount", 2.5),
        )
    ),
]
