"""The control node's part of the module preflight: the model says what to inspect."""

import time
from dataclasses import asdict
from typing import Any

from ansible.errors import AnsibleConnectionFailure

from ..module_utils.formats.values import mapping
from ..plugin_utils import run
from ..plugin_utils.action import Action
from ..plugin_utils.cluster import desired, firewall, registry
from ..plugin_utils.cluster.cluster import Cluster
from ..plugin_utils.cluster.jvm_options import asked
from ..plugin_utils.rules import shared
from ..plugin_utils.rules.inspection import InspectedHost, Inspection
from ..plugin_utils.services.kafka import stores
from ..plugin_utils.services.kafka.rules.quorum import holds_metadata
from ..plugin_utils.services.monitoring.packaged import Packaged


def clock_offset(before: float, answered: float, after: float) -> float:
    """Return by how many seconds the host's clock must at least be off, 0 if it may be right."""
    return min(0.0, answered - before) + max(0.0, answered - after)


def peers(cluster: Cluster, name: str) -> list[str]:
    """Return the names of the other hosts that have a firewall."""
    hosts = [host for host in cluster.firewalls if host != name]
    return list(dict.fromkeys(peer for host in hosts for peer in cluster.names(host)))


def schedules(cluster: Cluster, name: str) -> list[str]:
    """Return the times of the jobs whose drivers run on a host."""
    jobs = cluster.spark[name].drivers.jobs_here if name in cluster.spark else []
    return list(dict.fromkeys(job.schedule for job in jobs if job.timer))


def java_options(cluster: Cluster, name: str) -> list[str]:
    """Return the lists of options that the Java of a host is asked about."""
    lists = [asked(words) for _, _, words in shared.java_options_of(cluster, name)]
    return list(dict.fromkeys(filter(None, lists)))


def options(cluster: Cluster, name: str) -> dict[str, Any]:
    """Return what to inspect on a host, as options of the module."""
    host, services = cluster.host(name), cluster.services(name)
    node = cluster.kafka.get(name)
    packaged = [part for part in cluster.deployed(name).values() if isinstance(part, Packaged)]
    distributions = [service.distribution for service in services.values()]
    return {
        "directories": list({directory.path: None for directory in cluster.directories(name)}),
        "homes": [distribution.home for distribution in cluster.distributions(name)],
        "links": [distribution.link for distribution in distributions],
        "mounts": [mount["path"] for mount in host.mounts],
        "sources": [mount["src"] for mount in host.mounts if mount["src"]],
        "stores": [asdict(store) for store in stores.of_host(node)] if node else [],
        "names": [service.address for service in services.values()],
        "peers": peers(cluster, name),
        "programs": [path for part in packaged for path in part.binaries],
        "masks": [path for part in packaged for path in part.all_masks()],
        "accounts": [part.account_file for part in desired.former_monitoring(cluster, name)],
        "firewall": [firewall.UNIT, firewall.FILE],
        "ports": [port for _, port in cluster.ports(name)],
        "shared_dir": cluster.spark[name].shared_dir if name in cluster.spark else "",
        "java_homes": host.java_homes,
        "java_options": java_options(cluster, name),
        "kafka_user": host.settings["kafka_user"],
        "units": registry.UNITS,
        "kernel_settings": [str(setting) for setting in mapping(host.settings["host_sysctl"])],
        "schedules": schedules(cluster, name),
    }


class ActionModule(Action):
    """Inspect the host once."""

    OWN = frozenset({"host"})

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Return what was found, and by how much its clock is off."""
        name = args["host"] or self.host
        files = self.cluster.host_files(name)
        rules = files.get(firewall.FILE, {}).get("content", "")
        arguments = {**options(self.cluster, name), "files": files, "rules": rules}
        before = time.time()
        try:
            result = self.call(arguments)
        except AnsibleConnectionFailure as error:
            if not args["host"]:
                raise
            # With any_errors_fatal Ansible would end the play without a word, though it ignores it.
            return {"changed": False, "not_reached": str(error)}
        if not result.get("failed") and "inspection" in result:
            result["clock_offset"] = clock_offset(before, result.pop("time"), time.time())
            inspected = run.inspection_of(name, result)
            result["empty_controller"] = self._is_empty_controller(name, inspected)
            result["current_files"] = (
                desired.digest(files) if result.pop("files_current", False) else ""
            )
        return result

    def _is_empty_controller(self, name: str, inspection: Inspection) -> bool:
        """Return whether the host is a controller without records of its quorum."""
        node = self.cluster.kafka.get(name)
        if node is None or not node.is_controller:
            return False
        return holds_metadata(InspectedHost(self.cluster, name, inspection)) is False
