"""The rules about the disks that data lies on: what is mounted, and how much is free."""

from __future__ import annotations

from collections.abc import Iterator

from ...module_utils.formats.key_table import nearest
from ...module_utils.formats.values import listing, texts
from ..cluster.cluster import Cluster, DataDirectory
from ..cluster.entry import MIB
from ..cluster.host import HostSettings
from ..cluster.registry import ENTRIES, JAVA_PRODUCTS
from .engine import Finding, Findings, host_rule, rule
from .inspection import Directory, InspectedHost, is_below
from .shared import falls_back_to_default, hosts, shared_values

GIB = 1024 * MIB
# The parents of the default data directories, which the roles create.
_STATE = tuple(f"/var/lib/{product}" for product in JAVA_PRODUCTS)
# File systems that may be mounted twice.
_SHARED = ("nfs", "nfs4", "cifs", "tmpfs", "ramfs", "btrfs", "none", "overlay", "9p", "virtiofs")
# Gone since Linux 4.19.
_GONE = (("xfs", "barrier"), ("xfs", "nobarrier"))
_NEARLY = 0.75
_TYPES = (*_SHARED, "auto", "xfs", "ext2", "ext3", "ext4", "f2fs", "zfs", "jfs", "ceph", "lustre")
_SIMILAR = 0.65
_MEMORY = ("tmpfs", "ramfs")
_MAKE_ROOM = "Free some space, enlarge it, or shorten the retention."


@rule("mount-path", each=hosts, where="host_mounts")
def _mount_path(settings: HostSettings) -> Findings:
    """systemd mounts absolute paths, and the root file system is mounted before it starts."""
    for mount in settings.mounts:
        path = mount["path"]
        if not path.startswith("/") or not path.strip("/"):
            fix = "Set an absolute path, such as /data1."
            yield Finding(f"Nothing can be mounted on {path!r}.", fix)


@rule("mount-option", each=hosts, where="host_mounts")
def _mount_option(settings: HostSettings) -> Findings:
    """The file system would not be mounted, or nothing could be written to it."""
    for mount in settings.mounts:
        options = texts(mount["opts"])
        wrong = [
            option for option in options if option == "ro" or (mount["fstype"], option) in _GONE
        ]
        if wrong:
            remaining = ",".join(option for option in options if option not in wrong) or "noatime"
            why = "only for reading" if "ro" in wrong else "with options that Linux no longer has"
            problem = f"{mount['path']} would be mounted {why} ({listing(wrong)})."
            yield Finding(problem, f"Set opts: {remaining}.")


@rule("mount-type", each=hosts, where="host_mounts")
def _mount_type(settings: HostSettings) -> Findings:
    """The kernel would not know it, and nothing would be mounted."""
    for mount in settings.mounts:
        kind = str(mount["fstype"] or "")
        near = nearest(kind, list(_TYPES), _SIMILAR) if kind not in _TYPES else ""
        if near:
            problem = f"The type of {mount['path']} is {kind}."
            yield Finding(problem, f"Set fstype: {near}.")


@rule("mount-duplicate", each=hosts, where="host_mounts")
def _mount_duplicate(settings: HostSettings) -> Findings:
    """One file system would be mounted at both, and another one nowhere; or one mount would hide
    the other.
    """
    numbered = list(enumerate(settings.mounts))
    for key in ("src", "path"):
        values = {number: mount[key] for number, mount in numbered if mount[key]}
        for value, numbers in shared_values(values):
            if settings.mounts[numbers[0]]["fstype"] in _SHARED:
                continue
            other_key = "path" if key == "src" else "src"
            names = listing(settings.mounts[number][other_key] or "nothing" for number in numbers)
            fix = f"Set {key} of each entry of host_mounts to its own."
            yield Finding(f"{value} is the {key} of {names}.", fix)


def _kafka_directories(cluster: Cluster) -> Iterator[tuple[str, HostSettings, list[str]]]:
    for host, node in cluster.kafka.items():
        yield host, node.host, list(node.data_dirs)


@rule("mount-root", each=_kafka_directories, where="kafka_data_dirs")
def _mount_root(settings: HostSettings, directories: list[str]) -> Findings:
    """The root of an ext file system contains lost+found, which Kafka takes for a partition and
    refuses.
    """
    tops = {
        mount["path"].rstrip("/"): mount["fstype"]
        for mount in settings.mounts
        if str(mount["fstype"]).startswith("ext")
    }
    for path in directories:
        if path.rstrip("/") in tops:
            top = path.rstrip("/")
            problem = f"{path} is the root of a file system ({tops[top]})."
            yield Finding(problem, f"Set {top}/data.")


