"""The checks of disks: whose data they hold, what they are mounted on, how much is free."""

from __future__ import annotations

from collections.abc import Iterator

from ansible_collections.millrace.streaming.plugins.module_utils import storage
from ansible_collections.millrace.streaming.plugins.module_utils.preflight import (
    Directory,
    Finding,
    Host,
    check,
    is_below,
)
from ansible_collections.millrace.streaming.plugins.module_utils.properties import parse_properties
from ansible_collections.millrace.streaming.plugins.module_utils.rules import (
    integer,
    listing,
    texts,
)

MIB = 1024 * 1024
GIB = 1024 * MIB
# Beside the tree itself the archive lies on the same disk while it is unpacked.
ROOM = {"kafka": 400 * MIB, "zookeeper": 400 * MIB, "spark": 1100 * MIB}
# What the roles make themselves, for their data directories to lie in.
_STATE = tuple(f"/var/lib/{role}" for role in ROOM)
_MEMORY = ("tmpfs", "ramfs")
_PLATFORM = ("kafka_data_dirs", "kafka_metadata_dir", "zookeeper_data_dir")


def _log_dirs(host: Host) -> list[tuple[str, Directory]]:
    """Return the directories of log.dirs and metadata.log.dir."""
    return [(name, one) for name, one in host.data() if name.startswith("kafka")]


def _meta(directory: Directory) -> dict[str, str]:
    try:
        return parse_properties(directory.meta or "")
    except ValueError:
        return {}


@check(
    "storage-of-another",
    when="`meta.properties` in a Kafka data directory names another cluster or node, is damaged, "
    "or is missing beside partitions",
    why="The records of another node would be lost, or served as this one's.",
    remedy="Correct the cluster id or node id in the inventory, or move the data away.",
)
def storage_of_another(host: Host) -> Iterator[Finding]:
    """Refuse a disk that belongs elsewhere."""
    number = integer(host.wish.kafka.get("node_id"))
    if number is None:
        return
    for variable, directory in _log_dirs(host):
        # Before an id is minted, only a disk that has one can tell the cluster.
        cluster = host.wish.cluster_id or _meta(directory).get("cluster.id", "")
        node = storage.Node("", "", "", cluster, number, controller=False)
        log_dir = storage.LogDir(
            directory.path, directory.exists, directory.meta, directory.partitions
        )
        for problem in storage.disk_problems(node, log_dir):
            what, _, fix = problem.rpartition(": ")
            yield Finding(f"{variable}, {directory.path}", f"{what}.", f"{_capital(fix)}.")


@check(
    "directory-id-twice",
    when="two Kafka data directories of a host have the same `directory.id`",
    why="Kafka assigns partitions to directories by that id and refuses to start.",
    remedy="One is a copy of the other: remove it from `kafka_data_dirs`, or empty it.",
)
def directory_id_twice(host: Host) -> Iterator[Finding]:
    """Refuse a copied disk."""
    seen: dict[str, str] = {}
    for variable, directory in _log_dirs(host):
        own = _meta(directory).get("directory.id")
        if own and own in seen:
            what = f"{seen[own]} and {directory.path} have the same directory.id {own}."
            fix = "Keep the one in use and empty the other, which is a copy."
            yield Finding(variable, what, fix)
        elif own:
            seen[own] = directory.path


@check(
    "storage-of-another-mode",
    when="a disk was written in ZooKeeper mode and the node is to run KRaft, or the reverse",
    why="The controllers of the one mode know no topic of the other, so its records are lost.",
    remedy="Keep the mode that the disks have; migrate with Kafka 3.9 before going to KRaft.",
)
def storage_of_another_mode(host: Host) -> Iterator[Finding]:
    """Refuse to change from ZooKeeper to KRaft, or back, by inventory alone."""
    mode = host.wish.kafka.get("mode", "kraft")
    for variable, directory in _log_dirs(host):
        version = _meta(directory).get("version")
        where = f"{variable}, {directory.path}"
        if version == "0" and mode == "kraft":
            what = f"{directory.path} was written in ZooKeeper mode; the inventory says KRaft."
            fix = "Add the group zookeeper and remove kafka_controllers, or migrate the cluster."
            yield Finding(where, what, fix)
        elif version == "1" and mode == "zookeeper":
            what = f"{directory.path} was written in KRaft mode; the inventory says ZooKeeper."
            fix = "Add the group kafka_controllers and remove zookeeper, as it was."
            yield Finding(where, what, fix)


