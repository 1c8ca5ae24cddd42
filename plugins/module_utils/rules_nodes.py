"""The rules about identity and quorums: node ids, ZooKeeper ids and the cluster id."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.rules import (
    Finding,
    Host,
    Inventory,
    integer,
    listing,
    rule,
    yes,
)
from ansible_collections.millrace.streaming.plugins.module_utils.rules_properties import number
from ansible_collections.millrace.streaming.plugins.module_utils.uuids import is_cluster_id

_MAX_NODE_ID = 2**31 - 1
_MAX_ZOOKEEPER_ID = 255
_MAX_RESERVED_ID = 1000  # Kafka's default of reserved.broker.max.id
_FIRST_CONTROLLER_ID = 100


def raw_node_id(host: Host) -> Any:  # noqa: ANN401 - whatever YAML gave
    """Return the id as written; a host that --limit left undescribed still has its variable."""
    if "node_id" in host.kafka:
        return host.kafka["node_id"]
    return host.variables.get("kafka_node_id")


def node_id(host: Host) -> int | None:
    """Return a legal id as a number, None for anything else."""
    number = integer(raw_node_id(host))
    return number if number is not None and 0 <= number <= _MAX_NODE_ID else None


def nodes(inventory: Inventory) -> list[Host]:
    """Return the hosts of both Kafka groups, in the order of the inventory."""
    members = {*inventory.members("kafka_controllers"), *inventory.members("kafka_brokers")}
    return [host for name, host in inventory.hosts.items() if name in members]


def suggested_ids(inventory: Inventory) -> dict[str, int]:
    """Return an unused id for each node that has none, an illegal one or one taken before it."""
    everyone = nodes(inventory)
    used = {number for host in everyone if (number := node_id(host)) is not None}
    brokers = set(inventory.members("kafka_brokers"))
    seen: set[int] = set()
    suggested: dict[str, int] = {}
    for host in everyone:
        number = node_id(host)
        if number is not None and number not in seen:
            seen.add(number)
            continue
        candidate = 1 if host.name in brokers else _FIRST_CONTROLLER_ID
        while candidate in used:
            candidate += 1
        used.add(candidate)
        suggested[host.name] = candidate
    return suggested


def _set_ids(suggested: dict[str, int], hosts: list[str]) -> str:
    return "Set " + listing(f"kafka_node_id: {suggested[host]} on {host}" for host in hosts) + "."


@rule(
    "node-id-missing",
    when="a host in `kafka_brokers` or `kafka_controllers` has no `kafka_node_id`",
    why="A node's data is bound to its id, so the id is written down and never counted out.",
    remedy="Give each Kafka host its own `kafka_node_id`.",
)
def missing_node_id(inventory: Inventory) -> Iterator[Finding]:
    """Refuse a Kafka node without an id."""
    hosts = [host.name for host in nodes(inventory) if raw_node_id(host) in (None, "")]
    if hosts:
        fix = _set_ids(suggested_ids(inventory), hosts)
        what = f"{listing(hosts)} {'have' if len(hosts) > 1 else 'has'} no node.id."
        yield Finding("kafka_node_id", what, fix, tuple(hosts))


@rule(
    "node-id-invalid",
    when="a `kafka_node_id` is negative, above 2147483647 or no whole number",
    why="Kafka takes an id from 0 to 2147483647.",
    remedy="Set `kafka_node_id` to an unused whole number.",
)
def invalid_node_id(inventory: Inventory) -> Iterator[Finding]:
    """Refuse an id that Kafka cannot take."""
    suggested = suggested_ids(inventory)
    for host in nodes(inventory):
        raw = raw_node_id(host)
        if raw not in (None, "") and node_id(host) is None:
            what = f"{raw!r} is no node.id."
            yield Finding("kafka_node_id", what, _set_ids(suggested, [host.name]), (host.name,))


@rule(
    "node-id-duplicate",
    when="two Kafka hosts have the same `kafka_node_id`",
    why="Brokers and controllers share one id space; the second node is refused by the cluster.",
    remedy="Give one of them an unused id; a node that already holds data keeps its own.",
)
def duplicate_node_id(inventory: Inventory) -> Iterator[Finding]:
    """Refuse an id used twice."""
    suggested = suggested_ids(inventory)
    holders: dict[int, list[str]] = {}
    for host in nodes(inventory):
        number = node_id(host)
        if number is not None:
            holders.setdefault(number, []).append(host.name)
    for number, hosts in holders.items():
        if len(hosts) > 1:
            what = f"node.id {number} is used by {listing(hosts)}."
            yield Finding("kafka_node_id", what, _set_ids(suggested, hosts[1:]), tuple(hosts))


@rule(
    "quorum-size",
    when="the number of controllers is even, or one beside more than one broker",
    why="A quorum needs a majority: an even number tolerates no more failures than one less.",
    remedy="Use 3 or 5 controllers, or set `kafka_allow_unsafe_quorum: true`.",
)
def quorum_size(inventory: Inventory) -> Iterator[Finding]:
    """Refuse a quorum that tolerates no failure, or no more than a smaller one would."""
    controllers = inventory.members("kafka_controllers")
    brokers = inventory.members("kafka_brokers")
    count = len(controllers)
    one_node = count == 1 and set(brokers) <= set(controllers)
    accepted = any(yes(host.kafka.get("allow_unsafe_quorum")) for host in nodes(inventory))
    if count == 0 or accepted or one_node or (count > 1 and count % 2 == 1):
        return
    what = (
        f"{count} controller{'s' if count > 1 else ''} ({listing(controllers)}) "
        f"tolerate{'' if count > 1 else 's'} {(count - 1) // 2} failures."
    )
    sizes = f"{count - 1} or {count + 1}" if count > 3 else "3 or 5"
    fix = f"Use {sizes} controllers, or set kafka_allow_unsafe_quorum: true."
    yield Finding("group kafka_controllers", what, fix)


@rule(
    "broker-id-reserved",
    when="in ZooKeeper mode a `kafka_node_id` is above `reserved.broker.max.id` (1000)",
    why="ZooKeeper hands out the ids above it, and a broker that is given one does not start.",
    remedy="Set an id from 0 to 1000.",
)
def broker_id_reserved(inventory: Inventory) -> Iterator[Finding]:
    """Refuse an id that belongs to ids made by ZooKeeper."""
    for host in nodes(inventory) if inventory.in_zookeeper_mode() else ():
        found, limit = node_id(host), number(host, "reserved.broker.max.id")
        limit = _MAX_RESERVED_ID if limit is None else limit
        if found is not None and found > limit:
            what = f"broker.id {found} > reserved.broker.max.id {limit}."
            fix = f"Set kafka_node_id of {host.name} to an unused id from 0 to {limit}."
            yield Finding("kafka_node_id", what, fix, (host.name,))


def members(inventory: Inventory) -> list[Host]:
    """Return the hosts of the group zookeeper, in the order of the inventory."""
    names = inventory.members("zookeeper")
    return [host for name, host in inventory.hosts.items() if name in names]


def raw_zookeeper_id(host: Host) -> Any:  # noqa: ANN401 - whatever YAML gave
    """Return the id as written; a host that --limit left undescribed still has its variable."""
    if "id" in host.zookeeper:
        return host.zookeeper["id"]
    return host.variables.get("zookeeper_id")


def zookeeper_id(host: Host) -> int | None:
    """Return a legal id as a number, None for anything else."""
    found = integer(raw_zookeeper_id(host))
    return found if found is not None and 1 <= found <= _MAX_ZOOKEEPER_ID else None


def _free_zookeeper_id(inventory: Inventory) -> int:
    used = {zookeeper_id(host) for host in members(inventory)}
    return next(one for one in range(1, len(used) + 2) if one not in used)


@rule(
    "zookeeper-id",
    when="a host in `zookeeper` has no `zookeeper_id`, or one that is not from 1 to 255",
    why="A member's data is bound to its id, which ZooKeeper takes from 1 to 255.",
    remedy="Give each member its own `zookeeper_id`.",
)
def zookeeper_id_wrong(inventory: Inventory) -> Iterator[Finding]:
    """Refuse a member without a legal id."""
    free = _free_zookeeper_id(inventory)
    for host in members(inventory):
        raw = raw_zookeeper_id(host)
        if zookeeper_id(host) is None:
            missing = raw in (None, "")
            what = (
                f"{host.name} has no zookeeper_id." if missing else f"{raw!r} is no ZooKeeper id."
            )
            fix = f"Set zookeeper_id: {free} on {host.name}."
            yield Finding("zookeeper_id", what, fix, (host.name,))


@rule(
    "zookeeper-id-duplicate",
    when="two hosts have the same `zookeeper_id`",
    why="The second member takes the place of the first in the ensemble, and neither has a "
    "majority.",
    remedy="Give one of them an unused id; a member that already holds data keeps its own.",
)
def zookeeper_id_duplicate(inventory: Inventory) -> Iterator[Finding]:
    """Refuse a ZooKeeper id used twice."""
    holders: dict[int, list[str]] = {}
    for host in members(inventory):
        found = zookeeper_id(host)
        if found is not None:
            holders.setdefault(found, []).append(host.name)
    for found, hosts in holders.items():
        if len(hosts) > 1:
            what = f"zookeeper_id {found} is used by {listing(hosts)}."
            fix = f"Set zookeeper_id: {_free_zookeeper_id(inventory)} on {hosts[1]}."
            yield Finding("zookeeper_id", what, fix, tuple(hosts))


@rule(
    "ensemble-size",
    when="the number of ZooKeeper members is even, or one",
    why="An ensemble needs a majority: an even number tolerates no more failures than one less.",
    remedy="Use 3 or 5 members, or set `zookeeper_allow_unsafe_ensemble: true`.",
)
def ensemble_size(inventory: Inventory) -> Iterator[Finding]:
    """Refuse an ensemble that tolerates no failure, or no more than a smaller one would."""
    hosts = members(inventory)
    count = len(hosts)
    accepted = any(yes(host.zookeeper.get("allow_unsafe_ensemble")) for host in hosts)
    if count == 0 or accepted or (count > 1 and count % 2 == 1):
        return
    names = listing(host.name for host in hosts)
    what = f"{count} member{'s' if count > 1 else ''} of ZooKeeper ({names}) "
    what += f"tolerate{'' if count > 1 else 's'} {(count - 1) // 2} failures."
    sizes = f"{count - 1} or {count + 1}" if count > 3 else "3 or 5"
    fix = f"Use {sizes} members, or set zookeeper_allow_unsafe_ensemble: true."
    yield Finding("group zookeeper", what, fix)


@rule(
    "cluster-id",
    when="`kafka_cluster_id` is set and no cluster id",
    why="A cluster id is a UUID of 16 bytes in 22 characters of URL-safe base64.",
    remedy="Leave `kafka_cluster_id` empty for a new cluster: an id is minted and kept beside the "
    "inventory. For an existing one copy `cluster.id` from its `meta.properties`.",
)
def cluster_id(inventory: Inventory) -> Iterator[Finding]:
    """Refuse an id that kafka-storage would refuse."""
    for host in inventory.kafka_hosts():
        value = host.kafka.get("cluster_id")
        if value in (None, "") or (isinstance(value, str) and is_cluster_id(value)):
            continue
        fix = "Leave it empty to mint one, or copy cluster.id from a node's meta.properties."
        yield Finding("kafka_cluster_id", f"{value!r} is no cluster id.", fix, (host.name,))


@rule(
    "cluster-id-differs",
    when="hosts of one cluster have different values of `kafka_cluster_id`",
    why="A node joins only the cluster whose id is on its disks; the others refuse it.",
    remedy="Set the id once, in the group variables of the cluster.",
)
def cluster_id_differs(inventory: Inventory) -> Iterator[Finding]:
    """Refuse two ids of one cluster."""
    holders: dict[str, list[str]] = {}
    for host in inventory.kafka_hosts():
        holders.setdefault(str(host.kafka.get("cluster_id") or ""), []).append(host.name)
    if len(holders) > 1:
        parts = listing(f"{one or 'none'} on {listing(names)}" for one, names in holders.items())
        common = max(filter(None, holders), key=lambda one: len(holders[one]))
        what = f"The cluster has more than one id: {parts}."
        fix = f"Set kafka_cluster_id: {common} for all of them."
        yield Finding("kafka_cluster_id", what, fix)


@rule(
    "quorum-kind-differs",
    when="`kafka_quorum` is `static` on some Kafka hosts and `dynamic` on others",
    why="A quorum is of one kind: the nodes of the other would vote in another or find none.",
    remedy="Set `kafka_quorum` once, in the group variables of all Kafka hosts.",
)
def quorum_kind_differs(inventory: Inventory) -> Iterator[Finding]:
    """Refuse nodes that do not agree on how they find the voters."""
    holders: dict[str, list[str]] = {}
    for host in inventory.kafka_hosts() if not inventory.in_zookeeper_mode() else ():
        if host.kafka.get("quorum") is not None:
            holders.setdefault(str(host.kafka["quorum"]), []).append(host.name)
    if len(holders) > 1:
        parts = listing(f"{one} on {listing(names)}" for one, names in holders.items())
        fix = "Set kafka_quorum once, in the group variables of all Kafka hosts: dynamic for a new "
        fix += "cluster, else what it was formatted with."
        hosts = tuple(name for names in holders.values() for name in names)
        yield Finding("kafka_quorum", f"The quorum is {parts}.", fix, hosts)
