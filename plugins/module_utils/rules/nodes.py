"""The rules about identity and quorums: node ids, ZooKeeper ids and the cluster id."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.model.cluster import Cluster
from ansible_collections.millrace.streaming.plugins.module_utils.model.uuids import is_cluster_id
from ansible_collections.millrace.streaming.plugins.module_utils.model.values import (
    integer,
    listing,
)
from ansible_collections.millrace.streaming.plugins.module_utils.rules.engine import (
    Finding,
    hosts_rule,
    rule,
)
from ansible_collections.millrace.streaming.plugins.module_utils.rules.inspection import (
    InspectedHost,
)
from ansible_collections.millrace.streaming.plugins.module_utils.rules.shared import (
    differing,
    has_default_instead,
    holders,
)

_MAX_NODE_ID = 2**31 - 1
_MAX_ZOOKEEPER_ID = 255
_MAX_RESERVED_ID = 1000  # Kafka's default of reserved.broker.max.id
_FIRST_CONTROLLER_ID = 100
_ALLOW_QUORUM = "kafka_allow_unsafe_quorum"
_ALLOW_ENSEMBLE = "zookeeper_allow_unsafe_ensemble"


def _ids(
    cluster: Cluster, variable: str, hosts: Iterable[str], lowest: int, highest: int
) -> tuple[dict[str, Any], dict[str, int]]:
    """Return host -> id as the inventory gives it, and the legal ones as numbers.

    A host where the variable cannot be resolved is left out: nothing is known of its id.
    """
    inventory = cluster.inventory.hosts
    resolved = [host for host in hosts if variable not in inventory[host].unresolved]
    written = {host: inventory[host].variables.get(variable) for host in resolved}
    numbers = {host: integer(value) for host, value in written.items()}
    legal = {
        host: number
        for host, number in numbers.items()
        if number is not None and lowest <= number <= highest
    }
    return written, legal


def _node_ids(cluster: Cluster) -> tuple[dict[str, Any], dict[str, int]]:
    return _ids(cluster, "kafka_node_id", cluster.kafka, 0, _MAX_NODE_ID)


def _zookeeper_ids(cluster: Cluster) -> tuple[dict[str, Any], dict[str, int]]:
    return _ids(cluster, "zookeeper_id", cluster.zookeeper, 1, _MAX_ZOOKEEPER_ID)


def _set_node_ids(cluster: Cluster, hosts: Sequence[str]) -> str:
    """Name a free id for each of some hosts.

    The same for a host whatever rule asks, and another for each host that needs one.
    """
    written, legal = _node_ids(cluster)
    used = {*legal.values()}
    firsts = {names[0] for names in holders(legal).values()}
    suggested: dict[str, int] = {}
    for host in written:
        if host in firsts:
            continue
        free = 1 if cluster.kafka[host].is_broker else _FIRST_CONTROLLER_ID
        while free in used:
            free += 1
        used.add(free)
        suggested[host] = free
    return "Set " + listing(f"kafka_node_id: {suggested[host]} on {host}" for host in hosts) + "."


@rule(
    "node-id-missing",
    when="a host in `kafka_brokers` or `kafka_controllers` has no `kafka_node_id`",
    why="A node's data is bound to its id, so the id does not follow from the order of hosts.",
    remedy="Give each Kafka host its own `kafka_node_id`.",
)
def _node_id_missing(cluster: Cluster) -> Iterator[Finding]:
    written, _ = _node_ids(cluster)
    hosts = [host for host, value in written.items() if value in (None, "")]
    if hosts:
        what = f"{listing(hosts)} {'have' if len(hosts) > 1 else 'has'} no node.id."
        yield Finding("kafka_node_id", what, _set_node_ids(cluster, hosts), tuple(hosts))


@rule(
    "node-id-invalid",
    when="a `kafka_node_id` is negative, above 2147483647 or no whole number",
    why="Kafka takes an id from 0 to 2147483647.",
    remedy="Set `kafka_node_id` to an unused whole number.",
)
def _node_id_invalid(cluster: Cluster) -> Iterator[Finding]:
    written, legal = _node_ids(cluster)
    for host, value in written.items():
        if value not in (None, "") and host not in legal:
            fix = _set_node_ids(cluster, [host])
            yield Finding("kafka_node_id", f"{value!r} is no node.id.", fix, (host,))


@rule(
    "node-id-duplicate",
    when="two Kafka hosts have the same `kafka_node_id`",
    why="Brokers and controllers share one id space; the second node is refused by the cluster.",
    remedy="Give one of them an unused id; a node that already holds data keeps its own.",
)
def _node_id_duplicate(cluster: Cluster) -> Iterator[Finding]:
    _, legal = _node_ids(cluster)
    for number, hosts in holders(legal).items():
        if len(hosts) > 1:
            what = f"node.id {number} is used by {listing(hosts)}."
            fix = _set_node_ids(cluster, hosts[1:])
            yield Finding("kafka_node_id", what, fix, tuple(hosts))


@rule(
    "quorum-size",
    when="the number of controllers is even, or one beside more than one broker",
    why="A quorum needs a majority: an even number tolerates no more failures than one less.",
    remedy="Use 3 or 5 controllers, or set `kafka_allow_unsafe_quorum: true`.",
)
def _quorum_size(cluster: Cluster) -> Iterator[Finding]:
    controllers = cluster.inventory.members("kafka_controllers")
    one_node = len(controllers) == 1 and [*cluster.kafka] == controllers
    if not one_node and not _accepted(cluster, cluster.kafka, _ALLOW_QUORUM):
        yield from _unsafe_size("controller", controllers, "group kafka_controllers", _ALLOW_QUORUM)


def _accepted(cluster: Cluster, hosts: Iterable[str], variable: str) -> bool:
    """Tell whether a host's variable accepts the size, or may do so once it can be resolved."""
    return any(
        cluster.hosts[host].settings[variable] or has_default_instead(cluster, host, variable)
        for host in hosts
    )


