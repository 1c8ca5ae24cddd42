"""Whether HDFS is healthy, by what its NameNode reports (JMX over HTTP).

Pure: the caller asks the NameNode, and tries the ports of DataNodes. The beans are described in
Hadoop's "Metrics" and, of those without a page, FSNamesystemMBean and NameNodeMXBean.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

SYSTEM = "Hadoop:service=NameNode,name=FSNamesystem"
INFO = "Hadoop:service=NameNode,name=NameNodeInfo"
_SILENT_SECONDS = 5
_LEAST_FREE = 10.0
_DAMAGED = "see hdfs fsck / -list-corruptfileblocks on the NameNode's host"


@dataclass(frozen=True)
class State:
    """What the NameNode says of the file system."""

    cluster_id: str
    safe_mode: str
    datanodes: Mapping[str, int]
    """`host:port` -> seconds of silence."""
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
    since = max(int(system["LastCheckpointTime"]), int(info["NNStartedTimeInMillis"]))
    return State(
        str(info["ClusterId"]),
        str(info["Safemode"]),
        {str(name): int(datanode["lastContact"]) for name, datanode in live.items()},
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
        silence = reported.datanodes.get(name)
        if silence is None:
            reason = "is not registered"
        elif name not in listening:
            reason = "accepts no connection"
        elif silence > _SILENT_SECONDS:
            reason = f"has been silent for {silence} s"
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
