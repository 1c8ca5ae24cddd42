"""The options of modules that operate PostgreSQL, from the model of the cluster."""

from __future__ import annotations

from ...cluster.cluster import Cluster
from ...cluster.module_options import Operations, Options
from .model import Database


def _postgresql_setup(own: Database, _: Cluster) -> Options:
    return {**own.connection, "steps": own.steps}


def _postgresql_checks(own: Database, cluster: Cluster) -> Options:
    worker = next(iter(cluster.connect.values()), None)
    needed = own.needed(worker.connectors) if worker else []
    return {**own.connection, "health": own.health, "connectors": needed}


OPERATIONS: Operations = {
    "postgresql_setup": _postgresql_setup,
    "postgresql_checks": _postgresql_checks,
}
