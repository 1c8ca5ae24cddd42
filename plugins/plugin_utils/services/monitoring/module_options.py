"""The options of modules that operate Prometheus and Alertmanager, from the model of the cluster."""

from __future__ import annotations

from ...cluster.cluster import Cluster
from ...cluster.module_options import Operations, Options
from . import model as monitoring
from .model import Monitoring


def _monitoring_check(own: Monitoring, _: Cluster) -> Options:
    return {"files": {path: one["content"] for path, one in own.configuration.items()}}


def _monitoring_reload(own: Monitoring, _: Cluster) -> Options:
    return {**own.operated, "directory": monitoring.CONFIG}


def _monitoring_health(own: Monitoring, cluster: Cluster) -> Options:
    targets = [f"{job}/{name}" for job, hosts in own.jobs.items() for name in hosts]
    of_console = cluster.consoles[own.name].operated if own.name in cluster.consoles else {}
    return {**own.operated, **of_console, "targets": targets}


OPERATIONS: Operations = {
    "monitoring_check": _monitoring_check,
    "monitoring_reload": _monitoring_reload,
    "monitoring_health": _monitoring_health,
}
