"""A member of a ZooKeeper ensemble: its own files and where the others find it."""

from __future__ import annotations

from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.formats.properties import (
    parse_properties,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.zookeeper.model import (
    Member,
)

from tests.unit.cluster.small import cluster

OWN: dict[str, dict[str, Any]] = {
    "z1": {"zookeeper_id": 1, "zookeeper_host": "zoo.example.org"},
    "z2": {"zookeeper_id": 2, "zookeeper_client_port": 2281, "zookeeper_data_dir": "/data/zk"},
}


def ensemble(**variables: Any) -> dict[str, Member]:
    return dict(cluster({"zookeeper": ["z1", "z2"]}, OWN, **variables).zookeeper)


def test_every_member_has_the_same_ensemble() -> None:
    for member in ensemble().values():
        assert member.client_addresses == ["zoo.example.org:2181", "z2:2281"]
        text = member.files()["/etc/zookeeper/zoo.cfg.dynamic"]["content"]
        assert parse_properties(text) == {
            "server.1": "zoo.example.org:2888:3888:participant;2181",
            "server.2": "z2:2888:3888:participant;2281",
        }


def test_a_member_knows_its_own_number_and_directory() -> None:
    members = ensemble()
    assert members["z2"].files()["/data/zk/myid"]["content"] == "2\n"
    assert members["z2"].config["dataDir"] == "/data/zk"
    assert members["z2"].data_directories == [("zookeeper_data_dir", "/data/zk")]
    assert members["z2"].ports["zookeeper_client_port"] == 2281


def test_a_later_layer_wins() -> None:
    member = ensemble(zookeeper_config={"tickTime": 2000, "dataDir": "/elsewhere"})["z1"]
    assert member.config["tickTime"] == 2000
    assert member.config["dataDir"] == member.data_dir != "/elsewhere"
    assert set(member.layers["owned"]) <= set(member.owned)
