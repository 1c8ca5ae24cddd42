"""The options of modules that operate Kafka Connect, from the model of the cluster."""

from __future__ import annotations

from ...cluster.cluster import Cluster
from ...cluster.module_options import Operations, Options
from . import connectors
from . import model as connect
from .model import Worker


def _connect_health(own: Worker, _: Cluster) -> Options:
    files = {"certificate": connect.REST_STORE, "authority": connect.AUTHORITY}
    return {"workers": [*own.rest_addresses.values()], **(files if own.is_secured else {})}


def _connect_connectors(own: Worker, cluster: Cluster) -> Options:
    found = [(one, own.connector_config(one)) for one in own.connectors]
    return {
        **_connect_health(own, cluster),
        "connectors": [
            {
                "name": one.name,
                "config": config if one.present else {},
                "state": one.state,
                "former_user": connectors.former_user(one, own.connectors)
                if own.kafka_login
                else "",
            }
            for one, config in found
        ],
        "secret_files": sorted(own.secret_files()),
    }


OPERATIONS: Operations = {
    "connect_health": _connect_health,
    "connect_connectors": _connect_connectors,
}
