"""The rules about the directories that hold data, by their paths."""

from __future__ import annotations

import functools
import posixpath
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import PurePosixPath

from ..cluster.cluster import Cluster, DataDirectory
from ..cluster.registry import ENTRIES
from ..services.kafka.node import KafkaNode
from .engine import Finding, Findings, rule
from .shared import nodes

_SCRATCH = ("/tmp", "/var/tmp")  # noqa: S108 - the paths to refuse
_HIDDEN = tuple(f"/{name}" for name in ("home", "root", "run", "var/run", "dev", "proc", "sys"))
# A service changes owner and mode of its data directory, and teardown may remove it.
_SYSTEM_NAMES = (
    "bin boot dev etc home lib media mnt opt proc root run sbin srv sys usr var "
    "var/lib var/log var/opt"
)
_SYSTEM = ("/", *(f"/{name}" for name in _SYSTEM_NAMES.split()))
_STATE = {
    product: posixpath.dirname(entry.data_example)
    for product, entry in ENTRIES.items()
    if entry.needs_data_disk
}
_BETTER = {product: entry.data_example for product, entry in ENTRIES.items() if entry.data_example}
_UNSAFE = re.compile(r"[,\s\x00-\x1f\x7f]")


def _directories(cluster: Cluster) -> Iterator[tuple[str, DataDirectory]]:
    for host in cluster.hosts:
        for directory in cluster.directories(host):
            yield host, directory


def _pairs(cluster: Cluster) -> Iterator[tuple[str, DataDirectory, DataDirectory]]:
    for host in cluster.hosts:
        for first, second in combinations(cluster.directories(host), 2):
            yield host, first, second


@functools.lru_cache
def _place(directory: DataDirectory) -> PurePosixPath:
    """Return its path without doubled slashes and `..`."""
    return PurePosixPath(posixpath.normpath(re.sub("/+", "/", directory.path)))


@rule("data-dir-missing", each=nodes, where="kafka_data_dirs")
def _data_dir_missing(node: KafkaNode) -> Findings:
    """Kafka does not start without a log directory."""
    if not node.data_dirs:
        fix = f"Set [{_BETTER['kafka']}] for example."
        yield Finding("The list of data directories is empty.", fix)


@rule("data-dir-relative", each=_directories)
def _data_dir_relative(directory: DataDirectory) -> Findings:
    """Its location would depend on the working directory of the service."""
    if not directory.path.startswith("/"):
        fix = f"Set an absolute path, such as {_BETTER[directory.service]}."
        yield Finding(f"{directory.path!r} is not an absolute path.", fix, directory.variable)


@rule("data-dir-name", each=_directories)
def _data_dir_name(directory: DataDirectory) -> Findings:
    """Kafka would split it at the comma, and systemd at the blank."""
    if _UNSAFE.search(directory.path):
        problem = f"{directory.path!r} has a comma, a blank or a control character."
        fix = (
            f"Set one such as {_BETTER[directory.service]}; each directory is an entry of its own."
        )
        yield Finding(problem, fix, directory.variable)


@rule("data-dir-in-tmp", each=_directories)
def _data_dir_in_tmp(directory: DataDirectory) -> Findings:
    """The system deletes old files there, or all of them at boot, and with them the data."""
    if any(_place(directory).is_relative_to(scratch) for scratch in _SCRATCH):
        fix = f"Set {_BETTER[directory.service]} or another directory outside /tmp."
        yield Finding(f"The system deletes files in {directory.path}.", fix, directory.variable)


@rule("data-dir-hidden", each=_directories)
def _data_dir_hidden(directory: DataDirectory) -> Findings:
    """The unit of the service makes it inaccessible (ProtectHome, PrivateDevices,
    ProtectKernelTunables of systemd.exec), or it is in memory.
    """
    if any(_place(directory).is_relative_to(hidden) for hidden in _HIDDEN):
        fix = f"Set {_BETTER[directory.service]} or another directory on a disk."
        yield Finding(f"{directory.path} cannot be used by a service.", fix, directory.variable)


@rule("data-dir-system", each=_directories)
def _data_dir_system(directory: DataDirectory) -> Findings:
    """A service takes over its data directory with owner, mode and every entry; Kafka does not
    start with files of others in it.
    """
    path = _place(directory)
    if str(path) in (*_SYSTEM, _STATE.get(directory.service)) and str(path) not in _HIDDEN:
        better = path / ("data" if str(path) in _STATE.values() else directory.service)
        problem = f"{directory.path} is not a directory for this data alone."
        yield Finding(problem, f"Set {better} for example.", directory.variable)


@rule("data-dir-nested", each=_pairs)
def _data_dir_nested(first: DataDirectory, second: DataDirectory) -> Findings:
    """Kafka takes every directory in a data directory for a partition and stops if it is not
    one, and removing one service's data would remove the other's.
    """
    if not _may_share(first, second):
        variables = " and ".join(dict.fromkeys((first.variable, second.variable)))
        problem = f"{first.path} and {second.path} are nested or the same."
        fix = f"Set them side by side: /data1/{first.service} and /data2/{second.service}."
        yield Finding(problem, fix, variables)


def _may_share(first: DataDirectory, second: DataDirectory) -> bool:
    """Return whether two directories of one host may be as they are."""
    first_path, second_path = _place(first), _place(second)
    if not first_path.is_relative_to(second_path) and not second_path.is_relative_to(first_path):
        return True
    # Kafka's metadata log may be in one of the data directories.
    same_service = first.service == second.service
    return same_service and first.variable != second.variable and first_path == second_path
