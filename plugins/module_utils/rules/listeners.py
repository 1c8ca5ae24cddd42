"""The rules about listeners: where brokers and controllers listen, and what they advertise."""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from collections.abc import Iterable, Iterator

from ansible_collections.millrace.streaming.plugins.module_utils.model.cluster import Cluster
from ansible_collections.millrace.streaming.plugins.module_utils.model.kafka import Listener
from ansible_collections.millrace.streaming.plugins.module_utils.model.values import listing
from ansible_collections.millrace.streaming.plugins.module_utils.rules.engine import Finding, rule
from ansible_collections.millrace.streaming.plugins.module_utils.rules.groups import is_loopback
from ansible_collections.millrace.streaming.plugins.module_utils.rules.shared import (
    differing,
    has_default_instead,
)

_WILDCARDS = ("", "0.0.0.0", "::", "*")  # noqa: S104 - the addresses to refuse
_NAME = re.compile(r"[A-Za-z0-9_-]+")
_HOST = re.compile(r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.%A-Za-z]+\]")
_PLAINTEXT_VARIABLES = ("kafka_listeners", "kafka_controller_listener", "kafka_allow_plaintext")


def _table(every: Iterable[Listener], address: str = "") -> str:
    """Return listeners as one line, `CLIENT://k1:9092 (SSL)`, for a message."""
    return ", ".join(f"{one.name}://{address}:{one.port} ({one.protocol})" for one in every)


@rule(
    "listener-missing",
    when="`kafka_listeners` of a broker is empty",
    why="Nobody could connect to the broker, not even the other brokers.",
    remedy="Set at least one listener with `name`, `port` and `protocol`.",
)
def _listener_missing(cluster: Cluster) -> Iterator[Finding]:
    for node in cluster.brokers:
        if not node.broker_listeners:
            fix = "Set one, such as {name: CLIENT, port: 9092, protocol: SSL}."
            yield Finding("kafka_listeners", "The broker has no listener.", fix, (node.name,))


@rule(
    "listener-port",
    when="two listeners of a Kafka node have the same port",
    why="A node binds each listener to its own port.",
    remedy="Give each listener in `kafka_listeners` and `kafka_controller_listener` its own port.",
)
def _listener_port(cluster: Cluster) -> Iterator[Finding]:
    for node in cluster.kafka.values():
        ports = Counter(one.port for one in node.listeners)
        for port, count in ports.items():
            if count > 1:
                names = [one.name for one in node.listeners if one.port == port]
                free = next(number for number in range(port + 1, port + 100) if number not in ports)
                what = f"The listeners {listing(names)} both have port {port}."
                fix = f"Set port: {free} for {names[-1]}."
                yield Finding("kafka_listeners", what, fix, (node.name,))


@rule(
    "listener-name",
    when="a listener's name has other characters than letters, digits, `_` and `-`, or the "
    "controllers' one has small letters",
    why="The name is a part of keys such as `listener.name.<name>.ssl.keystore.location`. Kafka "
    "reads names in capitals and compares the controllers' as it is written.",
    remedy="Use capitals, digits, `_` and `-`.",
)
def _listener_name(cluster: Cluster) -> Iterator[Finding]:
    for node in cluster.kafka.values():
        controller = node.controller_listener.name
        names = [("kafka_listeners", one.name) for one in node.broker_listeners]
        for variable, name in [*names, ("kafka_controller_listener", controller)]:
            if not _NAME.fullmatch(name) or (name == controller and name != name.upper()):
                better = re.sub("[^A-Z0-9_-]+", "_", name.upper()).strip("_") or "CLIENT"
                what = f"{name!r} is no legal listener name."
                yield Finding(variable, what, f"Set name: {better}.", (node.name,))


@rule(
    "listener-duplicate",
    when="two listeners of a broker have the same name, capitals and small letters alike",
    why="Kafka knows a listener by its name in capitals and does not start with two of one name.",
    remedy="Give each listener its own name.",
)
def _listener_duplicate(cluster: Cluster) -> Iterator[Finding]:
    for node in cluster.kafka.values():
        names = Counter(one.name.upper() for one in node.broker_listeners)
        for name, count in names.items():
            if count > 1:
                what = f"{count} listeners have the name {name}: {_table(node.listeners)}."
                fix = f"Set name: {name}_2 for one of them."
                yield Finding("kafka_listeners", what, fix, (node.name,))


@rule(
    "listeners-differ",
    when="`kafka_listeners` is not the same on all brokers, or `kafka_controller_listener` not the "
    "same on all Kafka hosts",
    why="A node connects to the others at its own ports, by its own names and protocols.",
    remedy="Set both once, in the group variables of all Kafka hosts.",
)
def _listeners_differ(cluster: Cluster) -> Iterator[Finding]:
    tables = {
        "kafka_listeners": {
            node.name: _table(node.broker_listeners)
            for node in cluster.brokers
            if node.broker_listeners
        },
        "kafka_controller_listener": {
            node.name: _table([node.controller_listener])
            for node in cluster.kafka.values()
            if node.mode == "kraft"
        },
    }
    for variable, values in tables.items():
        parts = differing(cluster, variable, values)
        if parts:
            fix = f"Set {variable} once, in the group variables of all Kafka hosts."
            yield Finding(variable, f"There is {parts}.", fix, tuple(values))


