"""Legal inventories, for each rule at least one: hosts, groups, Kafka as a cluster."""

from __future__ import annotations

from ansible_collections.millrace.streaming.plugins.module_utils.formats.versions import KAFKA

from tests.unit.rules.draft import CLUSTER_ID, TMP, Draft, Legal


def one_node(draft: Draft) -> Draft:
    """Leave one combined node."""
    return draft.without_kafka("k2", "k3")


def without_kafka(draft: Draft) -> Draft:
    """Leave Spark alone."""
    return draft.drop_group("kafka_brokers").drop_group("kafka_controllers")


CASES: list[Legal] = [
    ("empty-group", "absent", lambda d: d.drop_group("spark_history")),
    *(
        ("unknown-group", name, lambda d, name=name: d.groups.update({name: ["k1"]}))
        for name in ("kafka", "spark", "kafka_clients", "brokers", "kafka2", "kafka_brokers_east")
    ),
    (
        "host-count",
        "as many",
        lambda d: d.variable("host_counts", {"kafka_brokers": 3, "kafka_connect": "0"}),
    ),
    ("missing-partner-group", "brokers on an ensemble", lambda d: d.zookeeper_mode()),
    ("unused-zookeeper", "Spark's", lambda d: d.ensemble()),
    ("host-without-group", "ZooKeeper alone", lambda d: d.ensemble("z1", "z2", "z3")),
    (
        "same-address",
        "forwarded ports",
        lambda d: d.reached_at("k1", "10.0.0.1", 2201).reached_at("k2", "10.0.0.1", 2202),
    ),
    ("ssh-port", "another", lambda d: d.reached_at("k1", "10.0.0.1", 2201)),
    (
        "loopback-address",
        "forwarded port",
        lambda d: d.reached_at("k1", "127.0.0.1", 2201),
    ),
    ("unknown-variable", "of a role", lambda d: d.variable("kafka_heap", "1g")),
    ("unreadable-file", "all read", lambda d: d),
    ("cluster-id-file", "without Kafka", lambda d: without_kafka(d).kept_cluster_id("x")),
    ("unresolved-variable", "resolved", lambda d: d.variable("kafka_heap", "1g")),
    ("variable-value", "number in quotes", lambda d: d.variable("host_memory_mb", "6144")),
    ("variable-value", "without a value", lambda d: d.variable("kafka_heap", None)),
    *(
        ("variable-range", name, lambda d, name=name: d.variable(name, 0))
        for name in ("spark_worker_cores", "host_memory_mb", "kafka_gate_timeout")
    ),
    (
        "heap-option",
        "other options",
        lambda d: d.variable("kafka_java_options", ["-Xss4m", "-XX:MaxGCPauseMillis=20"]),
    ),
    ("version", "older", lambda d: d.variable("kafka_version", "4.2.1")),
    (
        "version-differs",
        "of two products",
        lambda d: d.ensemble().variable("kafka_version", "4.0.2"),
    ),
    ("zookeeper-mode", "Kafka 3.9", lambda d: d.zookeeper_mode("3.9.2")),
    (
        "archive-incomplete",
        "file",
        lambda d: d.archive(url=f"/srv/kafka_2.13-{KAFKA.default}.tgz", sha512="0aB" + "c" * 125),
    ),
    (
        "archive-incomplete",
        "not from an archive",
        lambda d: d.variable("kafka_archive", {"sha512": "a"}),
    ),
    (
        "archive-name",
        "own name",
        lambda d: d.archive(url="https://mirror/kafka.tgz", sha512="a" * 128),
    ),
    ("service-address", "IPv6", lambda d: d.variable("spark_host", "[fd00::1:2]", on=("k2",))),
    ("port-range", "highest", lambda d: d.listeners(("CLIENT", 65535, "PLAINTEXT"))),
    ("port-range", "lowest", lambda d: d.variable("spark_worker_port", 1024)),
    ("port-conflict", "on two hosts", lambda d: d.variable("spark_master_port", 8084, on=("k1",))),
    ("heap-value", "KiB", lambda d: d.variable("kafka_heap", "524288k")),
    (
        "heap-over-memory",
        "memory unknown",
        lambda d: d.variable("host_memory_mb", 0, on=("k2",)).variable(
            "spark_worker_memory", "900g", on=("k2",)
        ),
    ),
    ("heap-over-half", "half", lambda d: d.variable("kafka_heap", "3g")),
    (
        "heap-over-half",
        "small host",
        lambda d: (
            d.leave("spark_workers", "k3")
            .variable("kafka_heap", "700m", on=("k3",))
            .variable("host_memory_mb", 1300, on=("k3",))
        ),
    ),
    ("data-dir-relative", "spark", lambda d: d.variable("spark_shared_dir", "/mnt/spark")),
    (
        "data-dir-in-tmp",
        "a name that begins alike",
        lambda d: d.variable("kafka_data_dirs", [f"{TMP}fs/a", "/data/kafka", "/data/kafka2"]),
    ),
    ("data-dir-missing", "several", lambda d: d.variable("kafka_data_dirs", ["/d1/k", "/d2/k"])),
    ("data-dir-name", "usual signs", lambda d: d.variable("kafka_data_dirs", ["/srv/a-b_c.1"])),
    ("data-dir-system", "below /srv", lambda d: d.variable("kafka_data_dirs", ["/srv/kafka"])),
    (
        "data-dir-nested",
        "metadata in the first",
        lambda d: d.variable("kafka_metadata_dir", "/var/lib/kafka/data"),
    ),
    ("data-dir-nested", "metadata", lambda d: d.variable("kafka_metadata_dir", "/data/meta")),
    (
        "mount-path",
        "mounted by others",
        lambda d: d.variable("host_mounts", [{"path": "/data1"}]),
    ),
    ("node-id-missing", "zero", lambda d: d.ids(k1=0)),
    ("node-id-invalid", "text of digits", lambda d: d.ids(k2="7")),
    ("node-id-duplicate", "ids of both systems", lambda d: d.ensemble("k1", "k2", "k3")),
    ("quorum-size", "one combined node", one_node),
    (
        "quorum-size",
        "unsafe allowed",
        lambda d: d.controllers("k1", "k2").variable("kafka_allow_unsafe_quorum", True),
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
        lambda d: d.ensemble().variable("zookeeper_id", "255", on=("z3",)),
    ),
    (
        "zookeeper-id-duplicate",
        "not in order",
        lambda d: d.ensemble().variable("zookeeper_id", 9, on=("z3",)),
    ),
    ("ensemble-size", "five", lambda d: d.ensemble("z1", "z2", "z3", "z4", "z5")),
    (
        "ensemble-size",
        "unsafe allowed",
        lambda d: d.ensemble("z1").variable("zookeeper_allow_unsafe_ensemble", "yes", on=("z1",)),
    ),
    ("cluster-id", "generated", lambda d: d.variable("kafka_cluster_id", CLUSTER_ID)),
    ("cluster-id-differs", "same", lambda d: d.variable("kafka_cluster_id", CLUSTER_ID)),
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
        "listener-stores",
        "of one listener",
        lambda d: (
            d.listeners(("CLIENT", 9092, "PLAINTEXT"), ("TLS", 9094, "SSL"))
            .own("listener.name.tls.ssl.keystore.location", "/etc/kafka/tls/node.p12")
            .provided("listener.name.tls.ssl.keystore.password", "${file:/etc/kafka/secrets:store}")
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
        lambda d: (
            d.pem()
            .listeners(("CLIENT", 9092, "SSL"))
            .own("ssl.keystore.type", "PKCS12")
            .own("ssl.keystore.location", "/etc/kafka/tls/node.p12")
            .provided("ssl.keystore.password", "${file:/etc/kafka/secrets:store}")
        ),
    ),
    (
        "listener-unreachable",
        "SASL on the second",
        lambda d: (
            d.pem().listeners(("CLIENT", 9092, "SSL"), ("USERS", 9094, "SASL_SSL")).login("USERS")
        ),
    ),
    (
        "inter-broker-listener",
        "second",
        lambda d: (
            d.pem()
            .listeners(("CLIENT", 9092, "SSL"), ("REPLICATION", 9094, "SSL"))
            .variable("kafka_inter_broker_listener", "REPLICATION")
        ),
    ),
    ("controller-listener", "other name", lambda d: d.controller_listener("QUORUM")),
    (
        "advertised-host",
        "IPv6",
        lambda d: d.variable("kafka_advertised_host", "[2001:db8::1]", on=("k1",)),
    ),
    (
        "advertised-host",
        "IPv6 without brackets",
        lambda d: d.variable("kafka_advertised_host", "2001:db8::1", on=("k1",)),
    ),
    (
        "advertised-host",
        "address",
        lambda d: d.variable("kafka_advertised_host", "10.0.0.1", on=("k1",)),
    ),
    (
        "advertised-unreachable",
        "a single host",
        lambda d: (
            one_node(d).without_spark().variable("kafka_advertised_host", "localhost"),
            d.groups.update(all=["k1"]),
        ),
    ),
    (
        "advertised-duplicate",
        "names that begin alike",
        lambda d: d.variable("kafka_advertised_host", "k11", on=("k2",)),
    ),
    (
        "listeners-differ",
        "text of digits",
        lambda d: d.listeners(("CLIENT", "9092", "PLAINTEXT"), on=("k2",)),
    ),
    (
        "listeners-differ",
        "a controller alone",
        lambda d: d.leave("kafka_brokers", "k3").listeners(
            ("OTHER", 9099, "PLAINTEXT"), on=("k3",)
        ),
    ),
    ("quorum-kind-differs", "static", lambda d: d.variable("kafka_quorum", "static")),
    (
        "quorum-kind-differs",
        "ZooKeeper",
        lambda d: d.zookeeper_mode().variable("kafka_quorum", "static", on=("k1",)),
    ),
    (
        "plaintext-listener",
        "encrypted",
        lambda d: (
            d.pem()
            .listeners(("CLIENT", 9092, "SSL"))
            .controller_listener("CONTROLLER", protocol="SSL")
            .variable("kafka_security", "standard")
        ),
    ),
    (
        "replication-factor",
        "as many as brokers",
        lambda d: d.own("default.replication.factor", 3),
    ),
    ("min-isr", "one of one", one_node),
    ("rack-missing", "none", lambda d: d.racks("", "", "")),
    (
        "roll-parallel",
        "rack",
        lambda d: d.racks("a", "b", "c").variable("kafka_roll_parallel", "rack"),
    ),
    ("roll-parallel", "a number", lambda d: d.variable("kafka_roll_parallel", 3)),
    ("roll-parallel", "one on ZooKeeper", lambda d: d.zookeeper_mode()),
    ("rack-too-few", "three", lambda d: d.racks("north", "east", "west")),
]