@check(
    "quorum-differs",
    when="the quorum on disk is static and `kafka_quorum` is dynamic, or the reverse",
    why="The kind of quorum is part of the metadata log; a node with the other one cannot vote.",
    remedy="Set `kafka_quorum` to what the message names.",
)
def quorum_differs(host: Host) -> Iterator[Finding]:
    """Refuse the other kind of quorum (KIP-853)."""
    wanted = host.wish.kafka.get("quorum", "dynamic")
    for _, directory in _log_dirs(host):
        state = directory.quorum or {}
        # An observer of a dynamic quorum begins with version 0, but has no voters there.
        found = {0: "static" if state.get("currentVoters") else "", 1: "dynamic"}
        on_disk = found.get(state.get("data_version", -1), "")
        if on_disk and on_disk != wanted:
            what = f"The quorum in {directory.path} is {on_disk}; the inventory says {wanted}."
            yield Finding("kafka_quorum", what, f"Set kafka_quorum: {on_disk}.")


@check(
    "foreign-directory",
    when="a broker's data directory holds a directory that is no partition",
    why="Kafka takes every directory there for a partition and stops at one that is none.",
    remedy="Use a directory below, such as `/data1/kafka`, or move the foreign one away.",
)
def foreign_directory(host: Host) -> Iterator[Finding]:
    """Refuse what Kafka would stumble over; the directory of metadata alone may hold more."""
    if "broker" not in host.wish.kafka.get("roles", ["broker"]):
        return
    for path in texts(host.wish.kafka.get("data_dirs")):
        directory = host.directory(path)
        foreign = [
            name.rstrip("/")
            for name in (directory.names if directory else ())
            if name.endswith("/") and not storage.is_kafkas_own(name.rstrip("/"))
        ]
        if not foreign:
            continue
        what = f"{path} holds {listing(foreign[:5])}, which is no topic-partition."
        fix = f"Move it away, or set {path.rstrip('/')}/kafka in kafka_data_dirs."
        if "lost+found" in foreign:
            what = f"{path} is the top of a file system: it holds lost+found, which Kafka refuses."
            fix = f"Set {path.rstrip('/')}/kafka in kafka_data_dirs."
        yield Finding(f"kafka_data_dirs, {path}", what, fix)


@check(
    "foreign-file",
    when="a Kafka data directory holds a file that is not Kafka's",
    why="Another program seems to use the directory.",
    remedy="Give Kafka a directory of its own.",
    severity="warning",
)
def foreign_file(host: Host) -> Iterator[Finding]:
    """Warn of a directory in somebody else's use."""
    for variable, directory in _log_dirs(host):
        names = [name for name in directory.names if not name.endswith("/")]
        foreign = [name for name in names if not storage.is_kafkas_own(name)]
        if foreign:
            what = f"{directory.path} holds {listing(foreign[:5])}, which is no file of Kafka."
            yield Finding(f"{variable}, {directory.path}", what, "Move it away.")


@check(
    "myid-differs",
    when="`myid` in ZooKeeper's data directory is not `zookeeper_id`",
    why="Two members with one id, or a member with another's data, break the ensemble.",
    remedy="Restore the id in the inventory, or move the data away.",
)
def myid_differs(host: Host) -> Iterator[Finding]:
    """Refuse another member's data."""
    wanted = str(host.wish.zookeeper.get("id"))
    for path in texts(host.wish.zookeeper.get("data_dirs")):
        directory = host.directory(path)
        on_disk = (directory.myid or "").strip() if directory else ""
        if on_disk and on_disk != wanted:
            what = f"{path}/myid says {on_disk}; the inventory says {wanted}."
            fix = f"Set zookeeper_id: {on_disk}, or move the data away."
            yield Finding("zookeeper_id", what, fix)


