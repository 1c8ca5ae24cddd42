"""The options of modules that operate the schema registry, from the model of the cluster."""

from __future__ import annotations

from ...cluster.cluster import Cluster
from ...cluster.module_options import Operations, Options
from . import model as schema_registry
from .model import Registry


def _registry(own: Registry, _: Cluster) -> Options:
    authority = {"authority": schema_registry.AUTHORITY} if own.is_secured else {}
    return {"instances": [*own.rest_addresses.values()], "login": own.login, **authority}


def _schema_registry_health(own: Registry, cluster: Cluster) -> Options:
    return {
        **_registry(own, cluster),
        "own": own.rest_addresses[own.name],
        "management_port": own.settings["schema_registry_management_port"],
    }


def _schema_registry_subjects(own: Registry, cluster: Cluster) -> Options:
    return {
        **_registry(own, cluster),
        "compatibility": own.settings["schema_registry_compatibility"],
        "subjects": [
            {
                "name": one.name,
                "state": "present" if one.present else "absent",
                "type": one.type,
                "schema": one.text or "",
                "compatibility": one.compatibility,
                "references": list(one.references),
            }
            for one in own.subjects
        ],
    }


OPERATIONS: Operations = {
    "schema_registry_archive": _registry,
    "schema_registry_health": _schema_registry_health,
    "schema_registry_subjects": _schema_registry_subjects,
}
