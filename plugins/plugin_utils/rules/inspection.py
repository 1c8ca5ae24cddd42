"""What was found on a host before anything is changed there, beside what the model wants of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...module_utils.formats.properties import parse_or_empty
from ..cluster.cluster import Cluster, DataDirectory
from ..cluster.host import Facts, HostSettings
from ..services.hdfs.model import HdfsHost
from ..services.kafka.node import KafkaNode
from ..services.spark.model import SparkHost
from ..services.zookeeper.model import Member


@dataclass(frozen=True)
class Directory:
    """A data directory as found; one that does not exist has the values of where it would be."""

    path: str
    exists: bool = False
    parent: bool = True
    """Whether the directory exists that it lies in."""
    meta: str | None = None
    """The text of meta.properties."""
    names: tuple[str, ...] = ()
    """Its children that are no partitions, directories with a slash at their end."""
    partitions: tuple[str, ...] = ()
    """Given only where `meta` is missing."""
    quorum: Mapping[str, Any] | None = None
    """The parsed quorum-state."""
    myid: str | None = None
    elected: bool = False
    """Whether it holds records of a quorum that once had a leader."""
    hdfs_id: str = ""
    """The cluster id of HDFS there, empty where it is not formatted."""
    mount: str = "/"
    device: str = ""
    """As major:minor."""
    fstype: str = ""
    options: tuple[str, ...] = ()
    free: int = 0
    """In bytes."""
    size: int = 0
    """In bytes."""
    mounts_inside: tuple[str, ...] = ()
    unmounted: str = ""

    @property
    def properties(self) -> dict[str, str]:
        """What meta.properties says, nothing where it is missing or damaged."""
        return parse_or_empty(self.meta or "")


@dataclass(frozen=True)
class Certificate:
    """A PEM store that Kafka's configuration names, as the service's user may see it."""

    path: str
    exists: bool = True
    readable: bool = True
    wrong: str = ""
    """Why Kafka would not start with it, empty if it would."""
    refused: str = ""
    """Why other nodes would not take it, empty if they would."""
    days_left: float | None = None
    """Of the first certificate, and of a trust store the days of the last CA."""
    days_to_begin: float = 0.0
    """Of the first certificate, and of a trust store the days of the last CA."""
    chain_days_left: float | None = None
    """How long those are valid that follow the first certificate, None without any."""
    chain_is_needed: bool = False
    """Whether all that follow count, up to one that is trusted; otherwise those count that clients
    may need."""
    names: tuple[str, ...] | None = None
    """Those of the first certificate, None where they are not known."""


@dataclass(frozen=True)
class Inspection:
    """What was found on a host."""

    python: tuple[int, ...] = (3, 11)
    """What Ansible runs there."""
    system_python: tuple[int, ...] = ()
    """/usr/bin/python3, empty without one."""
    shared_id: str = ""
    """The id in the shared directory of Spark, empty without one."""
    os_release: Mapping[str, str] = field(
        default_factory=lambda: {"ID": "debian", "VERSION_CODENAME": "bookworm"}
    )
    machine: str = "x86_64"
    cores: int = 2
    memory_mb: int | None = None
    container: str = ""
    systemd: bool = True
    selinux: bool = False
    swap: tuple[str, ...] = ()
    open_files: int | None = None
    tmp_options: tuple[str, ...] = ()
    clock_synchronised: bool | None = None
    clock_offset: float = 0.0
    """In seconds against the control node, less the transfer time of the answer."""
    time_service: str = ""
    """The one that runs."""
    javas: Mapping[str, str] = field(default_factory=dict)
    """Home -> version of each Java there."""
    listeners: Mapping[str, str] = field(default_factory=dict)
    """Port -> process for those of the wanted ports on which another process listens."""
    addresses: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """What the host resolves its own advertised names to."""
    sources: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """From which addresses it connects to others, by their names."""
    nft: bool = False
    """Whether nftables is installed."""
    openssl: bool = True
    """Whether OpenSSL is installed."""
    refused_rules: str = ""
    """Why nftables refuses the rules of the firewall, empty if it does not."""
    firewall: tuple[str, ...] = ()
    """Which files of a firewall of ours are there."""
    directories: tuple[Directory, ...] = ()
    mount_points: tuple[str, ...] = ()
    absent_sources: tuple[str, ...] = ()
    """Devices of host_mounts that do not exist."""
    occupied: tuple[str, ...] = ()
    """Paths of host_mounts that hold something."""
    homes: Mapping[str, bool] = field(default_factory=dict)
    """Whether a distribution is unpacked."""
    installed: Mapping[str, str] = field(default_factory=dict)
    """Service -> the name of the home that its link leads to."""
    opt_free: int = 0
    between_nodes: Mapping[str, str] = field(default_factory=dict)
    """How a Kafka node that is configured there talks to brokers and controllers, role ->
    listener."""
    protocols: Mapping[str, str] = field(default_factory=dict)
    """What that node knows, listener -> protocol."""
    authorizer: str | None = None
    """That of the node, empty without one, None without a node."""
    programs: tuple[str, ...] = ()
    """Those of the wanted programs that are there, by their paths."""
    site_units: tuple[str, ...] = ()
    """Those of the units of their packages that the site has enabled, or written itself."""
    authorities: tuple[str, ...] = ()
    """The identities of the CAs that the node trusts, as `model.pem` has them, none without the
    file that Millrace makes."""
    signed_by: tuple[str, ...] = ()
    """The identities of those that follow the node's own certificate there."""
    spark_secret: str | None = None
    """The digest of the secret that Spark has there, empty without one, None without Spark."""
    ensemble_secured: bool | None = None
    """Whether the member of ZooKeeper that is configured there speaks TLS, None without one."""
    ensemble_client_secured: bool | None = None
    """The same of a broker as its client."""
    ensemble_authorities: tuple[str, ...] = ()
    """The CAs that a member trusts of members."""
    ensemble_clients: tuple[str, ...] = ()
    """The CAs that a member trusts of clients."""
    ensemble_member_signed_by: tuple[str, ...] = ()
    """The CAs that have signed the certificate of a member there."""
    operation: Mapping[str, Any] = field(default_factory=dict)
    """The record of the last rolling change, with its `age` in seconds, empty without one."""
    secrets: Mapping[str, Any] = field(default_factory=dict)
    """The record of the generation of the secrets with which the host was deployed, empty without
    one."""
    certificates: tuple[Certificate, ...] = ()
    absent_settings: Mapping[str, str] = field(default_factory=dict)
    """Names in host_sysctl that the kernel does not have -> a similar one that it has, empty for
    none."""
    refused_schedules: Mapping[str, str] = field(default_factory=dict)
    """Times of jobs that systemd does not take -> its message."""

    @property
    def facts(self) -> Facts:
        """What of it the model follows from."""
        disks = {directory.path: directory.size >> 20 for directory in self.directories}
        container = bool(self.container)
        python = ".".join(map(str, self.system_python[:2]))
        return Facts(
            self.os_release, self.machine, self.cores, self.memory_mb, container, disks, python
        )

    @property
    def python_version(self) -> str:
        """The version of Python in one text."""
        return ".".join(map(str, self.python))

    @property
    def os_name(self) -> str:
        """The system as it calls itself."""
        names = (self.os_release.get(key) for key in ("PRETTY_NAME", "ID"))
        return next(filter(None, names), "unknown")

    @classmethod
    def of(cls, data: Mapping[str, Any], clock_offset: float = 0.0) -> Inspection:
        """Return a module's answer as an inspection; the control node measured the offset."""
        fields = {
            "clock_offset": clock_offset,
            "directories": tuple(
                Directory(**_tuples(directory)) for directory in data["directories"]
            ),
            "certificates": tuple(
                Certificate(**_tuples(certificate)) for certificate in data["certificates"]
            ),
        }
        return cls(**{**_tuples(data), **fields})