@rule(
    "inter-broker-listener",
    when="`kafka_inter_broker_listener` names none of `kafka_listeners`",
    why="Brokers find each other through a listener that all of them advertise.",
    remedy="Set it to the name of one of `kafka_listeners`.",
)
def _inter_broker_listener(cluster: Cluster) -> Iterator[Finding]:
    for node in cluster.brokers:
        if has_default_instead(cluster, node.name, "kafka_listeners"):
            continue
        wanted = node.settings["kafka_inter_broker_listener"]
        names = [one.name for one in node.broker_listeners]
        if names and wanted.upper() not in map(str.upper, names):
            what = f"{wanted!r} is none of the brokers' listeners: {_table(node.listeners)}."
            fix = f"Set kafka_inter_broker_listener: {names[0]}."
            yield Finding("kafka_inter_broker_listener", what, fix, (node.name,))


@rule(
    "controller-listener",
    when="the name of `kafka_controller_listener` is also one of `kafka_listeners`",
    why="Controllers talk to each other on a listener of their own, which no broker advertises.",
    remedy="Give `kafka_controller_listener` a name that no listener of the brokers has.",
)
def _controller_listener(cluster: Cluster) -> Iterator[Finding]:
    for node in cluster.kafka.values():
        controller = node.controller_listener.name.upper()
        shared = controller in [one.name.upper() for one in node.broker_listeners]
        if node.mode == "kraft" and shared:
            other = "CONTROLLER" if controller != "CONTROLLER" else "CLIENT"
            what = f"{controller} is a listener of brokers and of controllers: "
            what += f"{_table(node.listeners)}."
            fix = f"Rename one of them, to {other} for example."
            yield Finding("kafka_controller_listener", what, fix, (node.name,))


def _is_ipv6(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).version == 6
    except ValueError:
        return False


@rule(
    "advertised-host",
    when="`kafka_advertised_host` is no name and no address, or an IPv6 address without brackets",
    why="It becomes `NAME://host:port` in `advertised.listeners`, which Kafka would read in "
    "another way.",
    remedy="Set a name or an address alone, an IPv6 address as `[2001:db8::1]`.",
)
def _advertised_host(cluster: Cluster) -> Iterator[Finding]:
    for node in cluster.kafka.values():
        address = node.address
        if address.strip("[]") in _WILDCARDS or _HOST.fullmatch(address):
            continue
        what, fix = f"{address!r} is no host.", "Set a name or an address alone, without port."
        if _is_ipv6(address):
            what = f"{address} is an IPv6 address without brackets: "
            what += f"{_table(node.listeners, address)}."
            fix = f'Set kafka_advertised_host: "[{address}]".'
        yield Finding("kafka_advertised_host", what, fix, (node.name,))


@rule(
    "advertised-nowhere",
    when="`kafka_advertised_host` is empty or stands for every address (`0.0.0.0`, `::`), or is a "
    "loopback address while the cluster has more than one host",
    why="Clients and the other nodes connect to what a node advertises: they would reach "
    "themselves.",
    remedy="Set the name or the address under which others reach this host.",
)
def _advertised_nowhere(cluster: Cluster) -> Iterator[Finding]:
    several = len(cluster.inventory.placed()) > 1
    for node in cluster.kafka.values():
        address = node.address
        if address.strip("[]") in _WILDCARDS or (is_loopback(address) and several):
            own = cluster.inventory.hosts[node.name].connection.get("ansible_host")
            better = node.name if not own or is_loopback(own) else own
            what = f"{node.name} would advertise {address!r}: {_table(node.listeners, address)}."
            fix = f"Set kafka_advertised_host of {node.name} to where others reach it: {better}."
            yield Finding("kafka_advertised_host", what, fix, (node.name,))


@rule(
    "advertised-twice",
    when="two Kafka hosts advertise the same host and port",
    why="Clients take them for one node, and what is meant for one reaches the other.",
    remedy="Give each its own `kafka_advertised_host`.",
)
def _advertised_twice(cluster: Cluster) -> Iterator[Finding]:
    advertised: dict[tuple[str, int], list[str]] = {}
    for node in cluster.kafka.values():
        for port in sorted({one.port for one in node.listeners}) if node.address else ():
            advertised.setdefault((node.address.lower(), port), []).append(node.name)
    seen: list[list[str]] = []
    for (address, port), hosts in advertised.items():
        if len(hosts) > 1 and hosts not in seen:
            seen.append(hosts)
            what = f"{listing(hosts)} all advertise {address}:{port}."
            fix = f"Set kafka_advertised_host of {listing(hosts[1:])} to its own address."
            yield Finding("kafka_advertised_host", what, fix, tuple(hosts))


@rule(
    "plaintext-listener",
    when="a listener's protocol is PLAINTEXT or SASL_PLAINTEXT and `kafka_allow_plaintext` is not "
    "true",
    why="Millrace binds listeners to all addresses. On PLAINTEXT anybody on the network reads, "
    "writes and administers, on SASL_PLAINTEXT anybody reads the passwords; and CVE-2026-111115 "
    "lets an unauthenticated client exhaust a broker's memory.",
    remedy="Set the protocol to SSL, or, on a network that you trust, "
    "`kafka_allow_plaintext: true`.",
)
def _plaintext_listener(cluster: Cluster) -> Iterator[Finding]:
    for node in cluster.kafka.values():
        if any(has_default_instead(cluster, node.name, one) for one in _PLAINTEXT_VARIABLES):
            continue
        found = [one for one in node.listeners if not one.encrypted]
        if found and not node.settings["kafka_allow_plaintext"]:
            names = listing(f"{one.name} ({one.protocol})" for one in found)
            what = f"{names} {'are' if len(found) > 1 else 'is'} open to the network."
            fix = "Set protocol: SSL, or kafka_allow_plaintext: true on a trusted network."
            yield Finding("kafka_listeners", what, fix, (node.name,))
