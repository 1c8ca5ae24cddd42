"""Whether HDFS is healthy, by what its NameNode reports (JMX over HTTP).

Pure: the caller asks the NameNode, and tries the ports of DataNodes. The beans are described in
Hadoop's "Metrics" and, of those without a page, FSNamesystemMBean and NameNodeMXBean.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from .leaving import last

SYSTEM = "Hadoop:service=NameNode,name=FSNamesystem"
INFO = "Hadoop:service=NameNode,name=NameNodeInfo"
_SILENT_SECONDS = 5
_LEAST_FREE = 10.0
_FULL = 80.0
"""Per cent of the capacity that may be in use after a DataNode has left."""
IN_SERVICE, DECOMMISSIONED = "In Service", "Decommissioned"
_DAMAGED = "see hdfs fsck / -list-corruptfileblocks on the NameNode's host"


@dataclass(frozen=True)
class DataNode:
    """A DataNode that reports to the NameNode, as the NameNode describes it."""

    silence: int
    """Seconds."""
    state: str
    """Hadoop's: In Service, Decommission In Progress, Decommissioned."""
    capacity: int
    used: int
    remaining: int
    """Bytes, as the two before."""


@dataclass(frozen=True)
class State:
    """What the NameNode says of the file system."""

    cluster_id: str
    safe_mode: str
    datanodes: Mapping[str, DataNode]
    """`host:port` -> those that report."""
    dead: Mapping[str, bool]
    """`host:port` -> whether it was decommissioned, of those that do not."""
    moving: Mapping[str, int]
    """`host:port` -> blocks that have too few copies elsewhere, of those that are being
    decommissioned."""
    missing: int
    corrupt: int
    copies_missing: int
    failed_dirs: tuple[str, ...]
    failed_volumes: int
    free_percent: float
    age: float
    """How long ago the last checkpoint was, or the NameNode started."""


def state(beans: Mapping[str, Mapping[str, Any]], now: float) -> State:
    """Read the two beans, by their names.

    Raises:
        LookupError, TypeError, ValueError: they are not those of a NameNode.

    """
    system, info = beans[SYSTEM], beans[INFO]
    live, dirs = json.loads(info["LiveNodes"]), json.loads(info["NameDirStatuses"])
    dead, moving = json.loads(info["DeadNodes"]), json.loads(info["DecomNodes"])
    since = max(int(system["LastCheckpointTime"]), int(info["NNStartedTimeInMillis"]))
    return State(
        str(info["ClusterId"]),
        str(info["Safemode"]),
        {
            str(name): DataNode(
                int(datanode["lastContact"]),
                str(datanode["adminState"]),
                *(int(datanode[key]) for key in ("capacity", "usedSpace", "remaining")),
            )
            for name, datanode in live.items()
        },
        {str(name): bool(datanode["decommissioned"]) for name, datanode in dead.items()},
        {str(name): int(datanode["underReplicatedBlocks"]) for name, datanode in moving.items()},
        int(system["MissingBlocks"]),
        int(system["CorruptBlocks"]),
        int(system["LowRedundancyBlocks"]),
        tuple(sorted(dirs["failed"])),
        int(system["VolumeFailuresTotal"]),
        float(info["PercentRemaining"]),
        now - since / 1000,
    )


def problems(
    reported: State, datanodes: Collection[str], listening: Collection[str], longest: float
) -> list[str]:
    """Return everything that is wrong.

    `datanodes` are those of the inventory, `listening` those whose port accepts connections; a
    checkpoint must not be older than `longest` seconds.
    """
    wrong = []
    if reported.safe_mode:
        wrong.append(f"nothing can be written, the NameNode is in safe mode: {reported.safe_mode}")
    for name in datanodes:
        datanode = reported.datanodes.get(name)
        if datanode is None:
            reason = "is not registered"
        elif name not in listening:
            reason = "accepts no connection"
        elif datanode.silence > _SILENT_SECONDS:
            reason = f"has been silent for {datanode.silence} s"
        else:
            continue
        wrong.append(f"DataNode {name} {reason}: see journalctl -u hdfs-datanode there")
    wrong += [
        f"DataNode {name} is registered, and is not in the group hdfs_datanodes"
        for name in sorted({*reported.datanodes} - {*datanodes})
    ]
    counts = {
        "have no copy left": reported.missing,
        "have a damaged copy": reported.corrupt,
    }
    wrong += [f"{count} blocks {problem}: {_DAMAGED}" for problem, count in counts.items() if count]
    if reported.copies_missing:
        wrong.append(f"{reported.copies_missing} blocks have fewer copies than they should have")
    wrong += [f"the NameNode no longer writes to {path}" for path in reported.failed_dirs]
    if reported.failed_volumes:
        wrong.append(f"DataNodes have lost {reported.failed_volumes} of their directories")
    if datanodes and reported.free_percent < _LEAST_FREE:
        wrong.append(f"{reported.free_percent:.0f} % of the capacity is free")
    if reported.age > longest:
        wrong.append(
            f"the last checkpoint is {reported.age / 60:.0f} minutes old: see journalctl -u "
            "hdfs-secondarynamenode on the NameNode's host"
        )
    return wrong


def leave_problems(
    reported: State, datanodes: Collection[str], leaving: str, copies: int
) -> list[str]:
    """Return why a DataNode cannot leave, empty if it can, or has left.

    `datanodes` are those of the inventory, `copies` is `dfs.replication`.
    """
    if not not_left(reported, leaving):
        return []
    problems = []
    if reported.safe_mode:
        problems.append(f"the NameNode is in safe mode: {reported.safe_mode}")
    if reported.missing:
        problems.append(f"{reported.missing} blocks have no copy left: {_DAMAGED}")
    stay = {
        name: datanode
        for name, datanode in reported.datanodes.items()
        if name != leaving and name in datanodes and datanode.state == IN_SERVICE
    }
    if not stay:
        return [*problems, last("DataNode in service", leaving)]
    if len(stay) < copies:
        problems.append(
            f"the {len(stay)} DataNodes in service but {leaving} are fewer than dfs.replication, "
            f"{copies}: add one; or set hdfs_config: {{dfs.replication: {len(stay)}}}, run site.yml "
            f"and then hdfs dfs -setrep -R {len(stay)} /"
        )
    node = reported.datanodes.get(leaving)
    # Of one that has begun to leave, others hold a part already.
    if node and node.state == IN_SERVICE:
        capacity = sum(datanode.capacity for datanode in stay.values())
        remaining = sum(datanode.remaining for datanode in stay.values()) - node.used
        full = 100 * (1 - remaining / capacity) if capacity else 100.0
        if full > _FULL:
            problems.append(
                f"the other DataNodes would be {full:.0f} % full, with what {leaving} has: add one, or "
                "delete files"
            )
    return problems


def not_left(reported: State, leaving: str) -> list[str]:
    """Return what a DataNode that is being decommissioned waits for, empty if it may stop."""
    node = reported.datanodes.get(leaving)
    if node is None:
        if reported.dead.get(leaving):
            return []
        return [f"DataNode {leaving} does not run, and was not decommissioned before it stopped"]
    if node.state == DECOMMISSIONED:
        return []
    blocks = reported.moving.get(leaving)
    remainder = "" if blocks is None else f", {blocks} blocks have too few copies elsewhere"
    return [f"DataNode {leaving} is {node.state}{remainder}"]