@dataclass(frozen=True)
class InspectedHost:
    """A host: what the model wants of it, and what was found."""

    cluster: Cluster
    name: str
    found: Inspection
    allow_version_change: str = "none"
    """Which way Kafka's version may change over existing data: none, up, down or any."""
    other_operation: str = ""
    """The rolling change that has the lock of the cluster, empty without one."""
    outside: tuple[InspectedHost, ...] = ()
    """Kafka hosts that the run leaves out, where they were inspected for their data alone."""

    @property
    def host(self) -> HostSettings:
        """The host by its own variables."""
        return self.cluster.hosts[self.name]

    @property
    def kafka(self) -> KafkaNode | None:
        """Its Kafka node, None if it is none."""
        return self.cluster.kafka.get(self.name)

    @property
    def zookeeper(self) -> Member | None:
        """Its member of ZooKeeper, None if it is none."""
        return self.cluster.zookeeper.get(self.name)

    @property
    def spark(self) -> SparkHost | None:
        """Its part of Spark, None if it has none."""
        return self.cluster.spark.get(self.name)

    @property
    def hdfs(self) -> HdfsHost | None:
        """Its part of HDFS, None if it has none."""
        return self.cluster.hdfs.get(self.name)

    @property
    def kernel_is_its_own(self) -> bool:
        """Whether kernel, limits and clock are the host's own, as they are not in a container."""
        return not self.found.container

    def directory(self, path: str) -> Directory | None:
        """Return a data directory as it was found."""
        return next(
            (directory for directory in self.found.directories if directory.path == path), None
        )

    def data(self) -> Iterator[tuple[DataDirectory, Directory]]:
        """Yield every data directory as it is wanted and as it was found, each path once."""
        seen: set[str] = set()
        for configured in self.cluster.directories(self.name):
            inspected = self.directory(configured.path)
            if inspected is not None and configured.path not in seen:
                seen.add(configured.path)
                yield configured, inspected

    def on_present_disks(self) -> Iterator[tuple[DataDirectory, Directory]]:
        """Yield the data directories whose disk is there: not those that are yet to be mounted."""
        pending = [
            mount["path"]
            for mount in self.host.mounts
            if mount["src"] and mount["path"] not in self.found.mount_points
        ]
        for configured, inspected in self.data():
            if not any(is_below(inspected.path, path) for path in pending):
                yield configured, inspected


def is_below(path: str, parent: str) -> bool:
    """Return whether a path is `parent` or lies below it."""
    return path == parent or path.startswith(parent.rstrip("/") + "/")


def _tuples(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data with its lists as tuples."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in data.items()}
