"""Which Spark clusters recover through ZooKeeper, and what a worker with a shuffle service does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tests.support.topology import Topology, describe


def resolve(
    folder: Path, masters: dict[str, Any], zookeeper: dict[str, Any], **variables: Any
) -> Topology:
    groups = {"spark_masters": masters, "spark_workers": {"w1": None}, "zookeeper": zookeeper}
    inventory = {name: {"hosts": hosts} for name, hosts in groups.items() if hosts}
    path = folder / "hosts.yml"
    path.write_text(yaml.safe_dump({"all": {"vars": variables}, **inventory}))
    return describe(path, folder / "it.json")


ENSEMBLE = {
    "z1": {"zookeeper_id": 1, "zookeeper_host": "zoo.example.org"},
    "z2": {"zookeeper_id": 2, "zookeeper_client_port": 2281},
}


def test_two_masters_and_an_ensemble_recover(tmp_path: Path) -> None:
    shuffle = {"spark.shuffle.service.enabled": True}
    topology = resolve(tmp_path, {"m1": None, "m2": None}, ENSEMBLE, spark_config=shuffle)
    for host in ("m1", "m2", "w1"):
        spark = topology.spark(host)
        assert spark["recovery"] == "zookeeper"
        assert spark["config"]["spark.deploy.zookeeper.url"] == "zoo.example.org:2181,z2:2281"
        assert spark["config"]["spark.master"] == "spark://m1:7077,m2:7077"
        assert spark["owned"]["spark.deploy.zookeeper.url"] == "the group zookeeper"
    unit = topology.spark("m1")["files"]["/etc/systemd/system/spark-master.service"]["content"]
    assert "\nRestart=always\n" in unit
    assert topology.spark("w1")["ports"]["spark.shuffle.service.port"] == 7337
    assert "spark.shuffle.service.port" not in topology.spark("m1")["ports"]


def test_a_single_master_recovers_from_its_own_disk(tmp_path: Path) -> None:
    spark = resolve(tmp_path, {"m1": None}, ENSEMBLE).spark("m1")
    assert spark["recovery"] == "filesystem"
    assert spark["config"]["spark.deploy.recoveryMode"] == "FILESYSTEM"
    assert "spark.deploy.zookeeper.url" not in spark["config"]
    unit = spark["files"]["/etc/systemd/system/spark-master.service"]["content"]
    assert "\nRestart=on-failure\n" in unit


def test_several_masters_without_an_ensemble_do_not(tmp_path: Path) -> None:
    spark = resolve(tmp_path, {"m1": None, "m2": None}, {}).spark("m1")
    assert spark["recovery"] == ""
    assert not [key for key in {**spark["config"], **spark["owned"]} if "recovery" in key]
    unit = spark["files"]["/etc/systemd/system/spark-master.service"]["content"]
    assert "\nRestart=on-failure\n" in unit
