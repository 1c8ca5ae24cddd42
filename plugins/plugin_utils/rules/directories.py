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
        for one in cluster.directories(host):
            yield host, one


def _pairs(cluster: Cluster) -> Iterator[tuple[str, DataDirectory, DataDirectory]]:
    for host in cluster.hosts:
        for one, other in combinations(cluster.directories(host), 2):
            yield host, one, other


@functools.lru_cache
def _place(one: DataDirectory) -> PurePosixPath:
    """Return its path without doubled slashes and `..`."""
    return PurePosixPath(posixpath.normpath(re.sub("/+", "/", one.path)))


@rule("data-dir-missing", each=nodes, where="kafka_data_dirs")
def _data_dir_missing(node: KafkaNode) -> Findings:
    """Kafka does not start without a log directory."""
    if not node.data_dirs:
        fix = f"Set [{_BETTER['kafka']}] for example."
        yield Finding("The list of data directories is empty.", fix)


@rule("data-dir-relative", each=_directories)
def _data_dir_relative(one: DataDirectory) -> Findings:
    """Its location would depend on the working directory of the service."""
    if not one.path.startswith("/"):
        fix = f"Set an absolute path, such as {_BETTER[one.service]}."
        yield Finding(f"{one.path!r} is not an absolute path.", fix, one.variable)


@rule("data-dir-name", each=_directories)
def _data_dir_name(one: DataDirectory) -> Findings:
    """Kafka would split it at the comma, and systemd at the blank."""
    if _UNSAFE.search(one.path):
        what = f"{one.path!r} has a comma, a blank or a control character."
        fix = f"Set one such as {_BETTER[one.service]}; each directory is an entry of its own."
        yield Finding(what, fix, one.variable)


@rule("data-dir-in-tmp", each=_directories)
def _data_dir_in_tmp(one: DataDirectory) -> Findings:
    """The system deletes old files there, or all of them at boot, and with them the data."""
    if any(_place(one).is_relative_to(scratch) for scratch in _SCRATCH):
        fix = f"Set {_BETTER[one.service]} or another directory outside /tmp."
        yield Finding(f"The system deletes files in {one.path}.", fix, one.variable)


@rule("data-dir-hidden", each=_directories)
def _data_dir_hidden(one: DataDirectory) -> Findings:
    """The unit of the service makes it inaccessible (ProtectHome, PrivateDevices,
    ProtectKernelTunables of systemd.exec), or it is in memory.
    """
    if any(_place(one).is_relative_to(hidden) for hidden in _HIDDEN):
        fix = f"Set {_BETTER[one.service]} or another directory on a disk."
        yield Finding(f"{one.path} cannot be used by a service.", fix, one.variable)


@rule("data-dir-system", each=_directories)
def _data_dir_system(one: DataDirectory) -> Findings:
    """A service takes over its data directory with owner, mode and every entry; Kafka does not
    start with files of others in it.
    """
    path = _place(one)
    if str(path) in (*_SYSTEM, _STATE.get(one.service)) and str(path) not in _HIDDEN:
        better = path / ("data" if str(path) in _STATE.values() else one.service)
        what = f"{one.path} is not a directory for this data alone."
        yield Finding(what, f"Set {better} for example.", one.variable)


@rule("data-dir-nested", each=_pairs)
def _data_dir_nested(one: DataDirectory, other: DataDirectory) -> Findings:
    """Kafka takes every directory in a data directory for a partition and stops if it is not
    one, and removing one service's data would remove the other's.
    """
    if not _may_share(one, other):
        variables = " and ".join(dict.fromkeys((one.variable, other.variable)))
        what = f"{one.path} and {other.path} are nested or the same."
        fix = f"Set them side by side: /data1/{one.service} and /data2/{other.service}."
        yield Finding(what, fix, variables)


def _may_share(one: DataDirectory, other: DataDirectory) -> bool:
    """Return whether two directories of one host may be as they are."""
    path, second = _place(one), _place(other)
    if not path.is_relative_to(second) and not second.is_relative_to(path):
        return True
    # Kafka's metadata log may be in one of the data directories.
    same_service = one.service == other.service
    return same_service and one.variable != other.variable and path == second
