"""The rules about what the services of one host share: its ports, its memory and its name."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from ansible_collections.millrace.streaming.plugins.module_utils.model.cluster import Cluster
from ansible_collections.millrace.streaming.plugins.module_utils.model.heap import heap_mb
from ansible_collections.millrace.streaming.plugins.module_utils.model.values import (
    integer,
    listing,
)
from ansible_collections.millrace.streaming.plugins.module_utils.rules.engine import (
    Finding,
    host_rule,
    rule,
)
from ansible_collections.millrace.streaming.plugins.module_utils.rules.inspection import (
    InspectedHost,
)

_LEAST_HEAP_MB = 256
_LEAST_BROKER_MB = 2048


def heap_size(heap: object) -> int | None:
    """Return a heap in MiB, None if no JVM takes it."""
    try:
        return heap_mb(heap) if isinstance(heap, str) else None
    except ValueError:
        return None


def _kafka_ports(cluster: Cluster, host: str) -> dict[str, int]:
    return dict(cluster.kafka[host].ports) if host in cluster.kafka else {}


def _other_ports(cluster: Cluster, host: str) -> dict[str, int]:
    """Return variable -> port of the other services; with 0 the system chooses one."""
    services = cluster.services(host)
    written = {
        variable: integer(port)
        for name, service in services.items()
        if name != "kafka"
        for variable, port in service.ports.items()
    }
    return {variable: port for variable, port in written.items() if port}


@rule(
    "port-range",
    when="a port is not between 1 and 65535",
    why="There is no such port.",
    remedy="Set a free port from 1 to 65535.",
)
def _port_range(cluster: Cluster) -> Iterator[Finding]:
    for host in cluster.hosts:
        for name, port in {**_kafka_ports(cluster, host), **_other_ports(cluster, host)}.items():
            if not 1 <= port <= 65535:
                what = f"{name} has port {port}."
                yield Finding("ports", what, "Set a free port from 1 to 65535.", (host,))


@rule(
    "port-clash",
    when="two services of one host listen on the same port",
    why="The second one to start fails.",
    remedy="Move one of them to a free port.",
)
def _port_clash(cluster: Cluster) -> Iterator[Finding]:
    for host in cluster.hosts:
        others = _other_ports(cluster, host)
        names = {port: name for name, port in _kafka_ports(cluster, host).items()}
        used = {*names, *others.values()}
        for name, port in others.items():
            if port in names:
                free = next(number for number in range(port + 1, 2**17) if number not in used)
                what = f"{names[port]} and {name} both have port {port}."
                yield Finding("ports", what, f"Set {name}: {free}.", (host,))
            names.setdefault(port, name)


@rule(
    "heap-value",
    when="a heap is not a number with a unit, such as `512m` or `2g`",
    why="Java takes such sizes only; without a unit it counts bytes.",
    remedy="Set a size such as `1g`.",
)
def _heap_value(cluster: Cluster) -> Iterator[Finding]:
    for host in cluster.hosts:
        for name, heap in cluster.heaps(host).items():
            if heap_size(heap) is None:
                fix = f"Set {name.split()[0]} to a number with m or g, for example 1g."
                yield Finding(name, f"{heap!r} is no heap size.", fix, (host,))


@rule(
    "heap-over-memory",
    when="the heaps of a host's services are larger than its memory (where that is known)",
    why="The kernel kills one of them under load.",
    remedy="Lower a heap, move a service to another host, or correct `host_memory_mb`.",
)
def _heap_over_memory(cluster: Cluster) -> Iterator[Finding]:
    for host, settings in cluster.hosts.items():
        memory, heaps = settings.memory_mb, cluster.heaps(host)
        sizes = {name: size for name, heap in heaps.items() if (size := heap_size(heap))}
        total = sum(sizes.values())
        if not memory or total <= memory:
            continue
        parts = listing(f"{name} {size} MiB" for name, size in sizes.items())
        what = f"{parts}: {total} MiB > {memory} MiB of memory."
        largest = max(sizes, key=lambda name: sizes[name])
        room = memory - (total - sizes[largest])
        fix = "Move a service to another host, or correct host_memory_mb."
        if room >= _LEAST_HEAP_MB:
            fix = f"Set {largest.split()[0]} to {room}m or less, or correct host_memory_mb."
        yield Finding("heaps", what, fix, (host,))


@rule(
    "heap-over-half",
    when="a broker's heap is more than half of its host's memory, where that is 2 GiB or more",
    why="Kafka reads and writes through the page cache, which is the memory that is left over.",
    remedy="Leave `kafka_heap` empty, which takes a third of the memory or less, or lower it.",
)
def _heap_over_half(cluster: Cluster) -> Iterator[Finding]:
    for node in cluster.brokers:
        memory, heap = node.host.memory_mb or 0, heap_size(node.heap) or 0
        if memory >= _LEAST_BROKER_MB and memory // 2 < heap <= memory:
            what = f"kafka_heap {heap} MiB > half of {memory} MiB of memory."
            fix = f"Set kafka_heap to {memory // 2}m or less, or correct host_memory_mb."
            yield Finding("kafka_heap", what, fix, (node.name,))


@host_rule(
    "port-taken",
    when="a process that is not Millrace's listens on a port of a service",
    why="The service would fail to start after everything else was changed.",
    remedy="Stop that process, or move the service to a free port.",
)
def _port_taken(host: InspectedHost) -> Iterator[Finding]:
    for variable, port in host.cluster.ports(host.name):
        process = host.found.listeners.get(str(port))
        if process:
            what = f"Port {port} is taken by {process}."
            yield Finding(variable, what, "Stop it, or set another port.")


@host_rule(
    "name-is-loopback",
    when="the name by which others reach ZooKeeper or Spark on the host is only a loopback address "
    "there",
    why="Both listen on the address that their own name has, where no other host reaches them.",
    remedy="Remove the line `127.0.1.1 <own name>`, which Debian's installer writes, from "
    "/etc/hosts, or set `ansible_host`, `zookeeper_host` or `spark_host` to an address.",
)
def _name_is_loopback(host: InspectedHost) -> Iterator[Finding]:
    cluster = host.cluster
    for name, peers in (("zookeeper", [*cluster.zookeeper]), ("spark", [*cluster.spark])):
        yield from _loopback(host, name, peers)


@host_rule(
    "advertised-is-loopback",
    when="`kafka_advertised_host` is only a loopback address on the host",
    why="Kafka listens on every address, but gives this name to all clients: where another host "
    "resolves it likewise, that host would connect to itself.",
    remedy="As for `name-is-loopback`; the variable is `kafka_advertised_host`.",
    severity="warning",
)
def _advertised_is_loopback(host: InspectedHost) -> Iterator[Finding]:
    yield from _loopback(host, "kafka", [*host.cluster.hosts])  # its clients may be anywhere


def _loopback(host: InspectedHost, name: str, peers: list[str]) -> Iterator[Finding]:
    """Find a service's name that is only a loopback address, where there are other hosts."""
    service = host.cluster.services(host.name).get(name)
    found = host.found.addresses.get(service.address, ()) if service else ()
    if not service or not found or peers == [host.name]:
        return
    if all(ipaddress.ip_address(one.partition("%")[0]).is_loopback for one in found):
        fix = (
            f"Remove {service.address} from the line of {found[0]} in /etc/hosts (Debian's "
            f"installer writes 127.0.1.1), or set ansible_host or {service.address_variable} to an "
            "address."
        )
        what = f"{service.address} is {listing(found)} on the host itself."
        yield Finding(service.address_variable, what, fix)
