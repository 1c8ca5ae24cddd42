"""The rules about listeners: where brokers and controllers listen, and what they advertise."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from .....module_utils.formats.key_table import nearest
from .....module_utils.formats.values import canonical, integer, listing
from ....cluster.cluster import Cluster
from ....rules.engine import Finding, Findings, rule
from ....rules.groups import is_loopback, reached_at, to_correct
from ....rules.services import wrong_address
from ....rules.shared import brokers, differing, falls_back_to_default, free_port, nodes, properties
from ..listeners import Listener
from ..node import KafkaNode

_WILDCARDS = ("", "0.0.0.0", "::", "*")  # noqa: S104 - the addresses to refuse
_NAME = re.compile(r"[A-Za-z0-9_-]+")
_OF_LISTENER = re.compile(r"listener\.name\.(?P<name>[^.]+)\.")
_PLAINTEXT_VARIABLES = ("kafka_listeners", "kafka_controller_listener", "kafka_security")


def _table(listeners: Iterable[Listener], address: str = "") -> str:
    """Return listeners as one line, `CLIENT://k1:9092 (SSL)`, for a message."""
    return ", ".join(
        f"{listener.name}://{address}:{listener.port} ({listener.protocol})"
        for listener in listeners
    )


def _nodes_and_ports(cluster: Cluster) -> Iterator[tuple[str, KafkaNode, set[Any]]]:
    """Yield each Kafka node with the ports of all services of its host."""
    for host, node in nodes(cluster):
        yield host, node, {integer(port) for _, port in cluster.ports(host)}


@rule("listener-port", each=_nodes_and_ports, where="kafka_listeners")
def _listener_port(node: KafkaNode, used: set[Any]) -> Findings:
    """A node binds each listener to its own port."""
    ports = Counter(listener.port for listener in node.listeners.all)
    for port, count in ports.items():
        if count > 1:
            names = [listener.name for listener in node.listeners.all if listener.port == port]
            both = "both" if count == 2 else "all"
            problem = f"The listeners {listing(names)} {both} have port {port}."
            yield Finding(problem, f"Set port: {free_port(port, used)} for {names[-1]}.")


@rule("listener-name", each=nodes)
def _listener_name(node: KafkaNode) -> Findings:
    """The name is part of keys such as `listener.name.<name>.ssl.keystore.location`. Kafka
    converts names to upper case, but compares the controllers' listener name as written.
    """
    controller = node.listeners.controller.name
    names = [("kafka_listeners", listener.name) for listener in node.listeners.as_broker]
    for variable, name in [*names, ("kafka_controller_listener", controller)]:
        if not _NAME.fullmatch(name) or (name == controller and name != name.upper()):
            better = re.sub("[^A-Z0-9_-]+", "_", name.upper()).strip("_") or "CLIENT"
            yield Finding(f"{name!r} is not a listener name.", f"Set name: {better}.", variable)


@rule("listener-duplicate", each=nodes, where="kafka_listeners")
def _listener_duplicate(node: KafkaNode) -> Findings:
    """Kafka identifies listeners by their upper-case name and does not start with a duplicate."""
    for name, count in Counter(
        listener.name.upper() for listener in node.listeners.as_broker
    ).items():
        if count > 1:
            problem = f"{count} listeners have the name {name}: {_table(node.listeners.all)}."
            yield Finding(problem, f"Set name: {name}_2 for one of them.")


@rule("listeners-differ")
def _listeners_differ(cluster: Cluster) -> Findings:
    """A node connects to the others with its own listener ports, names and protocols."""
    quorum = [(name, node) for name, node in nodes(cluster) if node.mode == "kraft"]
    tables = {
        "kafka_listeners": {
            name: _table(node.listeners.as_broker) for name, node in brokers(cluster)
        },
        "kafka_controller_listener": {
            name: _table([node.listeners.controller]) for name, node in quorum
        },
    }
    for variable, host_tables in tables.items():
        values = {name: table for name, table in host_tables.items() if table}
        differences = differing(cluster, variable, values)
        if differences:
            fix = f"Set {variable} once, in the group variables of all Kafka hosts."
            yield Finding(f"The values differ: {differences}.", fix, variable, tuple(values))


@rule("listener-key")
def _listener_key(cluster: Cluster) -> Findings:
    """Kafka ignores properties of a listener that does not exist."""
    listeners = [listener for _, node in nodes(cluster) for listener in node.listeners.all]
    for _, node in nodes(cluster):
        if node.listeners.change:  # in a phase of secure.yml in which nodes may not have them
            configured = node.listeners.configured
            listeners += (*configured.brokers, *configured.controllers)
    names = {listener.name.lower() for listener in listeners}
    for host, _, setting in properties("kafka")(cluster):
        match = _OF_LISTENER.match(setting.key)
        if match and match["name"] not in names:
            near = nearest(match["name"].lower(), sorted(names), 0.7)
            fix = f"Did you mean listener.name.{near}? Otherwise" if near else "Add it to"
            fix += " delete it." if near else " kafka_listeners, or delete the property."
            yield Finding(f"There is no listener {match['name']}.", fix, setting.where, (host,))


@rule("inter-broker-listener", where="kafka_inter_broker_listener")
def _inter_broker_listener(cluster: Cluster) -> Findings:
    """Brokers find each other through a listener that all of them advertise."""
    for name, node in brokers(cluster):
        inter_broker = node.listeners.between_brokers
        names = [listener.name for listener in node.listeners.as_broker]
        is_known = not falls_back_to_default(cluster, name, "kafka_listeners")
        if is_known and names and inter_broker.upper() not in map(str.upper, names):
            problem = (
                f"{inter_broker!r} is not a listener of the brokers: {_table(node.listeners.all)}."
            )
            yield Finding(problem, f"Set kafka_inter_broker_listener: {names[0]}.", hosts=(name,))


@rule("controller-listener", each=nodes, where="kafka_controller_listener")
def _controller_listener(node: KafkaNode) -> Findings:
    """Controllers talk to each other on a listener of their own, which no broker advertises."""
    controller = node.listeners.controller.name.upper()
    shared = controller in [listener.name.upper() for listener in node.listeners.as_broker]
    if node.mode == "kraft" and shared:
        names = {listener.name.upper() for listener in node.listeners.all}
        free = ("CONTROLLER", "CLIENT", "BROKER", "QUORUM", "INTERNAL", "CONTROLLER_2")
        suggestion = next((candidate for candidate in free if candidate not in names), free[-1])
        problem = f"{controller} is a listener of brokers and of controllers: "
        problem += f"{_table(node.listeners.all)}."
        yield Finding(problem, f"Rename one of them, to {suggestion} for example.")


@rule("advertised-host", each=nodes, where="kafka_advertised_host")
def _advertised_host(node: KafkaNode) -> Findings:
    """It becomes `NAME://host:port` in `advertised.listeners`, which Kafka would parse
    differently.
    """
    address = node.address
    if address.strip("[]") not in _WILDCARDS:
        yield from wrong_address(node.settings, "kafka_advertised_host", address)


@rule("advertised-unreachable", where="kafka_advertised_host")
def _advertised_unreachable(cluster: Cluster) -> Findings:
    """Clients and the other nodes connect to what a node advertises: they would reach
    themselves.
    """
    several = len(cluster.inventory.placed()) > 1
    for name, node in nodes(cluster):
        address = node.address
        if address.strip("[]") in _WILDCARDS or (is_loopback(address) and several):
            ansible_host = cluster.inventory.hosts[name].connection.get("ansible_host")
            better = name if not ansible_host or is_loopback(ansible_host) else ansible_host
            problem = f"{name} would advertise {address!r}: {_table(node.listeners.all, address)}."
            fix = f"Set kafka_advertised_host of {name} to where others reach it: {better}."
            yield Finding(problem, fix, hosts=(name,))


@rule("advertised-duplicate", where="kafka_advertised_host")
def _advertised_duplicate(cluster: Cluster) -> Findings:
    """Clients take them for one node, and requests for one reach the other."""
    advertised: dict[tuple[str, int], list[str]] = {}
    for name, node in nodes(cluster):
        for port in (
            sorted({listener.port for listener in node.listeners.all}) if node.address else ()
        ):
            advertised.setdefault((canonical(node.address), port), []).append(name)
    seen: list[list[str]] = []
    for (address, port), hosts in advertised.items():
        if len(hosts) > 1 and hosts not in seen and not _is_one_machine(cluster, hosts):
            seen.append(hosts)
            problem = f"{listing(hosts)} all advertise {address}:{port}."
            wrong = listing(to_correct(hosts, address))
            fix = f"Set kafka_advertised_host of {wrong} to its own address."
            yield Finding(problem, fix, hosts=tuple(hosts))


def _is_one_machine(cluster: Cluster, hosts: list[str]) -> bool:
    """Return whether hosts advertise where Ansible reaches all of them: that has its own rule."""
    configured = [cluster.kafka[host].settings["kafka_advertised_host"] for host in hosts]
    return not any(configured) and len({reached_at(cluster, host) for host in hosts}) == 1


@rule("plaintext-listener", where="kafka_listeners")
def _plaintext_listener(cluster: Cluster) -> Findings:
    """Millrace binds listeners to all addresses. With PLAINTEXT anybody on the network can read,
    write and administer, and with SASL_PLAINTEXT anybody can read the passwords.
    """
    for name, node in nodes(cluster):
        is_known = not falls_back_to_default(cluster, name, *_PLAINTEXT_VARIABLES)
        unencrypted = [listener for listener in node.listeners.all if not listener.encrypted]
        if is_known and unencrypted and node.is_secured and not node.listeners.change:
            names = listing(f"{listener.name} ({listener.protocol})" for listener in unencrypted)
            problem = f"{names} {'are' if len(unencrypted) > 1 else 'is'} open to the network."
            with_login = {listener.protocol.startswith("SASL_") for listener in unencrypted}
            protocols = listing(
                ("SASL_SSL" if logs_in else "SSL" for logs_in in sorted(with_login)), "or"
            )
            fix = (
                "Delete kafka_listeners and kafka_controller_listener, "
                f"or set protocol: {protocols}"
            )
            fix += ", or kafka_security: open on a network that nobody else can reach."
            yield Finding(problem, fix, hosts=(name,))
