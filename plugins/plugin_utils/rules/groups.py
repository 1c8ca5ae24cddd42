"""The rules about groups and addresses, and whether each host is one machine."""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Sequence

from ...module_utils.formats.values import canonical, integer, is_ipv6, listing, mapping, no_host
from ..cluster.cluster import Cluster
from ..cluster.registry import GROUPS, PARENTS
from .engine import Finding, Findings, rule
from .shared import PORTS, shared_values

_SSH_PORT = 22
_SIMILAR = 0.9
_NUMBERS = re.compile(r"[0-9.]+")
_NAME = re.compile(r"(?=.{1,253}$)[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_.])?")


def is_loopback(address: object) -> bool:
    """Return whether a name or an address means the machine itself."""
    text = str(address).strip("[]").lower()
    return text in ("localhost", "::1") or text.startswith("127.") or text.endswith(".localhost")


@functools.cache
def similar_group(name: str) -> str:
    """Return the group that a name looks like a misspelling of, empty if there is none.

    A known name with a number after it, or `_` and a word, is a group within that one.
    """
    groups = (*GROUPS, *PARENTS)
    inner = any(re.match(rf"{group}[_-]?\d", name) for group in groups)
    if name in groups or inner or name.startswith(tuple(f"{group}_" for group in GROUPS)):
        return ""
    return next(iter(difflib.get_close_matches(name.lower(), groups, n=1, cutoff=_SIMILAR)), "")


@rule("unknown-group")
def _unknown_group(cluster: Cluster) -> Findings:
    """Ansible accepts a group of any name, and Millrace would ignore its hosts and variables."""
    for group in cluster.inventory.groups:
        near = similar_group(str(group))
        if near:
            fix = f"Did you mean {near}? Otherwise choose a less similar name."
            yield Finding(f"Millrace has no group {group}.", fix, f"group {group}")


@rule("empty-group")
def _empty_group(cluster: Cluster) -> Findings:
    """With a misspelt or missing host name the cluster would lack that host."""
    for group in GROUPS:
        lost = bool(cluster.inventory.unread_sources)
        if group in cluster.inventory.groups and not (lost or cluster.inventory.members(group)):
            fix = f"Add a host to {group}, or delete the group."
            yield Finding(f"{group} has no host.", fix, f"group {group}")


@rule("missing-partner-group", where="groups")
def _missing_partner_group(cluster: Cluster) -> Findings:
    """Neither works without the other."""
    misspelt = {similar_group(str(name)) for name in cluster.inventory.groups}
    if cluster.inventory.unread_sources:
        return  # the other group may be there
    partners = {name: group.partner for name, group in GROUPS.items() if group.partner}
    for group, partner in partners.items():
        members = cluster.inventory.members(group)
        if group == "kafka_brokers" and "zookeeper" in cluster.inventory.groups:
            continue
        if members and partner not in (*cluster.inventory.groups, *misspelt):
            problem = f"There are {group} ({listing(members)}) but no {partner}."
            yield Finding(problem, f"Add the group {partner}, for example with {members[0]}.")


@rule("host-count", where="host_counts")
def _host_count(cluster: Cluster) -> Findings:
    """A list of machines that comes late or in part looks like a cluster with fewer hosts, which
    has other replication, quorums and firewalls.
    """
    inventory = cluster.inventory
    if inventory.unread_sources:
        return  # they may have the hosts
    written = (mapping(host.settings["host_counts"]).items() for host in cluster.hosts.values())
    for group, value in dict.fromkeys((str(g), str(v)) for items in written for g, v in items):
        members, count = inventory.members(group), integer(value)
        if group not in GROUPS:
            fix = f"Write one of {listing(GROUPS, 'or')}."
            yield Finding(f"Millrace has no group {group}.", fix)
        elif count is None or count < 0:
            yield Finding(f"{value!r} for {group} is not a number of hosts.", "Set a number.")
        elif count != len(members):
            problem = f"{group} has {listing(members) or 'no host'}: {len(members)}, not {count}."
            fix = f"Let the inventory list all hosts of {group}; if it does, set {group}: "
            yield Finding(problem, f"{fix}{len(members)}.")


@rule("unused-zookeeper", where="group zookeeper", severity="warning")
def _unused_zookeeper(cluster: Cluster) -> Findings:
    """Brokers with KRaft controllers do not use ZooKeeper; in such a cluster only Spark's masters
    use it.
    """
    if cluster.zookeeper and cluster.controllers and not cluster.inventory.members("spark_masters"):
        members = listing(cluster.zookeeper)
        problem = f"Nothing uses zookeeper ({members}): the brokers have kafka_controllers."
        fix = "Delete the group zookeeper; for a cluster in ZooKeeper mode delete "
        fix += "kafka_controllers and set kafka_version: 3.9.2."
        yield Finding(problem, fix)


