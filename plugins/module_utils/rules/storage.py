"""The rules about what is on the disks already: whose data it is, and of which mode."""

from __future__ import annotations

from collections.abc import Iterator

from ansible_collections.millrace.streaming.plugins.module_utils.host.storage import (
    LogDir,
    Node,
    disk_problems,
    is_kafkas_own,
)
from ansible_collections.millrace.streaming.plugins.module_utils.model.cluster import DataDirectory
from ansible_collections.millrace.streaming.plugins.module_utils.model.properties import (
    parse_or_empty,
)
from ansible_collections.millrace.streaming.plugins.module_utils.model.values import listing
from ansible_collections.millrace.streaming.plugins.module_utils.rules.engine import (
    Finding,
    host_rule,
)
from ansible_collections.millrace.streaming.plugins.module_utils.rules.inspection import (
    Directory,
    InspectedHost,
)


def _log_dirs(host: InspectedHost) -> Iterator[tuple[DataDirectory, Directory, dict[str, str]]]:
    """Give the directories of log.dirs and metadata.log.dir, each with its meta.properties."""
    for wanted, found in host.data():
        if wanted.service == "kafka":
            yield wanted, found, parse_or_empty(found.meta or "")


@host_rule(
    "storage-of-another",
    when="`meta.properties` in a Kafka data directory names another cluster or node, is damaged, "
    "or is missing beside partitions",
    why="The records of another node would be lost, or served as this one's.",
    remedy="Correct the cluster id or node id in the inventory, or move the data away.",
)
def _storage_of_another(host: InspectedHost) -> Iterator[Finding]:
    if host.kafka is None or host.kafka.id is None:
        return
    for wanted, found, meta in _log_dirs(host):
        # Before an id is generated, only a disk that has one can name the cluster.
        cluster_id = host.kafka.cluster_id or meta.get("cluster.id", "")
        node = Node("", "", "", cluster_id, host.kafka.id, controller=False)
        log_dir = LogDir(found.path, found.exists, found.meta, found.partitions)
        for problem in disk_problems(node, log_dir):
            what, _, fix = problem.rpartition(": ")
            fix = f"{fix[:1].upper()}{fix[1:]}."
            yield Finding(f"{wanted.variable}, {found.path}", f"{what}.", fix)


@host_rule(
    "directory-id-twice",
    when="two Kafka data directories of a host have the same `directory.id`",
    why="Kafka assigns partitions to directories by that id and refuses to start.",
    remedy="One is a copy of the other: remove it from `kafka_data_dirs`, or empty it.",
)
def _directory_id_twice(host: InspectedHost) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    for wanted, found, meta in _log_dirs(host):
        own = meta.get("directory.id")
        if own and own in seen:
            what = f"{seen[own]} and {found.path} have the same directory.id {own}."
            fix = "Keep the one in use and empty the other, which is a copy."
            yield Finding(wanted.variable, what, fix)
        elif own:
            seen[own] = found.path


@host_rule(
    "storage-of-another-mode",
    when="a disk was written in ZooKeeper mode and the node is to run KRaft, or the reverse",
    why="The controllers of the one mode know no topic of the other, so its records are lost.",
    remedy="Keep the mode that the disks have; migrate with Kafka 3.9 before going to KRaft.",
)
def _storage_of_another_mode(host: InspectedHost) -> Iterator[Finding]:
    names = {"zookeeper": "ZooKeeper", "kraft": "KRaft"}
    fixes = {
        "zookeeper": "Add the group zookeeper and remove kafka_controllers, or migrate the "
        "cluster.",
        "kraft": "Add the group kafka_controllers again and remove zookeeper.",
    }
    for wanted, found, meta in _log_dirs(host):
        on_disk = {"0": "zookeeper", "1": "kraft"}.get(meta.get("version", ""))
        if host.kafka and on_disk and on_disk != host.kafka.mode:
            what = f"{found.path} was written in {names[on_disk]} mode; the inventory says "
            what += f"{names[host.kafka.mode]}."
            yield Finding(f"{wanted.variable}, {found.path}", what, fixes[on_disk])


@host_rule(
    "quorum-differs",
    when="the quorum on disk is static and `kafka_quorum` is dynamic, or the reverse",
    why="The kind of quorum is part of the metadata log (KIP-853); a node with the other one "
    "cannot vote.",
    remedy="Set `kafka_quorum` to what the message names.",
)
def _quorum_differs(host: InspectedHost) -> Iterator[Finding]:
    wanted = host.host.settings["kafka_quorum"]
    for _, found, _ in _log_dirs(host):
        state = found.quorum or {}
        # An observer of a dynamic quorum begins with version 0, but has no voters there.
        kinds = {0: "static" if state.get("currentVoters") else "", 1: "dynamic"}
        on_disk = kinds.get(state.get("data_version", -1), "")
        if on_disk and on_disk != wanted:
            what = f"The quorum in {found.path} is {on_disk}; the inventory says {wanted}."
            yield Finding("kafka_quorum", what, f"Set kafka_quorum: {on_disk}.")


@host_rule(
    "foreign-directory",
    when="a broker's data directory holds a directory that is no partition",
    why="Kafka takes every directory there for a partition and stops at one that is none.",
    remedy="Use a directory below, such as `/data1/kafka`, or move the foreign one away.",
)
def _foreign_directory(host: InspectedHost) -> Iterator[Finding]:
    # The directory of metadata alone may hold more.
    for path in host.kafka.data_dirs if host.kafka and host.kafka.is_broker else ():
        found = host.directory(path)
        names = found.names if found else ()
        directories = [name.rstrip("/") for name in names if name.endswith("/")]
        foreign = [name for name in directories if not is_kafkas_own(name)]
        if not foreign:
            continue
        what = f"{path} holds {listing(foreign[:5])}, which is no topic-partition."
        fix = f"Move it away, or set {path.rstrip('/')}/kafka in kafka_data_dirs."
        if "lost+found" in foreign:
            what = f"{path} is the top of a file system: it holds lost+found, which Kafka refuses."
            fix = f"Set {path.rstrip('/')}/kafka in kafka_data_dirs."
        yield Finding(f"kafka_data_dirs, {path}", what, fix)


@host_rule(
    "foreign-file",
    when="a Kafka data directory holds a file that is not Kafka's",
    why="Another program seems to use the directory.",
    remedy="Give Kafka a directory of its own.",
    severity="warning",
)
def _foreign_file(host: InspectedHost) -> Iterator[Finding]:
    for wanted, found, _ in _log_dirs(host):
        files = [name for name in found.names if not name.endswith("/")]
        foreign = [name for name in files if not is_kafkas_own(name)]
        if foreign:
            what = f"{found.path} holds {listing(foreign[:5])}, which is no file of Kafka."
            yield Finding(f"{wanted.variable}, {found.path}", what, "Move it away.")


@host_rule(
    "myid-differs",
    when="`myid` in ZooKeeper's data directory is not `zookeeper_id`",
    why="Two members with one id, or a member with another's data, break the ensemble.",
    remedy="Restore the id in the inventory, or move the data away.",
)
def _myid_differs(host: InspectedHost) -> Iterator[Finding]:
    member = host.zookeeper
    found = host.directory(member.data_dir) if member else None
    on_disk = (found.myid or "").strip() if found else ""
    if member and on_disk and on_disk != str(member.id):
        what = f"{member.data_dir}/myid is {on_disk}; the inventory says {member.id}."
        fix = f"Set zookeeper_id: {on_disk}, or move the data away."
        yield Finding("zookeeper_id", what, fix)
