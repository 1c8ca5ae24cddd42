"""What the module preflight answers of a sound host, and the inspection made of it, with changes.

A change is called after the part and its field: `system_cores=8`, `clock_offset=2.0`.
"""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import Any

from ansible_collections.millrace.streaming.plugins.plugin_utils.rules.inspection import (
    Clock,
    DeployedKafka,
    DeployedSpark,
    DeployedZooKeeper,
    Directory,
    Disks,
    Inspection,
    Network,
    Software,
    System,
)

SOUND = Inspection(
    system=System(
        python=(3, 11),
        os_release={"ID": "debian", "VERSION_CODENAME": "bookworm"},
        machine="x86_64",
        cores=2,
        memory_mb=None,
        container="",
        systemd=True,
        selinux=False,
        swap=(),
        open_files=None,
        tmp_options=(),
        absent_settings={},
    ),
    clock=Clock(
        synchronised=None,
        offset=0.0,
        service="",
    ),
    network=Network(
        listeners={},
        addresses={},
        sources={},
        nft=False,
        refused_rules="",
        firewall=(),
    ),
    disks=Disks(
        directories=(),
        mount_points=(),
        absent_sources=(),
        occupied=(),
        opt_free=2**40,
    ),
    software=Software(
        javas={},
        refused_java_options={},
        homes={},
        installed={},
        programs=(),
        site_units=(),
        openssl=True,
    ),
    kafka=DeployedKafka(
        between_nodes={},
        protocols={},
        authorizer=None,
        min_isr=None,
        authorities=(),
        signed_by=(),
        certificates=(),
    ),
    zookeeper=DeployedZooKeeper(
        secured=None,
        client_secured=None,
        authorities=(),
        clients=(),
        member_signed_by=(),
    ),
    spark=DeployedSpark(
        python=(),
        shared_id="",
        secret=None,
        refused_schedules={},
    ),
    operation={},
    secrets={},
)
ABSENT = Directory(
    path="",
    exists=False,
    parent=True,
    meta=None,
    names=(),
    partitions=(),
    quorum=None,
    myid=None,
    elected=False,
    hdfs_id="",
    mount="/",
    device="",
    fstype="",
    options=(),
    free=0,
    size=0,
    mounts_inside=(),
    unmounted="",
)


def directory_at(path: str, **changes: Any) -> Directory:
    """Return a data directory that does not exist yet, but for its changes."""
    return replace(ABSENT, path=path, **changes)


def inspection_with(before: Inspection = SOUND, /, **changes: Any) -> Inspection:
    """Return an inspection with changes."""
    for name, value in changes.items():
        part, _, field = name.partition("_")
        new = replace(getattr(before, part), **{field: value}) if field else value
        before = replace(before, **{part: new})
    return before


def answer_with(**changes: Any) -> dict[str, Any]:
    """Return what the module answers of such a host: it does not know the offset of its clock."""
    answer: dict[str, Any] = json.loads(json.dumps(asdict(inspection_with(**changes))))
    del answer["clock"]["offset"]
    return answer
