"""The firewall of a host: what its rules let through, read as nftables reads them."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster import desired
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import (
    Cluster,
    resolve,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.firewall import FILE, UNIT

from tests.unit.cluster.small import cluster

NODE_1, NODE_2, NODE_3 = "10.0.0.1", "10.0.0.2", "2001:db8::3"
GROUPS = {
    "kafka_brokers": ["h1", "h2", "h3"],
    "kafka_controllers": ["h1", "h2", "h3"],
    "spark_masters": ["h1"],
    "spark_workers": ["h2"],
}
ADDRESSES = {"h1": NODE_1, "h2": NODE_2, "h3": NODE_3}
JMX = "-Dcom.sun.management.jmxremote"
STANDARD: dict[str, Any] = {"kafka_security": "standard", "host_firewall": "nftables"}


def closed(**variables: Any) -> Cluster:
    """Three nodes with addresses of their own, and a firewall."""
    variables_of_hosts = {
        name: {"kafka_node_id": number, "kafka_advertised_host": address, "spark_host": address}
        for number, (name, address) in enumerate(ADDRESSES.items(), 1)
    }
    return cluster(GROUPS, variables_of_hosts, **{**STANDARD, **variables})


def rules(deployment: Cluster, host: str = "h1") -> str:
    return str(deployment.host_files(host)[FILE]["content"])


def numbers(text: str) -> set[str]:
    return {number.strip() for number in text.split(",")}


def accepts(text: str, port: int, address: str) -> bool:
    """Return whether a new connection to a port is let through."""
    (governed,) = re.findall(r"dport \{ (.+?) \} tcp flags", text)
    if str(port) not in numbers(governed):
        return True
    source = ipaddress.ip_address(address)
    sets = dict(re.findall(r"set (\w+) \{[^}]*?elements = \{ (.+?) \}", text))
    lines = re.findall(r"(?:tcp dport \{ (.+?) \} )?(ip6?) saddr @(\w+) accept", text)
    return any(
        source in ipaddress.ip_network(network)
        for ports, family, name in lines
        if family == ("ip" if source.version == 4 else "ip6")
        and (not ports or str(port) in numbers(ports))
        for network in (numbers(sets[name]) if name in sets else ())
    )


def who_reaches(text: str, port: int, *addresses: str) -> list[str]:
    return [address for address in addresses if accepts(text, port, address)]


def test_without_a_firewall_there_is_nothing_of_it() -> None:
    deployment = closed(host_firewall="none")
    assert deployment.firewalls == {}
    assert not {FILE, UNIT} & deployment.host_files("h1").keys()
    assert {FILE, UNIT} <= closed().host_files("h1").keys()


def test_nodes_reach_every_port_and_others_none_that_is_for_nodes() -> None:
    text = rules(closed())
    for port in (9095, 9096, 9094, 7077, 8080):
        assert who_reaches(text, port, NODE_1, NODE_2, NODE_3) == [NODE_1, NODE_2, NODE_3]
    for port in (9096, 9094):
        assert who_reaches(text, port, "10.0.0.3", "2001:db8::4") == []


def test_everybody_reaches_what_is_for_clients_and_admins_unless_networks_are_given() -> None:
    open_text, text = (
        rules(closed(**networks))
        for networks in (
            {},
            {"host_firewall_clients": ["10.1.0.0/16"], "host_firewall_admins": ["10.2.0.7"]},
        )
    )
    client, admin, stranger = "10.1.2.3", "10.2.0.7", "2001:db8:1::1"
    for port, expected in ((9095, [client]), (7077, [client]), (8080, [admin])):
        assert who_reaches(open_text, port, client, admin, stranger) == [client, admin, stranger]
        assert who_reaches(text, port, client, admin, stranger) == expected


def test_no_network_at_all_leaves_the_nodes() -> None:
    text = rules(closed(host_firewall_clients=[], host_firewall_admins=[]))
    for port in (9095, 8080):
        assert who_reaches(text, port, NODE_2, NODE_3, "10.1.2.3", "2001:db8:1::1") == [
            NODE_2,
            NODE_3,
        ]


def test_further_addresses_of_nodes() -> None:
    text = rules(closed(host_firewall_nodes=["192.168.0.0/24", "fd00::/64"]))
    assert who_reaches(text, 9096, "192.168.0.9", "fd00::9", "192.168.1.9") == [
        "192.168.0.9",
        "fd00::9",
    ]


@pytest.mark.parametrize("port", [22, 7078, 40000])
def test_what_does_not_listen_there_is_left_alone(port: int) -> None:
    assert accepts(rules(closed(host_firewall_clients=[])), port, "10.9.9.9")


def test_a_fixed_port_of_executors_and_a_port_of_java_are_governed() -> None:
    options: dict[str, Any] = {
        "spark_config": {"spark.blockManager.port": "7100"},
        "kafka_java_options": [f"{JMX}.port=9999"],
        "host_firewall_clients": ["10.1.0.0/16"],
        "host_firewall_admins": ["10.2.0.0/16"],
    }
    text = rules(closed(**options), "h2")
    assert who_reaches(text, 7100, "10.1.0.1", "10.2.0.1", NODE_1) == ["10.1.0.1", NODE_1]
    assert who_reaches(text, 9999, "10.1.0.1", "10.2.0.1", NODE_1) == ["10.2.0.1", NODE_1]


def test_networks_of_a_set_do_not_overlap() -> None:
    networks = ["10.1.0.0/16", "10.1.2.0/24", "10.1.2.3", "0.0.0.0/0"]
    assert "{ 0.0.0.0/0 }" in rules(closed(host_firewall_clients=networks))


def test_the_rules_replace_the_former_ones_in_one_transaction() -> None:
    words = [line for line in rules(closed()).splitlines() if line.startswith(("table", "delete"))]
    assert words == ["table inet millrace", "delete table inet millrace", "table inet millrace {"]


def test_the_rules_are_the_same_whichever_host_was_looked_at_first() -> None:
    deployment = closed()
    assert rules(deployment, "h3") == rules(resolve(deployment.inventory), "h3")


def test_names_are_resolved_for_a_firewall_and_where_a_service_is_open() -> None:
    variables: dict[str, Any] = {
        "h1": {"kafka_node_id": 1, "kafka_advertised_host": "Kafka1.example"}
    }
    groups = {"kafka_brokers": ["h1"], "kafka_controllers": ["h1"]}
    assert cluster(groups, variables, kafka_security="standard").unresolved_names == []
    assert cluster(groups, variables, kafka_security="open").unresolved_names == [
        "h1",
        "kafka1.example",
    ]
    deployment = cluster(groups, variables, **STANDARD)
    assert deployment.unresolved_names == ["h1", "kafka1.example"]
    assert deployment.addresses("h1") == []
    inventory = replace(deployment.inventory, resolved={"kafka1.example": ["10.0.0.5", "fd00::5"]})
    assert resolve(inventory).addresses("h1") == ["10.0.0.5", "fd00::5"]


@pytest.mark.parametrize(
    ("firewall", "has_nft", "is_there", "package", "loads", "leftover"),
    [
        ("nftables", False, False, "nftables", True, False),
        ("nftables", True, True, "", True, False),
        ("none", True, True, "", False, True),
        ("none", False, False, "", False, False),
    ],
)
def test_what_a_host_needs(
    firewall: str, has_nft: bool, is_there: bool, package: str, loads: bool, leftover: bool
) -> None:
    deployment = closed(host_firewall=firewall)
    needs = desired.of_firewall(deployment, "h1", has_nft=has_nft, is_there=is_there)
    assert needs["firewall_package"] == package
    assert bool(needs["firewall_commands"]) == loads
    assert needs["firewall_leftover"] == leftover


def test_the_rules_are_checked_before_they_are_loaded() -> None:
    needs = desired.of_firewall(closed(), "h1", has_nft=True, is_there=True)
    assert needs["firewall_commands"][0] == f"nft --check --file {FILE}"


def test_a_removal_leaves_nothing() -> None:
    deployment = closed()
    removal = desired.removal(deployment, "h1", "host")
    assert FILE in removal["removed"]
    assert [f"/etc/systemd/system/{unit}.service" for unit in removal["units"]] == [UNIT]
