"""Ansible action: whether this run holds the lock of a cluster, and where its module runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..module_utils.host.operation_file import RUNNING
from ..plugin_utils import operation
from ..plugin_utils.action import LocalAction
from ..plugin_utils.cluster.cluster import Cluster
from ..plugin_utils.inventory.reading import plain


class ActionModule(LocalAction):
    """Judge what the module kafka_node has answered."""

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Return the state of the lock, and the host of the operation."""
        cluster, leaving = self.cluster, args["leaving"]
        nodes: Mapping[str, Mapping[str, Any]] = plain(args["nodes"])
        other_nodes = {
            result["item"]: result for result in plain(args["other_nodes"]) if "holder" in result
        }
        lock = operation.lock(cluster, {**other_nodes, **nodes})
        host = working_host(cluster, nodes, leaving)
        refused = lock["refused"] or refusal(cluster, leaving, host)
        if not self._task.check_mode:
            steps: dict[str, list[str]] = {"plan": [], "left": [], "done": []}
            fresh = {"state": RUNNING, "reason": refused, **steps}
            operation.save({**operation.current(""), **fresh})
        return {
            "changed": False,
            **lock,
            "refused": refused,
            "host": host,
            "node_id": cluster.kafka[leaving].id if leaving in cluster.kafka else -1,
            "lines": [lock["message"]] if lock["message"] else [],
        }


def working_host(cluster: Cluster, hosts: Iterable[str], leaving: str) -> str:
    """Return the first broker's host of a play but the one that leaves, empty if there is none."""
    brokers = [name for name, node in cluster.kafka.items() if node.is_broker]
    present = set(hosts) - {leaving}
    return next((name for name in brokers if name in present), "")


def refusal(cluster: Cluster, leaving: str, host: str) -> str:
    """Return why a broker cannot leave its cluster, empty if it can."""
    reasons = []
    if not host:
        reasons.append("no other broker of the inventory can be reached")
    if leaving and leaving not in cluster.kafka:
        known = ", ".join(name for name, node in cluster.kafka.items() if node.is_broker)
        reasons.append(f"node {leaving} is not a Kafka broker of the inventory, which are {known}")
    elif leaving and not cluster.kafka[leaving].is_broker:
        reasons.append(f"{leaving} is a controller and no broker: it holds no replicas to move")
    elif leaving and cluster.kafka[leaving].is_controller:
        reasons.append(
            f"{leaving} is a controller too: it would leave the quorum with its broker. Give its "
            "place in the quorum to another host first, with a directory of its own"
        )
    return f"{'; '.join(reasons)}. Nothing was changed." if reasons else ""
