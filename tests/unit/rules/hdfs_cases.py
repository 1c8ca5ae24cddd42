"""Wrong inventories and legal variations: what operators write about HDFS."""

from __future__ import annotations

from tests.unit.rules.draft import Case, Draft, Legal
from tests.unit.rules.firewall_cases import walled


def closed(draft: Draft) -> Draft:
    """Let HDFS be for the hosts of the inventory alone."""
    return draft.hdfs().variable("hdfs_security", "hosts")


REFUSED: list[Case] = [
    (
        "missing-partner-group",
        "a NameNode alone",
        lambda d: d.hdfs().drop_group("hdfs_datanodes"),
        ("hdfs_datanodes", "k1"),
    ),
    ("hdfs-namenodes", "two", lambda d: d.hdfs().join("hdfs_namenode", "k2"), ("k1 and k2",)),
    ("hdfs-without-firewall", "none", closed, ("host_firewall: nftables", "hdfs_security: open")),
    *(
        (
            "hdfs-replication",
            str(copies),
            lambda d, copies=copies: d.hdfs().variable("hdfs_config", {"dfs.replication": copies}),
            (f"dfs.replication is {copies}", "dfs.replication: 3"),
        )
        for copies in (4, 0, "2k")
    ),
    ("hdfs-single-copy", "a DataNode alone", lambda d: d.hdfs("k2"), ("single copy",)),
    *(
        (
            "protection-weakened",
            key,
            lambda d, key=key: walled(closed(d)).variable("hdfs_config", {key: False}),
            (key, phrase),
        )
        for key, phrase in (
            ("dfs.block.access.token.enable", "DataNodes"),
            ("dfs.permissions.enabled", "Every user"),
        )
    ),
    (
        "owned-key",
        "of HDFS",
        lambda d: d.hdfs().variable("hdfs_config", {"dfs.namenode.http-address": "0.0.0.0:9870"}),
        ("dfs.namenode.http-address", "hdfs_namenode_ui_port"),
    ),
    (
        "open-to-everybody",
        "HDFS",
        lambda d: (
            d.hdfs()
            .without_spark()
            .drop_group("kafka_brokers")
            .drop_group("kafka_controllers")
            .reached_at("k2", "8.8.8.8")
        ),
        ("hdfs_security: hosts", "8.8.8.8"),
    ),
]

REFUSED.append(
    (
        "spark-without-hdfs",
        "no HDFS",
        lambda d: d.variable("spark_file_system", "hdfs"),
        ("hdfs_namenode", "spark_file_system: shared"),
    )
)
LEGAL: list[Legal] = [
    ("spark-without-hdfs", "HDFS", lambda d: d.hdfs().variable("spark_file_system", "hdfs")),
    ("hdfs-namenodes", "one", lambda d: d.hdfs()),
    ("hdfs-without-firewall", "a firewall", lambda d: walled(closed(d))),
    (
        "hdfs-replication",
        "two copies",
        lambda d: d.hdfs().variable("hdfs_config", {"dfs.replication": 2}),
    ),
    ("hdfs-single-copy", "two DataNodes", lambda d: d.hdfs("k2", "k3")),
]
