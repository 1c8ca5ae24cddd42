"""The rules about the disks that data lies on: what is mounted, and how much is free."""

from __future__ import annotations

from collections.abc import Iterator

from ansible_collections.millrace.streaming.plugins.module_utils.model.cluster import (
    Cluster,
    DataDirectory,
)
from ansible_collections.millrace.streaming.plugins.module_utils.model.values import listing
from ansible_collections.millrace.streaming.plugins.module_utils.rules.engine import (
    Finding,
    host_rule,
    rule,
)
from ansible_collections.millrace.streaming.plugins.module_utils.rules.inspection import (
    Directory,
    InspectedHost,
    is_below,
)
from ansible_collections.millrace.streaming.plugins.module_utils.rules.shared import holders

MIB = 1024 * 1024
GIB = 1024 * MIB
# Beside the unpacked tree the archive lies on the same disk while it is unpacked.
_ROOM = {"kafka": 400 * MIB, "zookeeper": 400 * MIB, "spark": 1100 * MIB}
# What the roles make themselves, for their data directories to lie in.
_STATE = tuple(f"/var/lib/{service}" for service in _ROOM)
_MEMORY = ("tmpfs", "ramfs")


@rule(
    "mount-path",
    when="a `path` of `host_mounts` does not begin with `/`, or is `/` itself",
    why="systemd mounts absolute paths, and the root file system is mounted before it starts.",
    remedy="Set the absolute path of the directory to mount on, such as `/data1`.",
)
def _mount_path(cluster: Cluster) -> Iterator[Finding]:
    for host, settings in cluster.hosts.items():
        for mount in settings.mounts:
            path = str(mount["path"])
            if not path.startswith("/") or not path.strip("/"):
                what = f"Nothing can be mounted on {path!r}."
                yield Finding("host_mounts", what, "Set an absolute path, such as /data1.", (host,))


@host_rule(
    "mount-missing",
    when="a file system of `host_mounts` or of `/etc/fstab` that data belongs on is not mounted, "
    "and its device is missing or is for others to mount",
    why="The data would fill the root file system, and vanish under the disk once it is mounted.",
    remedy="Attach and mount the disk.",
)
def _mount_missing(host: InspectedHost) -> Iterator[Finding]:
    for mount in host.host.mounts:
        path, source = str(mount["path"]), str(mount.get("src") or "")
        if path in host.found.mount_points:
            continue
        if not source:
            what = f"{path} is not mounted, and host_mounts names no src to mount there."
            yield Finding("host_mounts", what, f"Mount {path}, or give its src.")
        elif source in host.found.absent_sources:
            what = f"{source}, to be mounted on {path}, does not exist."
            yield Finding("host_mounts", what, "Attach the disk, or correct src.")
    ours = [str(mount["path"]) for mount in host.host.mounts]
    for wanted, found in host.data():
        path = found.unmounted
        if path and path not in ours:
            what = f"{found.path} belongs on {path}, which is in /etc/fstab and not mounted."
            yield Finding(f"{wanted.variable}, {found.path}", what, f"Run: mount {path}")


@host_rule(
    "data-dir-parent",
    when="the directory that a data directory is to lie in does not exist, and no file system of "
    "`host_mounts` is to be mounted above it",
    why="A path with a mistake in it, or a disk that was not mounted, look the same.",
    remedy="Correct the path, create the directory, or mount a disk there by `host_mounts`.",
)
def _data_dir_parent(host: InspectedHost) -> Iterator[Finding]:
    for wanted, found in host.on_present_disks():
        parent = found.path.rstrip("/").rpartition("/")[0]
        if not found.parent and parent not in _STATE:
            what = f"{found.path} cannot be made: {parent} does not exist."
            fix = "Correct the path, create the directory, or mount a disk there (host_mounts)."
            yield Finding(f"{wanted.variable}, {found.path}", what, fix)


@host_rule(
    "mount-would-hide",
    when="a directory of `host_mounts` is not mounted yet and holds files",
    why="The disk would hide them: data that Kafka wrote there would seem to be lost.",
    remedy="Copy them to the disk, or move them away, and mount it.",
)
def _mount_would_hide(host: InspectedHost) -> Iterator[Finding]:
    hidden = {*host.found.occupied} - {*host.found.mount_points}
    for mount in host.host.mounts:
        if mount.get("src") and mount["path"] in hidden:
            what = f"{mount['path']} holds files, which {mount['src']} would hide."
            yield Finding("host_mounts", what, "Copy them to the disk, or move them away.")


@host_rule(
    "data-in-memory",
    when="a data directory lies on a tmpfs or ramfs, and `host_mounts` does not ask for it",
    why="What is written there is gone after the next boot.",
    remedy="Use a directory on a disk.",
)
def _data_in_memory(host: InspectedHost) -> Iterator[Finding]:
    accepted = [mount["path"] for mount in host.host.mounts if mount.get("fstype") in _MEMORY]
    for wanted, found in host.on_present_disks():
        if found.fstype in _MEMORY and found.mount not in accepted:
            what = f"{found.path} is in memory: {found.mount} is a {found.fstype}."
            yield Finding(wanted.variable, what, "Set a directory on a disk, or mount one there.")


