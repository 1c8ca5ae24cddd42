"""The options of the module that operates ZooKeeper, from the model of the cluster."""

from __future__ import annotations

from ...cluster.cluster import Cluster
from ...cluster.module_options import Operations, Options
from .model import Member


def _zookeeper_health(member: Member, _: Cluster) -> Options:
    identity = member.identity
    files = (
        {"certificate": identity.certificate.path, "authority": identity.authority}
        if identity
        else {}
    )
    return {"members": member.client_addresses, **files}


OPERATIONS: Operations = {
    "zookeeper_health": _zookeeper_health,
}
