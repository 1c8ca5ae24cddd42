"""Legal inventories, for each rule at least one: hosts, groups, Kafka as a cluster."""

from __future__ import annotations

from tests.unit.inventory_draft import TMP, Draft, Mistake

CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"


def one_node(draft: Draft) -> Draft:
    """Leave one combined node."""
    return draft.without_kafka("k2", "k3").replication(1, 1)


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
    ("data-dir-name", "usual signs", lambda d: d.kafka("data_dirs", value=["/srv/a-b_c.1"])),
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
]