@host_rule(
    "read-only",
    when="a data directory lies on a file system that is mounted read-only",
    why="Nothing can be written; after an I/O error Linux mounts a disk so.",
    remedy="Read the kernel's log, check the disk and mount it again for writing.",
)
def _read_only(host: InspectedHost) -> Iterator[Finding]:
    for wanted, found in host.on_present_disks():
        if "ro" in found.options:
            what = f"{found.path} cannot be written: {found.mount} is mounted read-only."
            fix = f"Check the disk, then: mount -o remount,rw {found.mount}"
            yield Finding(wanted.variable, what, fix)


@host_rule(
    "disk-full",
    when="the file system of a data directory that is yet to be formatted has less than 5 % or "
    "1 GiB free",
    why="Kafka takes a log directory offline when it cannot write, and stops with the last one.",
    remedy="Free some space, enlarge it, or shorten the retention first.",
    in_container="warning",
)
def _disk_full(host: InspectedHost) -> Iterator[Finding]:
    for wanted, found in host.on_present_disks():
        # One in use has to take the change that makes room.
        new = found.meta is None and not found.elected
        if new and found.size and found.free < _least_free(found):
            yield _space(wanted, found)


@host_rule(
    "disk-low",
    when="a data directory's file system has less than 15 % free",
    why="A replica that is rebuilt, or a burst, fills it.",
    remedy="Enlarge it, or shorten the retention.",
    severity="warning",
)
def _disk_low(host: InspectedHost) -> Iterator[Finding]:
    for wanted, found in host.on_present_disks():
        if _least_free(found) <= found.free < found.size * 0.15:
            yield _space(wanted, found)


def _least_free(directory: Directory) -> float:
    return max(directory.size * 0.05, GIB)


def _space(wanted: DataDirectory, found: Directory) -> Finding:
    percent = 100 * found.free // found.size
    what = (
        f"{found.mount}, which holds {found.path}, has {found.free // MIB} MiB of "
        f"{found.size // MIB} MiB free ({percent} %)."
    )
    return Finding(wanted.variable, what, "Free some space, enlarge it, or shorten the retention.")


@host_rule(
    "no-room-for-software",
    when="a distribution is yet to be unpacked and /opt/millrace has no room for it",
    why="A full disk in the middle of an upgrade leaves a host between two versions.",
    remedy="Free what the message names.",
)
def _no_room_for_software(host: InspectedHost) -> Iterator[Finding]:
    services = host.cluster.services(host.name)
    homes = {service.distribution.home: _ROOM[name] for name, service in services.items()}
    needed = {home: room for home, room in homes.items() if host.found.homes.get(home) is False}
    total = sum(needed.values())
    if needed and host.found.opt_free < total:
        what = (
            f"/opt/millrace has {host.found.opt_free // MIB} MiB free and {listing(needed)} "
            f"need{'s' if len(needed) == 1 else ''} {total // MIB} MiB."
        )
        yield Finding("/opt/millrace", what, "Free some space, such as old versions there.")


@host_rule(
    "data-on-root",
    when="Kafka's or ZooKeeper's data lies on the root file system",
    why="A topic that grows stops the whole system, and other writes slow the log.",
    remedy="Mount a disk of its own, for instance by `host_mounts`.",
    severity="warning",
)
def _data_on_root(host: InspectedHost) -> Iterator[Finding]:
    for wanted, found in host.on_present_disks():
        if wanted.service in ("kafka", "zookeeper") and found.mount == "/":
            what = f"{found.path} is on the root file system."
            yield Finding(wanted.variable, what, "Give it a disk of its own (host_mounts).")


@host_rule(
    "disk-shared",
    when="two Kafka data directories lie on one device",
    why="They fail together and share its throughput, so the second one brings nothing.",
    remedy="One directory for each disk.",
    severity="warning",
)
def _disk_shared(host: InspectedHost) -> Iterator[Finding]:
    devices = {
        found.path: found.device
        for wanted, found in host.on_present_disks()
        if wanted.variable == "kafka_data_dirs" and found.device
    }
    for paths in holders(devices).values():
        if len(paths) > 1:
            what = f"{listing(paths)} are on one device."
            yield Finding("kafka_data_dirs", what, "Use one directory for each disk.")


@host_rule(
    "mount-inside",
    when="a file system is mounted inside a Kafka data directory",
    why="Kafka counts on one directory being one disk when it moves or deletes partitions.",
    remedy="Mount it beside, and list it in `kafka_data_dirs`.",
    severity="warning",
)
def _mount_inside(host: InspectedHost) -> Iterator[Finding]:
    for wanted, found in host.on_present_disks():
        inside = [path for path in found.mounts_inside if is_below(path, found.path)]
        if wanted.variable == "kafka_data_dirs" and inside:
            what = f"{listing(inside)} is mounted inside {found.path}."
            yield Finding(wanted.variable, what, "Mount it beside the directory.")
