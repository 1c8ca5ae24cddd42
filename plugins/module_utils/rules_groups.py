"""The rules about groups and addresses: who is there, and whether each host is one machine."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

from ansible_collections.millrace.streaming.plugins.module_utils.rules import (
    GROUPS,
    Finding,
    Host,
    Inventory,
    integer,
    listing,
    rule,
)

_PARTNERS = {
    "kafka_brokers": "kafka_controllers",
    "kafka_controllers": "kafka_brokers",
    "spark_workers": "spark_masters",
    "spark_masters": "spark_workers",
}
_SSH_PORT = 22
_PARENTS = ("kafka", "spark")  # of the example inventories, for variables of both kinds
_SIMILAR = 0.9


def similar_group(name: str) -> str:
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
def unknown_group(inventory: Inventory) -> Iterator[Finding]:
    """Refuse a group that was meant to be another."""
    for group in inventory.groups:
        near = similar_group(str(group))
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
def empty_group(inventory: Inventory) -> Iterator[Finding]:
    """Refuse a group without hosts."""
    for group in GROUPS:
        if group in inventory.groups and not inventory.members(group):
            what = f"{group} has no host."
            yield Finding(f"group {group}", what, f"Add a host to {group}, or delete the group.")


@rule(
    "lonely-group",
    when="there are brokers without controllers or ZooKeeper, workers without masters, or the "
    "reverse",
    why="Neither works without the other.",
    remedy="Define the group that the message names; a host may be in both.",
)
def lonely_group(inventory: Inventory) -> Iterator[Finding]:
    """Refuse half a cluster."""
    for group, partner in _PARTNERS.items():
        members = inventory.members(group)
        if group == "kafka_brokers" and "zookeeper" in inventory.groups:
            continue
        if members and partner not in inventory.groups:
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
def idle_zookeeper(inventory: Inventory) -> Iterator[Finding]:
    """Tell of an ensemble that nobody would use."""
    groups = ("zookeeper", "kafka_controllers")
    if all(inventory.members(group) for group in groups) and not inventory.members("spark_masters"):
        members = listing(inventory.members("zookeeper"))
        what = f"Nobody uses zookeeper ({members}): the brokers have kafka_controllers."
        fix = "Delete the group zookeeper; for a cluster in ZooKeeper mode delete "
        yield Finding(
            "group zookeeper", what, fix + "kafka_controllers and set kafka_version: 3.9.2."
        )


@rule(
    "host-without-group",
    when="a host is in none of Millrace's groups",
    why="Nothing would be installed on it, which is hardly what its line in the inventory means.",
    remedy="Put it into a group, or remove it from the inventory.",
)
def host_without_group(inventory: Inventory) -> Iterator[Finding]:
    """Refuse a host that no role would touch."""
    placed = {host.name for host in inventory.placed()}
    hosts = tuple(name for name in inventory.hosts if name not in placed)
    if hosts:
        what = f"{listing(hosts)} {'are' if len(hosts) > 1 else 'is'} in no group of Millrace."
        fix = f"Add to {listing(GROUPS, 'or')}, or remove from the inventory."
        yield Finding("groups", what, fix, hosts)


def is_loopback(address: object) -> bool:
    """Say whether a name or an address means the machine itself."""
    text = str(address).strip("[]").lower()
    return text in ("localhost", "::1") or text.startswith("127.") or text.endswith(".localhost")


def _reached_at(host: Host) -> tuple[str, int]:
    port = integer(host.connection.get("ansible_port"))
    return str(host.connection.get("ansible_host") or ""), port or _SSH_PORT


@rule(
    "same-address",
    when="two hosts have one `ansible_host` and `ansible_port`",
    why="They would be one machine with two identities, and each run would undo the other's files.",
    remedy="Give each host its own `ansible_host`, or put all its groups on one name.",
)
def same_address(inventory: Inventory) -> Iterator[Finding]:
    """Refuse two names for one machine."""
    holders: dict[tuple[str, int], list[str]] = {}
    for host in inventory.placed():
        if _reached_at(host)[0]:
            holders.setdefault(_reached_at(host), []).append(host.name)
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
def loopback_address(inventory: Inventory) -> Iterator[Finding]:
    """Refuse a host that others cannot reach; a port that is forwarded is another matter."""
    hosts = inventory.placed()
    for host in hosts if len(hosts) > 1 else ():
        address, port = _reached_at(host)
        address = address or host.name
        if is_loopback(address) and port == _SSH_PORT:
            what = f"{host.name} is reached at {address}."
            fix = f"Set ansible_host of {host.name} to an address that the other hosts reach."
            yield Finding("ansible_host", what, fix, (host.name,))
