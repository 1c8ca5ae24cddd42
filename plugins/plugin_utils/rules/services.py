"""The rules about what the services of one host share: its ports, its memory and its name."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from typing import Any

from ...module_utils.formats.values import integer, listing, mapping
from ..cluster.cluster import Cluster
from ..cluster.host import HostSettings
from ..cluster.jvm_options import heap_mb
from ..cluster.registry import ENTRIES
from ..cluster.service import Service
from ..services.kafka.node import KafkaNode
from .engine import Finding, Findings, host_rule, rule
from .groups import no_address
from .inspection import InspectedHost
from .shared import (
    HOST,
    PORTS,
    all_services,
    brokers,
    falls_back_to_default,
    free_port,
    heap_in_options,
    uses_ansible_host,
)

# Products that others reach by an address of Java's, whatever their security.
_USES_OF_NAMES: Mapping[str, str] = {
    "spark": "spark://name:port",
    "hdfs": "hdfs://name:port",
    "connect": "http://name:port",
}
_NAME_CHECK = "ssl.endpoint.identification.algorithm"
_LEAST_HEAP_MB = 256
_LEAST_BROKER_MB = 2048
_SIZES = ("host_memory_mb", *(name for entry in ENTRIES.values() for name in entry.sizes))
_LOCAL = "net.ipv4.ip_local_port_range"
_RESERVED = "net.ipv4.ip_local_reserved_ports"
_UNPRIVILEGED, _SYSCTL = 1024, "net.ipv4.ip_unprivileged_port_start"

Ports = dict[str, Any]


def _ports(cluster: Cluster) -> Iterator[tuple[str, Ports, Ports]]:
    """Yield each host with the ports of Kafka and of the others, as the inventory gives them."""
    for host in cluster.hosts:
        kafka: Ports = {}
        other_ports: Ports = {}
        for product, part in cluster.deployed(host).items():
            (kafka if product == "kafka" else other_ports).update(part.ports)
        for product, service in cluster.services(host).items():
            for opened in service.jvm.ports:
                other_ports[f"{product}_java_options ({opened.option})"] = opened.port
        yield host, kafka, other_ports


@rule("service-address", each=all_services)
def _service_address(service: Service) -> Findings:
    """Other hosts connect to it as `address:port`."""
    # What Kafka advertises has rules of its own.
    if service.product == "kafka":
        return
    yield from wrong_address(service.settings, service.address_variable, service.address)


@rule("service-name-underscore", each=all_services)
def _service_name_underscore(service: Service) -> Findings:
    """Java finds no host in an address with such a name, and checks no certificate for it
    (java.net.URI, SNIHostName): it is no host name by RFC 1123.
    """
    use = _USES_OF_NAMES.get(service.product, "") or ("TLS" if _shows_names(service) else "")
    if use and "_" in service.address and HOST.fullmatch(service.address):
        problem = f"{service.address} has an underscore, and Java takes no such name for {use}."
        fix = f"Set {service.address_variable} of {service.name} to a name without one, or an "
        fix += "address."
        yield Finding(problem, fix, service.address_variable)


def _shows_names(service: Service) -> bool:
    """Return whether others compare the name of a service with its certificate."""
    if isinstance(service, KafkaNode):
        listeners = (
            listener for listener in service.listeners.all if listener.protocol.endswith("SSL")
        )
        return any(
            service.properties.at(listener).get(_NAME_CHECK, "https") for listener in listeners
        )
    return service.is_secured and service.product in ("schema_registry", "zookeeper")


def wrong_address(settings: Mapping[str, Any], variable: str, address: str) -> Findings:
    """Yield why nobody could connect to an address that a variable sets."""
    if uses_ansible_host(settings, variable):  # it has rules of its own
        return
    if not HOST.fullmatch(address):
        fix = "Set a name or an address alone, without port."
        yield Finding(f"{address!r} is not a host name or an address.", fix, variable)
    elif wrong := no_address(address):
        fix = "Set the name or the address of the host."
        yield Finding(f"{address!r} {wrong}.", fix, variable)


@rule("port-range", each=_ports, where="ports")
def _port_range(kafka: Ports, other_ports: Ports) -> Findings:
    """There is no such port."""
    for name, port in {**kafka, **other_ports}.items():
        # The rule key-value refuses any other text.
        checked = integer(port) is not None or not name.startswith("spark.")
        if checked and integer(port) not in PORTS:
            yield Finding(f"{name} has port {port!r}.", f"Set a free port from 1 to {PORTS[-1]}.")


def _lowest_ports(cluster: Cluster) -> Iterator[tuple[str, int, Ports]]:
    """Yield each host with the lowest port that not only root may open, and its ports."""
    for host, kafka, other_ports in _ports(cluster):
        configured = mapping(cluster.hosts[host].settings["host_sysctl"]).get(_SYSCTL)
        lowest = integer(configured)
        yield host, _UNPRIVILEGED if lowest is None else lowest, {**kafka, **other_ports}


@rule("port-privileged", each=_lowest_ports, where="ports")
def _port_privileged(lowest: int, ports: Ports) -> Findings:
    """Only root may listen below 1024, or below net.ipv4.ip_unprivileged_port_start, and the
    services' units grant no such capability.
    """
    for name, port in ports.items():
        if 0 < (integer(port) or 0) < lowest:
            fix = f"Set a port from {lowest} to {PORTS[-1]}."
            yield Finding(f"{name} has port {port}.", fix)


def _reserved(text: str) -> list[range]:
    """Return the ports of a list such as `8080,9000-9100`."""
    bounds = [[integer(end.strip()) or 0 for end in entry.split("-")] for entry in text.split(",")]
    return [range(ends[0], ends[-1] + 1) for ends in bounds]


@rule("port-ephemeral", where="host_sysctl")
def _port_ephemeral(cluster: Cluster) -> Findings:
    """An outgoing connection may have the port when the service is to start, which then fails."""
    hit: set[int] = set()
    for host, kafka, other_ports in _ports(cluster):
        settings = mapping(cluster.hosts[host].settings["host_sysctl"])
        ends = [integer(word) or 0 for word in str(settings.get(_LOCAL, "")).split()]
        reserved = _reserved(str(settings.get(_RESERVED, "")))
        numbers = {integer(port) or 0 for port in (*kafka.values(), *other_ports.values())} - {0}
        inside = {number for number in numbers if ends and ends[0] <= number <= ends[-1]}
        hit |= {number for number in inside if not any(number in ports for ports in reserved)}
    if hit:
        fix = f"Set {_LOCAL} to a range above them, or add {','.join(map(str, sorted(hit)))} to "
        fix += f"{_RESERVED}."
        yield Finding(f"{_LOCAL} includes {listing(sorted(hit))}.", fix)


@rule("port-conflict", each=_ports, where="ports")
def _port_conflict(kafka: Ports, other_ports: Ports) -> Findings:
    """The service that starts second fails."""
    names = {port: name for name, port in kafka.items()}
    numbers = {name: integer(port) or 0 for name, port in other_ports.items()}
    legal = {name: port for name, port in numbers.items() if port in PORTS}
    used = {*names, *legal.values()}
    for name, port in legal.items():
        if port in names:
            problem = f"{names[port]} and {name} both have port {port}."
            yield Finding(problem, f"Set {name}: {free_port(port, used)}.")
        names.setdefault(port, name)


def _heaps(cluster: Cluster) -> Iterator[tuple[str, HostSettings, dict[str, str]]]:
    for host, settings in cluster.hosts.items():
        if not falls_back_to_default(cluster, host, *_SIZES):
            options = {
                service.jvm.heap_variable: size
                for service in cluster.services(host).values()
                if (size := heap_in_options(service))
            }
            heaps = cluster.heaps(host)
            yield (
                host,
                settings,
                {name: options.get(name.split()[0], heap) for name, heap in heaps.items()},
            )


@rule("heap-value", each=_heaps)
def _heap_value(_: HostSettings, heaps: dict[str, str]) -> Findings:
    """Java accepts only sizes such as 512m or 2g; a number without a unit means bytes."""
    for name, heap in heaps.items():
        if heap_mb(heap) is None:
            fix = f"Set {name.split()[0]} to a number with m or g, for example 1g."
            yield Finding(f"{heap!r} is not a heap size.", fix, name)


@rule("heap-over-memory", each=_heaps, where="heaps")
def _heap_over_memory(settings: HostSettings, heaps: dict[str, str]) -> Findings:
    """The kernel would kill one of the processes under load."""
    sizes = {name: size for name, heap in heaps.items() if (size := heap_mb(heap))}
    memory, total = settings.memory_mb or 0, sum(sizes.values())
    if memory <= 0 or total <= memory:
        return
    listed = listing(f"{name} {size} MiB" for name, size in sizes.items())
    largest = max(sizes, key=lambda name: sizes[name])
    room = memory - (total - sizes[largest])
    if largest == "kafka_heap":  # more has a rule of its own
        room = min(room, memory // 2)
    fix = "Move a service to another host, or correct host_memory_mb."
    if room >= _LEAST_HEAP_MB:
        fix = f"Set {largest.split()[0]} to {room}m or less, or correct host_memory_mb."
    yield Finding(f"{listed}: {total} MiB > {memory} MiB of memory.", fix)


@rule("heap-over-half", each=brokers, where="kafka_heap")
def _heap_over_half(node: KafkaNode) -> Findings:
    """Kafka reads and writes through the page cache, which uses the remaining memory."""
    memory, heap = node.host.memory_mb or 0, heap_mb(node.heap) or 0
    if memory >= _LEAST_BROKER_MB and memory // 2 < heap <= memory:
        problem = f"kafka_heap {heap} MiB > half of {memory} MiB of memory."
        fix = f"Set kafka_heap to {memory // 2}m or less, or correct host_memory_mb."
        yield Finding(problem, fix)


@host_rule("port-in-use")
def _port_in_use(host: InspectedHost) -> Findings:
    """The service would fail to start after everything else was changed."""
    for variable, port in host.cluster.ports(host.name):
        process = host.inspection.network.listeners.get(str(port))
        if process:
            fix = "Stop it, or set another port."
            yield Finding(f"Port {port} is in use by {process}.", fix, variable)


@host_rule("name-is-loopback")
def _name_is_loopback(host: InspectedHost) -> Findings:
    """The service listens on the address of its own name, where no other host can reach it. Kafka
    Connect and the schema registry give this name to others.
    """
    for product in host.cluster.services(host.name):
        if product != "kafka":  # it has a rule of its own
            yield from _loopback(host, product, [*host.cluster.by_product[product]])


@host_rule("advertised-is-loopback", severity="warning")
def _advertised_is_loopback(host: InspectedHost) -> Findings:
    """Kafka listens on every address, but gives this name to all clients: a host that resolves
    it the same way would connect to itself.
    """
    yield from _loopback(host, "kafka", [*host.cluster.hosts])  # its clients may be anywhere


def _loopback(host: InspectedHost, name: str, peers: list[str]) -> Findings:
    """Find a service's name that is only a loopback address, where there are other hosts."""
    service = host.cluster.services(host.name).get(name)
    addresses = host.inspection.network.addresses.get(service.address, ()) if service else ()
    if not service or not addresses or peers == [host.name]:
        return
    if all(ipaddress.ip_address(address.partition("%")[0]).is_loopback for address in addresses):
        fix = (
            f"Remove {service.address} from the line of {addresses[0]} in /etc/hosts (Debian's "
            f"installer writes 127.0.1.1), or set ansible_host or {service.address_variable} to an "
            "address."
        )
        problem = f"{service.address} resolves to {listing(addresses)} on the host itself."
        yield Finding(problem, fix, service.address_variable)
