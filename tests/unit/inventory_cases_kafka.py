"""Wrong inventories: Kafka's listeners, replication and numbers."""

from __future__ import annotations

from tests.unit.inventory_draft import Case

CASES: list[Case] = [
    (
        "listener-port",
        "same",
        lambda d: d.listeners(("CLIENT", 9093, "PLAINTEXT")),
        ("The listeners CLIENT and CONTROLLER both have port 9093", "port: 9094 for CONTROLLER"),
    ),
    (
        "listener-name",
        "blank",
        lambda d: d.listeners(("CLIENT", 9092, "PLAINTEXT"), ("my net", 9094, "PLAINTEXT")),
        ("'my net' is no legal listener name", "Set name: MY_NET"),
    ),
    (
        "listener-name",
        "small controller",
        lambda d: d.controller_listener("Controller"),
        ("'Controller' is no legal listener name", "kafka_controller_listener", "name: CONTROLLER"),
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
        "listener-protocol",
        "unknown",
        lambda d: d.listeners(("CLIENT", 9092, "TLS")),
        (
            "The listener CLIENT has the protocol 'TLS'",
            "PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL",
        ),
    ),
    (
        "listeners-differ",
        "port of one broker",
        lambda d: d.kafka("listeners", 0, "port", value=9192, on=("k2",)),
        (
            "There is CLIENT://:9092 (PLAINTEXT) on k1 and k3 and CLIENT://:9192 (PLAINTEXT) on k2",
            "Set kafka_listeners once",
        ),
    ),
    (
        "listeners-differ",
        "controllers",
        lambda d: (
            d.kafka("controller_listener", "port", value=9193, on=("k3",)),
            d.kafka("listeners", 1, "port", value=9193, on=("k3",)),
        ),
        ("CONTROLLER://:9193 (PLAINTEXT) on k3", "Set kafka_controller_listener once"),
    ),
    (
        "inter-broker-listener",
        "unknown",
        lambda d: d.kafka("inter_broker_listener", value="INTERNAL"),
        ("'INTERNAL' is none of the brokers' listeners", "Set kafka_inter_broker_listener: CLIENT"),
    ),
    (
        "controller-listener",
        "shared",
        lambda d: d.controller_listener("CLIENT"),
        ("CLIENT is a listener of brokers and of controllers", "Rename one of them, to CONTROLLER"),
    ),
    (
        "advertised-host",
        "IPv6",
        lambda d: d.kafka("advertised_host", value="2001:db8::1", on=("k1",)),
        (
            "2001:db8::1 is an IPv6 address without brackets: CLIENT://2001:db8::1:9092",
            'Set kafka_advertised_host: "[2001:db8::1]"',
        ),
    ),
    (
        "advertised-host",
        "port",
        lambda d: d.kafka("advertised_host", value="k1:9092", on=("k1",)),
        ("'k1:9092' is no host", "without port"),
    ),
    (
        "advertised-nowhere",
        "wildcard",
        lambda d: d.kafka("advertised_host", value="::", on=("k2",)),
        ("k2 would advertise '::': CLIENT://:::9092", "where others reach it: k2"),
    ),
    (
        "advertised-nowhere",
        "loopback",
        lambda d: d.reached_at("k2", "10.0.0.2").kafka(
            "advertised_host", value="127.0.1.1", on=("k2",)
        ),
        ("k2 would advertise '127.0.1.1'", "where others reach it: 10.0.0.2"),
    ),
    (
        "advertised-nowhere",
        "empty",
        lambda d: d.kafka("advertised_host", value="", on=("k2",)),
        ("k2 would advertise ''",),
    ),
    (
        "advertised-twice",
        "copied line",
        lambda d: d.kafka("advertised_host", value="k1", on=("k2",)),
        ("k1 and k2 all advertise k1:9092", "Set kafka_advertised_host of k2"),
    ),
    (
        "plaintext-listener",
        "by default",
        lambda d: d.kafka("allow_plaintext", value=False),
        (
            "CLIENT (PLAINTEXT) and CONTROLLER (PLAINTEXT) are open to the network",
            "anybody on the network reads, writes",
            "kafka_allow_plaintext: true",
        ),
    ),
    (
        "plaintext-listener",
        "SASL in ZooKeeper mode",
        lambda d: (
            d.zookeeper_mode(),
            d.kafka("allow_plaintext", value=False),
            d.pem(),
            d.kafka(
                "listeners",
                value=[
                    {"name": "CLIENT", "port": 9092, "protocol": "SSL"},
                    {"name": "USERS", "port": 9094, "protocol": "SASL_PLAINTEXT"},
                ],
            ),
        ),
        ("USERS (SASL_PLAINTEXT) is open to the network", "Set protocol: SSL, or"),
    ),
    (
        "listener-stores",
        "none",
        lambda d: d.listeners(("CLIENT", 9092, "SSL")),
        (
            "The listener CLIENT (SSL) has no key store",
            "ssl.keystore.location: /etc/kafka/tls/node.pem",
            "ssl.truststore.location: /etc/kafka/tls/ca.pem",
        ),
    ),
    (
        "listener-unreachable",
        "SASL",
        lambda d: d.pem().listeners(("CLIENT", 9092, "SASL_SSL")),
        ("connect to the listener CLIENT, and has no SASL_SSL", "Set protocol: SSL"),
    ),
    (
        "listener-unreachable",
        "trust store",
        lambda d: d.pem().listeners(("CLIENT", 9092, "SSL")).own("ssl.truststore.type", "JKS"),
        ("whose trust store is not PEM", "ssl.truststore.type: PEM"),
    ),
    (
        "listener-unreachable",
        "key store",
        lambda d: (
            d.pem()
            .listeners(("CLIENT", 9092, "SSL"))
            .own("ssl.keystore.type", "PKCS12")
            .own("ssl.client.auth", "required")
        ),
        ("whose key store is not PEM", "kafka_config[ssl.keystore.type]"),
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
        "Kafka's default",
        lambda d: (
            d.without_kafka("k2", "k3").replication(1, 1),
            d.descriptions["k1"]["kafka"]["config"].pop("offsets.topic.replication.factor"),
        ),
        (
            "offsets.topic.replication.factor 3 > 1 broker.",
            "(not set)",
            "Set offsets.topic.replication.factor: 1",
        ),
    ),
    (
        "min-isr",
        "equal",
        lambda d: d.own("min.insync.replicas", "3"),
        (
            "min.insync.replicas 3 >= default.replication.factor 3",
            "Set min.insync.replicas: 2",
            "One restart would stop all producers",
        ),
    ),
    (
        "min-isr",
        "transactions",
        lambda d: d.kafka("config", "transaction.state.log.min.isr", value=4),
        ("transaction.state.log.min.isr 4 >= ", "Set transaction.state.log.min.isr: 2"),
    ),
    (
        "rack-missing",
        "one of three",
        lambda d: d.racks("north", "", "west"),
        ("k2 has no rack (k1 in north and k3 in west)", "Set kafka_rack on k2"),
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
        lambda d: d.own("replica.lag.time.max.ms", 400),
        (
            "replica.fetch.wait.max.ms 500 > replica.lag.time.max.ms 400",
            "kafka_config[replica.lag.time.max.ms] of k1",
        ),
    ),
    (
        "replica-fetch-wait",
        "socket",
        lambda d: d.own("replica.socket.timeout.ms", 499),
        ("replica.fetch.wait.max.ms 500 > replica.socket.timeout.ms 499", "to at least 500"),
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
            "delay.ms: 99 or less, or connections.max.idle.ms to more than 100",
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
        "setting-twice",
        "hours ignored",
        lambda d: d.kafka("config", "log.retention.ms", value=604800000).own(
            "log.retention.hours", 200
        ),
        ("log.retention.ms is set, so log.retention.hours counts for nothing",),
    ),
    (
        "super-users-missing",
        "none",
        lambda d: d.own("authorizer.class.name", "org.apache.kafka.X"),
        ("There is an authorizer and no super user", "User:admin;User:broker"),
    ),
    (
        "super-users-commas",
        "text",
        lambda d: d.own("super.users", "User:a, User:b"),
        ("super.users User:a,User:b is one principal: the separator is ';'", "User:a;User:b"),
    ),
    (
        "super-users-commas",
        "list",
        lambda d: d.own("super.users", ["User:a", "User:b"]),
        ("Set super.users: User:a;User:b",),
    ),
]
