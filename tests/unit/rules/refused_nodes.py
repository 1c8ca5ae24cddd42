"""Wrong inventories: what a host carries, where its data lies, and who it is."""

from __future__ import annotations

from tests.unit.rules.draft import CLUSTER_ID, TMP, Case

CASES: list[Case] = [
    (
        "service-address",
        "with a port",
        lambda d: d.variable("spark_host", "k2:7077", on=("k2",)),
        ("'k2:7077' is not a host name", "spark_host of k2"),
    ),
    (
        "port-range",
        "listener",
        lambda d: d.listeners(("CLIENT", 70000, "PLAINTEXT")),
        ("kafka_listeners (CLIENT)", "70000", "1 to 65535"),
    ),
    (
        "port-range",
        "listener that the system would choose",
        lambda d: d.listeners(("CLIENT", 0, "PLAINTEXT")),
        ("kafka_listeners (CLIENT)", "port 0"),
    ),
    (
        "port-range",
        "spark",
        lambda d: d.variable("spark_master_port", -1, on=("k1",)),
        ("spark_master_port has port -1", "ports of k1"),
    ),
    *(
        (
            "port-range",
            f"{variable} {port}",
            lambda d, variable=variable, port=port: d.ensemble().variable(
                variable, port, on=("k1", "z1")
            ),
            (f"{variable} has port {port}", "Set a free port from 1 to 65535"),
        )
        for variable, port in (
            ("zookeeper_client_port", 0),
            ("zookeeper_peer_port", 65536),
            ("zookeeper_election_port", -1),
            ("spark_master_ui_port", 0),
            ("spark_history_port", 70000),
        )
    ),
    (
        "port-range",
        "shuffle service",
        lambda d: d.own_spark("spark.shuffle.service.enabled", "true").own_spark(
            "spark.shuffle.service.port", 70000
        ),
        ("spark.shuffle.service.port has port 70000", "ports of k2, k3"),
    ),
    (
        "port-conflict",
        "highest",
        lambda d: d.listeners(("CLIENT", 65535, "PLAINTEXT")).variable(
            "spark_master_ui_port", 65535, on=("k1",)
        ),
        ("both have port 65535", "Set spark_master_ui_port: 1024."),
    ),
    (
        "port-conflict",
        "kafka and spark",
        lambda d: d.variable("spark_master_ui_port", 9092, on=("k1",)),
        ("kafka_listeners (CLIENT)", "9092", "ports of k1", "Set spark_master_ui_port: 9094"),
    ),
    (
        "port-conflict",
        "spark and spark",
        lambda d: d.variable("spark_master_ui_port", 7077, on=("k1",)),
        ("spark_master_port and spark_master_ui_port", "7077", "7078"),
    ),
    (
        "port-conflict",
        "kafka and zookeeper",
        lambda d: d.ensemble("k1", "k2", "k3").listeners(("CLIENT", 2181, "PLAINTEXT")),
        ("kafka_listeners (CLIENT)", "2181", "Set zookeeper_client_port: 2182"),
    ),
    (
        "heap-over-half",
        "broker",
        lambda d: d.variable("kafka_heap", "3500m", on=("k1",)),
        ("3500 MiB > half of 6144 MiB", "Set kafka_heap to 3072m or less"),
    ),
    (
        "heap-value",
        "kafka",
        lambda d: d.variable("kafka_heap", "lots"),
        ("'lots'", "kafka_heap of k1, k2, k3", "for example 1g"),
    ),
    (
        "heap-value",
        "no unit",
        lambda d: d.variable("spark_worker_memory", 2048, on=("k2",)),
        ("2048", "Set spark_worker_memory to a number with m or g"),
    ),
    *(
        (
            "heap-option",
            f"{variable} {option}",
            lambda d, variable=variable, option=option: d.ensemble().variable(
                variable, ["-Xss1m", option], on=("k2", "z1")
            ),
            (f"{variable} sets the heap by", f"{variable} of {host}", f"set {fix}."),
        )
        for variable, option, host, fix in (
            ("kafka_java_options", "-Xmx2g", "k2", "kafka_heap: 2g"),
            ("kafka_java_options", "-XX:+UseG1GC -Xms512m", "k2", "kafka_heap: 512m"),
            ("kafka_java_options", "-Xmx4294967296", "k2", "kafka_heap"),
            ("spark_java_options", "-XX:MaxHeapSize=1g", "k2", "spark_daemon_heap: 1g"),
            ("zookeeper_java_options", "-Xmx1g", "z1", "zookeeper_heap: 1g"),
        )
    ),
    (
        "heap-over-memory",
        "largest fits",
        lambda d: d.variable("spark_worker_memory", "8g", on=("k2",)),
        (
            "spark_worker_memory 8192 MiB: 9216 MiB > 6144 MiB",
            "heaps of k2",
            "Set spark_worker_memory to 5120m or less",
        ),
    ),
    (
        "heap-over-memory",
        "nothing fits",
        lambda d: d.variable("host_memory_mb", 900, on=("k1",)),
        ("> 900 MiB", "Move a service to another host"),
    ),
    (
        "heap-over-memory",
        "with ZooKeeper",
        lambda d: d.ensemble().variable("host_memory_mb", 400, on=("z1",)),
        ("zookeeper_heap 512 MiB: 512 MiB > 400 MiB", "heaps of z1"),
    ),
    (
        "data-dir-missing",
        "empty list",
        lambda d: d.variable("kafka_data_dirs", [], on=("k2",)),
        ("kafka_data_dirs of k2", "[/var/lib/kafka/data]"),
    ),
    (
        "data-dir-in-tmp",
        "kafka",
        lambda d: d.variable("kafka_data_dirs", ["/data/kafka", f"{TMP}/kafka-logs"]),
        (f"{TMP}/kafka-logs", "kafka_data_dirs", "Set /var/lib/kafka/data"),
    ),
    (
        "data-dir-in-tmp",
        "metadata",
        lambda d: d.variable("kafka_metadata_dir", "//var/tmp/meta"),
        ("//var/tmp/meta", "kafka_metadata_dir"),
    ),
    (
        "data-dir-in-tmp",
        "spark",
        lambda d: d.variable("spark_shared_dir", TMP),
        (TMP, "spark_shared_dir of k1, k2, k3", "/srv/spark"),
    ),
    (
        "data-dir-nested",
        "below",
        lambda d: d.variable("kafka_data_dirs", ["/data", "/data/kafka"]),
        ("/data and /data/kafka", "side by side"),
    ),
    (
        "data-dir-nested",
        "same",
        lambda d: d.variable("kafka_data_dirs", ["/data/kafka", "/data/kafka/"]),
        ("/data/kafka and /data/kafka/",),
    ),
    (
        "data-dir-name",
        "comma",
        lambda d: d.variable("kafka_data_dirs", ["/data1/kafka,/data2/kafka"]),
        ("'/data1/kafka,/data2/kafka' has a comma", "such as /var/lib/kafka/data"),
    ),
    (
        "data-dir-name",
        "blank",
        lambda d: d.variable("kafka_metadata_dir", "/data/my meta"),
        ("'/data/my meta'", "kafka_metadata_dir"),
    ),
    (
        "data-dir-relative",
        "kafka",
        lambda d: d.variable("kafka_data_dirs", ["data/kafka"]),
        ("'data/kafka'", "such as /var/lib/kafka/data"),
    ),
    (
        "data-dir-relative",
        "empty",
        lambda d: d.ensemble().variable("zookeeper_data_dir", "", on=("z1",)),
        ("zookeeper_data_dir of z1", "such as /var/lib/zookeeper/data"),
    ),
    (
        "data-dir-system",
        "system",
        lambda d: d.variable("kafka_data_dirs", ["/opt/"]),
        ("/opt/", "Set /opt/kafka for example"),
    ),
    (
        "data-dir-system",
        "state directory",
        lambda d: d.variable("kafka_data_dirs", ["/var/lib/kafka"]),
        ("/var/lib/kafka", "Set /var/lib/kafka/data for example"),
    ),
    (
        "data-dir-nested",
        "of two services",
        lambda d: d.variable("spark_shared_dir", "/var/lib/kafka/data/spark"),
        (
            "/var/lib/kafka/data and /var/lib/kafka/data/spark",
            "kafka_data_dirs and spark_shared_dir of k1, k2, k3",
        ),
    ),
    (
        "data-dir-nested",
        "the same of two services",
        lambda d: d.variable("spark_shared_dir", "/var/lib/kafka/data"),
        ("kafka_data_dirs and spark_shared_dir of k1, k2, k3",),
    ),
    (
        "data-dir-nested",
        "metadata",
        lambda d: d.variable("kafka_metadata_dir", "/var/lib/kafka/data/meta"),
        ("/var/lib/kafka/data and /var/lib/kafka/data/meta",),
    ),
    *(
        (
            "mount-path",
            repr(path),
            lambda d, path=path: d.variable("host_mounts", [{"path": path, "src": "/dev/sdb"}]),
            ("host_mounts of k1, k2, k3", repr(path), "such as /data1"),
        )
        for path in ("data", "/", "//", "")
    ),
    (
        "node-id-missing",
        "two",
        lambda d: d.ids(k2=None, k3=""),
        ("k2 and k3", "kafka_node_id: 2 on k2 and kafka_node_id: 3 on k3"),
    ),
    (
        "node-id-invalid",
        "text",
        lambda d: d.ids(k2="abc"),
        ("'abc'", "kafka_node_id of k2", "Set kafka_node_id: 2 on k2"),
    ),
    ("node-id-invalid", "negative", lambda d: d.ids(k2=-1), ("-1", "2 on k2")),
    ("node-id-invalid", "large", lambda d: d.ids(k2=2**31), ("2147483648",)),
    ("node-id-invalid", "number", lambda d: d.ids(k2=2.5), ("2.5",)),
    ("node-id-invalid", "boolean", lambda d: d.ids(k1=True), ("True", "1 on k1")),
    (
        "node-id-duplicate",
        "text and number",
        lambda d: d.ids(k3="2"),
        ("node.id 2", "kafka_node_id of k2, k3", "kafka_node_id: 3 on k3"),
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
        "cluster-id",
        "short",
        lambda d: d.variable("kafka_cluster_id", "millrace"),
        ("'millrace'", "kafka_cluster_id of k1, k2, k3", "Leave it empty"),
    ),
    (
        "broker-id-reserved",
        "above",
        lambda d: d.zookeeper_mode().ids(k2=1001),
        ("broker.id 1001 > reserved.broker.max.id 1000", "kafka_node_id of k2"),
    ),
    (
        "zookeeper-id",
        "missing",
        lambda d: d.ensemble().variable("zookeeper_id", None, on=("z2",)),
        ("z2 has no zookeeper_id", "Set zookeeper_id: 2 on z2"),
    ),
    (
        "zookeeper-id",
        "large",
        lambda d: d.ensemble().variable("zookeeper_id", 256, on=("z1",)),
        ("256", "Set zookeeper_id: 1 on z1"),
    ),
    (
        "zookeeper-id-duplicate",
        "copied line",
        lambda d: d.ensemble().variable("zookeeper_id", "1", on=("z3",)),
        ("zookeeper_id 1", "z1 and z3", "Set zookeeper_id: 3 on z3"),
    ),
    (
        "ensemble-size",
        "two",
        lambda d: d.ensemble("z1", "z2"),
        ("(z1 and z2) tolerate 0 failures", "Use 3 or 5"),
    ),
    (
        "ensemble-size",
        "one",
        lambda d: d.ensemble("z1"),
        ("(z1) tolerates 0", "zookeeper_allow_unsafe_ensemble: true"),
    ),
    (
        "cluster-id-differs",
        "two",
        lambda d: d.variable("kafka_cluster_id", CLUSTER_ID, on=("k1", "k2")),
        (f"{CLUSTER_ID} on k1 and k2 and none on k3", f"Set kafka_cluster_id: {CLUSTER_ID}"),
    ),
    (
        "quorum-kind-differs",
        "one host",
        lambda d: d.variable("kafka_quorum", "static", on=("k3",)),
        ("dynamic on k1 and k2 and static on k3", "Set kafka_quorum once"),
    ),
]
