"""When KRaft storage may be formatted, and with which command.

Pure: the caller reads the directories (`LogDir`) and runs the command.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

from ..formats.properties import parse_or_empty, parse_properties
from ..formats.uuids import is_cluster_id

META = "meta.properties"
_TOOL = "kafka.tools.StorageTool"
# topic-partition, as LogManager reads it, with the suffixes of deleted, future and stray logs.
_PARTITION = re.compile(r".+-\d+(\.[0-9a-f]+-(delete|future|stray))?")
# What else Kafka keeps in a directory of log.dirs: files, and the index cache of tiered storage.
_OWN = re.compile(
    r"meta\.properties|bootstrap\.checkpoint|[\w-]+-checkpoint|\.lock|\.kafka_cleanshutdown"
    r"|remote-log-index-cache"
)


@dataclass(frozen=True)
class LogDir:
    """A directory of log.dirs or metadata.log.dir."""

    path: str
    exists: bool
    meta: str | None = None
    """The text of its meta.properties."""
    children: tuple[str, ...] = ()


@dataclass(frozen=True)
class Node:
    """What the inventory says about a node."""

    home: str
    config: str
    java: str
    cluster_id: str
    node_id: int
    controller: bool
    initial_controllers: str = ""

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Node:
        """Return the node that options of the module kafka_storage describe."""
        return cls(**{field.name: options[field.name] for field in fields(cls)})


def is_partition(name: str) -> bool:
    """Return whether a directory's name is a partition's, also one being deleted or moved."""
    return _PARTITION.fullmatch(name) is not None


def is_kafkas_own(name: str) -> bool:
    """Return whether a name in a log directory is Kafka's, if no partition's."""
    return _OWN.fullmatch(name.removesuffix(".tmp")) is not None


def missing(dirs: Sequence[LogDir]) -> list[str]:
    """Return the paths that are not formatted."""
    return [log_dir.path for log_dir in dirs if log_dir.meta is None]


def problems(node: Node, dirs: Sequence[LogDir], planned: bool = False) -> list[str]:
    """Return everything that forbids formatting or using these directories.

    With `planned` (check mode) directories may not exist yet.
    """
    wrong: list[str] = []
    if not is_cluster_id(node.cluster_id):
        wrong.append(
            f"cluster id {node.cluster_id!r} is not 16 bytes as 22 characters of base64url; "
            "generate one with kafka-storage random-uuid"
        )
    for log_dir in dirs:
        if log_dir.exists or log_dir.meta is not None or planned:
            wrong.extend(disk_problems(node, log_dir))
        else:
            wrong.append(f"{log_dir.path} does not exist: mount its disk, or create the directory")
    return wrong


def disk_problems(node: Node, log_dir: LogDir) -> list[str]:
    """Return what on a disk contradicts the node; each is `what: advice`."""
    if log_dir.meta is not None:
        return _meta_problems(node, f"{log_dir.path}/{META}", log_dir.meta)
    partitions = sorted(name for name in log_dir.children if is_partition(name))
    problem = (
        f"{log_dir.path} holds {len(partitions)} partitions ({_listed(partitions[:3])}) but no "
        f"{META}: foreign data, or the file was lost. Restore the file, or move the data away"
    )
    return [problem] if partitions else []


def config_problems(node: Node, dirs: Sequence[LogDir], config: str) -> list[str]:
    """Return where the node's own configuration disagrees: the storage tool formats by it."""
    wrong: list[str] = []
    settings = parse_properties(config)
    if settings.get("node.id") != str(node.node_id):
        wrong.append(
            f"{node.config} says node.id {settings.get('node.id')}, the inventory says "
            f"{node.node_id}: write the configuration first"
        )
    configured = {*_log_dirs(settings), metadata_dir(settings)} - {""}
    expected = {log_dir.path for log_dir in dirs}
    if configured != expected:
        wrong.append(
            f"{node.config} says log.dirs and metadata.log.dir are {_listed(configured)}, the "
            f"inventory says {_listed(expected)}: make them equal"
        )
    return wrong