def _mounts_and_directories(
    cluster: Cluster,
) -> Iterator[tuple[str, list[str], list[str], list[str]]]:
    """Yield the mounts of each Kafka host, Kafka's directories, and those of all its services."""
    for host, settings, directories in _kafka_directories(cluster):
        all_directories = [directory.path for directory in cluster.directories(host)]
        yield host, [mount["path"] for mount in settings.mounts], directories, all_directories


@rule("mount-unused", each=_mounts_and_directories, where="kafka_data_dirs")
def _mount_unused(
    mounts: list[str], directories: list[str], all_directories: list[str]
) -> Findings:
    """Data would fill the root file system, while a disk that was mounted for it stays empty."""
    used = {path for path in mounts for directory in all_directories if is_below(directory, path)}
    beside = [
        directory
        for directory in directories
        if not any(is_below(directory, path) for path in mounts)
    ]
    for path in (mount for mount in mounts if mount not in used):
        depth = path.rstrip("/").count("/") + 1
        tops = {"/".join(directory.split("/")[:depth]): directory for directory in beside}
        near = nearest(path.rstrip("/"), [*tops], _NEARLY)
        if near and len(beside) < len(directories):
            problem = f"{tops[near]} is on none of the mounts, and nothing uses {path}."
            yield Finding(problem, f"Set {path.rstrip('/')}/data for example.")


@rule("mount-differs", where="host_mounts")
def _mount_differs(cluster: Cluster) -> Findings:
    """Data would fill the root file system of this host. A host_mounts of one group replaces that
    of another as a whole.
    """
    mounted: dict[str, dict[str, str]] = {}
    for host, settings in cluster.hosts.items():
        is_accepted = not falls_back_to_default(cluster, host, "host_mounts")
        for path in (directory.path for directory in cluster.directories(host) if is_accepted):
            below = [mount["path"] for mount in settings.mounts if is_below(path, mount["path"])]
            mounted.setdefault(path, {})[host] = max(below, key=len, default="")
    for path, mounts in mounted.items():
        mount = next(filter(None, mounts.values()), "")
        beside = [host for host, mount_point in mounts.items() if not mount_point]
        if mount and beside:
            other_hosts = listing(host for host in mounts if host not in beside)
            problem = f"{path} is on none of the mounts of {listing(beside)}, and on {mount} of "
            fix = f"Add {mount} to host_mounts; without src if it is mounted by other means."
            yield Finding(f"{problem}{other_hosts}.", fix, hosts=tuple(beside))


@host_rule("mount-missing", where="host_mounts")
def _mount_missing(host: InspectedHost) -> Findings:
    """The data would fill the root file system, and the disk would hide it once mounted."""
    disks = host.inspection.disks
    for mount in host.host.mounts:
        path, source = mount["path"], mount["src"]
        if path in disks.mount_points:
            continue
        if not source:
            problem = f"{path} is not mounted, and host_mounts names no src to mount there."
            yield Finding(problem, f"Mount {path}, or give its src.")
        elif source in disks.absent_sources:
            problem = f"{source}, to be mounted on {path}, does not exist."
            yield Finding(problem, "Attach the disk, or correct src.")
    ours = [mount["path"] for mount in host.host.mounts]
    for configured, directory in host.data():
        path = directory.unmounted
        if path and path not in ours:
            problem = f"{directory.path} belongs on {path}, which is in /etc/fstab and not mounted."
            yield Finding(problem, f"Run: mount {path}", f"{configured.variable}, {directory.path}")


@host_rule("data-dir-parent", each=InspectedHost.on_present_disks)
def _data_dir_parent(configured: DataDirectory, directory: Directory) -> Findings:
    """The path may be wrong, or a disk may not be mounted."""
    parent = directory.path.rstrip("/").rpartition("/")[0]
    if not directory.parent and parent not in _STATE:
        problem = f"{directory.path} cannot be created: {parent} does not exist."
        fix = "Correct the path, create the directory, or mount a disk there (host_mounts)."
        yield Finding(problem, fix, f"{configured.variable}, {directory.path}")


@host_rule("mount-would-hide", where="host_mounts")
def _mount_would_hide(host: InspectedHost) -> Findings:
    """The disk would hide the files there, and data that Kafka wrote would seem to be lost."""
    disks = host.inspection.disks
    hidden = {*disks.occupied} - {*disks.mount_points}
    for mount in host.host.mounts:
        if mount["src"] and mount["path"] in hidden:
            fix = "Copy them to the disk, or move them away."
            yield Finding(f"{mount['path']} holds files, which {mount['src']} would hide.", fix)


