"""Ansible action: which Kafka nodes a roll takes, in which order, and whether it has the lock."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..module_utils.host.certificate_expiry import LEAST_DAYS
from ..module_utils.host.operation_file import RUNNING
from ..module_utils.operations import gate
from ..plugin_utils import operation
from ..plugin_utils.action import Action
from ..plugin_utils.cluster.cluster import Cluster
from ..plugin_utils.inventory.reading import plain
from ..plugin_utils.operations.roll_stages import Stage, stages

ONE_BY_ONE = "One node at a time"


class ActionModule(Action):
    """Plan; runs only on the control node."""

    _requires_connection = False

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Return `plan`, the names in their order, and the state of the lock."""
        cluster = self.cluster
        nodes: Mapping[str, Mapping[str, Any]] = plain(args["nodes"])
        failed = failed_directories(cluster, args["health"])
        selected = [
            name
            for name, node in nodes.items()
            if args["every_node"]
            or is_wanted(args["action"], node)
            or (args["action"] == "restart" and name in failed)
        ]
        members = gate_nodes(cluster, selected, nodes, args["health"])
        names = order(cluster, members, args["health"], backwards=args["backwards"])
        plan_stages = stages(names, groups(cluster, members))
        other_nodes = {
            result["item"]: result for result in plain(args["other_nodes"]) if "holder" in result
        }
        lock = operation.lock(cluster, {**other_nodes, **nodes})
        planned = {name: node for name, node in nodes.items() if name in names}
        refused = lock["refused"] or refusals(cluster, args["action"], planned)
        if not self._task.check_mode:
            fresh = {"state": RUNNING, "plan": names, "left": names, "done": [], "reason": refused}
            operation.save({**operation.current(""), **fresh, **operation.took_over(lock)})
        return {
            "changed": False,
            "plan": names,
            "stages": [stage.as_data() for stage in plan_stages],
            "failed_directories": [name for name in names if name in failed],
            "versions": running_versions(cluster, planned),
            **lock,
            "refused": refused,
            "lines": [lock["message"]] if lock["message"] else lines(plan_stages, args["health"]),
        }


def running_versions(cluster: Cluster, nodes: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the versions of Kafka that nodes have and that are not those they should have."""
    running = {
        str(node["home"]).split("-")[1]: name for name, node in nodes.items() if node["home"]
    }
    return sorted(
        version for version, name in running.items() if version != cluster.kafka[name].version
    )


def lines(plan_stages: list[Stage], health: Mapping[str, Any]) -> list[str]:
    """Return the plan as lines to show, with what blocks it now."""
    if not plan_stages:
        return ["No node needs this action."]
    names = ", ".join(name for stage in plan_stages for name in stage.names)
    blockers = [f"Blocked now: {blocker['text']}" for blocker in health.get("blockers", [])]
    together = any(stage.most > 1 for stage in plan_stages)
    how = "Several brokers at a time where the gate can spare them" if together else ONE_BY_ONE
    return [f"{how}, each after its gate check: {names}", *blockers]


def is_wanted(action: str, node: Mapping[str, Any]) -> bool:
    """Return whether a node needs the action, by what the module kafka_node found."""
    if action == "upgrade":
        return bool(node["home"]) and not node["settled"]
    if action == "reboot":
        return bool(node["reboot_required"])
    return bool(node["marked"]) or bool(node["replaced"]) or not node["running"]


def failed_directories(cluster: Cluster, health: Mapping[str, Any]) -> list[str]:
    """Return the nodes that have taken a directory out of use: only a restart brings it back."""
    ids = {*health.get("failed_directories", ())}
    return [name for name, node in cluster.kafka.items() if node.is_broker and node.id in ids]


def refusals(cluster: Cluster, action: str, nodes: Mapping[str, Mapping[str, Any]]) -> str:
    """Return why nodes cannot be taken at all, empty if they can."""
    reasons = [
        f"{name}: {path} expires within {LEAST_DAYS} days; renew it before a restart."
        for name, node in nodes.items()
        for path in node["expiring"]
    ]
    reasons += _reboot_refusals(cluster, nodes) if action == "reboot" else []
    return " ".join([*reasons, "Nothing was changed."] if reasons else [])


def _reboot_refusals(cluster: Cluster, nodes: Mapping[str, Mapping[str, Any]]) -> list[str]:
    containers = [name for name, node in nodes.items() if node["container"]]
    services = {"ZooKeeper": cluster.zookeeper, "HDFS": cluster.hdfs}
    reasons = []
    if containers:
        reasons.append(f"{', '.join(containers)}: a container cannot be rebooted from inside.")
    for title, hosts in services.items():
        if members := [name for name in nodes if name in hosts]:
            reasons.append(
                f"{', '.join(members)}: {title} runs there too and has no gate. Reboot these hosts "
                "by hand, one at a time, each while the others serve."
            )
    return reasons


def gate_nodes(
    cluster: Cluster,
    names: list[str],
    nodes: Mapping[str, Mapping[str, Any]],
    health: Mapping[str, Any],
) -> dict[str, gate.Node]:
    """Return host -> its node as the gate sees it.

    `health` is the answer of the module kafka_health: who is registered, and who leads now.
    """
    ready = {broker["id"] for broker in health.get("brokers", []) if not broker["fenced"]}
    ready -= {*health.get("failed_directories", ())}
    ids = {name: cluster.kafka[name].id for name in names}
    return {
        name: gate.Node(
            number,
            broker=cluster.kafka[name].is_broker,
            controller=cluster.kafka[name].is_controller,
            rack=str(cluster.kafka[name].settings["kafka_rack"]),
            ready=(not cluster.kafka[name].is_broker or number in ready)
            and bool(nodes[name]["running"]),
        )
        for name, number in ids.items()
        if number is not None
    }


def order(
    cluster: Cluster,
    members: Mapping[str, gate.Node],
    health: Mapping[str, Any],
    *,
    backwards: bool,
) -> list[str]:
    """Return nodes in the order of their restarts (`gate.order`)."""
    by_id = {node.id: name for name, node in members.items()}
    on_zookeeper = not cluster.controllers
    ordered = gate.order(
        members.values(),
        health.get("controller"),
        on_zookeeper=on_zookeeper,
        reverse_roles=backwards,
    )
    return [by_id[number] for number in ordered]


def groups(
    cluster: Cluster, members: Mapping[str, gate.Node]
) -> dict[str, tuple[tuple[bool, str], int]]:
    """Return the brokers that may go together with others of their group, and how many of it.

    None of them is a controller: a quorum spares one at a time. Those that do not serve go first.
    """
    return {
        name: ((node.ready, node.rack), most)
        for name, node in members.items()
        if (most := cluster.kafka[name].most_together) > 1
    }
