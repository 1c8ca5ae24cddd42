"""Wrong inventories: properties of Kafka, ZooKeeper and Spark."""

from __future__ import annotations

from ansible_collections.millrace.streaming.plugins.module_utils.formats.versions import KAFKA

from tests.unit.rules.draft import TMP, Case

CASES: list[Case] = [
    (
        "owned-key",
        "variable",
        lambda d: d.own("listeners", "CLIENT://:9092"),
        ("kafka_config[listeners] of k1, k2, k3", "set kafka_listeners instead"),
    ),
    (
        "owned-key",
        "group, for one host",
        lambda d: d.variable("kafka_host_config", {"process.roles": "broker"}, on=("k2",)),
        ("kafka_host_config[process.roles] of k2", "the groups kafka_brokers"),
    ),
    (
        "unknown-key",
        "near",
        lambda d: d.own("num.partition", 3),
        (f"Kafka {KAFKA.default}", "num.partition", "Did you mean num.partitions?"),
    ),
    (
        "unknown-key",
        "removed",
        lambda d: d.own("zookeeper.session.timeout.ms", 18000),
        ("zookeeper.session.timeout.ms was removed in Kafka 4.0", "Delete it."),
    ),
    (
        "unknown-key",
        "renamed",
        lambda d: d.own("delegation.token.master.key", "x").vault("kafka_config"),
        ("Set delegation.token.secret.key instead",),
    ),
    (
        "key-value",
        "type",
        lambda d: d.own("num.io.threads", "many"),
        ("'many' (text)", "num.io.threads", "to an int, [1,...,2147483647]"),
    ),
    (
        "key-value",
        "secret",
        lambda d: d.own("ssl.keystore.password", ["hunter2"]).vault(
            "kafka_config[ssl.keystore.password]"
        ),
        ("This list", "ssl.keystore.password"),
    ),
    (
        "owned-key",
        "spark",
        lambda d: d.own_spark("spark.master.rest.enabled", True),
        ("spark_config[spark.master.rest.enabled] of k1, k2, k3", "open to everybody"),
    ),
    (
        "owned-key",
        "zookeeper",
        lambda d: d.ensemble().variable("zookeeper_config", {"dataDir": "/x"}, on=("z1",)),
        ("zookeeper_config[dataDir] of z1", "set zookeeper_data_dir instead"),
    ),
    (
        "unknown-key",
        "of a newer version",
        lambda d: d.zookeeper_mode().own("group.streams.max.size", 10),
        ("Kafka 3.9.2", "group.streams.max.size"),
    ),
    (
        "deprecated-key",
        "of 4.1",
        lambda d: d.own("log.cleaner.enable", True),
        ("deprecated since Kafka 4.1", "kafka_config[log.cleaner.enable]"),
    ),
    (
        "key-boolean",
        "YAML's no",
        lambda d: d.own("ssl.client.auth", False),
        ("ssl.client.auth as False (boolean)", "[required, requested, none]", "in quotes"),
    ),
    (
        "key-value",
        "version that never was",
        lambda d: d.zookeeper_mode().own("inter.broker.protocol.version", "3.11"),
        ("'3.11' (text)", "inter.broker.protocol.version"),
    ),
    (
        "list-empty-entry",
        "comma at the end",
        lambda d: d.own("metric.reporters", "a.B,c.D,"),
        ("Set metric.reporters: a.B,c.D.",),
    ),
    (
        "list-duplicate-entry",
        "twice",
        lambda d: d.own("sasl.enabled.mechanisms", ["PLAIN", "GSSAPI", "PLAIN"]),
        ("names PLAIN", "Set sasl.enabled.mechanisms: PLAIN,GSSAPI."),
    ),
    (
        "secret-visible",
        "of a store",
        lambda d: d.own("ssl.keystore.password", "hunter2"),
        ("kafka_config[ssl.keystore.password]", "ansible-vault encrypt_string"),
    ),
    (
        "secret-visible",
        "of one listener, in JAAS",
        lambda d: d.own(
            "listener.name.client.plain.sasl.jaas.config", 'X required user_a="hunter2";'
        ),
        ("listener.name.client.plain.sasl.jaas.config",),
    ),
    (
        "value-blanks",
        "end",
        lambda d: d.own("compression.type", "zstd "),
        ("compression.type ends with a blank",),
    ),
    (
        "value-blanks",
        "secret of a YAML block",
        lambda d: d.own("sasl.jaas.config", 'X required password="hunter2";\n').vault(
            "kafka_config[sasl.jaas.config]"
        ),
        ("sasl.jaas.config holds a line break", "|-"),
    ),
    (
        "value-blanks",
        "tab, Spark",
        lambda d: d.own_spark("spark.executor.memory", "1g\t"),
        ("spark.executor.memory holds a tab",),
    ),
    (
        "value-blanks",
        "begin",
        lambda d: d.own_spark("spark.app.name", " x"),
        ("spark.app.name begins with a blank",),
    ),
    (
        "spark-key-prefix",
        "forgotten",
        lambda d: d.own_spark("executor.memory", "1g"),
        ("spark_config[executor.memory]", "Set spark.executor.memory instead"),
    ),
    (
        "spark-rest",
        "port",
        lambda d: d.own_spark("spark.master.rest.port", 6066),
        ("spark_config[spark.master.rest.port]", "Delete it"),
    ),
    (
        "spark-masters",
        "two",
        lambda d: d.join("spark_masters", "k2"),
        ("k1 and k2", "Add the group zookeeper with 3 hosts, or keep k1"),
    ),
    (
        "spark-metastores",
        "two",
        lambda d: d.join("spark_metastore", "k2"),
        ("k1 and k2", "Keep k1"),
    ),
    (
        "spark-secret-short",
        "seven bytes",
        lambda d: d.own_spark("spark.authenticate.secret", "hunter2").vault(
            "spark_config[spark.authenticate.secret]"
        ),
        ("fewer than 16 bytes", "Set 32 random bytes"),
    ),
    (
        "secret-visible",
        "of Spark",
        lambda d: d.own_spark("spark.authenticate.secret", "hunter2" * 3),
        ("spark_config[spark.authenticate.secret]", "ansible-vault encrypt_string"),
    ),
    (
        "spark-packages",
        "Scala",
        lambda d: d.own_spark("spark.jars.packages", "a:b_2.13:1,io.delta:delta-spark_2.12:4.0.0"),
        ("Spark 4.2.0 on Scala 2.13", "Set io.delta:delta-spark_2.13:4.0.0"),
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
        (f"file://{TMP}/c", "checkpointLocation: /srv/spark/checkpoints"),
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
        ("Set spark.authenticate.secret, from a vault",),
    ),
    (
        "authorizer-mode",
        "removed",
        lambda d: d.own("authorizer.class.name", "kafka.security.authorizer.AclAuthorizer").own(
            "super.users", "User:ANONYMOUS"
        ),
        ("KRaft", "Set authorizer.class.name: org.apache.kafka.metadata.authorizer.Standard"),
    ),
    (
        "super-users-anonymous",
        "open listeners",
        lambda d: d.own(
            "authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
        ).own("super.users", "User:admin"),
        ("User:ANONYMOUS on CLIENT (PLAINTEXT) and CONTROLLER", "kafka_config[super.users]"),
    ),
    *(
        (
            "zookeeper-key",
            wrong,
            lambda d, wrong=wrong: d.own_zookeeper(wrong, 5),
            (f"zookeeper_config[{wrong}]", f"Did you mean {right}?"),
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
            (f"{value!r}", f"Set {key} to a whole number"),
        )
        for key, value in (
            ("tickTime", "2s"),
            ("syncLimit", 0),
            ("autopurge.purgeInterval", True),
            ("snapCount", 2.5),
        )
    ),
]
