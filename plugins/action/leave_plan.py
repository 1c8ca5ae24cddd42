"""Ansible action: which members of services leave with a host, and which cannot."""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleActionFail

from ..module_utils.formats.values import listing
from ..plugin_utils.action import LocalAction
from ..plugin_utils.cluster import registry
from ..plugin_utils.cluster.cluster import Cluster

KAFKA = "kafka"


class ActionModule(LocalAction):
    """Find the members that leave, by the groups of the host."""

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Return product -> the groups whose members of the host leave, of all but Kafka.

        Raises:
            AnsibleActionFail: the host cannot leave; the message has every problem.

        """
        cluster, node, only = self.cluster, args["node"], args["only"]
        wrong = problems(cluster, node, only, cancel=args["cancel"])
        if wrong:
            lines = "\n- ".join(wrong)
            message = f"{node or 'No host'} cannot leave. Nothing was changed.\n- {lines}"
            raise AnsibleActionFail(message)
        leaving = {} if args["cancel"] else members(only or groups_of_host(cluster, node))
        if leaving and node not in self.hosts("ansible_play_hosts"):
            message = (
                f"--limit leaves out {node}, which has to stop {listing(leaving)}. Nothing was "
                "changed. For a host that is down see docs/operate/unreachable.md"
            )
            raise AnsibleActionFail(message)
        return {
            "changed": False,
            "leaving": leaving,
            "groups": [group for groups in leaving.values() for group in groups],
        }


def groups_of_host(cluster: Cluster, node: str) -> list[str]:
    """Return the groups of services that a host is in."""
    return [group for group in registry.GROUPS if node in cluster.inventory.members(group)]


def members(groups: list[str]) -> dict[str, list[str]]:
    """Return product -> those of some groups whose members can leave, without Kafka's."""
    of_products = {
        product: [group.name for group in entry.groups if group.leaves and group.name in groups]
        for product, entry in registry.ENTRIES.items()
        if product != KAFKA
    }
    return {product: names for product, names in of_products.items() if names}


def problems(cluster: Cluster, node: str, only: list[str], *, cancel: bool) -> list[str]:
    """Return why a host cannot leave some of its groups, or all of them; empty if it can."""
    if not node:
        return ["Name the host: -e node=HOST"]
    present = groups_of_host(cluster, node)
    if not present:
        return [f"The inventory has no host {node} in a group of a service"]
    wrong = [
        f"{node} is not in the group {group}; its groups are {listing(present)}"
        for group in only
        if group not in present
    ]
    kafka = registry.groups_of(KAFKA)
    kept = [
        group
        for group in only or present
        if group in present and group not in kafka and not registry.GROUPS[group].leaves
    ]
    if kept and not cancel:
        others = [group for group in present if group not in kept]
        fix = f", or let it leave the others alone: -e only={','.join(others)}" if others else ""
        titles = listing([registry.GROUPS[group].one for group in kept])
        wrong.append(
            f"decommission.yml does not take out of service: {titles} (in {listing(kept)}). Give its "
            f"place to another host{fix}"
        )
    if cancel and not [group for group in only or present if group in kafka]:
        wrong.append(
            "cancel=true puts back the replicas of a broker, and it leaves none. site.yml starts "
            "again what has left, as long as the inventory has it"
        )
    return wrong
