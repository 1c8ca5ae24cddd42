"""The rules about identity and quorums: node ids, ZooKeeper ids and the cluster id."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any

from .....module_utils.formats.uuids import is_cluster_id
from .....module_utils.formats.values import integer, is_true, listing
from ....cluster.cluster import Cluster
from ....cluster.inventory import CLUSTER_ID_FILE
from ....cluster.registry import ENTRIES
from ....rules.engine import Finding, Findings, hosts_rule, rule
from ....rules.inspection import InspectedHost
from ....rules.shared import differing, falls_back_to_default, holders, nodes, shared_values
from ..node import KafkaNode

_LEGAL_IDS = {"kafka_node_id": range(2**31), "zookeeper_id": range(1, 256)}
_MAX_RESERVED_ID = 1000  # Kafka's default of reserved.broker.max.id
_FIRST_CONTROLLER_ID = 100
_ALLOW_QUORUM = "kafka_allow_unsafe_quorum"
_ALLOW_ENSEMBLE = "zookeeper_allow_unsafe_ensemble"


def _ids(cluster: Cluster, variable: str) -> tuple[dict[str, Any], dict[str, int]]:
    """Return host -> id as the inventory gives it, and the legal ones as numbers.

    A host where the variable is not known is left out, and every one if it is given with -e.
    """
    hosts = cluster.kafka if variable == "kafka_node_id" else cluster.zookeeper
    inventory = {host: cluster.inventory.hosts[host] for host in hosts}
    written = {
        host: entry.variables.get(variable)
        for host, entry in inventory.items()
        if not entry.is_unknown(variable) and variable not in cluster.inventory.parameters
    }
    numbers = {host: integer(value) for host, value in written.items()}
    allowed = _LEGAL_IDS[variable]
    return written, {
        host: number for host, number in numbers.items() if number is not None and number in allowed
    }


def _set_ids(cluster: Cluster, variable: str, hosts: Sequence[str]) -> str:
    """Name a free id for each of some hosts.

    Every rule gets the same id for a host, and each host that needs one gets a different one.
    """
    written, legal = _ids(cluster, variable)
    used = {*legal.values()}
    firsts = {names[0] for names in holders(legal).values()}
    suggested: dict[str, int] = {}
    for host in written:
        if host in firsts:
            continue
        node = cluster.kafka.get(host) if variable == "kafka_node_id" else None
        first = _FIRST_CONTROLLER_ID if node and not node.is_broker else 1
        suggested[host] = next(free for free in count(first) if free not in used)
        used.add(suggested[host])
    return "Set " + listing(f"{variable}: {suggested[host]} on {host}" for host in hosts) + "."


@rule("parameter-of-host", where="-e")
def _parameter_of_host(cluster: Cluster) -> Findings:
    """A value given with -e is that of every host, whatever the inventory says."""
    for variable, hosts in _identities(cluster).items():
        if variable in cluster.inventory.parameters and len(hosts) > 1:
            problem = f"{variable} is given to {listing(hosts)}."
            yield Finding(problem, "Remove it there, and set it for each host in the inventory.")


def _identities(cluster: Cluster) -> dict[str, list[str]]:
    """Return each variable by which hosts differ -> the hosts that read it."""
    readers = {
        name: [*cluster.by_product[product]]
        for product, entry in ENTRIES.items()
        for name in entry.identities
        if cluster.by_product[product]
    }
    return {**readers, "ansible_host": [*cluster.inventory.placed()]}


@rule("node-id-missing", where="kafka_node_id")
def _node_id_missing(cluster: Cluster) -> Findings:
    """A node's data is bound to its id, so the id is not derived from the order of hosts."""
    written, _ = _ids(cluster, "kafka_node_id")
    hosts = [host for host, value in written.items() if value in (None, "")]
    if hosts:
        problem = f"{listing(hosts)} {'have' if len(hosts) > 1 else 'has'} no node.id."
        yield Finding(problem, _set_ids(cluster, "kafka_node_id", hosts), hosts=tuple(hosts))


@rule("node-id-invalid", where="kafka_node_id")
def _node_id_invalid(cluster: Cluster) -> Findings:
    """Kafka accepts ids from 0 to 2147483647."""
    written, legal = _ids(cluster, "kafka_node_id")
    for host, value in written.items():
        if value not in (None, "") and host not in legal:
            fix = _set_ids(cluster, "kafka_node_id", [host])
            yield Finding(f"{value!r} is not a valid node.id.", fix, hosts=(host,))


@rule("node-id-duplicate", where="kafka_node_id")
def _node_id_duplicate(cluster: Cluster) -> Findings:
    """Brokers and controllers share one id space; the second node is refused by the cluster."""
    _, legal = _ids(cluster, "kafka_node_id")
    for number, hosts in shared_values(legal):
        problem = f"node.id {number} is used by {listing(hosts)}."
        yield Finding(problem, _set_ids(cluster, "kafka_node_id", hosts[1:]), hosts=tuple(hosts))


def _accepted(cluster: Cluster, hosts: Iterable[str], variable: str) -> bool:
    """Return whether a host's variable accepts the size, or may do so once it can be resolved."""
    return any(
        cluster.hosts[host].settings[variable] or falls_back_to_default(cluster, host, variable)
        for host in hosts
    )


def _unsafe_size(kind: str, members: Sequence[str], accept: str) -> Findings:
    """Find a size that tolerates no failure, or no more failures than one member fewer would."""
    size = len(members)
    if size == 0 or (size > 1 and size % 2 == 1):
        return
    problem = f"{size} {kind}{'s' if size > 1 else ''} ({listing(members)}) "
    problem += f"tolerate{'' if size > 1 else 's'} {(size - 1) // 2} failures."
    sizes = f"{size - 1} or {size + 1}" if size > 3 else "3 or 5"
    yield Finding(problem, f"Use {sizes} {kind}s, or set {accept}: true.")


