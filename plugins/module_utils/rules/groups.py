"""The rules about groups and addresses: who is there, and whether each host is one machine."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

from ansible_collections.millrace.streaming.plugins.module_utils.model.cluster import Cluster
from ansible_collections.millrace.streaming.plugins.module_utils.model.inventory import GROUPS
from ansible_collections.millrace.streaming.plugins.module_utils.model.values import (
    integer,
    listing,
)
from ansible_collections.millrace.streaming.plugins.module_utils.rules.engine import Finding, rule

_PARTNERS = {
    "kafka_brokers": "kafka_controllers",
    "kafka_controllers": "kafka_brokers",
    "spark_workers": "spark_masters",
    "spark_masters": "spark_workers",
}
_SSH_PORT = 22
_PARENTS = ("kafka", "spark")  # of the example inventories, for variables of both kinds
_SIMILAR = 0.9


def is_loopback(address: object) -> bool:
    """Tell whether a name or an address means the machine itself."""
    text = str(address).strip("[]").lower()
    return text in ("localhost", "::1") or text.startswith("127.") or text.endswith(".localhost")


def _similar_group(name: str) -> str:
    """Return the group that a name looks like a misspelling of, empty if there is none.

    A known name with a number after it, or `_` and a word, is a group within that one.
    """
    known = (*GROUPS, *_PARENTS)
    inner = any(re.match(rf"{group}[_-]?\d", name) for group in known)
    if name in known or inner or name.startswith(tuple(f"{group}_" for group in GROUPS)):
        return ""
    return next(iter(difflib.get_close_matches(name.lower(), known, n=1, cutoff=_SIMILAR)), "")


@rule(
    "unknown-group",
    when="a group's name is nearly that of one of Millrace's groups, or of `kafka` or `spark`",
    why="Ansible makes a group of every name: its hosts and variables would be left out.",
    remedy="Correct the name; the message names the nearest group.",
)
def _unknown_group(cluster: Cluster) -> Iterator[Finding]:
    for group in cluster.inventory.groups:
        near = _similar_group(str(group))
        if near:
            what = f"Millrace has no group {group}."
            fix = f"Did you mean {near}? Else choose a name that differs more."
            yield Finding(f"group {group}", what, fix)


@rule(
    "empty-group",
    when="one of Millrace's groups is in the inventory and has no host",
    why="A misspelt or forgotten host must not become a cluster without it.",
    remedy="Put hosts into the group, or delete it.",
)
def _empty_group(cluster: Cluster) -> Iterator[Finding]:
    for group in GROUPS:
        if group in cluster.inventory.groups and not cluster.inventory.members(group):
            what = f"{group} has no host."
            yield Finding(f"group {group}", what, f"Add a host to {group}, or delete the group.")


@rule(
    "lonely-group",
    when="there are brokers without controllers or ZooKeeper, workers without masters, or the "
    "reverse",
    why="Neither works without the other.",
    remedy="Define the group that the message names; a host may be in both.",
)
def _lonely_group(cluster: Cluster) -> Iterator[Finding]:
    for group, partner in _PARTNERS.items():
        members = cluster.inventory.members(group)
        if group == "kafka_brokers" and "zookeeper" in cluster.inventory.groups:
            continue
        if members and partner not in cluster.inventory.groups:
            what = f"There are {group} ({listing(members)}) but no {partner}."
            fix = f"Add the group {partner}, for example with {members[0]}."
            yield Finding("groups", what, fix)


@rule(
    "idle-zookeeper",
    when="there are `zookeeper` and `kafka_controllers`, and no `spark_masters`",
    why="Brokers that have controllers use no ZooKeeper; beside them it serves Spark's masters "
    "only.",
    remedy="Delete `zookeeper`, or delete `kafka_controllers` and stay on Kafka 3.9.",
    severity="warning",
)
def _idle_zookeeper(cluster: Cluster) -> Iterator[Finding]:
    if cluster.zookeeper and cluster.controllers and not cluster.inventory.members("spark_masters"):
        what = f"Nothing uses zookeeper ({listing(cluster.zookeeper)}): the brokers have "
        what += "kafka_controllers."
        fix = "Delete the group zookeeper; for a cluster in ZooKeeper mode delete "
        yield Finding(
            "group zookeeper", what, fix + "kafka_controllers and set kafka_version: 3.9.2."
        )


@rule(
    "host-without-group",
    when="a host is in none of Millrace's groups",
    why="Nothing would be installed on it, although the inventory lists it.",
    remedy="Put it into a group, or remove it from the inventory.",
)
def _host_without_group(cluster: Cluster) -> Iterator[Finding]:
    placed = cluster.inventory.placed()
    hosts = tuple(name for name in cluster.hosts if name not in placed)
    if hosts:
        what = f"{listing(hosts)} {'are' if len(hosts) > 1 else 'is'} in no group of Millrace."
        fix = f"Add to {listing(GROUPS, 'or')}, or remove from the inventory."
        yield Finding("groups", what, fix, hosts)


def _reached_at(cluster: Cluster, host: str) -> tuple[str, int]:
    connection = cluster.inventory.hosts[host].connection
    port = integer(connection.get("ansible_port"))
    return str(connection.get("ansible_host") or ""), port or _SSH_PORT


@rule(
    "same-address",
    when="two hosts have one `ansible_host` and `ansible_port`",
    why="They would be one machine with two identities, and each run would undo the other's files.",
    remedy="Give each host its own `ansible_host`, or put all its groups on one name.",
)
def _same_address(cluster: Cluster) -> Iterator[Finding]:
    holders: dict[tuple[str, int], list[str]] = {}
    for host in cluster.inventory.placed():
        if _reached_at(cluster, host)[0]:
            holders.setdefault(_reached_at(cluster, host), []).append(host)
    for (address, port), hosts in holders.items():
        if len(hosts) > 1:
            what = f"{listing(hosts)} are all reached at {address}, port {port}."
            fix = f"Set ansible_host of {listing(hosts[1:])} to its own address."
            yield Finding("ansible_host", what, fix, tuple(hosts))


@rule(
    "loopback-address",
    when="a host of several is reached at `localhost` or a loopback address, at SSH's own port",
    why="It is the controller itself, and the other hosts would look for it on themselves.",
    remedy="Set `ansible_host` to an address that the other hosts reach.",
)
def _loopback_address(cluster: Cluster) -> Iterator[Finding]:
    hosts = cluster.inventory.placed()
    for host in hosts if len(hosts) > 1 else ():
        address, port = _reached_at(cluster, host)
        address = address or host
        if is_loopback(address) and port == _SSH_PORT:
            what = f"{host} is reached at {address}."
            fix = f"Set ansible_host of {host} to an address that the other hosts reach."
            yield Finding("ansible_host", what, fix, (host,))
