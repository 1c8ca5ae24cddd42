"""Filters that read a topology: who votes, where a node answers, which links a host gets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils import availability, key_table
from ansible_collections.millrace.streaming.plugins.module_utils.cluster_health import (
    Quorum,
    Snapshot,
)
from ansible_collections.millrace.streaming.plugins.module_utils.uuids import (
    directory_id,
    is_cluster_id,
)

SECRET_ENDS = ("password", "secret", "sasl.jaas.config")
# A role's defaults cannot be read through another host's variables.
ZOOKEEPER_PORTS = {"client": 2181, "peer": 2888, "election": 3888}
TLS_KEYS = (
    "ssl.truststore.type",
    "ssl.truststore.location",
    "ssl.enabled.protocols",
    "ssl.endpoint.identification.algorithm",
)
OWN_TLS_KEYS = ("ssl.keystore.type", "ssl.keystore.location")


def kafka_node(hostvars: Mapping[str, Any], port: int) -> dict[str, Any]:
    """Say who a Kafka host is and where it answers.

    Returns ``{"id": node id or None, "address": "host:port"}``, from the variables of the host's
    inventory alone, as other hosts see them.
    """
    host = (
        hostvars.get("kafka_advertised_host")
        or hostvars.get("ansible_host")
        or hostvars["inventory_hostname"]
    )
    return {"id": hostvars.get("kafka_node_id"), "address": f"{host}:{port}"}


def initial_controllers(voters: list[Mapping[str, Any]], cluster_id: str) -> str:
    """Write the voters as ``kafka-storage format --initial-controllers`` reads them (KIP-853).

    Returns ``id@host:port:directory-id`` joined by commas; empty before the cluster id is minted.
    """
    if not is_cluster_id(cluster_id):
        return ""
    return ",".join(
        f"{voter['id']}@{voter['address']}:{directory_id(cluster_id, int(voter['id']))}"
        for voter in voters
    )


def known_to_kafka(config: Mapping[str, Any], version: str) -> dict[str, Any]:
    """Leave out what a version does not know, all of it kept for a version without a table."""
    table = key_table.load(str(version))
    return {key: value for key, value in config.items() if not table or key in table}


def keeps_secret(config: Mapping[str, Any], version: str = "") -> bool:
    """Tell whether a property holds a password, by Kafka's table of keys or by its name."""
    table = key_table.load(str(version))
    return any(
        table.get(key_table.table_key(str(key)), {}).get("type") == "password"
        or str(key).endswith(SECRET_ENDS)
        for key in config
    )


def links_below(names: list[str], link_dir: str, target_dir: str) -> dict[str, dict[str, str]]:
    """Make entries of the ``files`` module: links in ``link_dir`` to names in ``target_dir``."""
    return {
        f"{link_dir}/{name}": {"state": "link", "target": f"{target_dir}/{name}"} for name in names
    }


def client_tls(config: Mapping[str, Any], listener: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a client on a broker's host takes over from the broker: stores and protocols.

    A key of the listener (`listener.name.<name>.ssl...`) wins. The key store is left out where
    nobody asks for it, and passwords always are, since everybody on the host reads the answer.
    """
    if "SSL" not in str(listener.get("protocol", "")).split("_"):
        return {}
    own = f"listener.name.{str(listener.get('name', '')).lower()}."
    effective = {
        **config,
        **{k.removeprefix(own): v for k, v in config.items() if k.startswith(own)},
    }
    asked = effective.get("ssl.client.auth", "none") != "none"
    keys = (*OWN_TLS_KEYS, *TLS_KEYS) if asked else TLS_KEYS
    return {key: effective[key] for key in keys if key in effective}


def health_security(client: Mapping[str, Any]) -> dict[str, str]:
    """Return the option `security` of the module `kafka_health` from a client's properties.

    Empty for other protocols than SSL. The module reads PEM alone.
    """
    if client.get("security.protocol") != "SSL":
        return {}
    found = {"protocol": "SSL"}
    for store, options in {"truststore": ["cafile"], "keystore": ["certfile", "keyfile"]}.items():
        path = client.get(f"ssl.{store}.location")
        if path and client.get(f"ssl.{store}.type") == "PEM":
            found |= dict.fromkeys(options, str(path))
    return found


def zookeeper_member(hostvars: Mapping[str, Any]) -> dict[str, Any]:
    """Say who a ZooKeeper host is and where it answers.

    Returns ``{"id": number or None, "client": "host:port", "server": ...}``; the last is what
    stands after ``server.<id>=`` in a dynamic configuration file.
    """
    host = (
        hostvars.get("zookeeper_host")
        or hostvars.get("ansible_host")
        or hostvars["inventory_hostname"]
    )
    client, peer, election = (
        hostvars.get(f"zookeeper_{name}_port", port) for name, port in ZOOKEEPER_PORTS.items()
    )
    return {
        "id": hostvars.get("zookeeper_id"),
        "client": f"{host}:{client}",
        "server": f"{host}:{peer}:{election}:participant;{client}",
    }


def roll_order(
    names: list[str],
    hostvars: Mapping[str, Any],
    groups: Mapping[str, list[str]],
    health: Mapping[str, Any],
    backwards: bool = False,
) -> list[str]:
    """Return Kafka hosts in the order of their turns (`availability.order`).

    `health` is the answer of the module `kafka_health`: who is registered, and who leads now.
    """
    by_id = {int(hostvars[name]["kafka_node_id"]): name for name in names}
    ready = {broker["id"] for broker in health.get("brokers", []) if not broker["fenced"]}
    brokers, controllers = groups.get("kafka_brokers", []), groups.get("kafka_controllers", [])
    nodes = [
        availability.Node(
            number,
            broker=name in brokers,
            controller=name in controllers,
            rack=str(hostvars[name].get("kafka_rack", "")),
            ready=(name not in brokers or number in ready)
            and bool(hostvars[name].get("__kafka_look", {}).get("running", True)),
        )
        for number, name in by_id.items()
    ]
    leader = int(health.get("controller", -1))
    quorum = Quorum(leader, 0, ()) if controllers else None
    found = availability.order(nodes, Snapshot("", (), leader, quorum), reverse_roles=backwards)
    return [by_id[number] for number in found]


def spark_master(hostvars: Mapping[str, Any], port: int) -> str:
    """Say where a Spark master answers, as ``host:port``."""
    host = (
        hostvars.get("spark_host") or hostvars.get("ansible_host") or hostvars["inventory_hostname"]
    )
    return f"{host}:{port}"


def file_entries(sources: list[str], target_dir: str) -> dict[str, dict[str, Any]]:
    """Make entries of the ``files`` module from files of the controller.

    A change of any asks for a restart.
    """
    return {
        f"{target_dir}/{source.name}": {"content": source.read_text(), "restart": True}
        for source in map(Path, sorted(sources))
    }


class FilterModule:
    """The filters by name."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return name to function."""
        return {
            "kafka_node": kafka_node,
            "initial_controllers": initial_controllers,
            "keeps_secret": keeps_secret,
            "known_to_kafka": known_to_kafka,
            "links_below": links_below,
            "roll_order": roll_order,
            "spark_master": spark_master,
            "client_tls": client_tls,
            "health_security": health_security,
            "zookeeper_member": zookeeper_member,
            "file_entries": file_entries,
        }
