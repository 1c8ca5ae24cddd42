"""The table of wrong inventories: at least one a rule."""

from __future__ import annotations

from collections.abc import Callable

from tests.unit.inventory_draft import Draft

Mistake = Callable[[Draft], object]
TMP = "/tmp"  # noqa: S108 - what a rule refuses

# Rule, name of the case, the mistake, parts of the message.
CASES: list[tuple[str, str, Mistake, tuple[str, ...]]] = [
    (
        "empty-group",
        "history",
        lambda d: d.groups.update(spark_history=[]),
        ("spark_history has no host", "group spark_history", "Add a host to spark_history"),
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
        lambda d: d.variable("zookeeper_qqqqqqqqq", 1, on=("k2",)),
        ("zookeeper_qqqqqqqqq of k2", "Delete it."),
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
        "secret",
        lambda d: d.variable("kafka_password", "hunter2"),
        ("it is secret and not shown", "Set kafka_password to a dict"),
    ),
    (
        "port-range",
        "listener",
        lambda d: d.kafka("listeners", value=[{"name": "CLIENT", "port": 70000}]),
        ("Kafka's listener CLIENT has port 70000", "1 to 65535"),
    ),
    (
        "port-range",
        "spark",
        lambda d: d.descriptions["k1"]["spark"]["ports"].update(spark_master_port=-1),
        ("spark_master_port has port -1", "ports of k1"),
    ),
    (
        "port-clash",
        "kafka and spark",
        lambda d: d.descriptions["k1"]["spark"]["ports"].update(spark_master_ui_port=9092),
        (
            "Kafka's listener CLIENT and spark_master_ui_port both have port 9092",
            "ports of k1",
            "Set spark_master_ui_port: 9094",
        ),
    ),
    (
        "port-clash",
        "spark and spark",
        lambda d: d.descriptions["k1"]["spark"]["ports"].update(spark_master_ui_port=7077),
        ("spark_master_port and spark_master_ui_port both have port 7077", "7078"),
    ),
    (
        "heap-value",
        "kafka",
        lambda d: d.kafka("heap", value="lots"),
        ("'lots' is no heap size", "kafka_heap of k1, k2, k3", "for example 1g"),
    ),
    (
        "heap-value",
        "no unit",
        lambda d: d.descriptions["k2"]["spark"]["heaps"].update(spark_worker_memory=2048),
        ("2048 is no heap size", "Set spark_worker_memory to a number with m or g"),
    ),
    (
        "heap-over-memory",
        "largest fits",
        lambda d: d.descriptions["k2"]["spark"]["heaps"].update(spark_worker_memory="8g"),
        (
            "spark_worker_memory 8192 MiB: 9216 MiB > 6144 MiB of memory",
            "heaps of k2",
            "Set spark_worker_memory to 5120m or less",
        ),
    ),
    (
        "heap-over-memory",
        "nothing fits",
        lambda d: d.descriptions["k1"]["host"].update(memory_mb=900),
        ("1536 MiB > 900 MiB", "Move a service to another host"),
    ),
    (
        "data-dir-in-tmp",
        "kafka",
        lambda d: d.kafka("data_dirs", value=["/data/kafka", f"{TMP}/kafka-logs"]),
        (f"{TMP}/kafka-logs", "kafka_data_dirs", "Set /var/lib/kafka/data"),
    ),
    (
        "data-dir-in-tmp",
        "metadata",
        lambda d: d.kafka("metadata_dir", value="//var/tmp/meta"),
        ("//var/tmp/meta", "kafka_metadata_dir"),
    ),
    (
        "data-dir-in-tmp",
        "spark",
        lambda d: d.spark("k3", data_dirs=[TMP]),
        (f"{TMP} is emptied", "Spark's data directory of k3", "/var/lib/spark"),
    ),
    (
        "data-dir-nested",
        "below",
        lambda d: d.kafka("data_dirs", value=["/data", "/data/kafka"]),
        ("/data and /data/kafka are nested", "side by side"),
    ),
    (
        "data-dir-nested",
        "same",
        lambda d: d.kafka("data_dirs", value=["/data/kafka", "/data/kafka/"]),
        ("nested or the same",),
    ),
    (
        "version",
        "unknown",
        lambda d: d.kafka("version", value=4.3),
        ("Kafka 4.3 is not supported", "Set kafka_version: 4.3.1"),
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
        "node-id-missing",
        "two",
        lambda d: d.ids(k2=None, k3=""),
        ("k2 and k3 have no node.id", "kafka_node_id: 2 on k2 and kafka_node_id: 3 on k3"),
    ),
    (
        "node-id-invalid",
        "text",
        lambda d: d.ids(k2="abc"),
        ("'abc' is no node.id", "kafka_node_id of k2", "Set kafka_node_id: 2 on k2"),
    ),
    ("node-id-invalid", "negative", lambda d: d.ids(k2=-1), ("-1 is no node.id", "2 on k2")),
    ("node-id-invalid", "large", lambda d: d.ids(k2=2**31), ("2147483648 is no node.id",)),
    ("node-id-invalid", "number", lambda d: d.ids(k2=2.5), ("2.5 is no node.id",)),
    ("node-id-invalid", "boolean", lambda d: d.ids(k1=True), ("True is no node.id", "1 on k1")),
    (
        "node-id-duplicate",
        "text and number",
        lambda d: d.ids(k3="2"),
        ("node.id 2 is used by k2 and k3", "kafka_node_id of k2, k3", "kafka_node_id: 3 on k3"),
    ),
    (
        "quorum-size",
        "two",
        lambda d: d.controllers("k1", "k2"),
        (
            "2 controllers (k1 and k2) tolerate 0 failures",
            "Use 3 or 5 controllers",
            "kafka_allow_unsafe_quorum: true",
        ),
    ),
    (
        "quorum-size",
        "one of three",
        lambda d: d.controllers("k1"),
        ("1 controller (k1) tolerates 0 failures",),
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
        "YAML's no",
        lambda d: d.own("ssl.client.auth", False),
        ("False (boolean)", "[required, requested, none]", "in quotes"),
    ),
    (
        "key-value",
        "secret",
        lambda d: d.own("ssl.keystore.password", ["hunter2"]),
        ("This list is no legal value of ssl.keystore.password",),
    ),
    (
        "cluster-id",
        "short",
        lambda d: d.kafka("cluster_id", value="millrace"),
        ("'millrace' is no cluster id", "kafka_cluster_id of k1, k2, k3", "Leave it empty"),
    ),
    (
        "listener-port",
        "same",
        lambda d: d.kafka(
            "listeners",
            value=[{"name": "CLIENT", "port": 9092}, {"name": "CONTROLLER", "port": "9092"}],
        ),
        ("The listeners CLIENT and CONTROLLER both have port 9092", "port: 9093 for CONTROLLER"),
    ),
    (
        "not-describable",
        "unexplained",
        lambda d: d.description("k2", kafka={"error": "'x' is undefined"}),
        ("The kafka role cannot work out what it would do: 'x' is undefined", "variables of k2"),
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
