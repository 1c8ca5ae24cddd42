"""Wrong inventories, at least one a rule: their groups, variables and versions."""

from __future__ import annotations

from tests.unit.inventory_draft import Case

CASES: list[Case] = [
    (
        "empty-group",
        "history",
        lambda d: d.groups.update(spark_history=[]),
        ("spark_history has no host", "group spark_history", "Add a host to spark_history"),
    ),
    *(
        (
            "unknown-group",
            wrong,
            lambda d, wrong=wrong: d.groups.update({wrong: ["k1"]}),
            (f"Millrace has no group {wrong}.", f"group {wrong}", f"Did you mean {right}?"),
        )
        for wrong, right in (
            ("kafka_broker", "kafka_brokers"),
            ("kafka-controllers", "kafka_controllers"),
            ("zookeepers", "zookeeper"),
            ("Kafka", "kafka"),
            ("spark_wokers", "spark_workers"),
        )
    ),
    (
        "lonely-group",
        "brokers without controllers",
        lambda d: d.drop_group("kafka_controllers"),
        ("kafka_brokers (k1, k2 and k3) but no kafka_controllers", "for example with k1"),
    ),
    (
        "lonely-group",
        "controllers without brokers",
        lambda d: d.drop_group("kafka_brokers"),
        ("but no kafka_brokers", "Add the group kafka_brokers"),
    ),
    (
        "lonely-group",
        "workers without masters",
        lambda d: d.drop_group("spark_masters"),
        ("spark_workers (k2 and k3) but no spark_masters",),
    ),
    (
        "lonely-group",
        "masters without workers",
        lambda d: d.drop_group("spark_workers"),
        ("spark_masters (k1) but no spark_workers",),
    ),
    (
        "lonely-group",
        "controllers beside an ensemble",
        lambda d: d.ensemble().drop_group("kafka_brokers"),
        ("kafka_controllers (k1, k2 and k3) but no kafka_brokers",),
    ),
    (
        "idle-zookeeper",
        "beside controllers",
        lambda d: (
            d.ensemble(),
            [d.drop_group(f"spark_{group}") for group in ("masters", "workers", "history")],
        ),
        ("Nobody uses zookeeper (z1, z2 and z3)", "set kafka_version: 3.9.2"),
    ),
    (
        "host-without-group",
        "one",
        lambda d: d.add_host("k4"),
        ("k4 is in no group", "groups of k4", "Add to kafka_controllers, kafka_brokers,"),
    ),
    (
        "unknown-variable",
        "near",
        lambda d: d.variable("kafka_hep", "1g"),
        ("No role has a variable kafka_hep", "of k1, k2, k3", "Did you mean kafka_heap?"),
    ),
    (
        "unknown-variable",
        "far",
        lambda d: d.variable("spark_qqqqqqqqqqqqq", 1, on=("k2",)),
        ("spark_qqqqqqqqqqqqq of k2", "Delete it."),
    ),
    (
        "variable-value",
        "type",
        lambda d: d.variable("kafka_stop_timeout", "soon"),
        ("unable to convert to int", "Set kafka_stop_timeout to an int; the default is 300."),
    ),
    (
        "variable-value",
        "choice",
        lambda d: d.variable("kafka_profile", "fast", on=("k2",)),
        ("got: fast", "kafka_profile of k2", "durable or small"),
    ),
    (
        "variable-value",
        "below",
        lambda d: d.variable("kafka_listeners", [{"name": "CLIENT", "port": "x"}]),
        ("port", "unable to convert to int", "Set kafka_listeners to a list of dict"),
    ),
    (
        "variable-value",
        "unknown part",
        lambda d: d.variable("kafka_listeners", [{"name": "CLIENT", "prot": 1}]),
        ("kafka_listeners.prot", "Supported parameters include: name, port"),
    ),
    (
        "variable-value",
        "another type, said once",
        lambda d: d.variable("kafka_archive", "kafka.tgz"),
        ("argument 'kafka_archive' is of type str", "Set kafka_archive to a dict"),
    ),
    (
        "variable-value",
        "no parts",
        lambda d: d.variable("kafka_archive", True),
        ("kafka_archive is a boolean whose parts cannot be read", "Set kafka_archive to a dict"),
    ),
    (
        "variable-value",
        "secret",
        lambda d: d.variable("kafka_password", "hunter2"),
        ("it is secret and not shown", "Set kafka_password to a dict"),
    ),
    (
        "same-address",
        "copied line",
        lambda d: d.reached_at("k1", "10.0.0.1").reached_at("k3", "10.0.0.1"),
        ("k1 and k3 are all reached at 10.0.0.1, port 22", "Set ansible_host of k3"),
    ),
    (
        "loopback-address",
        "address",
        lambda d: d.reached_at("k2", "127.0.0.1"),
        ("k2 is reached at 127.0.0.1", "ansible_host of k2"),
    ),
    (
        "loopback-address",
        "alias",
        lambda d: d.add_host("localhost").join("spark_workers", "localhost"),
        ("localhost is reached at localhost",),
    ),
    (
        "version",
        "unknown",
        lambda d: d.kafka("version", value="4.9.9"),
        ("Kafka 4.9.9 is not supported", "Set kafka_version: 4.3.1, 4.2.1"),
    ),
    (
        "version",
        "read as a number",
        lambda d: d.kafka("version", value=3.1),
        ("YAML read kafka_version as 3.1 (number)", "3.10 becomes 3.1", "'3.9.2', in quotes"),
    ),
    (
        "version",
        "bad",
        lambda d: d.kafka("version", value="4.2.0"),
        ("Kafka 4.2.0 is refused: transactional producers", "KAFKA-20322", "4.3.1"),
    ),
    (
        "version",
        "spark",
        lambda d: d.spark("k1", version="3.5.0"),
        ("Spark 3.5.0 is not supported", "spark_version of k1", "Set spark_version: 4.2.0"),
    ),
    (
        "version-differs",
        "kafka",
        lambda d: d.kafka("version", value="4.2.1", on=("k2",)),
        ("4.3.1 on k1 and k3 and 4.2.1 on k2", "Set kafka_version: 4.3.1 for all"),
    ),
    (
        "zookeeper-mode",
        "Kafka 4",
        lambda d: d.zookeeper_mode("4.3.1"),
        (
            "Kafka 4.3.1 on the ensemble z1, z2 and z3: Kafka 4.x has no ZooKeeper mode",
            "Add the group kafka_controllers, or set kafka_version: 3.9.2",
        ),
    ),
    (
        "archive-incomplete",
        "no url",
        lambda d: d.archive(sha512="a" * 128),
        ("The archive has no url", "kafka_2.13-4.3.1.tgz"),
    ),
    (
        "archive-incomplete",
        "sha256",
        lambda d: d.archive(url="/srv/kafka.tgz", sha512="a" * 64),
        ("sha512 has 64 characters, 128 hexadecimal digits are needed", "kafka_archive.sha512"),
    ),
    (
        "archive-incomplete",
        "no digits",
        lambda d: d.archive(url="/srv/kafka.tgz", sha512="x" * 128),
        ("no hexadecimal digits",),
    ),
    (
        "archive-name",
        "version",
        lambda d: d.archive(url="https://h/a/kafka_2.13-4.2.1.tgz", sha512="a" * 128),
        ("kafka_2.13-4.2.1.tgz is Kafka 4.2.1 for Scala 2.13, kafka_version is 4.3.1",),
    ),
    (
        "archive-name",
        "Scala",
        lambda d: d.archive(url="/srv/kafka_2.12-4.3.1.tgz", sha512="a" * 128),
        ("Kafka 4.3.1 for Scala 2.12", "Set kafka_archive.url to kafka_2.13-4.3.1.tgz"),
    ),
    (
        "not-describable",
        "unexplained",
        lambda d: d.description("k2", kafka={"error": "'x' is undefined"}),
        ("The kafka role cannot work out what it would do: 'x' is undefined", "variables of k2"),
    ),
    (
        "not-describable",
        "ZooKeeper",
        lambda d: (
            d.ensemble()
            .variable("zookeeper_id", 2, on=("z2",))
            .description("z2", zookeeper={"error": "'y' is undefined"})
        ),
        ("The zookeeper role cannot work out what it would do: 'y' is undefined",),
    ),
    (
        "version",
        "on which the role fails",
        lambda d: d.variable("kafka_version", "4.1.0", on=("k2",)).description(
            "k2", kafka={"error": "no such file"}
        ),
        ("Kafka 4.1.0 is refused: with OAUTHBEARER", "kafka_version of k2"),
    ),
    (
        "variable-value",
        "on which the role fails",
        lambda d: d.variable("kafka_config", "junk").description(
            "k2", kafka={"error": "expected dicts"}
        ),
        ("argument 'kafka_config'", "Set kafka_config to a dict"),
    ),
]
