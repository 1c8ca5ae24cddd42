"""What a check of a host is: what is wanted and what was found, what it says, and the registry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from ansible_collections.millrace.streaming.plugins.module_utils.rules import (
    mapping,
    sequence,
    texts,
)

Severity = Literal["error", "warning"]


@dataclass(frozen=True)
class Directory:
    """A data directory as found; one that is not there yet is judged by where it would lie.

    `parent` says whether the directory is there that it lies in.
    `names` are its children that are no partitions, directories with a slash at their end; the
    `partitions` are told only where `meta`, the text of meta.properties, is missing. `device` is
    major:minor, `free` and `size` are in bytes, `quorum` is the parsed quorum-state; `elected` says
    whether it holds records of a quorum that once had a leader.
    """

    path: str
    exists: bool = False
    parent: bool = True
    meta: str | None = None
    names: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    quorum: Mapping[str, Any] | None = None
    myid: str | None = None
    elected: bool = False
    mount: str = "/"
    device: str = ""
    fstype: str = ""
    options: tuple[str, ...] = ()
    free: int = 0
    size: int = 0
    mounts_inside: tuple[str, ...] = ()
    unmounted: str = ""


@dataclass(frozen=True)
class Java:
    """The Java that would run the products: its home, whether it is there, and what it says."""

    home: str = ""
    exists: bool = False
    version: str = ""
    packaged: int = 0


@dataclass(frozen=True)
class Clock:
    """What keeps the time, whether the kernel calls it synchronised, and how far it is off.

    `offset` is in seconds against the controller, less what the answer took on its way.
    """

    synchronised: bool | None = None
    service: str = ""
    offset: float = 0.0


@dataclass(frozen=True)
class Certificate:
    """A PEM store that Kafka's configuration names, as the service user may see it."""

    path: str
    exists: bool = True
    readable: bool = True
    days_left: float | None = None
    names: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Snapshot:
    """What was found on the host.

    `absent_sources` are devices of host_mounts that are not there, `occupied` its paths that hold
    something, `listeners` the wanted ports that somebody else listens on, `addresses` what the host
    itself resolves the names to by which others reach it, `installed` role -> the name of the home
    that its link names.
    """

    python: tuple[int, ...] = (3, 11)
    os_id: str = "debian"
    os_like: str = ""
    os_name: str = ""
    codename: str = ""
    container: str = ""
    systemd: bool = True
    selinux: bool = False
    swap: tuple[str, ...] = ()
    open_files: int | None = None
    tmp_options: tuple[str, ...] = ()
    clock: Clock = field(default_factory=Clock)
    java: Java = field(default_factory=Java)
    listeners: Mapping[str, str] = field(default_factory=dict)
    addresses: Mapping[str, Sequence[str]] = field(default_factory=dict)
    directories: tuple[Directory, ...] = ()
    mount_points: tuple[str, ...] = ()
    absent_sources: tuple[str, ...] = ()
    occupied: tuple[str, ...] = ()
    homes: Mapping[str, bool] = field(default_factory=dict)
    installed: Mapping[str, str] = field(default_factory=dict)
    opt_free: int = 0
    certificates: tuple[Certificate, ...] = ()


@dataclass(frozen=True)
class Wish:
    """What the inventory wants of the host: each role's description of itself, and Java's home.

    `java_versions` maps a release of the system to the Java that its package brings; `shared` are
    the roles that other hosts reach here. `allow_version_change` is none, up, down or any.
    """

    kafka: Mapping[str, Any] = field(default_factory=dict)
    zookeeper: Mapping[str, Any] = field(default_factory=dict)
    spark: Mapping[str, Any] = field(default_factory=dict)
    host: Mapping[str, Any] = field(default_factory=dict)
    cluster_id: str = ""
    java_home: str = ""
    java_package: str = ""
    java_options: tuple[str, ...] = ()
    java_versions: Mapping[str, int] = field(default_factory=dict)
    shared: tuple[str, ...] = ()
    allow_version_change: str = "none"

    @property
    def roles(self) -> dict[str, Mapping[str, Any]]:
        """Role -> description, of the roles that this host has."""
        described = {"kafka": self.kafka, "zookeeper": self.zookeeper, "spark": self.spark}
        return {role: found for role, found in described.items() if found}

    def data_dirs(self) -> list[tuple[str, str]]:
        """Return (variable, path) of every directory that keeps data, each path once."""
        zookeeper = texts(self.zookeeper.get("data_dirs"))
        metadata = texts([self.kafka.get("metadata_dir")])
        found = [("kafka_data_dirs", path) for path in texts(self.kafka.get("data_dirs"))]
        found += [("kafka_metadata_dir", path) for path in metadata]
        found += [("zookeeper_data_dir", path) for path in zookeeper]
        found += [("spark_shared_dir", path) for path in texts(self.spark.get("data_dirs"))]
        return list({path: (variable, path) for variable, path in reversed(found)}.values())[::-1]

    def ports(self) -> dict[int, str]:
        """Return port -> the variable that sets it."""
        found: dict[object, str] = {}
        for listener in sequence(self.kafka.get("listeners")):
            one = mapping(listener)
            found[one.get("port")] = f"kafka_listeners ({one.get('name')})"
        for described in (self.zookeeper, self.spark):
            found |= {port: str(name) for name, port in mapping(described.get("ports")).items()}
        return {int(str(port)): name for port, name in found.items() if str(port).isdecimal()}

    def names(self) -> dict[str, tuple[str, str]]:
        """Return role -> (variable, name) under which other hosts reach it."""
        found = {
            "kafka": ("kafka_advertised_host", self.kafka.get("advertised_host")),
            "zookeeper": ("zookeeper_host", self.zookeeper.get("host")),
            "spark": ("spark_host", self.spark.get("host")),
        }
        return {role: (one, str(name)) for role, (one, name) in found.items() if name}

    def homes(self) -> dict[str, str]:
        """Return role -> the directory that its distribution is unpacked to."""
        links = {
            role: mapping(mapping(described.get("files")).get(f"/opt/millrace/{role}"))
            for role, described in self.roles.items()
        }
        return {role: str(link["target"]) for role, link in links.items() if "target" in link}

    def mounts(self) -> list[Mapping[str, Any]]:
        """Return the entries of host_mounts."""
        return [mapping(mount) for mount in sequence(self.host.get("mounts")) if mapping(mount)]


