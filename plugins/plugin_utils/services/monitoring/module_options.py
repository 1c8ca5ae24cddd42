"""The options of modules that operate Prometheus and Alertmanager, from the model of the cluster."""

from __future__ import annotations

from ...cluster.cluster import Cluster
from ...cluster.module_options import Operations, Options
from . import model as monitoring
from .model import Monitoring


def _monitoring_check(server: Monitoring, _: Cluster) -> Options:
    return {"files": {path: entry["content"] for path, entry in server.configuration.items()}}


def _monitoring_reload(server: Monitoring, _: Cluster) -> Options:
    return {**server.operated, "directory": monitoring.CONFIG}


def _monitoring_health(server: Monitoring, cluster: Cluster) -> Options:
    targets = [f"{job}/{name}" for job, hosts in server.jobs.items() for name in hosts]
    of_console = cluster.consoles[server.name].operated if server.name in cluster.consoles else {}
    return {**server.operated, **of_console, "targets": targets}


OPERATIONS: Operations = {
    "monitoring_check": _monitoring_check,
    "monitoring_reload": _monitoring_reload,
    "monitoring_health": _monitoring_health,
}