@rule("quorum-size", where="group kafka_controllers")
def _quorum_size(cluster: Cluster) -> Findings:
    """A quorum needs a majority: an even number tolerates no more failures than one less."""
    controllers = cluster.inventory.members("kafka_controllers")
    one_node = len(controllers) == 1 and [*cluster.kafka] == controllers
    if not one_node and not _accepted(cluster, cluster.kafka, _ALLOW_QUORUM):
        yield from _unsafe_size("controller", controllers, _ALLOW_QUORUM)


@rule("broker-id-reserved", where="kafka_node_id")
def _broker_id_reserved(cluster: Cluster) -> Findings:
    """ZooKeeper assigns higher ids, and a broker whose configuration sets one does not start."""
    _, legal = _ids(cluster, "kafka_node_id")
    for host, number in legal.items() if cluster.inventory.in_zookeeper_mode else ():
        limit = cluster.kafka[host].properties.number("reserved.broker.max.id")
        limit = _MAX_RESERVED_ID if limit is None else limit
        generated = cluster.kafka[host].config.get("broker.id.generation.enable", True)
        if number > limit and is_true(generated):
            problem = f"broker.id {number} > reserved.broker.max.id {limit}."
            fix = f"Set kafka_node_id of {host} to an unused id from 0 to {limit}."
            yield Finding(problem, fix, hosts=(host,))


@rule("zookeeper-id", where="zookeeper_id")
def _zookeeper_id(cluster: Cluster) -> Findings:
    """A member's data is bound to its id, which must be from 1 to 255."""
    written, legal = _ids(cluster, "zookeeper_id")
    for host, value in written.items():
        if host not in legal:
            missing = value in (None, "")
            problem = f"{host} has no zookeeper_id." if missing else f"{value!r} is not a valid id."
            yield Finding(problem, _set_ids(cluster, "zookeeper_id", [host]), hosts=(host,))


@rule("zookeeper-id-duplicate", where="zookeeper_id")
def _zookeeper_id_duplicate(cluster: Cluster) -> Findings:
    """The second member takes the place of the first in the ensemble, and neither has a
    majority.
    """
    _, legal = _ids(cluster, "zookeeper_id")
    for number, hosts in shared_values(legal):
        problem = f"zookeeper_id {number} is used by {listing(hosts)}."
        yield Finding(problem, _set_ids(cluster, "zookeeper_id", hosts[1:]), hosts=tuple(hosts))


@rule("ensemble-size", where="group zookeeper")
def _ensemble_size(cluster: Cluster) -> Findings:
    """An ensemble needs a majority: an even number tolerates no more failures than one less."""
    if not _accepted(cluster, cluster.zookeeper, _ALLOW_ENSEMBLE):
        yield from _unsafe_size("ZooKeeper member", [*cluster.zookeeper], _ALLOW_ENSEMBLE)


@rule("cluster-id", each=nodes, where="kafka_cluster_id")
def _cluster_id(node: KafkaNode) -> Findings:
    """A cluster id is a UUID of 16 bytes in 22 characters of URL-safe base64."""
    value = node.settings["kafka_cluster_id"]
    if value and not is_cluster_id(value):
        fix = "Leave it empty to generate one, or copy cluster.id from a node's meta.properties."
        yield Finding(f"{value!r} is not a valid cluster id.", fix)


@rule("cluster-id-file", where=CLUSTER_ID_FILE)
def _cluster_id_file(cluster: Cluster) -> Findings:
    """Nodes are formatted with the id in this file; with another id they would form another
    cluster.
    """
    error = cluster.inventory.cluster_id_error
    if cluster.kafka and error:
        fix = "Restore the file from version control, or write cluster.id from a node's "
        fix += "meta.properties into it. Delete it only if no node was ever formatted: then a new "
        fix += "id is generated."
        yield Finding(f"{error}.", fix)


@rule("cluster-id-differs", where="kafka_cluster_id")
def _cluster_id_differs(cluster: Cluster) -> Findings:
    """A node joins only the cluster whose id is on its disks; the others refuse it."""
    ids = {name: node.settings["kafka_cluster_id"] for name, node in nodes(cluster)}
    differences = differing(cluster, "kafka_cluster_id", ids)
    if differences:
        [(common, _)] = Counter(filter(None, ids.values())).most_common(1)
        problem = f"The cluster has more than one id: {differences}."
        yield Finding(problem, f"Set kafka_cluster_id: {common} for all of them.")


@rule("quorum-kind-differs", where="kafka_quorum")
def _quorum_kind_differs(cluster: Cluster) -> Findings:
    """A quorum has one kind: nodes of the other kind would vote in a different quorum, or find
    none.
    """
    kinds = {
        name: node.settings["kafka_quorum"] for name, node in nodes(cluster) if node.mode == "kraft"
    }
    differences = differing(cluster, "kafka_quorum", kinds)
    if differences:
        fix = "Set kafka_quorum once, in the group variables of all Kafka hosts: dynamic for a new "
        fix += "cluster, else what it was formatted with."
        yield Finding(f"The quorum is {differences}.", fix, hosts=tuple(kinds))


@hosts_rule("operation-running", where="the cluster lock")
def _operation_running(hosts: Sequence[InspectedHost]) -> Findings:
    """A rolling change restarts nodes with the files that it finds on them, and follows the plan
    that it made at its start.
    """
    if hosts and hosts[0].other_operation:
        problem = f"Another operation holds the cluster lock: {hosts[0].other_operation}."
        yield Finding(problem, "Run this again when that operation has ended.")
