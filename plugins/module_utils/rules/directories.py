"""The rules about the directories that hold data, by their paths."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import PurePosixPath

from ansible_collections.millrace.streaming.plugins.module_utils.model.cluster import (
    Cluster,
    DataDirectory,
)
from ansible_collections.millrace.streaming.plugins.module_utils.rules.engine import Finding, rule

_SCRATCH = ("/tmp", "/var/tmp")  # noqa: S108 - the paths to refuse
# A service changes owner and mode of its data directory, and teardown may remove it.
_SYSTEM_NAMES = (
    "bin boot dev etc home lib media mnt opt proc root run sbin srv sys usr var "
    "var/lib var/log var/opt"
)
_SYSTEM = ("/", *(f"/{name}" for name in _SYSTEM_NAMES.split()))
_STATE = {"kafka": "/var/lib/kafka", "zookeeper": "/var/lib/zookeeper"}
_BETTER = {
    "kafka": "/var/lib/kafka/data",
    "zookeeper": "/var/lib/zookeeper/data",
    "spark": "/srv/spark",
}
_UNSAFE = re.compile(r"[,\s\x00-\x1f\x7f]")


def _directories(cluster: Cluster) -> Iterator[tuple[str, DataDirectory]]:
    for host in cluster.hosts:
        for one in cluster.directories(host):
            yield host, one


def _place(one: DataDirectory) -> PurePosixPath:
    """Return its path without doubled slashes."""
    return PurePosixPath(re.sub("/+", "/", one.path))


@rule(
    "data-dir-missing",
    when="`kafka_data_dirs` is an empty list",
    why="Kafka does not start without a log directory.",
    remedy="Leave `kafka_data_dirs` out for its default, or list a directory.",
)
def _data_dir_missing(cluster: Cluster) -> Iterator[Finding]:
    for host, node in cluster.kafka.items():
        if not node.data_dirs:
            fix = f"Set [{_BETTER['kafka']}] for example."
            yield Finding("kafka_data_dirs", "The list of data directories is empty.", fix, (host,))


@rule(
    "data-dir-relative",
    when="a data directory does not begin with `/`",
    why="It would lie wherever the service happens to start.",
    remedy="Set an absolute path.",
)
def _data_dir_relative(cluster: Cluster) -> Iterator[Finding]:
    for host, one in _directories(cluster):
        if not one.path.startswith("/"):
            fix = f"Set an absolute path, such as {_BETTER[one.service]}."
            yield Finding(one.variable, f"{one.path!r} is no absolute path.", fix, (host,))


@rule(
    "data-dir-name",
    when="a data directory's path has a comma, a blank or a control character",
    why="Kafka would split it at the comma, and systemd at the blank.",
    remedy="Use letters, digits, `-`, `_` and `.`.",
)
def _data_dir_name(cluster: Cluster) -> Iterator[Finding]:
    for host, one in _directories(cluster):
        if _UNSAFE.search(one.path):
            what = f"{one.path!r} has a comma, a blank or a control character."
            fix = f"Set one such as {_BETTER[one.service]}; each directory is an entry of its own."
            yield Finding(one.variable, what, fix, (host,))


@rule(
    "data-dir-in-tmp",
    when="a data directory is below `/tmp` or `/var/tmp`",
    why="It is emptied at boot or by age, and the data with it.",
    remedy="Set a directory on a disk of its own, below `/var/lib` for example.",
)
def _data_dir_in_tmp(cluster: Cluster) -> Iterator[Finding]:
    for host, one in _directories(cluster):
        if any(_place(one).is_relative_to(scratch) for scratch in _SCRATCH):
            fix = f"Set {_BETTER[one.service]} or another directory outside /tmp."
            yield Finding(one.variable, f"{one.path} is emptied by the system.", fix, (host,))


@rule(
    "data-dir-system",
    when="a data directory is one of the system's own, such as `/var`, or the state directory of "
    "its service",
    why="A service takes its data directory for itself, owner, mode and every entry; files of "
    "others stop Kafka at its start.",
    remedy="Set a directory below it, which holds nothing else.",
)
def _data_dir_system(cluster: Cluster) -> Iterator[Finding]:
    for host, one in _directories(cluster):
        path = _place(one)
        if str(path) in (*_SYSTEM, _STATE.get(one.service)):
            better = path / ("data" if str(path) in _STATE.values() else one.service)
            what = f"{one.path} holds more than this data."
            yield Finding(one.variable, what, f"Set {better} for example.", (host,))


@rule(
    "data-dir-nested",
    when="a data directory is given twice, or lies in another one of its host",
    why="Kafka takes every directory in a data directory for a partition and stops at others, and "
    "removing one service's data would remove the other's.",
    remedy="Give each its own directory, side by side. `kafka_metadata_dir` may be one of "
    "`kafka_data_dirs`, and not lie in one.",
)
def _data_dir_nested(cluster: Cluster) -> Iterator[Finding]:
    for host in cluster.hosts:
        for one, other in combinations(cluster.directories(host), 2):
            if not _may_share(one, other):
                variables = " and ".join(dict.fromkeys((one.variable, other.variable)))
                what = f"{one.path} and {other.path} are nested or the same."
                fix = f"Set them side by side: /data1/{one.service} and /data2/{other.service}."
                yield Finding(variables, what, fix, (host,))


def _may_share(one: DataDirectory, other: DataDirectory) -> bool:
    """Tell whether two directories of one host may be as they are."""
    path, second = _place(one), _place(other)
    if not path.is_relative_to(second) and not second.is_relative_to(path):
        return True
    # Kafka's metadata log may be in one of the data directories.
    same_service = one.service == other.service
    return same_service and one.variable != other.variable and path == second
