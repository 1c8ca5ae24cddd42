"""What the registry holds of a service: all that is known before an inventory is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

MIB = 1024 * 1024


@dataclass(frozen=True)
class Group:
    """A group of the inventory whose hosts have a service."""

    name: str
    one: str
    """What its member is called in a summary."""
    several: str
    """The plural of `one`."""
    partner: str = ""
    """The group without which it does not work, empty for none."""
    leaves: bool = False
    """Whether decommission.yml takes a member out of service, by the entry points `leave_check` and
    `leave` of the service's role. Kafka has its own play."""


@dataclass(frozen=True)
class HealthCheck:
    """A module that asks a service for its state, for a report."""

    name: str
    """The part of the report."""
    module: str
    groups: tuple[str, ...]
    """The groups of which one member is asked."""
    answer: str
    """A key that every result of the module has, unless the module could not do its work."""
    may_fail: bool = True
    """Whether the module fails at an unhealthy service unless its option says not to."""


@dataclass(frozen=True)
class ServiceEntry:
    """A service in the registry.

    Its folder has a module `model` whose function `resolve(Resolution)` returns host -> what the
    service is there, and may have one `module_options` (see `cluster.module_options`).
    """

    product: str
    """Its name in options, files, units and the names of its variables."""
    model: str = "model"
    """The module of its folder that resolves it."""
    groups: tuple[Group, ...] = ()
    """The groups that have it; none for one that hosts of other services have."""
    parent: str = ""
    """The parent group in the example inventories, empty without one."""
    runs_on_java: bool = False
    """Whether it has a heap, Java's options, properties and an account of its own."""
    unpacked_bytes: int = 0
    """The most that an installation needs below /opt/millrace. While unpacking, the archive is on
    the same disk as the unpacked tree."""
    data_example: str = ""
    """A data directory for messages, empty if it has none that a variable sets."""
    needs_data_disk: bool = False
    """Whether its data grows and is better on a disk of its own."""
    described: Mapping[str, str] = field(default_factory=dict)
    """Variable that describes things -> the group without which nothing makes them."""
    lowest: Mapping[str, int] = field(default_factory=dict)
    """Variable -> its lowest value. Ports and ids have rules of their own."""
    sizes: tuple[str, ...] = ()
    """Variables that are sizes of memory."""
    identities: tuple[str, ...] = ()
    """Variables by which its hosts differ."""
    property_variables: tuple[str, ...] = ()
    """Variables with properties, of which some may be secrets."""
    passwords: Mapping[str, str] = field(default_factory=dict)
    """Variable with a list of entries that may have a password -> the key that names an entry."""
    units: str = ""
    """Its systemd units as a regular expression, empty for one with the name of the product. Those
    of a service without Java begin with `millrace-`."""
    reserved_kafka_users: tuple[str, ...] = ()
    """The names of the users of Kafka that it is; their grants are in `kafka_users` of its model."""
    health: tuple[HealthCheck, ...] = ()
    """What a report asks it."""
    rules: tuple[str, ...] = ("rules",)
    """The modules of its folder with its rules, in the order of the problems."""
