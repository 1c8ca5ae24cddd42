"""What a rule about inventories is: the data it sees, what it says, and the list of all rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

KAFKA_GROUPS = ("kafka_controllers", "kafka_brokers")
SPARK_GROUPS = ("spark_masters", "spark_workers", "spark_history")
GROUPS = (*KAFKA_GROUPS, "zookeeper", *SPARK_GROUPS)
# The roles that put a service on a host, and the variables in which each takes properties.
LAYERS: Mapping[str, Sequence[str]] = {
    "kafka": ("kafka_config", "kafka_host_config"),
    "zookeeper": ("zookeeper_config",),
    "spark": ("spark_config",),
}

Severity = Literal["error", "warning"]

_INTEGER = re.compile(r"[+-]?[0-9]+")
_YAML_TYPES = {bool: "boolean", int: "integer", float: "number", str: "text", type(None): "nothing"}


@dataclass(frozen=True)
class Host:
    """A host: the description that the roles gave of it, and the user's variables.

    A role whose expressions fail on the variables describes itself as `{"error": message}`.
    `connection` holds `ansible_host` and `ansible_port` where they are set, `vaulted` the places
    (`variable[key]`, or a whole variable) of values that come from a vault or an expression.
    """

    name: str
    description: Mapping[str, Any] = field(default_factory=dict)
    variables: Mapping[str, Any] = field(default_factory=dict)
    connection: Mapping[str, Any] = field(default_factory=dict)
    vaulted: frozenset[str] = frozenset()

    @property
    def kafka(self) -> Mapping[str, Any]:
        """What the kafka role said of this host, empty if it is no Kafka node."""
        return self.described("kafka")

    @property
    def zookeeper(self) -> Mapping[str, Any]:
        """What the zookeeper role said of this host, empty if it is no member."""
        return self.described("zookeeper")

    @property
    def spark(self) -> Mapping[str, Any]:
        """What the spark role said of this host, empty if it carries no Spark."""
        return self.described("spark")

    def failure(self, role: str) -> str:
        """Return why a role could not describe itself, empty if it could."""
        return str(mapping(self.description.get(role)).get("error") or "")

    def described(self, role: str) -> Mapping[str, Any]:
        """Return what a role said of this host, empty if it said nothing or failed."""
        return {} if self.failure(role) else mapping(self.description.get(role))


@dataclass(frozen=True)
class Inventory:
    """All that the rules see; `specs` is role -> documented variable -> its argument spec."""

    groups: Mapping[str, Sequence[str]]
    hosts: Mapping[str, Host]
    specs: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)

    def members(self, group: str) -> list[str]:
        """Return the hosts of a group, none if the group is not defined."""
        return list(self.groups.get(group, ()))

    def kafka_hosts(self) -> list[Host]:
        """Return the described Kafka nodes in the order of the inventory."""
        return [host for host in self.hosts.values() if host.kafka]

    def placed(self) -> list[Host]:
        """Return the hosts that are in any of Millrace's groups."""
        names = {name for group in GROUPS for name in self.members(group)}
        return [host for name, host in self.hosts.items() if name in names]

    def in_zookeeper_mode(self) -> bool:
        """Say whether the brokers keep their metadata in ZooKeeper; the groups decide it."""
        without_controllers = not self.members("kafka_controllers")
        return without_controllers and bool(self.members("zookeeper"))


@dataclass(frozen=True)
class Finding:
    """One thing wrong; findings equal in all but the hosts become one problem."""

    where: str
    what: str
    fix: str
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Problem:
    """What is wrong, where, why it is refused and the value to set."""

    rule: str
    where: str
    what: str
    why: str
    fix: str
    hosts: tuple[str, ...] = ()
    severity: Severity = "error"

    def as_dict(self) -> dict[str, Any]:
        """Return the problem as plain data."""
        return {**asdict(self), "hosts": list(self.hosts)}


Check = Callable[[Inventory], Iterable[Finding]]


@dataclass(frozen=True)
class Rule:
    """A rule: `when` it refuses, `why`, and the `remedy` in general terms, for docs/errors.md.

    A rule of the severity `warning` is shown and never refuses.
    """

    name: str
    when: str
    why: str
    remedy: str
    check: Check
    severity: Severity = "error"


REGISTERED: list[Rule] = []


def rule(
    name: str, *, when: str, why: str, remedy: str, severity: Severity = "error"
) -> Callable[[Check], Check]:
    """Register a check; within a module the order of registration is that of the problems."""

    def register(check: Check) -> Check:
        REGISTERED.append(Rule(name, when, why, remedy, check, severity))
        return check

    return register


def rules_of(module: str) -> list[Rule]:
    """Return the rules that a module registered, by its name."""
    return [one for one in REGISTERED if one.check.__module__ == module]


def problems_of(one: Rule, inventory: Inventory) -> Iterator[Problem]:
    """Apply a rule; merge findings that differ in their hosts only."""
    merged: dict[tuple[str, str, str], list[str]] = {}
    for found in one.check(inventory):
        hosts = merged.setdefault((found.where, found.what, found.fix), [])
        hosts += [host for host in found.hosts if host not in hosts]
    for (where, what, fix), hosts in merged.items():
        place = f"{where} of {', '.join(hosts)}" if hosts else where
        yield Problem(one.name, place, what, one.why, fix, tuple(hosts), one.severity)


def mapping(value: object) -> Mapping[Any, Any]:
    """Return a mapping as it is and nothing for what is none."""
    return value if isinstance(value, Mapping) else {}


def sequence(value: object) -> list[Any]:
    """Return a list's items, none for what is no list."""
    return list(value) if isinstance(value, list | tuple) else []


def texts(value: object) -> list[str]:
    """Return the non-empty texts of a list."""
    return [part for part in sequence(value) if isinstance(part, str) and part]


def integer(value: object) -> int | None:
    """Return a whole number given as such or in digits, None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        return int(value)
    return None


def listing(names: Iterable[object], last: str = "and") -> str:
    """Return names as prose: `a, b and c`."""
    *first, end = [str(name) for name in names] or [""]
    return f"{', '.join(first)} {last} {end}" if first else end


def yes(value: object) -> bool:
    """Say whether a variable of type bool is true in any of the ways YAML and Jinja write it."""
    return str(value).lower() in ("true", "yes", "on", "1")


def yaml_type(value: object) -> str:
    """Name the type that YAML gave a value."""
    for kind, name in _YAML_TYPES.items():
        if isinstance(value, kind):
            return name
    return "list" if isinstance(value, list | tuple) else "mapping"
