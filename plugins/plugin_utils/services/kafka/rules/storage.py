"""The rules about what is on the disks already: whose data it is, and of which mode."""

from __future__ import annotations

from collections.abc import Iterator

from .....module_utils.formats.values import listing
from .....module_utils.host.storage import LogDir, Node, disk_problems, is_kafkas_own
from ....rules.engine import Finding, Findings, host_rule
from ....rules.inspection import Directory, InspectedHost
from ....rules.shared import MODES
from ..node import KafkaNode

_KEEP_MODE = {
    "zookeeper": "Add the group zookeeper, remove kafka_controllers; nothing migrates a cluster.",
    "kraft": "Add the group kafka_controllers again and remove zookeeper.",
}


def _log_dirs(host: InspectedHost) -> Iterator[tuple[KafkaNode, str, Directory]]:
    """Yield node, location and inspection of each of log.dirs and metadata.log.dir."""
    for configured, directory in host.data():
        if host.kafka and configured.service == "kafka":
            yield host.kafka, f"{configured.variable}, {directory.path}", directory


@host_rule("storage-of-another", each=_log_dirs)
def _storage_of_another(kafka: KafkaNode, where: str, directory: Directory) -> Findings:
    """The records of another node would be lost, or served as this one's."""
    if kafka.id is None:
        return
    # Before an id is generated, only a disk that has one can name the cluster.
    cluster_id = kafka.cluster_id or directory.properties.get("cluster.id", "")
    node = Node("", "", "", cluster_id, kafka.id, controller=False)
    log_dir = LogDir(directory.path, directory.exists, directory.meta, directory.partitions)
    for problem in disk_problems(node, log_dir):
        description, _, fix = problem.rpartition(": ")
        yield Finding(f"{description}.", f"{fix[:1].upper()}{fix[1:]}.", where)


@host_rule("directory-id-duplicate")
def _directory_id_duplicate(host: InspectedHost) -> Findings:
    """Kafka assigns partitions to directories by that id and refuses to start."""
    seen: dict[str, str] = {}
    for configured, directory in host.data():
        directory_id = (
            directory.properties.get("directory.id") if configured.service == "kafka" else None
        )
        if directory_id and directory_id in seen:
            problem = (
                f"{seen[directory_id]} and {directory.path} "
                f"have the same directory.id {directory_id}."
            )
            fix = "Keep the one in use and empty the other, which is a copy."
            yield Finding(problem, fix, configured.variable)
        elif directory_id:
            seen[directory_id] = directory.path


@host_rule("storage-of-another-mode", each=_log_dirs)
def _storage_of_another_mode(kafka: KafkaNode, where: str, directory: Directory) -> Findings:
    """The controllers of one mode do not know the topics of the other, so its records are lost."""
    on_disk = {"0": "zookeeper", "1": "kraft"}.get(directory.properties.get("version", ""))
    if on_disk and on_disk != kafka.mode:
        written, configured = MODES[on_disk], MODES[kafka.mode]
        problem = (
            f"{directory.path} was written in {written} mode; the inventory says {configured}."
        )
        yield Finding(problem, _KEEP_MODE[on_disk], where)


@host_rule("quorum-differs", each=_log_dirs)
def _quorum_differs(kafka: KafkaNode, _: str, directory: Directory) -> Findings:
    """The kind of quorum is part of the metadata log (KIP-853); a node with the other one
    cannot vote.
    """
    configured, state = kafka.settings["kafka_quorum"], directory.quorum or {}
    # An observer of a dynamic quorum begins with version 0, but has no voters there.
    kinds = {0: "static" if state.get("currentVoters") else "", 1: "dynamic"}
    on_disk = kinds.get(state.get("data_version", -1), "")
    if on_disk and on_disk != configured:
        problem = f"The quorum in {directory.path} is {on_disk}; the inventory says {configured}."
        yield Finding(problem, f"Set kafka_quorum: {on_disk}.", "kafka_quorum")


@host_rule("foreign-directory")
def _foreign_directory(host: InspectedHost) -> Findings:
    """Kafka treats every directory there as a partition and stops at one that is not."""
    # The directory of metadata alone may hold more.
    for path in host.kafka.data_dirs if host.kafka and host.kafka.is_broker else ():
        directory = host.directory(path)
        names = directory.names if directory else ()
        directories = [name.rstrip("/") for name in names if name.endswith("/")]
        foreign = [name for name in directories if not is_kafkas_own(name)]
        if not foreign:
            continue
        problem = f"{path} holds {listing(foreign[:5])}, which is not a topic-partition."
        fix = f"Move it away, or set {path.rstrip('/')}/kafka in kafka_data_dirs."
        if "lost+found" in foreign:
            problem = (
                f"{path} is the root of a file system: it holds lost+found, which Kafka refuses."
            )
            fix = f"Set {path.rstrip('/')}/kafka in kafka_data_dirs."
        yield Finding(problem, fix, f"kafka_data_dirs, {path}")


@host_rule("foreign-file", each=_log_dirs, severity="warning")
def _foreign_file(_: KafkaNode, where: str, directory: Directory) -> Findings:
    """Another program seems to use the directory."""
    files = [name for name in directory.names if not name.endswith("/")]
    foreign = [name for name in files if not is_kafkas_own(name)]
    if foreign:
        problem = f"{directory.path} holds {listing(foreign[:5])}, which is not a file of Kafka."
        yield Finding(problem, "Move it away.", where)


@host_rule("myid-differs", where="zookeeper_id")
def _myid_differs(host: InspectedHost) -> Findings:
    """Two members with one id, or a member with another's data, break the ensemble."""
    member = host.zookeeper
    directory = host.directory(member.data_dir) if member else None
    on_disk = (directory.myid or "").strip() if directory else ""
    if member and on_disk and on_disk != str(member.id):
        problem = f"{member.data_dir}/myid is {on_disk}; the inventory says {member.id}."
        yield Finding(problem, f"Set zookeeper_id: {on_disk}, or move the data away.")
