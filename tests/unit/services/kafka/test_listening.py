"""What listens on a host, and who connects: the matrix of a firewall."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import Cluster
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.jvm_options import (
    opened_ports,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.service import CALLERS

from tests.unit.cluster.inventories import INVENTORIES, read
from tests.unit.cluster.small import broker, cluster, kafka, spark

LISTENERS = [
    {"name": name, "port": port, "protocol": "SSL"}
    for name, port in (("APPS", 9092), ("PARTNERS", 9094), ("BETWEEN", 9095))
]
JMX = "-Dcom.sun.management.jmxremote"


def matrix(deployment: Cluster, host: str) -> dict[int, tuple[str, ...]]:
    """Port -> who connects."""
    return {port.port: port.callers for port in deployment.listening(host)}


def test_brokers_are_for_clients_and_controllers_for_nodes_alone() -> None:
    deployment = kafka(1, 1)
    assert matrix(deployment, "b1") == {9092: ("clients", "nodes")}
    assert matrix(deployment, "c1") == {9093: ("nodes",)}


@pytest.mark.parametrize(
    ("between", "expected"),
    [
        ("BETWEEN", [("clients",), ("clients",), ("nodes",)]),
        ("APPS", [("clients", "nodes"), ("clients",), ("clients",)]),
    ],
)
def test_a_listener_of_brokers_alone_is_not_for_clients(
    between: str, expected: list[tuple[str, ...]]
) -> None:
    deployment = kafka(1, 1, kafka_listeners=LISTENERS, kafka_inter_broker_listener=between)
    assert matrix(deployment, "b1") == dict(zip((9092, 9094, 9095), expected, strict=True))


def test_an_ensemble_is_for_nodes_and_spark_for_drivers_too() -> None:
    deployment = spark(["w1"], {"z1": {"zookeeper_id": 1}})
    assert set(matrix(deployment, "z1").values()) == {("nodes",)}
    assert matrix(deployment, "w1") == {
        7077: ("clients", "nodes"),
        8080: ("admins",),
        7078: ("nodes",),
        8084: ("admins",),
        0: ("clients", "nodes"),
    }


def test_a_fixed_port_of_executors_is_named() -> None:
    config = {"spark.blockManager.port": 7100, "spark.shuffle.service.enabled": True}
    ports = matrix(spark(["m1"], {}, spark_config=config), "w1")
    assert ports[7100] == ("clients", "nodes")
    assert ports[7337] == ("nodes",)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([f"{JMX}.port=9999"], [(9999, False)]),
        ([f"{JMX}.port=9999", f"{JMX}.host=127.0.0.1"], [(9999, True)]),
        ([f"{JMX}.host=0.0.0.0", f"{JMX}.port=9999"], [(9999, False)]),
        ([f"{JMX}.port=9998", f"{JMX}.port=9999"], [(9999, False)]),
        ([f"{JMX}.port=0", f"{JMX}.ssl=false"], []),
        (["-agentlib:jdwp=transport=dt_socket,server=y,address=5005"], [(5005, True)]),
        (["-agentlib:jdwp=transport=dt_socket,server=y,address=*:5005"], [(5005, False)]),
        (["-agentlib:jdwp=transport=dt_socket,address=[::1]:5005,server=y"], [(5005, True)]),
        (["-Xrunjdwp:transport=dt_socket,server=y,address=*:5005"], [(5005, False)]),
        (["-agentlib:jdwp=transport=dt_socket,address=ide:5005"], []),
    ],
)
def test_options_of_java_open_ports(options: list[str], expected: list[tuple[int, bool]]) -> None:
    assert [(port.port, port.loopback) for port in opened_ports(options)] == expected


def test_what_java_opens_is_for_admins_or_the_host_itself() -> None:
    for options, caller in (([], "admins"), ([f"{JMX}.host=localhost"], "loopback")):
        variables: dict[str, Any] = {"kafka_java_options": [f"{JMX}.port=9999", *options]}
        (port,) = (
            candidate for candidate in broker(**variables).listening if candidate.port == 9999
        )
        assert port.callers == (caller,)
        assert port.name == "kafka_java_options (com.sun.management.jmxremote.port)"


@pytest.mark.parametrize("name", INVENTORIES)
def test_every_port_of_every_inventory_has_somebody_who_connects(name: str, tmp_path: Path) -> None:
    deployment = read(name, tmp_path)
    for host in deployment.hosts:
        listening = deployment.listening(host)
        assert {(port.name, port.port) for port in listening} >= {*deployment.ports(host)}
        for port in listening:
            assert port.callers, port
            assert set(port.callers) <= CALLERS.keys()
            assert port.service in deployment.deployed(host)


def test_an_invalid_inventory_has_a_matrix_too() -> None:
    broken: dict[str, Any] = {
        "kafka_inter_broker_listener": "NOWHERE",
        "kafka_node_id": 1,
    }
    deployment = cluster({"kafka_brokers": ["k1"], "kafka_controllers": ["k1"]}, **broken)
    assert matrix(deployment, "k1") == {9092: ("clients",), 9093: ("nodes",)}