def metadata_dir(settings: Mapping[str, str]) -> str:
    """Return the directory of the metadata log, by the node's configuration; empty if none."""
    return settings.get("metadata.log.dir", "").strip() or _log_dirs(settings)[0]


def _log_dirs(settings: Mapping[str, str]) -> list[str]:
    listed = settings.get("log.dirs") or settings.get("log.dir", "")
    return [path.strip() for path in listed.split(",")]


def has_static_quorum(settings: Mapping[str, str]) -> bool:
    """Return whether a configuration lists the voters, whose identities have no directory then."""
    return "controller.quorum.voters" in settings


def lacks_metadata(dirs: Sequence[LogDir], config: str) -> bool:
    """Return whether the directory of the metadata log is not formatted."""
    settings = parse_or_empty(config)
    return bool(settings) and metadata_dir(settings) in missing(dirs)


def is_observer(node: Node, dirs: Sequence[LogDir], config: str) -> bool:
    """Return whether a controller's disk was formatted into a quorum that had been formed before.

    Then its directory id is not in `initial_controllers`. That does not describe the present: once
    added to the quorum, it is a voter.
    """
    settings = parse_or_empty(config)
    if not node.controller or not settings or has_static_quorum(settings):
        return False
    meta = next((log_dir.meta for log_dir in dirs if log_dir.path == metadata_dir(settings)), None)
    directory_id = parse_or_empty(meta or "").get("directory.id")
    first = {voter.rpartition(":")[2] for voter in node.initial_controllers.split(",")}
    return directory_id is not None and directory_id not in first


def format_command(node: Node, config: str, partly: bool) -> list[str]:
    """Return the command that formats what is not formatted yet.

    A configuration with controller.quorum.voters has a static quorum and takes no choice of
    controllers. `partly`: other directories of the node are formatted, so a disk was replaced.
    """
    command = [
        node.java,
        "-Xmx128m",
        "-XX:TieredStopAtLevel=1",
        "-XX:+UseSerialGC",
        "-cp",
        f"{node.home}/libs/*",
        _TOOL,
        "format",
        # One word: an id may begin with '-'.
        f"--cluster-id={node.cluster_id}",
        "--config",
        node.config,
    ]
    if partly:
        command.append("--ignore-formatted")
    if not has_static_quorum(parse_properties(config)):
        if node.controller and node.initial_controllers:
            command += ["--initial-controllers", node.initial_controllers]
        else:
            command.append("--no-initial-controllers")
    return command


def _meta_problems(node: Node, file: str, meta: str) -> list[str]:
    try:
        values = parse_properties(meta)
    except ValueError as error:
        return [f"{file} cannot be read ({error}): restore it from another disk or a backup"]
    # Version 0 is ZooKeeper's form, where the node id is called broker.id.
    cluster, node_id = values.get("cluster.id"), values.get("node.id", values.get("broker.id"))
    if cluster is None or node_id is None:
        lost = "cluster.id" if node_id else "node.id"
        return [f"{file} has no {lost}: it is damaged; restore it from another disk of this node"]
    wrong = []
    if cluster != node.cluster_id:
        wrong.append(
            f"{file} says cluster.id {cluster}, the inventory says {node.cluster_id}: the disk is "
            "another cluster's. Correct the inventory, or move the data away"
        )
    if node_id != str(node.node_id):
        wrong.append(
            f"{file} says node.id {node_id}, the inventory says {node.node_id}: restore node id "
            f"{node_id} in the inventory, or replace the broker with empty disks"
        )
    return wrong


def _listed(names: Sequence[str] | set[str]) -> str:
    return ", ".join(sorted(names)) or "(none)"


State = Literal["formatted", "replaced disk", "new"]


def state(dirs: Sequence[LogDir]) -> State:
    """Tell a node that is formatted from one with a replaced disk and one that is new."""
    unformatted = missing(dirs)
    if not unformatted:
        return "formatted"
    return "new" if len(unformatted) == len(dirs) else "replaced disk"
