"""The control node's part of the module preflight: the model says what to inspect."""

import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ansible.errors import AnsibleConnectionFailure

from ..plugin_utils.action import Action
from ..plugin_utils.cluster import desired, firewall, registry
from ..plugin_utils.cluster.cluster import Cluster
from ..plugin_utils.rules.inspection import InspectedHost, Inspection
from ..plugin_utils.services.kafka import stores
from ..plugin_utils.services.kafka.rules.quorum import holds_metadata
from ..plugin_utils.services.monitoring.packaged import Packaged


def clock_offset(before: float, answered: float, after: float) -> float:
    """Return by how many seconds the host's clock must at least be off, 0 if it may be right."""
    return min(0.0, answered - before) + max(0.0, answered - after)


def peers(cluster: Cluster, name: str) -> list[str]:
    """Return the names of the other hosts that have a firewall."""
    others = [other for other in cluster.firewalls if other != name]
    return list(dict.fromkeys(one for other in others for one in cluster.names(other)))


def options(cluster: Cluster, name: str) -> dict[str, Any]:
    """Return what to inspect on a host, as options of the module."""
    host, services = cluster.host(name), cluster.services(name)
    node = cluster.kafka.get(name)
    packaged = [one for one in cluster.deployed(name).values() if isinstance(one, Packaged)]
    distributions = [service.distribution for service in services.values()]
    return {
        "directories": list({one.path: None for one in cluster.directories(name)}),
        "homes": [one.home for one in cluster.distributions(name)],
        "links": [one.link for one in distributions],
        "mounts": [mount["path"] for mount in host.mounts],
        "sources": [mount["src"] for mount in host.mounts if mount["src"]],
        "stores": [asdict(one) for one in stores.of_host(node)] if node else [],
        "names": [service.address for service in services.values()],
        "peers": peers(cluster, name),
        "programs": [path for part in packaged for path in part.binaries],
        "masks": [path for part in packaged for path in part.all_masks()],
        "accounts": [one.account_file for one in desired.former_monitoring(cluster, name)],
        "firewall": [firewall.UNIT, firewall.FILE],
        "ports": [port for _, port in cluster.ports(name)],
        "shared_dir": cluster.spark[name].shared_dir if name in cluster.spark else "",
        "java_home": host.settings["java_home"],
        "kafka_user": host.settings["kafka_user"],
        "units": registry.UNITS,
    }


class ActionModule(Action):
    """Inspect the host once."""

    OWN = frozenset({"host"})

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Return what was found, and by how much its clock is off."""
        name = args["host"] or self.host
        files = self.cluster.host_files(name)
        rules = files.get(firewall.FILE, {}).get("content", "")
        wanted = {**options(self.cluster, name), "files": files, "rules": rules}
        before = time.time()
        try:
            answer = self.call(wanted)
        except AnsibleConnectionFailure as error:
            if not args["host"]:
                raise
            # With any_errors_fatal Ansible would end the play without a word, though it ignores it.
            return {"changed": False, "not_reached": str(error)}
        if not answer.get("failed") and "found" in answer:
            answer["clock_offset"] = clock_offset(before, answer.pop("time"), time.time())
            answer["empty_controller"] = self._is_empty_controller(name, answer)
            answer["current_files"] = (
                desired.digest(files) if answer.pop("files_current", False) else ""
            )
        return answer

    def _is_empty_controller(self, name: str, answer: Mapping[str, Any]) -> bool:
        """Return whether the host is a controller without records of its quorum."""
        node = self.cluster.kafka.get(name)
        if node is None or not node.is_controller or not answer["found"]:
            return False
        inspection = Inspection.of(answer["found"], answer["clock_offset"])
        return holds_metadata(InspectedHost(self.cluster, name, inspection)) is False
