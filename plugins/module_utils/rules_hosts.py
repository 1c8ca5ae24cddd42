"""The rules about what the services of one host share: its ports and its memory."""

from __future__ import annotations

from collections.abc import Iterator

from ansible_collections.millrace.streaming.plugins.module_utils.heap import heap_mb
from ansible_collections.millrace.streaming.plugins.module_utils.rules import (
    Finding,
    Host,
    Inventory,
    integer,
    listing,
    mapping,
    rule,
    sequence,
)

_LEAST_HEAP_MB = 256
_LEAST_BROKER_MB = 2048


def kafka_ports(host: Host) -> dict[str, int]:
    """Return what Kafka listens on: variable and listener -> port."""
    listeners = [mapping(one) for one in sequence(host.kafka.get("listeners"))]
    found = {f"Kafka's listener {one.get('name')}": integer(one.get("port")) for one in listeners}
    return {name: port for name, port in found.items() if port is not None}


def other_ports(host: Host) -> dict[str, int]:
    """Return what ZooKeeper and Spark listen on: variable -> port; 0 lets the system choose."""
    ports = {**mapping(host.zookeeper.get("ports")), **mapping(host.spark.get("ports"))}
    found = {str(name): integer(port) for name, port in ports.items()}
    return {name: port for name, port in found.items() if port}


@rule(
    "port-range",
    when="a port is not between 1 and 65535",
    why="There is no such port.",
    remedy="Set a free port from 1 to 65535.",
)
def port_range(inventory: Inventory) -> Iterator[Finding]:
    """Refuse a port that does not exist; one that is no number is refused by the argument spec."""
    for host in inventory.hosts.values():
        for name, port in {**kafka_ports(host), **other_ports(host)}.items():
            if not 1 <= port <= 65535:
                what = f"{name} has port {port}."
                yield Finding("ports", what, "Set a free port from 1 to 65535.", (host.name,))


@rule(
    "port-clash",
    when="two services of one host listen on the same port",
    why="The second one to start fails.",
    remedy="Move one of them to a free port.",
)
def port_clash(inventory: Inventory) -> Iterator[Finding]:
    """Refuse one port for two services."""
    for host in inventory.hosts.values():
        others = other_ports(host)
        holders = {port: name for name, port in kafka_ports(host).items()}
        used = {*holders, *others.values()}
        for name, port in others.items():
            if port in holders:
                free = next(number for number in range(port + 1, 2**17) if number not in used)
                what = f"{holders[port]} and {name} both have port {port}."
                yield Finding("ports", what, f"Set {name}: {free}.", (host.name,))
            holders.setdefault(port, name)


def heap_size(heap: object) -> int | None:
    """Return a heap in MiB, None if no JVM takes it."""
    try:
        return heap_mb(heap) if isinstance(heap, str) else None
    except ValueError:
        return None


def heaps(host: Host) -> dict[str, object]:
    """Return variable -> heap as written, of all services of a host."""
    others = {**mapping(host.zookeeper.get("heaps")), **mapping(host.spark.get("heaps"))}
    kafka = {"kafka_heap": host.kafka["heap"]} if host.kafka.get("heap") else {}
    return {**kafka, **{str(name): heap for name, heap in others.items()}}


def memory_mb(host: Host) -> int | None:
    """Return a host's memory in MiB, None where it is not known."""
    return integer(mapping(host.description.get("host")).get("memory_mb"))


@rule(
    "heap-value",
    when="a heap is not a number with a unit, such as `512m` or `2g`",
    why="Java takes such sizes only; without a unit it counts bytes.",
    remedy="Set a size such as `1g`.",
)
def heap_value(inventory: Inventory) -> Iterator[Finding]:
    """Refuse a heap with which no JVM starts."""
    for host in inventory.hosts.values():
        for name, heap in heaps(host).items():
            if heap_size(heap) is None:
                fix = f"Set {name.split()[0]} to a number with m or g, for example 1g."
                yield Finding(name, f"{heap!r} is no heap size.", fix, (host.name,))


@rule(
    "heap-over-memory",
    when="the heaps of a host's services are larger than its memory (where that is known)",
    why="The kernel kills one of them under load.",
    remedy="Lower a heap, move a service to another host, or correct `host_memory_mb`.",
)
def heap_over_memory(inventory: Inventory) -> Iterator[Finding]:
    """Refuse heaps that do not fit the host."""
    for host in inventory.hosts.values():
        memory = memory_mb(host)
        sizes = {name: size for name, heap in heaps(host).items() if (size := heap_size(heap))}
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
        yield Finding("heaps", what, fix, (host.name,))


@rule(
    "heap-over-half",
    when="a broker's heap is more than half of its host's memory, where that is 2 GiB or more",
    why="Kafka reads and writes through the page cache, which is the memory that is left over.",
    remedy="Leave `kafka_heap` empty, which takes a third of the memory or less, or lower it.",
)
def heap_over_half(inventory: Inventory) -> Iterator[Finding]:
    """Refuse a heap that leaves a broker no page cache."""
    for host in inventory.kafka_hosts():
        memory, heap = memory_mb(host), heap_size(host.kafka.get("heap"))
        brokers = host.name in inventory.members("kafka_brokers")
        if not brokers or not memory or not heap or memory < _LEAST_BROKER_MB:
            continue
        if memory // 2 < heap <= memory:
            what = f"kafka_heap {heap} MiB > half of {memory} MiB of memory."
            fix = f"Set kafka_heap to {memory // 2}m or less, or correct host_memory_mb."
            yield Finding("kafka_heap", what, fix, (host.name,))