@check(
    "mount-missing",
    when="a file system of `host_mounts` or of `/etc/fstab` that data belongs on is not mounted, "
    "and its device is missing or is for others to mount",
    why="The data would fill the root file system, and vanish under the disk once it is mounted.",
    remedy="Attach and mount the disk.",
)
def mount_missing(host: Host) -> Iterator[Finding]:
    """Refuse to write where a disk should be."""
    for mount in host.wish.mounts():
        path, source = str(mount.get("path")), str(mount.get("src") or "")
        if path in host.found.mount_points:
            continue
        if not source:
            what = f"{path} is not mounted, and host_mounts names no src to mount there."
            yield Finding("host_mounts", what, f"Mount {path}, or give its src.")
        elif source in host.found.absent_sources:
            what = f"{source}, to be mounted on {path}, is not there."
            yield Finding("host_mounts", what, "Attach the disk, or correct src.")
    ours = [str(mount.get("path")) for mount in host.wish.mounts()]
    for variable, directory in host.data():
        path = directory.unmounted
        if path and path not in ours:
            what = f"{directory.path} belongs on {path}, which /etc/fstab has and nobody mounted."
            yield Finding(f"{variable}, {directory.path}", what, f"Run: mount {path}")


@check(
    "data-dir-parent",
    when="the directory that a data directory is to lie in does not exist, and no file system of "
    "`host_mounts` is to be mounted above it",
    why="A path with a mistake in it, or a disk that nobody mounted, looks the same.",
    remedy="Correct the path, create the directory, or mount a disk there by `host_mounts`.",
)
def data_dir_parent(host: Host) -> Iterator[Finding]:
    """Refuse to guess a path."""
    for variable, directory in host.disks():
        parent = directory.path.rstrip("/").rpartition("/")[0]
        if not directory.parent and parent not in _STATE:
            what = f"{directory.path} cannot be made: {parent} does not exist."
            fix = "Correct the path, create the directory, or mount a disk there (host_mounts)."
            yield Finding(f"{variable}, {directory.path}", what, fix)


@check(
    "mount-would-hide",
    when="a directory of `host_mounts` is not mounted yet and holds files",
    why="The disk would hide them: data that Kafka wrote there would seem to be lost.",
    remedy="Copy them to the disk, or move them away, and mount it.",
)
def mount_would_hide(host: Host) -> Iterator[Finding]:
    """Refuse to mount over data."""
    for mount in host.wish.mounts():
        path = str(mount.get("path"))
        if mount.get("src") and path in set(host.found.occupied) - set(host.found.mount_points):
            what = f"{path} holds files, which {mount['src']} would hide."
            yield Finding("host_mounts", what, "Copy them to the disk, or move them away.")


@check(
    "data-in-memory",
    when="a data directory lies on a tmpfs or ramfs, and `host_mounts` does not say so itself",
    why="What is written there is gone after the next boot.",
    remedy="Use a directory on a disk.",
)
def data_in_memory(host: Host) -> Iterator[Finding]:
    """Refuse data that does not outlive the host."""
    ours = [mount for mount in host.wish.mounts() if mount.get("fstype") in _MEMORY]
    wanted = {str(mount.get("path")) for mount in ours}
    for variable, directory in host.disks():
        if directory.fstype in _MEMORY and directory.mount not in wanted:
            what = f"{directory.path} is in memory: {directory.mount} is a {directory.fstype}."
            yield Finding(variable, what, "Set a directory on a disk, or mount one there.")


@check(
    "read-only",
    when="a data directory lies on a file system that is mounted read-only",
    why="Nothing can be written; after an I/O error Linux mounts a disk so.",
    remedy="Look at the kernel's log, check the disk and mount it again for writing.",
)
def read_only(host: Host) -> Iterator[Finding]:
    """Refuse a disk that cannot be written."""
    for variable, directory in host.disks():
        if "ro" in directory.options:
            what = f"{directory.path} cannot be written: {directory.mount} is mounted read-only."
            fix = f"Check the disk, then: mount -o remount,rw {directory.mount}"
            yield Finding(variable, what, fix)


