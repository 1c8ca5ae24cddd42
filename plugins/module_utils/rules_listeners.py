"""The rules about listeners: where brokers and controllers listen, and what they tell others."""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.rules import (
    Finding,
    Host,
    Inventory,
    integer,
    listing,
    mapping,
    rule,
    sequence,
    yes,
)
from ansible_collections.millrace.streaming.plugins.module_utils.rules_groups import is_loopback

_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_OPEN_PROTOCOLS = ("PLAINTEXT", "SASL_PLAINTEXT")
_WILDCARDS = ("", "0.0.0.0", "::", "*")  # noqa: S104 - the addresses to refuse
_NAME = re.compile(r"[A-Za-z0-9_-]+")
_HOST = re.compile(r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.%A-Za-z]+\]")


def listeners(host: Host) -> list[Mapping[str, Any]]:
    """Return everything a node listens on, the controllers' listener of a controller included."""
    return [mapping(one) for one in sequence(host.kafka.get("listeners"))]


def broker_listeners(host: Host) -> list[Mapping[str, Any]]:
    """Return what a broker listens on as a broker; the controllers' listener stands last."""
    found = listeners(host)
    return found[:-1] if "controller" in sequence(host.kafka.get("roles")) else found


def controller_listener(host: Host) -> Mapping[str, Any]:
    """Return the controllers' listener, which every KRaft node has to know."""
    return mapping(host.kafka.get("controller_listener"))


def advertised_host(host: Host) -> str | None:
    """Return where a node tells others to find it, None if that is not described."""
    found = host.kafka.get("advertised_host")
    return None if found is None else str(found)


def _name(listener: Mapping[str, Any]) -> str:
    return str(listener.get("name", ""))


def table(host: Host, address: str = "") -> str:
    """Return the computed listeners as one line, `CLIENT://k1:9092 (SSL)`, for a message."""
    return table_of_listeners(listeners(host), address)


def table_of_listeners(every: Sequence[Mapping[str, Any]], address: str = "") -> str:
    """Return listeners as one line, the port 9092 and the text "9092" alike."""
    return ", ".join(
        f"{_name(one)}://{address}:{one.get('port')} ({one.get('protocol')})" for one in every
    )


@rule(
    "listener-port",
    when="two listeners of a Kafka node have the same port",
    why="A node binds each listener to its own port.",
    remedy="Give each listener in `kafka_listeners` and `kafka_controller_listener` its own port.",
)
def listener_port(inventory: Inventory) -> Iterator[Finding]:
    """Refuse two listeners on one port."""
    for host in inventory.kafka_hosts():
        every = listeners(host)
        ports = [port for one in every if (port := integer(one.get("port"))) is not None]
        for port, count in Counter(ports).items():
            if count > 1:
                names = [one.get("name") for one in every if integer(one.get("port")) == port]
                free = next(number for number in range(port + 1, port + 100) if number not in ports)
                what = f"The listeners {listing(names)} both have port {port}."
                fix = f"Set port: {free} for {names[-1]}."
                yield Finding("kafka_listeners", what, fix, (host.name,))


@rule(
    "listener-name",
    when="a listener's name has other characters than letters, digits, `_` and `-`, or the "
    "controllers' one has small letters",
    why="The name is a part of keys such as `listener.name.<name>.ssl.keystore.location`. Kafka "
    "reads names in capitals and compares the controllers' as it is written.",
    remedy="Use capitals, digits, `_` and `-`.",
)
def listener_name(inventory: Inventory) -> Iterator[Finding]:
    """Refuse a name that Kafka reads in another way."""
    for host in inventory.kafka_hosts():
        controller = _name(controller_listener(host))
        every = [("kafka_listeners", _name(one)) for one in broker_listeners(host)]
        every += [("kafka_controller_listener", controller)] if controller else []
        for variable, name in every:
            if not _NAME.fullmatch(name) or (name == controller and name != name.upper()):
                better = re.sub("[^A-Z0-9_-]+", "_", name.upper()).strip("_") or "CLIENT"
                what = f"{name!r} is no legal listener name."
                yield Finding(variable, what, f"Set name: {better}.", (host.name,))


