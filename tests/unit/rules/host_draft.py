"""Hosts for the tests of host rules: a draft of the inventory, and what was found there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from ansible_collections.millrace.streaming.plugins.plugin_utils.rules.catalogue import RULES
from ansible_collections.millrace.streaming.plugins.plugin_utils.rules.disks import GIB
from ansible_collections.millrace.streaming.plugins.plugin_utils.rules.engine import (
    Problem,
    check_hosts,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.rules.inspection import (
    InspectedHost,
    Inspection,
)

from tests.unit.inspections import directory_at, inspection_with
from tests.unit.rules.draft import CLUSTER_ID, Change, Draft

OTHER_ID = "Qg3OEVBNTcwNTJENDM2MkA"
DATA = "/data/kafka"
DATA2 = "/data2/kafka"
DISK = directory_at(DATA, mount="/data", device="8:1", fstype="xfs", free=60 * GIB, size=100 * GIB)
MOUNT = {"path": "/data", "src": "/dev/sdb"}
CONTAINER: Mapping[str, Any] = {"system_container": "systemd-nspawn"}


def system(name: str, **release: str) -> dict[str, Any]:
    """Return what /etc/os-release holds."""
    return {"system_os_release": {"ID": name, **release}}


DEBIAN_11 = system("debian", VERSION_CODENAME="bullseye")
DEBIAN_13 = system("debian", VERSION_CODENAME="trixie")
ROCKY_9 = system("rocky", PRETTY_NAME="Rocky Linux 9.4", VERSION_ID="9.4")


def meta(version: int = 1, cluster: str = CLUSTER_ID, node: int = 1, directory: str = "x") -> str:
    """Return the text of a meta.properties."""
    key = "node.id" if version else "broker.id"
    text = f"version={version}\ncluster.id={cluster}\n{key}={node}\n"
    return text + (f"directory.id={directory}\n" if version else "")


def inspected(
    draft: Draft, inspections: Mapping[str, Inspection], allow: str = "none"
) -> list[InspectedHost]:
    """Return hosts of an inventory as they were found."""
    cluster = draft.cluster({name: inspection.facts for name, inspection in inspections.items()})
    return [
        InspectedHost(cluster, name, inspection, allow) for name, inspection in inspections.items()
    ]


def host(
    *changes: Change, name: str = "k1", allow: str = "none", **inspection: Any
) -> list[InspectedHost]:
    """Return a good Kafka host, with changes of its inventory, of its one disk, and else found."""
    draft = Draft().variable("kafka_data_dirs", [DATA]).variable("kafka_cluster_id", CLUSTER_ID)
    draft.without_spark()
    for change in changes:
        change(draft)
    disk = {
        field.name: inspection.pop(field.name) for field in fields(DISK) if field.name in inspection
    }
    hosts = inspected(
        draft,
        {name: inspection_with(**{"disks_directories": (replace(DISK, **disk),), **inspection})},
        allow,
    )
    # The other nodes are outside the run, and new.
    peers = outside(hosts, dict.fromkeys(hosts[0].cluster.kafka.keys() - {name}, False))
    return [replace(node, outside=peers) for node in hosts]


def outside(hosts: list[InspectedHost], elected: Mapping[str, bool]) -> tuple[InspectedHost, ...]:
    """Return Kafka hosts outside the run of `hosts`, each with or without data of its quorum."""
    cluster = hosts[0].cluster
    return tuple(
        InspectedHost(
            cluster,
            name,
            inspection_with(
                disks_directories=tuple(
                    directory_at(directory.path, exists=True, elected=held)
                    for directory in cluster.directories(name)
                )
            ),
        )
        for name, held in elected.items()
    )


def mounted(*mounts: Mapping[str, str]) -> Change:
    """Return the change that sets host_mounts."""
    return lambda d: d.variable("host_mounts", [*mounts])


def problems(hosts: list[InspectedHost]) -> list[Problem]:
    """Judge hosts by all rules."""
    return check_hosts(RULES, hosts)
