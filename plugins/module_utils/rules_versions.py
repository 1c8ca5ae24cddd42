"""The rules about versions, of every product alike, and about what a version can do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.rules import (
    Finding,
    Host,
    Inventory,
    listing,
    mapping,
    rule,
    yaml_type,
)
from ansible_collections.millrace.streaming.plugins.module_utils.versions import (
    PRODUCTS,
    release_numbers,
)

_WITHOUT_ZOOKEEPER = (4, 0)
_LAST_WITH_ZOOKEEPER = "3.9.2"


def _version(host: Host, role: str) -> Any:  # noqa: ANN401 - whatever YAML gave
    """Return the version that a host is to get, None if it gets none of the product."""
    # The role may have failed on this very version.
    written = host.variables.get(f"{role}_version") if host.failure(role) else None
    return mapping(host.description.get(role)).get("version", written)


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
            wanted = _version(host, role)
            if wanted is None or str(wanted) in product.supported:
                continue
            reason = product.blocked.get(str(wanted))
            fix = f"Set {role}_version: {listing(product.supported, 'or')}."
            what = f"{product.name} {wanted} is not supported."
            if reason:
                what = f"{product.name} {wanted} is refused: {reason}."
            elif isinstance(wanted, int | float):
                what = f"YAML read {role}_version as {wanted!r} ({yaml_type(wanted)}), no text: "
                what += "3.10 becomes 3.1."
                fix = f"Set {listing((repr(one) for one in product.supported), 'or')}, in quotes."
            yield Finding(f"{role}_version", what, fix, (host.name,))


@rule(
    "version-differs",
    when="hosts of one cluster have different versions of a product",
    why="The inventory says what the cluster becomes; the way there is a rolling upgrade.",
    remedy="Set the version once, in the group variables of the cluster.",
)
def version_differs(inventory: Inventory) -> Iterator[Finding]:
    """Refuse two versions of one product."""
    for role, product in PRODUCTS.items():
        wanted = {host.name: _version(host, role) for host in inventory.hosts.values()}
        holders: dict[str, list[str]] = {}
        for name, one in wanted.items():
            if str(one) in product.supported:  # else the rule `version` has refused it
                holders.setdefault(str(one), []).append(name)
        if len(holders) > 1:
            parts = listing(f"{one} on {listing(names)}" for one, names in holders.items())
            newest = max(holders, key=release_numbers)
            what = f"{product.name} has more than one version: {parts}."
            fix = f"Set {role}_version: {newest} for all of them."
            yield Finding(f"{role}_version", what, fix)


@rule(
    "zookeeper-mode",
    when="brokers without controllers, on an ensemble of ZooKeeper, have Kafka 4.0 or newer",
    why="Kafka 4.x has no ZooKeeper mode.",
    remedy="Add the group `kafka_controllers`, or set `kafka_version: 3.9.2`. An old cluster "
    "migrates on 3.9 first.",
)
def zookeeper_mode(inventory: Inventory) -> Iterator[Finding]:
    """Refuse ZooKeeper mode where the version has none."""
    if not inventory.in_zookeeper_mode():
        return
    for host in inventory.kafka_hosts():
        wanted = str(host.kafka.get("version"))
        if release_numbers(wanted) >= _WITHOUT_ZOOKEEPER:
            what = f"Kafka {wanted} on the ensemble {listing(inventory.members('zookeeper'))}: "
            what += "Kafka 4.x has no ZooKeeper mode."
            fix = "Add the group kafka_controllers, or set "
            yield Finding(
                "groups", what, f"{fix}kafka_version: {_LAST_WITH_ZOOKEEPER}.", (host.name,)
            )