@host_rule("data-in-memory")
def _data_in_memory(host: InspectedHost) -> Findings:
    """What is written there is lost at the next boot."""
    accepted = [mount["path"] for mount in host.host.mounts if mount["fstype"] in _MEMORY]
    for configured, directory in host.on_present_disks():
        if directory.fstype in _MEMORY and directory.mount not in accepted:
            problem = f"{directory.path} is in memory: {directory.mount} is a {directory.fstype}."
            yield Finding(
                problem, "Set a directory on a disk, or mount one there.", configured.variable
            )


@host_rule("read-only", each=InspectedHost.on_present_disks)
def _read_only(configured: DataDirectory, directory: Directory) -> Findings:
    """Nothing can be written; after an I/O error Linux remounts a disk read-only."""
    if "ro" in directory.options:
        problem = f"{directory.path} cannot be written: {directory.mount} is mounted read-only."
        fix = f"Check the disk, then: mount -o remount,rw {directory.mount}"
        yield Finding(problem, fix, configured.variable)


@host_rule("disk-full", each=InspectedHost.on_present_disks, in_container="warning")
def _disk_full(configured: DataDirectory, directory: Directory) -> Findings:
    """Kafka takes a log directory offline when it cannot write, and stops with the last one."""
    # A directory in use must accept the very change that frees space.
    new = directory.meta is None and not directory.elected
    if new and directory.size and directory.free < _least_free(directory):
        yield Finding(_space(directory), _MAKE_ROOM, configured.variable)


@host_rule("disk-low", each=InspectedHost.on_present_disks, severity="warning")
def _disk_low(configured: DataDirectory, directory: Directory) -> Findings:
    """A replica that is rebuilt, or a burst of records, would fill the disk."""
    if _least_free(directory) <= directory.free < directory.size * 0.15:
        yield Finding(_space(directory), _MAKE_ROOM, configured.variable)


def _least_free(directory: Directory) -> float:
    return max(directory.size * 0.05, GIB)


def _space(directory: Directory) -> str:
    free = f"{directory.free // MIB} MiB of {directory.size // MIB} MiB free"
    percent = 100 * directory.free // directory.size
    return f"{directory.mount}, which holds {directory.path}, has {free} ({percent} %)."


@host_rule("no-room-for-software", where="/opt/millrace")
def _no_room_for_software(host: InspectedHost) -> Findings:
    """A full disk in the middle of an upgrade leaves a host between two versions."""
    services = host.cluster.services(host.name)
    unpacked, free = host.inspection.software.homes, host.inspection.disks.opt_free
    homes = {
        service.distribution.home: ENTRIES[name].unpacked_bytes
        for name, service in services.items()
    }
    needed = {home: room for home, room in homes.items() if unpacked.get(home) is False}
    total = sum(needed.values())
    if needed and free < total:
        problem = f"/opt/millrace has {free // MIB} MiB free and {listing(needed)} "
        problem += f"need{'s' if len(needed) == 1 else ''} {total // MIB} MiB."
        yield Finding(problem, "Free some space there, for example by removing old versions.")


@host_rule("data-on-root", each=InspectedHost.on_present_disks, severity="warning")
def _data_on_root(configured: DataDirectory, directory: Directory) -> Findings:
    """A topic that grows stops the whole system, and other writes slow the log."""
    if ENTRIES[configured.service].needs_data_disk and directory.mount == "/":
        fix = "Give it a disk of its own (host_mounts)."
        yield Finding(f"{directory.path} is on the root file system.", fix, configured.variable)


@host_rule("disk-shared", where="kafka_data_dirs", severity="warning")
def _disk_shared(host: InspectedHost) -> Findings:
    """They fail together and share the throughput of the device, so the second one is of no use."""
    devices = {
        directory.path: directory.device
        for configured, directory in host.on_present_disks()
        if configured.variable == "kafka_data_dirs" and directory.device
    }
    for _, paths in shared_values(devices):
        yield Finding(f"{listing(paths)} are on one device.", "Use one directory for each disk.")


@host_rule(
    "mount-inside", each=InspectedHost.on_present_disks, where="kafka_data_dirs", severity="warning"
)
def _mount_inside(configured: DataDirectory, directory: Directory) -> Findings:
    """Kafka assumes that a directory is on one disk when it moves or deletes partitions."""
    inside = [path for path in directory.mounts_inside if is_below(path, directory.path)]
    if configured.variable == "kafka_data_dirs" and inside:
        fix = "Mount it beside the directory."
        yield Finding(f"{listing(inside)} is mounted inside {directory.path}.", fix)