@rule(
    "listener-duplicate",
    when="two listeners of a broker have the same name, capitals and small letters alike",
    why="Kafka knows a listener by its name in capitals and does not start with two of one name.",
    remedy="Give each listener its own name.",
)
def listener_duplicate(inventory: Inventory) -> Iterator[Finding]:
    """Refuse one name for two listeners."""
    for host in inventory.kafka_hosts():
        names = Counter(_name(one).upper() for one in broker_listeners(host))
        for name, count in names.items():
            if count > 1:
                what = f"{count} listeners have the name {name}: {table(host)}."
                fix = f"Set name: {name}_2 for one of them."
                yield Finding("kafka_listeners", what, fix, (host.name,))


@rule(
    "listener-protocol",
    when="a listener's protocol is none of PLAINTEXT, SSL, SASL_PLAINTEXT and SASL_SSL",
    why="Kafka knows no other.",
    remedy="Set `protocol: SSL`, or another of the four.",
)
def listener_protocol(inventory: Inventory) -> Iterator[Finding]:
    """Refuse a protocol that does not exist."""
    for host in inventory.kafka_hosts():
        for one in listeners(host):
            if one.get("protocol") not in _PROTOCOLS:
                what = f"The listener {_name(one)} has the protocol {one.get('protocol')!r}."
                fix = f"Set protocol: {listing(_PROTOCOLS, 'or')}."
                yield Finding("kafka_listeners", what, fix, (host.name,))


@rule(
    "listeners-differ",
    when="`kafka_listeners` is not the same on all brokers, or `kafka_controller_listener` not the "
    "same on all Kafka hosts",
    why="A node looks for the others on its own ports, by its own names and protocols.",
    remedy="Set both once, in the group variables of all Kafka hosts.",
)
def listeners_differ(inventory: Inventory) -> Iterator[Finding]:
    """Refuse nodes that look for each other where nobody listens."""
    hosts = inventory.kafka_hosts()
    brokers = {
        host.name: table_of_listeners(broker_listeners(host))
        for host in hosts
        if "broker" in sequence(host.kafka.get("roles"))
    }
    controllers = {
        host.name: table_of_listeners([controller_listener(host)])
        for host in hosts
        if controller_listener(host) and not inventory.in_zookeeper_mode()
    }
    for variable, told in (
        ("kafka_listeners", brokers),
        ("kafka_controller_listener", controllers),
    ):
        holders: dict[str, list[str]] = {}
        for name, one in told.items():
            holders.setdefault(one, []).append(name)
        if len(holders) > 1:
            parts = listing(f"{one} on {listing(names)}" for one, names in holders.items())
            fix = f"Set {variable} once, in the group variables of all Kafka hosts."
            yield Finding(variable, f"There is {parts}.", fix, tuple(told))


@rule(
    "inter-broker-listener",
    when="`kafka_inter_broker_listener` names none of `kafka_listeners`",
    why="Brokers find each other through a listener that all of them advertise.",
    remedy="Set it to the name of one of `kafka_listeners`.",
)
def inter_broker_listener(inventory: Inventory) -> Iterator[Finding]:
    """Refuse brokers that could not talk to each other."""
    for host in inventory.kafka_hosts():
        wanted = host.kafka.get("inter_broker_listener")
        names = [_name(one) for one in broker_listeners(host)]
        brokers = "broker" in sequence(host.kafka.get("roles"))
        if brokers and wanted is not None and str(wanted).upper() not in map(str.upper, names):
            what = f"{wanted!r} is none of the brokers' listeners: {table(host)}."
            fix = f"Set kafka_inter_broker_listener: {names[0]}." if names else "Set a listener."
            yield Finding("kafka_inter_broker_listener", what, fix, (host.name,))


