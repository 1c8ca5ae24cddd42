"""The options of modules that operate PostgreSQL, from the model of the cluster."""

from __future__ import annotations

from ...cluster.cluster import Cluster
from ...cluster.module_options import Operations, Options
from .model import Database


def _postgresql_setup(database: Database, _: Cluster) -> Options:
    return {**database.connection, "steps": database.steps}


def _postgresql_checks(database: Database, cluster: Cluster) -> Options:
    worker = next(iter(cluster.connect.values()), None)
    needed = database.needed(worker.connectors) if worker else []
    return {**database.connection, "health": database.health, "connectors": needed}


OPERATIONS: Operations = {
    "postgresql_setup": _postgresql_setup,
    "postgresql_checks": _postgresql_checks,
}
