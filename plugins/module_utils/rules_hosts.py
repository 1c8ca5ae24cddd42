"""The rules about hosts: groups, variables, ports, memory, directories and versions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.millrace.streaming.plugins.module_utils.heap import heap_mb
from ansible_collections.millrace.streaming.plugins.module_utils.key_table import nearest
from ansible_collections.millrace.streaming.plugins.module_utils.rules import (
    GROUPS,
    Finding,
    Host,
    Inventory,
    integer,
    listing,
    mapping,
    rule,
    sequence,
    texts,
)
from ansible_collections.millrace.streaming.plugins.module_utils.versions import PRODUCTS

_PARTNERS = {
    "kafka_brokers": "kafka_controllers",
    "kafka_controllers": "kafka_brokers",
    "spark_workers": "spark_masters",
    "spark_masters": "spark_workers",
}
_SCRATCH = ("/tmp", "/var/tmp")  # noqa: S108 - the paths to refuse
_LEAST_HEAP_MB = 256
_REPORTED_ELSEWHERE = ("kafka_node_id",)


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
    when="there are brokers without controllers, workers without masters, or the reverse",
    why="Neither works without the other.",
    remedy="Define the group that the message names; a host may be in both.",
)
def lonely_group(inventory: Inventory) -> Iterator[Finding]:
    """Refuse half a cluster."""
    for group, partner in _PARTNERS.items():
        members = inventory.members(group)
        if members and partner not in inventory.groups:
            what = f"There are {group} ({listing(members)}) but no {partner}."
            fix = f"Add the group {partner}, for example with {members[0]}."
            yield Finding("groups", what, fix)


@rule(
    "host-without-group",
    when="a host is in none of Millrace's groups",
    why="Nothing would be installed on it, which is hardly what its line in the inventory means.",
    remedy="Put it into a group, or remove it from the inventory.",
)
def host_without_group(inventory: Inventory) -> Iterator[Finding]:
    """Refuse a host that no role would touch."""
    placed = {host for group in GROUPS for host in inventory.members(group)}
    hosts = tuple(name for name in inventory.hosts if name not in placed)
    if hosts:
        what = f"{listing(hosts)} {'are' if len(hosts) > 1 else 'is'} in no group of Millrace."
        fix = f"Add to {listing(GROUPS, 'or')}, or remove from the inventory."
        yield Finding("groups", what, fix, hosts)


@rule(
    "unknown-variable",
    when="a variable has the prefix of a role (`kafka_`, `spark_`, ...) and no role has it",
    why="Ansible ignores an unknown variable without a word.",
    remedy="Correct the name; the message names the nearest documented variable.",
)
def unknown_variable(inventory: Inventory) -> Iterator[Finding]:
    """Refuse a variable that no role documents."""
    known = sorted({name for spec in inventory.specs.values() for name in spec})
    for host in inventory.hosts.values():
        for name in sorted(set(host.variables) - set(known)):
            near = nearest(name, known)
            fix = f"Did you mean {near}? Else delete it." if near else "Delete it."
            yield Finding(name, f"No role has a variable {name}.", fix, (host.name,))


@rule(
    "variable-value",
    when="a variable's value is not what the role's argument spec says",
    why="The role would fail with it, or do something else than meant.",
    remedy="Set a value of the type, or among the choices, that the message names.",
)
def variable_value(inventory: Inventory) -> Iterator[Finding]:
    """Refuse what the roles' argument specs refuse, for all hosts before the first role runs."""
    options = {name: option for spec in inventory.specs.values() for name, option in spec.items()}
    for host in inventory.hosts.values():
        for name, value in sorted(host.variables.items()):
            if name in options and name not in _REPORTED_ELSEWHERE:
                for error in spec_errors(name, value, options[name]):
                    yield Finding(name, error, _wanted(name, options[name]), (host.name,))


def spec_errors(name: str, value: object, option: Mapping[str, Any]) -> list[str]:
    """Return what the argument spec of one variable says against a value, secrets not shown.

    Raises nothing: the default is left out, since it may be an expression of the role.
    """
    spec = {key: part for key, part in option.items() if key not in ("default", "required")}
    errors: list[str] = ArgumentSpecValidator({name: spec}).validate({name: value}).error_messages
    if errors and option.get("no_log"):
        return [f"The value of {name} is refused; it is secret and not shown."]
    return [f"{error.rstrip('.')}." for error in errors]


def _wanted(name: str, option: Mapping[str, Any]) -> str:
    kind = option.get("type", "str")
    of = f" of {option['elements']}" if "elements" in option else ""
    fix = f"Set {name} to {'an' if kind == 'int' else 'a'} {kind}{of}"
    if "choices" in option:
        fix += f": {listing(option['choices'], 'or')}"
    if option.get("default") not in (None, "", {}, []) and "{{" not in str(option["default"]):
        fix += f"; the default is {option['default']!r}"
    return f"{fix}."


