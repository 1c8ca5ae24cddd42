"""The options of modules that operate Kafka Connect, from the model of the cluster."""

from __future__ import annotations

from ...cluster.cluster import Cluster
from ...cluster.module_options import Operations, Options
from . import connectors
from . import model as connect
from .model import Worker


def _connect_health(worker: Worker, _: Cluster) -> Options:
    files = {"certificate": connect.REST_STORE, "authority": connect.AUTHORITY}
    return {"workers": [*worker.rest_addresses.values()], **(files if worker.is_secured else {})}


def _health_of_worker(worker: Worker, cluster: Cluster) -> Options:
    return {**_connect_health(worker, cluster), "own": worker.rest_addresses[worker.name]}


def _connect_connectors(worker: Worker, cluster: Cluster) -> Options:
    configured = [
        (connector, worker.connector_config(connector)) for connector in worker.connectors
    ]
    return {
        **_connect_health(worker, cluster),
        "connectors": [
            {
                "name": connector.name,
                "config": config if connector.present else {},
                "state": connector.state,
                "former_user": connectors.former_user(connector, worker.connectors)
                if worker.kafka_login
                else "",
            }
            for connector, config in configured
        ],
        "secret_files": sorted(worker.secret_files()),
    }


OPERATIONS: Operations = {
    "connect_health": _health_of_worker,
    "connect_connectors": _connect_connectors,
}
