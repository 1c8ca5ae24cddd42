"""Wrong inventories: what a host carries, where its data lies, and who it is."""

from __future__ import annotations

from tests.unit.inventory_draft import TMP, Case

CASES: list[Case] = [
    (
        "port-range",
        "listener",
        lambda d: d.listeners(("CLIENT", 70000, "PLAINTEXT")),
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
        "port-clash",
        "kafka and zookeeper",
        lambda d: d.ensemble("k1", "k2", "k3").listeners(("CLIENT", 2181, "PLAINTEXT")),
        ("Kafka's listener CLIENT and zookeeper_client_port both have port 2181", "2182"),
    ),
    (
        "heap-over-half",
        "broker",
        lambda d: d.kafka("heap", value="3500m", on=("k1",)),
        ("kafka_heap 3500 MiB > half of 6144 MiB", "Set kafka_heap to 3072m or less"),
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
        "heap-over-memory",
        "with ZooKeeper",
        lambda d: (
            d.ensemble(),
            d.descriptions["z1"].update(host={"memory_mb": 400}),
        ),
        ("zookeeper_heap 512 MiB: 512 MiB > 400 MiB of memory", "heaps of z1"),
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
        (f"{TMP} is emptied", "spark_shared_dir of k3", "/srv/spark"),
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
        "data-dir-name",
        "comma",
        lambda d: d.kafka("data_dirs", value=["/data1/kafka,/data2/kafka"]),
        ("'/data1/kafka,/data2/kafka' has a comma", "such as /var/lib/kafka/data"),
    ),
    (
        "data-dir-name",
        "blank",
        lambda d: d.kafka("metadata_dir", value="/data/my meta"),
        ("'/data/my meta' has a comma, a blank", "kafka_metadata_dir"),
    ),
    (
        "data-dir-relative",
        "kafka",
        lambda d: d.kafka("data_dirs", value=["data/kafka"]),
        ("'data/kafka' is no absolute path", "such as /var/lib/kafka/data"),
    ),
    (
        "data-dir-system",
        "system",
        lambda d: d.kafka("data_dirs", value=["/opt/"]),
        ("/opt/ holds more than this data", "Set /opt/kafka for example"),
    ),
    (
        "data-dir-system",
        "state directory",
        lambda d: d.kafka("data_dirs", value=["/var/lib/kafka"]),
        ("/var/lib/kafka holds more", "Set /var/lib/kafka/data for example"),
    ),
    (
        "data-dir-nested",
        "of two roles",
        lambda d: d.spark("k2", data_dirs=["/var/lib/kafka/data/spark"]),
        (
            "/var/lib/kafka/data and /var/lib/kafka/data/spark are nested",
            "kafka_data_dirs and spark_shared_dir of k2",
        ),
    ),
    (
        "data-dir-nested",
        "metadata",
        lambda d: d.kafka("metadata_dir", value="/var/lib/kafka/data/meta"),
        ("/var/lib/kafka/data and /var/lib/kafka/data/meta are nested",),
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
        "cluster-id",
        "short",
        lambda d: d.kafka("cluster_id", value="millrace"),
        ("'millrace' is no cluster id", "kafka_cluster_id of k1, k2, k3", "Leave it empty"),
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
        lambda d: d.ensemble().descriptions["z2"]["zookeeper"].update(id=None),
        ("z2 has no zookeeper_id", "Set zookeeper_id: 2 on z2"),
    ),
    (
        "zookeeper-id",
        "large",
        lambda d: d.ensemble().descriptions["z1"]["zookeeper"].update(id=256),
        ("256 is no ZooKeeper id", "Set zookeeper_id: 1 on z1"),
    ),
    (
        "zookeeper-id-duplicate",
        "copied line",
        lambda d: d.ensemble().descriptions["z3"]["zookeeper"].update(id="1"),
        ("zookeeper_id 1 is used by z1 and z3", "Set zookeeper_id: 3 on z3"),
    ),
    (
        "ensemble-size",
        "two",
        lambda d: d.ensemble("z1", "z2"),
        ("2 members of ZooKeeper (z1 and z2) tolerate 0 failures", "Use 3 or 5 members"),
    ),
    (
        "ensemble-size",
        "one",
        lambda d: d.ensemble("z1"),
        ("1 member of ZooKeeper (z1) tolerates 0", "zookeeper_allow_unsafe_ensemble: true"),
    ),
    (
        "cluster-id-differs",
        "two",
        lambda d: d.kafka("cluster_id", value="4L6g3nShT-eMCtK--X86sw", on=("k1", "k2")),
        ("4L6g3nShT-eMCtK--X86sw on k1 and k2 and none on k3", "for all of them"),
    ),
    (
        "quorum-kind-differs",
        "one host",
        lambda d: (
            d.kafka("quorum", value="dynamic"),
            d.kafka("quorum", value="static", on=("k3",)),
        ),
        ("The quorum is dynamic on k1 and k2 and static on k3", "Set kafka_quorum once"),
    ),
]
