"""Which tests of a cluster may be skipped on a topology."""

from __future__ import annotations

import re

# Why a test may be skipped, and what the inventory then does not have.
LACKS = {
    r"no Kafka here": "kafka_brokers",
    r"no Spark here": "spark_masters",
    r"no ZooKeeper here": "zookeeper_id",
    r"no HDFS here": "hdfs_namenode",
    r"no Kafka Connect here": "kafka_connect",
    r"no schema registry here": "schema_registry",
    r"no database here": "postgresql",
    r"no job on captured tables here": "name: changes",
    r"a firewall keeps this machine out": r"(?s)\A(?!.*host_firewall: nftables)",
    r"no monitoring here": "monitoring:",
    r"no machines here": "lab_host_kind: vm",
    r"no second cluster here": "connect_mirrors",
    r"no history server here": "spark_history",
    r"no racks here": "kafka_rack",
    r"fewer than 3 brokers": "[bk]3",
    r"ZooKeeper elects the controller here": "kafka_controllers",
    r"0 controllers: none of them may be lost": "kafka_controllers",
    r"1 controllers: none of them may be lost": "kafka_node_id: 2",
    r"controllers elect each other here": "zookeeper_id",
    r"its controllers are brokers too": r"kafka_controllers:\n +hosts:\n +c1",
    r"libfaketime cannot be downloaded here: .*": "libfaketime",
    r"0 members of ZooKeeper: none of them may be lost": "zookeeper_id",
    r"their first use makes them here": r"(?s)\A(?!.*auto.create.topics.enable: true)",
    r"they are open here": r"(?s)\A(?!.*spark_security: open)",
    r"one Spark master: nothing can take over": r"spark_masters:\n +hosts:\n( +)\w+:\n\1\w",
}


def lacks(inventory: str, reason: str) -> bool:
    """Whether a topology really does not have what a skipped test names."""
    return any(
        re.fullmatch(pattern, reason) and not re.search(missing, inventory)
        for pattern, missing in LACKS.items()
    )