def kafka_ports(host: Host) -> dict[str, int]:
    """Return what Kafka listens on: variable and listener -> port."""
    listeners = [mapping(one) for one in sequence(host.kafka.get("listeners"))]
    found = {f"Kafka's listener {one.get('name')}": integer(one.get("port")) for one in listeners}
    return {name: port for name, port in found.items() if port is not None}


def spark_ports(host: Host) -> dict[str, int]:
    """Return what Spark listens on: variable -> port; 0 lets the system choose."""
    found = {str(name): integer(port) for name, port in mapping(host.spark.get("ports")).items()}
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
        for name, port in {**kafka_ports(host), **spark_ports(host)}.items():
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
        spark = spark_ports(host)
        holders = {port: name for name, port in kafka_ports(host).items()}
        used = {*holders, *spark.values()}
        for name, port in spark.items():
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
    spark = {str(name): heap for name, heap in mapping(host.spark.get("heaps")).items()}
    return {**({"kafka_heap": host.kafka["heap"]} if host.kafka.get("heap") else {}), **spark}


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
        memory = integer(mapping(host.description.get("host")).get("memory_mb"))
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


def data_dirs(host: Host) -> list[tuple[str, str]]:
    """Return (variable, path) of each directory that holds data."""
    kafka = [("kafka_data_dirs", path) for path in texts(host.kafka.get("data_dirs"))]
    metadata = [("kafka_metadata_dir", path) for path in texts([host.kafka.get("metadata_dir")])]
    spark = [("Spark's data directory", path) for path in texts(host.spark.get("data_dirs"))]
    return kafka + metadata + spark


def _is_below(path: str, directory: str) -> bool:
    return PurePosixPath(re.sub("/+", "/", path)).is_relative_to(directory)


@rule(
    "data-dir-in-tmp",
    when="a data directory is below `/tmp` or `/var/tmp`",
    why="It is emptied at boot or by age, and the data with it.",
    remedy="Set a directory on a disk of its own, below `/var/lib` for example.",
)
def data_dir_in_tmp(inventory: Inventory) -> Iterator[Finding]:
    """Refuse data where the system deletes files."""
    for host in inventory.hosts.values():
        for variable, path in data_dirs(host):
            if any(_is_below(path, scratch) for scratch in _SCRATCH):
                better = f"/var/lib/{'kafka/data' if variable.startswith('kafka') else 'spark'}"
                fix = f"Set {better} or another directory outside /tmp."
                yield Finding(variable, f"{path} is emptied by the system.", fix, (host.name,))


@rule(
    "data-dir-nested",
    when="a Kafka data directory is given twice or lies in another one",
    why="Kafka takes every directory in a data directory for a partition and stops at others.",
    remedy="Give each its own directory, side by side.",
)
def data_dir_nested(inventory: Inventory) -> Iterator[Finding]:
    """Refuse a data directory in another."""
    for host in inventory.hosts.values():
        paths = texts(host.kafka.get("data_dirs"))
        for number, path in enumerate(paths):
            for other in paths[number + 1 :]:
                if _is_below(path, other) or _is_below(other, path):
                    what = f"{path} and {other} are nested or the same."
                    fix = "Set directories side by side, such as /data1/kafka and /data2/kafka."
                    yield Finding("kafka_data_dirs", what, fix, (host.name,))


@rule(
    "version",
    when="a version is not in Millrace's table, or known to be bad",
    why="Only versions whose artifacts, keys and Java are known can be installed safely.",
    remedy="Set one of the supported versions that the message names.",
)
def version(inventory: Inventory) -> Iterator[Finding]:
    """Refuse a version that is unknown or blocked."""
    for host in inventory.hosts.values():
        for role, product in PRODUCTS.items():
            # The role may have failed on this very version.
            written = host.variables.get(f"{role}_version") if host.failure(role) else None
            wanted = mapping(host.description.get(role)).get("version", written)
            if wanted is None or str(wanted) in product.supported:
                continue
            reason = product.blocked.get(str(wanted))
            what = f"{product.name} {wanted} is not supported."
            if reason:
                what = f"{product.name} {wanted} is refused: {reason}."
            fix = f"Set {role}_version: {listing(product.supported, 'or')}."
            yield Finding(f"{role}_version", what, fix, (host.name,))


@rule(
    "not-describable",
    when="a role's own expressions fail on the variables, and no other rule says why",
    why="What cannot be worked out here cannot be installed there.",
    remedy="Correct the variable that the message is about.",
)
def not_describable(inventory: Inventory) -> Iterator[Finding]:
    """Refuse what no rule could judge."""
    checks = (variable_value, version)
    explained = {name for check in checks for found in check(inventory) for name in found.hosts}
    for host in inventory.hosts.values():
        for role in PRODUCTS:
            failure = host.failure(role)
            if failure and host.name not in explained:
                what = f"The {role} role cannot work out what it would do: {failure}"
                fix = f"Correct the {role}_ variable that the message is about."
                yield Finding(f"{role}_ variables", what, fix, (host.name,))
