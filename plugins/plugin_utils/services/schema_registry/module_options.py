"""The options of modules that operate the schema registry, from the model of the cluster."""

from __future__ import annotations

from ...cluster.cluster import Cluster
from ...cluster.module_options import Operations, Options
from . import model as schema_registry
from .model import Registry


def _registry(registry: Registry, _: Cluster) -> Options:
    authority = {"authority": schema_registry.AUTHORITY} if registry.is_secured else {}
    return {"instances": [*registry.rest_addresses.values()], "login": registry.login, **authority}


def _schema_registry_health(registry: Registry, cluster: Cluster) -> Options:
    return {
        **_registry(registry, cluster),
        "own": registry.rest_addresses[registry.name],
        "management_port": registry.settings["schema_registry_management_port"],
    }


def _schema_registry_subjects(registry: Registry, cluster: Cluster) -> Options:
    return {
        **_registry(registry, cluster),
        "compatibility": registry.settings["schema_registry_compatibility"],
        "subjects": [
            {
                "name": subject.name,
                "state": "present" if subject.present else "absent",
                "type": subject.type,
                "schema": subject.text or "",
                "compatibility": subject.compatibility,
                "references": list(subject.references),
            }
            for subject in registry.subjects
        ],
    }


OPERATIONS: Operations = {
    "schema_registry_archive": _registry,
    "schema_registry_health": _schema_registry_health,
    "schema_registry_subjects": _schema_registry_subjects,
}