@rule("no-hosts")
def _no_hosts(cluster: Cluster) -> Findings:
    """Every play would be skipped, and the run would end as if it had succeeded."""
    inventory = cluster.inventory
    misspelt = any(map(similar_group, inventory.groups))
    if not cluster.hosts and not misspelt and not inventory.unread_sources:
        problem = "No host is in a group of Millrace."
        where = f"the inventory {listing(inventory.sources)}" if inventory.sources else "groups"
        yield Finding(problem, f"Add hosts to {listing(GROUPS, 'or')}.", where)


@rule("host-without-group", where="groups")
def _host_without_group(cluster: Cluster) -> Findings:
    """Nothing would be installed on it, although the inventory lists it. Hosts in other groups
    are ignored.
    """
    inventory = cluster.inventory
    theirs = [name for name in inventory.groups if name not in ("all", "ungrouped", *PARENTS)]
    placed = {name for group in theirs for name in inventory.members(group)}
    hosts = tuple(name for name in inventory.members("all") if name not in placed)
    if hosts and cluster.hosts:
        problem = f"{listing(hosts)} {'are' if len(hosts) > 1 else 'is'} in no group of Millrace."
        fix = f"Add each to {listing(GROUPS, 'or')}, or remove it from the inventory."
        yield Finding(problem, fix, hosts=hosts)


@rule("address", where="ansible_host")
def _address(cluster: Cluster) -> Findings:
    """Such a host cannot be reached: it is neither an address nor a name (RFC 1123)."""
    for host in cluster.inventory.placed():
        address = cluster.inventory.hosts[host].connection.get("ansible_host")
        if wrong := no_address(str(address)) if address is not None else "":
            fix = f"Set ansible_host of {host} to its name or address."
            yield Finding(f"{address!r} {wrong}.", fix, hosts=(host,))


def no_address(text: str) -> str:
    """Say why a text is no address and no name, empty if it is one."""
    if text != text.strip():
        return "begins or ends with a blank"
    if unusable := no_host(text.strip("[]")):
        return unusable
    if _NUMBERS.fullmatch(text):
        octets = text.split(".")
        if len(octets) != 4 or any(
            len(octet) not in (1, 2, 3) or int(octet) > 255 for octet in octets
        ):
            return "has only numbers, and is not an IPv4 address"
        if any(len(octet) > 1 and octet.startswith("0") for octet in octets):
            return "has a part that begins with 0, which some programs read in base 8"
        return ""
    inner = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    if is_ipv6(inner.partition("%")[0]) or _NAME.fullmatch(text):
        return ""
    return "is neither a name nor an address"


def reached_at(cluster: Cluster, host: str) -> tuple[str, int]:
    """Return the address and the port at which Ansible reaches a host."""
    connection = cluster.inventory.hosts[host].connection
    port = integer(connection.get("ansible_port"))
    return canonical(str(connection.get("ansible_host") or host)), port or _SSH_PORT


def to_correct(hosts: Sequence[str], address: str) -> list[str]:
    """Return those of some hosts with one address that need another: not the one of that name."""
    differing = [host for host in hosts if canonical(host) != address]
    return differing if len(differing) < len(hosts) else [*hosts[1:]]


@rule("ssh-port", where="ansible_port")
def _ssh_port(cluster: Cluster) -> Findings:
    """Ansible would not reach the host."""
    for host in cluster.inventory.placed():
        value = cluster.inventory.hosts[host].connection.get("ansible_port", _SSH_PORT)
        port = integer(value)
        if port not in PORTS:
            problem = f"{value!r} is not a port."
            yield Finding(problem, f"Set a number from 1 to {PORTS[-1]}.", hosts=(host,))


@rule("same-address", where="ansible_host")
def _same_address(cluster: Cluster) -> Findings:
    """One machine would have two identities, each overwriting the other's files."""
    reached = {host: reached_at(cluster, host) for host in cluster.inventory.placed()}
    for (address, port), hosts in shared_values(reached):
        problem = f"{listing(hosts)} are all reached at {address}, port {port}."
        fix = f"Set ansible_host of {listing(to_correct(hosts, address))} to its own address."
        yield Finding(problem, fix, hosts=tuple(hosts))


@rule("loopback-address", where="ansible_host")
def _loopback_address(cluster: Cluster) -> Findings:
    """It is Ansible's control node itself, and each of the other hosts would connect to itself
    instead.
    """
    hosts = cluster.inventory.placed()
    for host in hosts if len(hosts) > 1 else ():
        address, port = reached_at(cluster, host)
        if is_loopback(address) and port == _SSH_PORT:
            problem = f"{host} is reached at {address}."
            fix = f"Set ansible_host of {host} to an address that the other hosts reach."
            yield Finding(problem, fix, hosts=(host,))
        for service in cluster.services(host).values():
            variable = service.address_variable
            if is_loopback(str(service.settings[variable])) and service.product != "kafka":
                problem = f"{variable} of {host} is {service.settings[variable]}."
                fix = f"Set {variable} to an address that the other hosts reach, or delete it."
                yield Finding(problem, fix, variable, (host,))
