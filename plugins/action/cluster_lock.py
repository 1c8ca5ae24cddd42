"""Ansible action: whether this run holds the lock of a cluster, and where its module runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..module_utils.formats.versions import release_numbers
from ..module_utils.host.operation_file import RUNNING
from ..plugin_utils import operation
from ..plugin_utils.action import LocalAction
from ..plugin_utils.cluster.cluster import Cluster
from ..plugin_utils.inventory.reading import plain

FIRST_VOTE_ENDS = (4, 1)
"""From this version on a controller leaves the quorum before it is stopped (KIP-996), as Kafka's
documentation says; before it, afterwards."""


class ActionModule(LocalAction):
    """Judge what the module kafka_node has answered."""

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Return the state of the lock, and the host of the operation."""
        cluster, leaving, replaced = self.cluster, args["leaving"], args["replaced"]
        nodes: Mapping[str, Mapping[str, Any]] = plain(args["nodes"])
        other_nodes = {
            result["item"]: result for result in plain(args["other_nodes"]) if "holder" in result
        }
        lock = operation.lock(cluster, {**other_nodes, **nodes})
        # A host that is replaced is the only one of its play.
        reached = {**other_nodes, **nodes} if replaced else nodes
        host = working_host(cluster, reached, leaving or replaced)
        refused = lock["refused"] or refusal(cluster, leaving, host)
        if not self._task.check_mode:
            steps: dict[str, list[str]] = {"plan": [], "left": [], "done": []}
            fresh = {"state": RUNNING, "reason": refused, **steps, **operation.took_over(lock)}
            operation.save({**operation.current(""), **fresh})
        return {
            "changed": False,
            **lock,
            "refused": refused,
            "host": host,
            **departure(cluster, leaving),
            "lines": [lock["message"]] if lock["message"] else [],
        }


def working_host(cluster: Cluster, hosts: Iterable[str], leaving: str) -> str:
    """Return the first broker's host of a play but the one that leaves, empty if there is none."""
    brokers = [name for name, node in cluster.kafka.items() if node.is_broker]
    present = set(hosts) - {leaving}
    return next((name for name in brokers if name in present), "")


def departure(cluster: Cluster, leaving: str) -> dict[str, Any]:
    """Return what is to leave its cluster: node id, roles, and when its vote ends."""
    node = cluster.kafka.get(leaving)
    if node is None:
        return {"node_id": -1, "broker": False, "controller": False, "vote_ends_first": False}
    return {
        "node_id": node.id,
        "broker": node.is_broker,
        "controller": node.is_controller,
        "vote_ends_first": release_numbers(node.version) >= FIRST_VOTE_ENDS,
    }


def refusal(cluster: Cluster, leaving: str, host: str) -> str:
    """Return why a node cannot leave its cluster, empty if it can."""
    reasons = []
    if not host:
        reasons.append("no other broker of the inventory can be reached")
    if leaving and leaving not in cluster.kafka:
        known = ", ".join(cluster.kafka)
        reasons.append(f"node {leaving} is not a Kafka host of the inventory, which are {known}")
    elif leaving and cluster.kafka[leaving].is_controller:
        reasons += _vote_reasons(cluster, leaving)
    return f"{'; '.join(reasons)}. Nothing was changed." if reasons else ""


def _vote_reasons(cluster: Cluster, leaving: str) -> list[str]:
    """Return why a controller cannot leave, as far as the inventory shows it."""
    node = cluster.kafka[leaving]
    if node.settings["kafka_quorum"] == "static":
        return [
            f"{leaving} is a controller of a static quorum (kafka_quorum), whose members stand in "
            "the files of all nodes: none can leave. Replace its machine with replace.yml instead"
        ]
    if len(node.voters) < 2:
        return [f"{leaving} is the only controller: add others first"]
    return []