def _unsafe_size(kind: str, members: Sequence[str], where: str, accept: str) -> Iterator[Finding]:
    """Find a number of members that tolerates no failure, or no more than one less would."""
    count = len(members)
    if count == 0 or (count > 1 and count % 2 == 1):
        return
    what = f"{count} {kind}{'s' if count > 1 else ''} ({listing(members)}) "
    what += f"tolerate{'' if count > 1 else 's'} {(count - 1) // 2} failures."
    sizes = f"{count - 1} or {count + 1}" if count > 3 else "3 or 5"
    yield Finding(where, what, f"Use {sizes} {kind}s, or set {accept}: true.")


@rule(
    "broker-id-reserved",
    when="in ZooKeeper mode a `kafka_node_id` is above `reserved.broker.max.id` (1000)",
    why="ZooKeeper assigns the ids above it, and a broker with such an id set does not start.",
    remedy="Set an id from 0 to 1000.",
)
def _broker_id_reserved(cluster: Cluster) -> Iterator[Finding]:
    _, legal = _node_ids(cluster)
    for host, found in legal.items():
        node = cluster.kafka[host]
        limit = node.number("reserved.broker.max.id")
        limit = _MAX_RESERVED_ID if limit is None else limit
        if node.mode == "zookeeper" and found > limit:
            what = f"broker.id {found} > reserved.broker.max.id {limit}."
            fix = f"Set kafka_node_id of {host} to an unused id from 0 to {limit}."
            yield Finding("kafka_node_id", what, fix, (host,))


def _set_zookeeper_id(cluster: Cluster, host: str) -> str:
    _, legal = _zookeeper_ids(cluster)
    used = {*legal.values()}
    free = next(number for number in range(1, len(used) + 2) if number not in used)
    return f"Set zookeeper_id: {free} on {host}."


@rule(
    "zookeeper-id",
    when="a host in `zookeeper` has no `zookeeper_id`, or one that is not from 1 to 255",
    why="A member's data is bound to its id, which ZooKeeper takes from 1 to 255.",
    remedy="Give each member its own `zookeeper_id`.",
)
def _zookeeper_id(cluster: Cluster) -> Iterator[Finding]:
    written, legal = _zookeeper_ids(cluster)
    for host, value in written.items():
        if host not in legal:
            missing = value in (None, "")
            what = f"{host} has no zookeeper_id." if missing else f"{value!r} is no ZooKeeper id."
            yield Finding("zookeeper_id", what, _set_zookeeper_id(cluster, host), (host,))


@rule(
    "zookeeper-id-duplicate",
    when="two hosts have the same `zookeeper_id`",
    why="The second member takes the place of the first in the ensemble, and neither has a "
    "majority.",
    remedy="Give one of them an unused id; a member that already holds data keeps its own.",
)
def _zookeeper_id_duplicate(cluster: Cluster) -> Iterator[Finding]:
    _, legal = _zookeeper_ids(cluster)
    for number, hosts in holders(legal).items():
        if len(hosts) > 1:
            what = f"zookeeper_id {number} is used by {listing(hosts)}."
            fix = _set_zookeeper_id(cluster, hosts[1])
            yield Finding("zookeeper_id", what, fix, tuple(hosts))


