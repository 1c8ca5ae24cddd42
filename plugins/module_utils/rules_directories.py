"""The rules about the directories that hold data."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import PurePosixPath

from ansible_collections.millrace.streaming.plugins.module_utils.rules import (
    Finding,
    Host,
    Inventory,
    rule,
    texts,
)

_SCRATCH = ("/tmp", "/var/tmp")  # noqa: S108 - the paths to refuse
# A service changes the owner and the mode of its data directory, and teardown may remove it.
_SYSTEM_NAMES = (
    "bin",
    "boot",
    "dev",
    "etc",
    "home",
    "lib",
    "media",
    "mnt",
    "opt",
    "proc",
    "root",
    "run",
    "sbin",
    "srv",
    "sys",
    "usr",
    "var",
    "var/lib",
    "var/log",
    "var/opt",
)
_SYSTEM = ("/", *(f"/{name}" for name in _SYSTEM_NAMES))
_BETTER = {
    "kafka": "/var/lib/kafka/data",
    "zookeeper": "/var/lib/zookeeper/data",
    "spark": "/srv/spark",
}
_UNSAFE = re.compile(r"[,\s\x00-\x1f\x7f]")
_STATE = {"kafka": "/var/lib/kafka", "zookeeper": "/var/lib/zookeeper"}


@dataclass(frozen=True)
class DataDir:
    """A directory that holds data: its role, the variable that sets it, the path as written."""

    role: str
    variable: str
    path: str

    @property
    def place(self) -> PurePosixPath:
        """The path without doubled slashes."""
        return PurePosixPath(re.sub("/+", "/", self.path))

    def is_below(self, directory: str | PurePosixPath) -> bool:
        """Say whether this is the directory or lies in it."""
        return self.place.is_relative_to(directory)


def data_dirs(host: Host) -> list[DataDir]:
    """Return each directory that holds data of a host's services."""
    kafka, zookeeper, spark = host.kafka, host.zookeeper, host.spark
    variables = [
        ("kafka", "kafka_data_dirs", texts(kafka.get("data_dirs"))),
        ("kafka", "kafka_metadata_dir", texts([kafka.get("metadata_dir")])),
        ("zookeeper", "zookeeper_data_dir", texts(zookeeper.get("data_dirs"))),
        ("spark", "spark_shared_dir", texts(spark.get("data_dirs"))),
    ]
    return [DataDir(role, name, path) for role, name, paths in variables for path in paths]


@rule(
    "data-dir-relative",
    when="a data directory does not begin with `/`",
    why="It would lie wherever the service happens to start.",
    remedy="Set an absolute path.",
)
def data_dir_relative(inventory: Inventory) -> Iterator[Finding]:
    """Refuse a path that depends on the working directory."""
    for host in inventory.hosts.values():
        for one in data_dirs(host):
            if not one.path.startswith("/"):
                fix = f"Set an absolute path, such as {_BETTER[one.role]}."
                yield Finding(one.variable, f"{one.path!r} is no absolute path.", fix, (host.name,))


@rule(
    "data-dir-name",
    when="a data directory's path has a comma, a blank or a control character",
    why="Kafka would split it at the comma, and systemd at the blank.",
    remedy="Use letters, digits, `-`, `_` and `.`.",
)
def data_dir_name(inventory: Inventory) -> Iterator[Finding]:
    """Refuse a path that others read as two."""
    for host in inventory.hosts.values():
        for one in data_dirs(host):
            if _UNSAFE.search(one.path):
                what = f"{one.path!r} has a comma, a blank or a control character."
                fix = f"Set a path without, such as {_BETTER[one.role]}; each directory is an "
                fix += "entry of its own."
                yield Finding(one.variable, what, fix, (host.name,))


@rule(
    "data-dir-in-tmp",
    when="a data directory is below `/tmp` or `/var/tmp`",
    why="It is emptied at boot or by age, and the data with it.",
    remedy="Set a directory on a disk of its own, below `/var/lib` for example.",
)
def data_dir_in_tmp(inventory: Inventory) -> Iterator[Finding]:
    """Refuse data where the system deletes files."""
    for host in inventory.hosts.values():
        for one in data_dirs(host):
            if any(one.is_below(scratch) for scratch in _SCRATCH):
                fix = f"Set {_BETTER[one.role]} or another directory outside /tmp."
                what = f"{one.path} is emptied by the system."
                yield Finding(one.variable, what, fix, (host.name,))


@rule(
    "data-dir-system",
    when="a data directory is one of the system's own, such as `/var`, or the state directory of "
    "its service",
    why="A service takes its data directory for itself, owner, mode and every entry; files of "
    "others stop Kafka at its start.",
    remedy="Set a directory below it, which holds nothing else.",
)
def data_dir_system(inventory: Inventory) -> Iterator[Finding]:
    """Refuse a directory that others use too."""
    for host in inventory.hosts.values():
        for one in data_dirs(host):
            if str(one.place) in _SYSTEM or str(one.place) == _STATE.get(one.role):
                what = f"{one.path} holds more than this data."
                better = one.place / ("data" if str(one.place) in _STATE.values() else one.role)
                yield Finding(one.variable, what, f"Set {better} for example.", (host.name,))


def _may_share(one: DataDir, other: DataDir) -> bool:
    """Say whether two directories of one host get along."""
    if not one.is_below(other.place) and not other.is_below(one.place):
        return True
    if one.role == other.role == "kafka":  # the metadata log may be one of the logs
        return one.variable != other.variable and one.place == other.place
    return one.role == other.role


@rule(
    "data-dir-nested",
    when="a data directory is given twice, or lies in another one of its host",
    why="Kafka takes every directory in a data directory for a partition and stops at others, and "
    "removing one service's data would remove the other's.",
    remedy="Give each its own directory, side by side. `kafka_metadata_dir` may be one of "
    "`kafka_data_dirs`, and not lie in one.",
)
def data_dir_nested(inventory: Inventory) -> Iterator[Finding]:
    """Refuse a data directory in another."""
    for host in inventory.hosts.values():
        for one, other in combinations(data_dirs(host), 2):
            if not _may_share(one, other):
                names = dict.fromkeys((one.variable, other.variable))
                what = f"{one.path} and {other.path} are nested or the same."
                fix = f"Set directories side by side, such as /data1/{one.role} and "
                fix += f"/data2/{other.role}."
                yield Finding(" and ".join(names), what, fix, (host.name,))