@dataclass(frozen=True)
class Host:
    """A host: what is wanted of it, and what was found."""

    wish: Wish = field(default_factory=Wish)
    found: Snapshot = field(default_factory=Snapshot)

    @property
    def kernel_is_ours(self) -> bool:
        """Whether kernel, limits and clock are the host's own, as they are not in a container."""
        return not self.found.container

    def directory(self, path: str) -> Directory | None:
        """Return a data directory as it was found."""
        return next((one for one in self.found.directories if one.path == path), None)

    def data(self) -> Iterator[tuple[str, Directory]]:
        """Give (variable, directory) of every data directory."""
        for variable, path in self.wish.data_dirs():
            directory = self.directory(path)
            if directory is not None:
                yield variable, directory

    def disks(self) -> Iterator[tuple[str, Directory]]:
        """Give the data directories whose disk is there: not those that are yet to be mounted."""
        pending = [
            str(mount["path"])
            for mount in self.wish.mounts()
            if mount.get("src") and mount.get("path") not in self.found.mount_points
        ]
        for variable, directory in self.data():
            if not any(is_below(directory.path, path) for path in pending):
                yield variable, directory


@dataclass(frozen=True)
class Finding:
    """One thing wrong, where, and what to do about it."""

    where: str
    what: str
    fix: str


@dataclass(frozen=True)
class Problem:
    """A finding with the check that made it and how bad it is here."""

    check: str
    severity: Severity
    where: str
    what: str
    why: str
    fix: str

    def as_dict(self) -> dict[str, str]:
        """Return the problem as plain data."""
        return asdict(self)


Function = Callable[[Host], Iterable[Finding]]


@dataclass(frozen=True)
class Check:
    """A check: `when` it speaks, `why`, and the `remedy` in general terms, for docs/errors.md.

    `container` is its severity in a container, whose kernel is not its own.
    """

    name: str
    when: str
    why: str
    remedy: str
    function: Function
    severity: Severity
    container: Severity


REGISTERED: list[Check] = []


def check(
    name: str,
    *,
    when: str,
    why: str,
    remedy: str,
    severity: Severity = "error",
    container: Severity | None = None,
) -> Callable[[Function], Function]:
    """Register a check; within a module the order is that of the problems."""

    def register(function: Function) -> Function:
        harmless = container or severity
        REGISTERED.append(Check(name, when, why, remedy, function, severity, harmless))
        return function

    return register


def is_below(path: str, parent: str) -> bool:
    """Tell whether a path is `parent` or lies below it."""
    return path == parent or path.startswith(parent.rstrip("/") + "/")


def snapshot(data: Mapping[str, Any], offset: float = 0.0) -> Snapshot:
    """Return the module's answer as a snapshot; `offset` is what the controller measured."""
    parts: dict[str, Any] = {
        "clock": Clock(**data["clock"], offset=offset),
        "java": Java(**data["java"]),
        "directories": tuple(Directory(**_tuples(one)) for one in data["directories"]),
        "certificates": tuple(Certificate(**_tuples(one)) for one in data["certificates"]),
    }
    return Snapshot(**{**_tuples(data), **parts})


def _tuples(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data with its lists as tuples."""
    return {key: tuple(one) if isinstance(one, list) else one for key, one in data.items()}