@rule(
    "ensemble-size",
    when="the number of ZooKeeper members is even, or one",
    why="An ensemble needs a majority: an even number tolerates no more failures than one less.",
    remedy="Use 3 or 5 members, or set `zookeeper_allow_unsafe_ensemble: true`.",
)
def _ensemble_size(cluster: Cluster) -> Iterator[Finding]:
    members = [*cluster.zookeeper]
    if not _accepted(cluster, members, _ALLOW_ENSEMBLE):
        yield from _unsafe_size("ZooKeeper member", members, "group zookeeper", _ALLOW_ENSEMBLE)


@rule(
    "cluster-id",
    when="`kafka_cluster_id` is set and no cluster id",
    why="A cluster id is a UUID of 16 bytes in 22 characters of URL-safe base64.",
    remedy="Leave `kafka_cluster_id` empty for a new cluster: an id is generated and kept beside "
    "the inventory. For an existing one copy `cluster.id` from its `meta.properties`.",
)
def _cluster_id(cluster: Cluster) -> Iterator[Finding]:
    for node in cluster.kafka.values():
        value = node.settings["kafka_cluster_id"]
        if value and not is_cluster_id(value):
            fix = "Leave it empty to generate one, or copy cluster.id from a node's "
            fix += "meta.properties."
            yield Finding("kafka_cluster_id", f"{value!r} is no cluster id.", fix, (node.name,))


@rule(
    "cluster-id-differs",
    when="hosts of one cluster have different values of `kafka_cluster_id`",
    why="A node joins only the cluster whose id is on its disks; the others refuse it.",
    remedy="Set the id once, in the group variables of the cluster.",
)
def _cluster_id_differs(cluster: Cluster) -> Iterator[Finding]:
    ids = {node.name: node.settings["kafka_cluster_id"] for node in cluster.kafka.values()}
    parts = differing(cluster, "kafka_cluster_id", ids)
    if parts:
        [(common, _)] = Counter(filter(None, ids.values())).most_common(1)
        what = f"The cluster has more than one id: {parts}."
        yield Finding("kafka_cluster_id", what, f"Set kafka_cluster_id: {common} for all of them.")


@rule(
    "quorum-kind-differs",
    when="`kafka_quorum` is `static` on some Kafka hosts and `dynamic` on others",
    why="A quorum is of one kind: the nodes of the other would vote in another or find none.",
    remedy="Set `kafka_quorum` once, in the group variables of all Kafka hosts.",
)
def _quorum_kind_differs(cluster: Cluster) -> Iterator[Finding]:
    nodes = [node for node in cluster.kafka.values() if node.mode == "kraft"]
    kinds = {node.name: node.settings["kafka_quorum"] for node in nodes}
    parts = differing(cluster, "kafka_quorum", kinds)
    if parts:
        fix = "Set kafka_quorum once, in the group variables of all Kafka hosts: dynamic for a new "
        fix += "cluster, else what it was formatted with."
        yield Finding("kafka_quorum", f"The quorum is {parts}.", fix, tuple(kinds))


@hosts_rule(
    "majority-without-data",
    when="a majority of the controllers, or of ZooKeeper's members, has no data while another "
    "member has; a host that was not inspected, or whose disk is yet to be mounted, counts as one "
    "with data",
    why="An empty majority can elect a leader without the committed records, and the members that "
    "have them then truncate theirs.",
    remedy="Restore the data of members until a majority has its own; add new ones one at a time.",
)
def _majority_without_data(hosts: Sequence[InspectedHost]) -> Iterator[Finding]:
    for group, kind in (("kafka_controllers", "controllers"), ("zookeeper", "ZooKeeper members")):
        members = hosts[0].cluster.inventory.members(group) if hosts else []
        had_leader = {
            host.name: elected
            for host in hosts
            if host.name in members and (elected := _had_leader(host, group)) is not None
        }
        empty = [host for host, elected in had_leader.items() if not elected]
        if any(had_leader.values()) and 2 * len(empty) > len(members):
            full = listing(host for host, elected in had_leader.items() if elected)
            what = f"{listing(empty)} have no data and are a majority of the {len(members)} "
            what += f"{kind}, while {full} has: they would elect a leader without its records."
            fix = "Restore data until a majority has its own; add new members one at a time."
            yield Finding(f"group {group}", what, fix, tuple(empty))


def _had_leader(host: InspectedHost, group: str) -> bool | None:
    """Tell whether a member holds records of a quorum that once had a leader, None if unknown."""
    if group == "zookeeper" and host.zookeeper:
        path = host.zookeeper.data_dir
    elif host.kafka:
        path = host.kafka.metadata_dir or next(iter(host.kafka.data_dirs), "")
    else:
        return None
    found = {directory.path: directory.elected for _, directory in host.on_present_disks()}
    return found.get(path)