@check(
    "disk-full",
    when="the file system of a data directory that is yet to be formatted has less than 5 % or "
    "1 GiB free",
    why="Kafka takes a log directory offline when it cannot write, and stops with the last one.",
    remedy="Free some, enlarge it, or shorten the retention first.",
    container="warning",
)
def disk_full(host: Host) -> Iterator[Finding]:
    """Refuse a disk without room; one in use has to take the change that makes room."""
    for variable, directory in host.disks():
        new = directory.meta is None and not directory.elected
        if new and directory.size and directory.free < max(directory.size * 0.05, GIB):
            yield _space(variable, directory)


@check(
    "disk-low",
    when="a data directory's file system has less than 15 % free",
    why="A replica that is rebuilt, or a burst, fills it.",
    remedy="Enlarge it, or shorten the retention.",
    severity="warning",
)
def disk_low(host: Host) -> Iterator[Finding]:
    """Warn of a disk that fills."""
    for variable, directory in host.disks():
        if max(directory.size * 0.05, GIB) <= directory.free < directory.size * 0.15:
            yield _space(variable, directory)


@check(
    "no-room-for-software",
    when="a distribution is yet to be unpacked and /opt/millrace has no room for it",
    why="A full disk in the middle of an upgrade leaves a host between two versions.",
    remedy="Free what the message names.",
)
def no_room_for_software(host: Host) -> Iterator[Finding]:
    """Refuse to unpack on a full disk."""
    needed = {
        home: ROOM[role]
        for role, home in host.wish.homes().items()
        if host.found.homes.get(home) is False
    }
    total = sum(needed.values())
    if needed and host.found.opt_free < total:
        what = (
            f"/opt/millrace has {host.found.opt_free // MIB} MiB free and {listing(needed)} "
            f"need{'s' if len(needed) == 1 else ''} {total // MIB} MiB."
        )
        yield Finding("/opt/millrace", what, "Free some space, such as old versions there.")


@check(
    "data-on-root",
    when="Kafka's or ZooKeeper's data lies on the root file system",
    why="A topic that grows stops the whole system, and other writes slow the log.",
    remedy="Mount a disk of its own, for instance by `host_mounts`.",
    severity="warning",
)
def data_on_root(host: Host) -> Iterator[Finding]:
    """Warn of data beside the system."""
    for variable, directory in host.disks():
        if variable in _PLATFORM and directory.mount == "/":
            what = f"{directory.path} is on the root file system."
            yield Finding(variable, what, "Give it a disk of its own (host_mounts).")


@check(
    "disk-shared",
    when="two Kafka data directories lie on one device",
    why="They fail together and share its throughput, so the second one brings nothing.",
    remedy="One directory for each disk.",
    severity="warning",
)
def disk_shared(host: Host) -> Iterator[Finding]:
    """Warn of two directories on one disk."""
    devices: dict[str, list[str]] = {}
    for variable, directory in host.disks():
        if variable == "kafka_data_dirs" and directory.device:
            devices.setdefault(directory.device, []).append(directory.path)
    for paths in devices.values():
        if len(paths) > 1:
            what = f"{listing(paths)} are on one device."
            yield Finding("kafka_data_dirs", what, "Use one directory for each disk.")


@check(
    "mount-inside",
    when="a file system is mounted inside a Kafka data directory",
    why="Kafka counts on one directory being one disk when it moves or deletes partitions.",
    remedy="Mount it beside, and list it in `kafka_data_dirs`.",
    severity="warning",
)
def mount_inside(host: Host) -> Iterator[Finding]:
    """Warn of a disk in a disk."""
    for variable, directory in host.disks():
        inside = [path for path in directory.mounts_inside if is_below(path, directory.path)]
        if variable == "kafka_data_dirs" and inside:
            what = f"{listing(inside)} is mounted inside {directory.path}."
            yield Finding(variable, what, "Mount it beside the directory.")


def _space(variable: str, directory: Directory) -> Finding:
    percent = 100 * directory.free // directory.size
    what = (
        f"{directory.mount}, which holds {directory.path}, has {directory.free // MIB} MiB of "
        f"{directory.size // MIB} MiB free ({percent} %)."
    )
    return Finding(variable, what, "Free some, enlarge it, or shorten the retention.")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