@rule(
    "controller-listener",
    when="the name of `kafka_controller_listener` is also one of `kafka_listeners`",
    why="Controllers talk to each other on a listener of their own, which no broker advertises.",
    remedy="Give `kafka_controller_listener` a name that no listener of the brokers has.",
)
def controller_listener_shared(inventory: Inventory) -> Iterator[Finding]:
    """Refuse controllers on a broker's listener."""
    for host in inventory.kafka_hosts() if not inventory.in_zookeeper_mode() else ():
        controller = _name(controller_listener(host)).upper()
        if controller and controller in {_name(one).upper() for one in broker_listeners(host)}:
            other = "CONTROLLER" if controller != "CONTROLLER" else "CLIENT"
            what = f"{controller} is a listener of brokers and of controllers: {table(host)}."
            fix = f"Rename one of them, to {other} for example."
            yield Finding("kafka_controller_listener", what, fix, (host.name,))


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
def advertised_host_form(inventory: Inventory) -> Iterator[Finding]:
    """Refuse what cannot stand before a port."""
    for host in inventory.kafka_hosts():
        address = advertised_host(host)
        if address is None or address.strip("[]") in _WILDCARDS or _HOST.fullmatch(address):
            continue
        what, fix = f"{address!r} is no host.", "Set a name or an address alone, without port."
        if _is_ipv6(address):
            what = f"{address} is an IPv6 address without brackets: {table(host, address)}."
            fix = f'Set kafka_advertised_host: "[{address}]".'
        yield Finding("kafka_advertised_host", what, fix, (host.name,))


@rule(
    "advertised-nowhere",
    when="`kafka_advertised_host` is empty or stands for every address (`0.0.0.0`, `::`), or is a "
    "loopback address while the cluster has more than one host",
    why="Clients and the other nodes connect to what a node advertises: they would reach "
    "themselves.",
    remedy="Set the name or the address under which others reach this host.",
)
def advertised_nowhere(inventory: Inventory) -> Iterator[Finding]:
    """Refuse an address that leads others nowhere."""
    alone = len(inventory.placed()) < 2
    for host in inventory.kafka_hosts():
        address = advertised_host(host)
        if address is None or not (
            address.strip("[]") in _WILDCARDS or (is_loopback(address) and not alone)
        ):
            continue
        own = host.connection.get("ansible_host")
        better = host.name if not own or is_loopback(own) else own
        what = f"{host.name} would advertise {address!r}: {table(host, address)}."
        fix = f"Set kafka_advertised_host of {host.name} to where others reach it: {better}."
        yield Finding("kafka_advertised_host", what, fix, (host.name,))


@rule(
    "advertised-twice",
    when="two Kafka hosts advertise the same host and port",
    why="Clients take them for one node, and what is meant for one reaches the other.",
    remedy="Give each its own `kafka_advertised_host`.",
)
def advertised_twice(inventory: Inventory) -> Iterator[Finding]:
    """Refuse one address for two nodes."""
    holders: dict[tuple[str, int], list[str]] = {}
    for host in inventory.kafka_hosts():
        address = advertised_host(host)
        ports = {port for one in listeners(host) if (port := integer(one.get("port"))) is not None}
        for port in sorted(ports) if address else ():
            holders.setdefault((str(address).lower(), port), []).append(host.name)
    told: set[tuple[str, ...]] = set()
    for (address, port), hosts in holders.items():
        if len(hosts) > 1 and tuple(hosts) not in told:
            told.add(tuple(hosts))
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
def plaintext_listener(inventory: Inventory) -> Iterator[Finding]:
    """Refuse a listener without encryption that nobody asked for."""
    for host in inventory.kafka_hosts():
        found = [one for one in listeners(host) if one.get("protocol") in _OPEN_PROTOCOLS]
        if found and not yes(host.kafka.get("allow_plaintext")):
            names = listing(f"{_name(one)} ({one['protocol']})" for one in found)
            what = f"{names} {'are' if len(found) > 1 else 'is'} open to the network."
            fix = "Set protocol: SSL, or kafka_allow_plaintext: true on a trusted network."
            yield Finding("kafka_listeners", what, fix, (host.name,))
