"""A topology as the live tests have it: addresses, node ids, and how to connect."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.connection import Connection

from tests.support.lab.topology import ROOT, Topology, describe, write_client_config


def written(path: Path, *, lab: dict[str, Any] | None = None, **kafka: Any) -> Topology:
    """Two combined nodes and a worker, reached at addresses as in a lab."""
    nodes = {f"k{i}": {"kafka_node_id": i, "ansible_host": f"10.0.0.{i}"} for i in (1, 2)}
    hosts: dict[str, Any] = {
        "kafka": {
            "children": {
                "kafka_controllers": {"hosts": nodes},
                "kafka_brokers": {"hosts": dict.fromkeys(nodes)},
            },
            "vars": kafka,
        },
        "spark": {
            "children": {
                "spark_masters": {"hosts": {"k1": None}},
                "spark_workers": {"hosts": {"w1": {"ansible_host": "10.0.0.9"}}},
            },
            "vars": {"spark_worker_ui_port": 8099},
        },
    }
    (path / "hosts.yml").write_text(yaml.safe_dump(hosts))
    (path / "transport.yml").write_text(yaml.safe_dump({"all": {"vars": lab or {}}}))
    return describe(path)


def test_hosts_are_where_the_lab_has_them(tmp_path: Path) -> None:
    topology = written(
        tmp_path, kafka_listeners=[{"name": "A", "port": 9095, "protocol": "PLAINTEXT"}]
    )
    assert topology.addresses == {"k1": "10.0.0.1", "k2": "10.0.0.2", "w1": "10.0.0.9"}
    assert topology.hosts == list(topology.addresses)
    assert topology.brokers == {1: "10.0.0.1:9095", 2: "10.0.0.2:9095"}
    assert topology.voters == {1, 2}
    assert (topology.node(2), topology.group("spark_workers"), topology.group("nobody")) == (
        "k2",
        ["w1"],
        [],
    )
    assert topology.urls == {
        "Spark master k1": "http://10.0.0.1:8080",
        "Spark worker w1": "http://10.0.0.9:8099",
    }


def test_a_lab_adds_its_machines_and_their_slowness(tmp_path: Path) -> None:
    assert (written(tmp_path).machines, written(tmp_path).slowness) == ((), 1.0)
    topology = written(tmp_path, lab={"lab_machines": ["k1"], "lab_slowness": 5.5})
    assert (topology.machines, topology.slowness) == (("k1",), 5.5)


def test_clients_of_an_open_cluster_need_its_addresses(tmp_path: Path) -> None:
    assert written(tmp_path, kafka_security="open").connection.settings() == {
        "bootstrap_servers": ["10.0.0.1:9092", "10.0.0.2:9092"],
        "security_protocol": "PLAINTEXT",
    }


PASSWORD = "a b'c=d;e"


def test_clients_of_a_closed_cluster_are_its_administrator(tmp_path: Path) -> None:
    topology = written(tmp_path, kafka_users=[{"name": "admin", "password": PASSWORD}])
    expected = {
        "bootstrap_servers": ["10.0.0.1:9095", "10.0.0.2:9095"],
        "security_protocol": "SASL_SSL",
        "ssl_cafile": f"{tmp_path}/.secrets/ca.pem",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": "admin",
        "sasl_plain_password": PASSWORD,
    }
    assert topology.connection.settings() == expected
    path = write_client_config(topology.connection, tmp_path / "client.properties")
    assert Connection.read(path).settings() == expected, "as other programs read it"


def test_clients_of_a_secured_cluster_have_stores_of_this_machine(tmp_path: Path) -> None:
    """Those of the hosts are not here; all else is as on the hosts."""
    topology = written(
        tmp_path,
        kafka_listeners=[{"name": "S", "port": 9093, "protocol": "SSL"}],
        kafka_config={
            "ssl.client.auth": "required",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": "/etc/kafka/tls/node.pem",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": "/etc/kafka/tls/ca.pem",
            "ssl.endpoint.identification.algorithm": "",
        },
        kafka_local_client_config={
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": "/home/me/ca.pem",
        },
    )
    assert topology.connection.settings() == {
        "bootstrap_servers": ["10.0.0.1:9093", "10.0.0.2:9093"],
        "security_protocol": "SSL",
        "ssl_cafile": "/home/me/ca.pem",
        "ssl_check_hostname": False,
    }


@pytest.mark.parametrize(
    "path", sorted((ROOT / "inventories").iterdir()), ids=lambda path: path.name
)
def test_each_shipped_inventory_is_described(path: Path) -> None:
    topology = describe(path)
    assert topology.hosts
    assert topology.name == path.name
    assert not topology.brokers or topology.connection.settings()["bootstrap_servers"]
