"""A host that is added to a group: what the others get, and what restarts them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from tests.unit.cluster import small

KAFKA = {"kafka_controllers": ["k1"], "kafka_brokers": ["k1", "k2", "k3"]}
SPARK = {"spark_masters": ["m1"], "spark_workers": ["w1"], "spark_history": ["m1"]}
ENSEMBLE = {**SPARK, "zookeeper": ["z1", "z2", "z3"]}
HDFS = {"hdfs_namenode": ["h1"], "hdfs_datanodes": ["h1", "h2", "h3"]}
DEFAULTS, SITE = "/etc/spark/spark-defaults.conf", "/etc/hdfs/hdfs-site.xml"
WORKER = "/etc/systemd/system/spark-worker.service"


def changed(
    groups: Mapping[str, list[str]], group: str, added: str
) -> Iterator[tuple[str, str, bool]]:
    """Host, path and whether a change of it needs a restart, of the hosts that were there before."""
    before = small.cluster(groups)
    after = small.cluster({**groups, group: [*groups[group], added]})
    for host in before.inventory.hosts:
        former, present = (
            {
                path: entry
                for part in one.deployed(host).values()
                for path, entry in part.files().items()
            }
            for one in (before, after)
        )
        for path, entry in present.items():
            if entry != former.get(path):
                yield host, path, bool(entry.get("restart"))


@pytest.mark.parametrize(
    ("groups", "group", "expected"),
    [
        pytest.param({**KAFKA, "kafka_connect": ["k1"]}, "kafka_connect", [], id="connect"),
        pytest.param({**KAFKA, "schema_registry": ["k1"]}, "schema_registry", [], id="registry"),
        pytest.param(SPARK, "spark_workers", [], id="spark-worker"),
        pytest.param(
            HDFS, "hdfs_datanodes", [("h1", "/etc/hdfs/datanodes", False)], id="fourth-datanode"
        ),
        # Their default of dfs.replication follows the number of DataNodes, up to three.
        pytest.param(
            {**HDFS, "hdfs_datanodes": ["h1", "h2"]},
            "hdfs_datanodes",
            [("h1", SITE, True), ("h1", "/etc/hdfs/datanodes", False), ("h2", SITE, True)],
            id="third-datanode",
        ),
        # All processes of Spark name all masters.
        pytest.param(
            {**ENSEMBLE, "spark_masters": ["m1", "m2"]},
            "spark_masters",
            [
                ("m1", DEFAULTS, True),
                ("m2", DEFAULTS, True),
                ("w1", DEFAULTS, True),
                ("w1", WORKER, True),
            ],
            id="third-master",
        ),
    ],
)
def test_the_others_are_restarted_only_where_they_need_it(
    groups: Mapping[str, list[str]], group: str, expected: list[tuple[str, str, bool]]
) -> None:
    assert sorted(changed(groups, group, "n9")) == sorted(expected)
