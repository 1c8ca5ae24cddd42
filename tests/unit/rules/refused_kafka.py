"""Wrong inventories: Kafka's listeners, replication and numbers."""

from __future__ import annotations

from tests.unit.rules.draft import Case

CASES: list[Case] = [
    (
        "listener-port",
        "same",
        lambda d: d.listeners(("CLIENT", 9093, "PLAINTEXT")),
        ("CLIENT and CONTROLLER both have port 9093", "port: 9094 for CONTROLLER"),
    ),
    (
        "listener-port",
        "highest",
        lambda d: d.listeners(("CLIENT", 65535, "PLAINTEXT")).controller_listener(
            "CONTROLLER", 65535
        ),
        ("CLIENT and CONTROLLER both have port 65535", "port: 1024 for CONTROLLER"),
    ),
    (
        "listener-port",
        "beside a hundred others, and a port of Spark",
        lambda d: (
            d.listeners(
                *((f"L{port}", port, "PLAINTEXT") for port in range(9094, 9200)),
                ("CLIENT", 9093, "PLAINTEXT"),
            )
            .variable("spark_master_ui_port", 9200, on=("k1",))
            .variable("spark_worker_ui_port", 9200, on=("k2", "k3"))
        ),
        ("CLIENT and CONTROLLER both have port 9093", "port: 9201 for CONTROLLER"),
    ),
    (
        "listener-name",
        "blank",
        lambda d: d.listeners(("CLIENT", 9092, "PLAINTEXT"), ("my net", 9094, "PLAINTEXT")),
        ("'my net'", "Set name: MY_NET"),
    ),
    (
        "listener-name",
        "small controller",
        lambda d: d.controller_listener("Controller"),
        ("'Controller'", "kafka_controller_listener", "name: CONTROLLER"),
    ),
    (
        "listener-duplicate",
        "capitals",
        lambda d: d.listeners(("CLIENT", 9092, "PLAINTEXT"), ("client", 9094, "PLAINTEXT")),
        (
            "2 listeners have the name CLIENT",
            "CLIENT://:9092 (PLAINTEXT), client://:9094 (PLAINTEXT), CONTROLLER://:9093",
        ),
    ),
    (
        "listeners-differ",
        "port of one broker",
        lambda d: d.listeners(("CLIENT", 9192, "PLAINTEXT"), on=("k2",)),
        (
            "CLIENT://:9092 (PLAINTEXT) on k1 and k3 and CLIENT://:9192 (PLAINTEXT) on k2",
            "Set kafka_listeners once",
        ),
    ),
    (
        "listeners-differ",
        "controllers",
        lambda d: d.controller_listener("CONTROLLER", 9193, on=("k3",)),
        ("CONTROLLER://:9193 (PLAINTEXT) on k3", "Set kafka_controller_listener once"),
    ),
    (
        "inter-broker-listener",
        "unknown",
        lambda d: d.variable("kafka_inter_broker_listener", "INTERNAL"),
        ("'INTERNAL'", "Set kafka_inter_broker_listener: CLIENT"),
    ),
    (
        "controller-listener",
        "shared",
        lambda d: d.controller_listener("CLIENT"),
        ("CLIENT", "kafka_controller_listener", "to CONTROLLER"),
    ),
    (
        "advertised-host",
        "port",
        lambda d: d.variable("kafka_advertised_host", "k1:9092", on=("k1",)),
        ("'k1:9092'", "without port"),
    ),
    (
        "advertised-unreachable",
        "wildcard",
        lambda d: d.variable("kafka_advertised_host", "::", on=("k2",)),
        ("k2 would advertise '[::]': CLIENT://[::]:9092", "where others reach it: k2"),
    ),
    (
        "advertised-unreachable",
        "loopback",
        lambda d: d.reached_at("k2", "10.0.0.2").variable(
            "kafka_advertised_host", "127.0.1.1", on=("k2",)
        ),
        ("k2 would advertise '127.0.1.1'", "where others reach it: 10.0.0.2"),
    ),
    (
        "advertised-unreachable",
        "empty",
        lambda d: d.variable("kafka_advertised_host", "", on=("k2",)),
        ("k2 would advertise ''",),
    ),
    (
        "advertised-duplicate",
        "copied line",
        lambda d: d.variable("kafka_advertised_host", "k1", on=("k2",)),
        ("k1 and k2", "k1:9092", "Set kafka_advertised_host of k2"),
    ),
    (
        "plaintext-listener",
        "on a closed cluster",
        lambda d: (
            d.variable("kafka_security", "standard"),
            d.listeners(("CLIENT", 9092, "PLAINTEXT")).controller_listener("CONTROLLER"),
        ),
        ("CLIENT (PLAINTEXT) and CONTROLLER (PLAINTEXT)", "kafka_security: open"),
    ),
    (
        "plaintext-listener",
        "SASL in ZooKeeper mode",
        lambda d: (
            d.zookeeper_mode().pem().variable("kafka_security", "standard"),
            d.listeners(("CLIENT", 9092, "SSL"), ("USERS", 9094, "SASL_PLAINTEXT")),
            d.login("USERS"),
        ),
        ("USERS (SASL_PLAINTEXT)", "protocol: SASL_SSL"),
    ),
    (
        "listener-stores",
        "none",
        lambda d: d.listeners(("CLIENT", 9092, "SSL")),
        (
            "CLIENT (SSL)",
            "ssl.keystore.location: /etc/kafka/tls/node.pem",
            "ssl.truststore.location: /etc/kafka/tls/ca.pem",
        ),
    ),
    (
        "listener-unreachable",
        "SASL",
        lambda d: d.pem().listeners(("CLIENT", 9092, "SASL_SSL")).login("CLIENT", "GSSAPI"),
        ("CLIENT (SASL_SSL)", "kafka_listeners of k1, k2, k3", "protocol: SSL"),
    ),
    (
        "listener-unreachable",
        "trust store",
        lambda d: (
            d.pem()
            .listeners(("CLIENT", 9092, "SSL"))
            .own("ssl.truststore.type", "JKS")
            .own("ssl.truststore.location", "/etc/kafka/tls/ca.jks")
        ),
        ("trust store is not PEM", "ssl.truststore.type: PEM"),
    ),
    (
        "listener-unreachable",
        "key store",
        lambda d: (
            d.pem()
            .listeners(("CLIENT", 9092, "SSL"))
            .own("ssl.keystore.type", "PKCS12")
            .own("ssl.keystore.location", "/etc/kafka/tls/node.p12")
            .provided("ssl.keystore.password", "${file:/etc/kafka/secrets:store}")
            .own("ssl.client.auth", "required")
        ),
        ("key store is not PEM", "kafka_config[ssl.keystore.type]"),
    ),
    (
        "replication-factor",
        "set",
        lambda d: d.own("default.replication.factor", 5),
        (
            "default.replication.factor 5 > 3 brokers",
            "kafka_config[default.replication.factor]",
            "of k1, k2, k3",
            "Set default.replication.factor: 3",
        ),
    ),
    (
        "replication-factor",
        "one broker",
        lambda d: d.without_kafka("k2", "k3").own("offsets.topic.replication.factor", 3),
        ("offsets.topic.replication.factor 3 > 1 broker.", "factor: 1"),
    ),
    (
        "min-isr",
        "equal",
        lambda d: d.own("min.insync.replicas", "3"),
        (
            "min.insync.replicas 3 >= default.replication.factor 3",
            "Set min.insync.replicas: 2",
        ),
    ),
    (
        "min-isr",
        "of the topology, beside a factor that is set",
        lambda d: d.own("transaction.state.log.replication.factor", 2),
        (
            "transaction.state.log.min.isr 2 >= ",
            "kafka_config[transaction.state.log.min.isr] (not set)",
            "Set transaction.state.log.min.isr: 1",
        ),
    ),
    (
        "rack-missing",
        "one of three",
        lambda d: d.racks("north", "", "west"),
        ("k2 has no rack (k1 in north and k3 in west)", "Set kafka_rack on k2"),
    ),
    *(
        (
            "roll-parallel",
            name,
            lambda d, v=value: d.racks("a", "b", "c").variable("kafka_roll_parallel", v),
            (
                f"'{value}' is neither rack nor a number",
                "kafka_roll_parallel",
                "Set rack, or how many",
            ),
        )
        for name, value in (
            ("nothing", 0),
            ("less than nothing", -2),
            ("a word", "racks"),
            ("part of a broker", "1.5"),
            ("empty", ""),
        )
    ),
    (
        "roll-parallel",
        "without racks",
        lambda d: d.variable("kafka_roll_parallel", "rack"),
        ("It is rack, but no broker has one", "Set kafka_rack on every broker"),
    ),
    (
        "roll-parallel",
        "on ZooKeeper",
        lambda d: d.zookeeper_mode().variable("kafka_roll_parallel", 2),
        ("On ZooKeeper one of the brokers is the controller", "Set kafka_roll_parallel: 1"),
    ),
    (
        "rack-too-few",
        "two for three",
        lambda d: d.racks("north", "west", "west"),
        ("default.replication.factor 3 > 2 racks (north and west)", "Use 3 racks"),
    ),
    (
        "heartbeat-interval",
        "more than half",
        lambda d: d.own("broker.heartbeat.interval.ms", 5000),
        (
            "2 x broker.heartbeat.interval.ms 5000 > broker.session.timeout.ms 9000",
            "Set broker.heartbeat.interval.ms: 4500 or less, or broker.session.timeout.ms: 10000",
        ),
    ),
    (
        "replica-fetch-wait",
        "lag",
        lambda d: d.own("replica.lag.time.max.ms", 99),
        (
            "replica.fetch.wait.max.ms 100 > replica.lag.time.max.ms 99",
            "kafka_config[replica.lag.time.max.ms] of k1",
        ),
    ),
    (
        "replica-fetch-wait",
        "socket",
        lambda d: d.own("replica.fetch.wait.max.ms", 500).own("replica.socket.timeout.ms", 499),
        (
            "replica.fetch.wait.max.ms 500 > replica.socket.timeout.ms 499",
            "replica.socket.timeout.ms: 500 or more",
        ),
    ),
    (
        "cleaner-buffer",
        "many threads",
        lambda d: d.own("log.cleaner.threads", 128),
        ("134217728 for log.cleaner.threads 128", "Set log.cleaner.dedupe.buffer.size: 134217856"),
    ),
    (
        "cleaner-buffer",
        "no thread",
        lambda d: d.own("log.cleaner.threads", 0),
        ("Set log.cleaner.threads: 1 or more",),
    ),
    (
        "request-queue",
        "small",
        lambda d: d.own("queued.max.request.bytes", 1000),
        ("queued.max.request.bytes 1000 < socket.request.max.bytes 104857600", "or -1"),
    ),
    (
        "authentication-delay",
        "as long as idle",
        lambda d: d.own("connections.max.idle.ms", 100),
        (
            "connection.failed.authentication.delay.ms 100 >= connections.max.idle.ms 100",
            "delay.ms: 99 or less, or connections.max.idle.ms: 101 or more",
        ),
    ),
    (
        "group-limits",
        "below the minimum",
        lambda d: d.own("group.consumer.heartbeat.interval.ms", 1000),
        (
            "group.consumer.min.heartbeat.interval.ms 5000 > group.consumer.heartbeat.interval.ms",
            "kafka_config[group.consumer.heartbeat.interval.ms]",
        ),
    ),
    (
        "group-limits",
        "above the maximum",
        lambda d: d.own("group.streams.num.standby.replicas", 5),
        ("num.standby.replicas 5 > group.streams.max.standby.replicas 2",),
    ),
    (
        "group-limits",
        "heartbeat of a session",
        lambda d: (
            d.own("group.share.max.heartbeat.interval.ms", 45000),
            d.own("group.share.heartbeat.interval.ms", 45000),
        ),
        ("group.share.heartbeat.interval.ms 45000 >= group.share.session.timeout.ms 45000",),
    ),
    (
        "message-over-request",
        "small request",
        lambda d: d.own("socket.request.max.bytes", 1000000),
        ("message.max.bytes 1048588 > socket.request.max.bytes 1000000",),
    ),
    (
        "message-over-fetch",
        "large message",
        lambda d: d.own("message.max.bytes", 10485760),
        ("message.max.bytes 10485760 > replica.fetch.max.bytes 1048576", "max.bytes: 10485760"),
    ),
    (
        "retention-zero",
        "milliseconds",
        lambda d: d.own("log.retention.ms", 0),
        ("log.retention.ms is 0", "1 or more, or -1"),
    ),
    (
        "retention-below-roll",
        "a day of a week",
        lambda d: d.own("log.retention.hours", 24),
        (
            "log.retention.hours is 86400000 ms < log.roll.hours of 604800000 ms",
            "Set log.roll.ms: 21600000",
        ),
    ),
    (
        "retention-below-segment",
        "half",
        lambda d: d.own("log.retention.bytes", 536870912),
        ("log.retention.bytes 536870912 < log.segment.bytes", "Set log.segment.bytes: 134217728"),
    ),
    (
        "setting-duplicate",
        "hours ignored",
        lambda d: d.own("log.retention.ms", 604800000).own("log.retention.hours", 200),
        ("log.retention.ms is set", "log.retention.hours is ignored"),
    ),
    (
        "super-users-missing",
        "none",
        lambda d: d.own("authorizer.class.name", "org.apache.kafka.X"),
        ("authorizer.class.name", "super.users: User:admin;User:broker"),
    ),
    (
        "super-users-commas",
        "text",
        lambda d: d.own("super.users", "User:a, User:b"),
        ("User:a,User:b is one principal", "User:a;User:b"),
    ),
    (
        "super-users-commas",
        "list",
        lambda d: d.own("super.users", ["User:a", "User:b"]),
        ("Set super.users: User:a;User:b",),
    ),
]
