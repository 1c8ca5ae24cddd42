"""What was found on a host before anything is changed there, beside what the model wants of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from ...module_utils.formats.properties import parse_or_empty
from ...module_utils.formats.values import listing
from ..cluster.cluster import Cluster, DataDirectory
from ..cluster.host import Facts, HostSettings
from ..cluster.x509 import store_facts
from ..services.hdfs.model import HdfsHost
from ..services.kafka.node import KafkaNode
from ..services.spark.model import SparkHost
from ..services.zookeeper.model import Member


@dataclass(frozen=True)
class Directory:
    """A data directory as found; one that does not exist has the values of where it would be."""

    path: str
    """Its path in the inventory."""
    exists: bool
    """Whether it is there."""
    parent: bool
    """Whether the directory exists that it lies in."""
    meta: str | None
    """The text of meta.properties, None without one."""
    names: tuple[str, ...]
    """Its children that are no partitions, directories with a slash at their end."""
    partitions: tuple[str, ...]
    """Its partitions, but only where `meta` is missing."""
    quorum: Mapping[str, Any] | None
    """The parsed quorum-state, None without one."""
    myid: str | None
    """The text of myid, None without one."""
    elected: bool
    """Whether it holds records of a quorum that once had a leader."""
    hdfs_id: str
    """The cluster id of HDFS there, empty where it is not formatted."""
    mount: str
    """The mount point of its file system."""
    device: str
    """The device of its file system, as major:minor."""
    fstype: str
    """The type of its file system."""
    options: tuple[str, ...]
    """With which options its file system is mounted."""
    free: int
    """Free bytes of its file system."""
    size: int
    """All bytes of its file system."""
    mounts_inside: tuple[str, ...]
    """The mount points inside it."""
    unmounted: str
    """The mount point of /etc/fstab that it belongs on and that is not mounted, empty for none."""

    @property
    def properties(self) -> dict[str, str]:
        """What meta.properties says, nothing where it is missing or damaged."""
        return parse_or_empty(self.meta or "")


@dataclass(frozen=True)
class Certificate:
    """A PEM store that Kafka's configuration names, as the service's user may see it.

    What the module could not read it leaves out: that has the value here.
    """

    path: str
    """Its path in the configuration."""
    exists: bool = True
    """Whether it is there."""
    readable: bool = True
    """Whether the service's user may read it."""
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
class System:
    """The operating system, and the machine or container that it runs on."""

    python: tuple[int, ...]
    """The version of the Python that runs modules of Ansible."""
    os_release: Mapping[str, str]
    """The fields of /etc/os-release."""
    machine: str
    """The architecture, as `uname -m` says."""
    cores: int
    """How many there are."""
    memory_mb: int | None
    """All memory in MiB, None where it is not known."""
    container: str
    """The kind of container, empty on a machine."""
    systemd: bool
    """Whether systemd is process 1."""
    selinux: bool
    """Whether SELinux is enforcing."""
    swap: tuple[str, ...]
    """The devices and files to which memory is swapped."""
    open_files: int | None
    """How many files a service may open, None where that is not known."""
    tmp_options: tuple[str, ...]
    """With which options the file system of /tmp is mounted."""
    absent_settings: Mapping[str, str]
    """Names in host_sysctl that the kernel does not have -> a similar one that it has, empty for
    none."""

    @property
    def python_version(self) -> str:
        """The version of Python in one text."""
        return ".".join(map(str, self.python))

    @property
    def name(self) -> str:
        """The system as it calls itself."""
        names = (self.os_release.get(key) for key in ("PRETTY_NAME", "ID"))
        return next(filter(None, names), "unknown")


@dataclass(frozen=True)
class Clock:
    """The time of the host."""

    synchronised: bool | None
    """Whether the kernel's clock is synchronised, None where that is not known."""
    offset: float
    """In seconds against the control node, less the transfer time of the answer."""
    service: str
    """The time service that runs, empty if none does."""


@dataclass(frozen=True)
class Network:
    """Ports, addresses and the firewall."""

    listeners: Mapping[str, str]
    """Port -> process for those of the wanted ports on which another process listens."""
    addresses: Mapping[str, Sequence[str]]
    """What the host resolves its own advertised names to."""
    sources: Mapping[str, Sequence[str]]
    """From which addresses it connects to others, by their names."""
    nft: bool
    """Whether nftables is installed."""
    refused_rules: str
    """Why nftables refuses the rules of the firewall, empty if it does not."""
    firewall: tuple[str, ...]
    """Which files of a firewall of ours are there."""


@dataclass(frozen=True)
class Disks:
    """File systems, and what data lies on them."""

    directories: tuple[Directory, ...]
    """The data directories of all services."""
    mount_points: tuple[str, ...]
    """All mount points of the host."""
    absent_sources: tuple[str, ...]
    """Devices of host_mounts that do not exist."""
    occupied: tuple[str, ...]
    """Paths of host_mounts that hold something."""
    opt_free: int
    """Free bytes of the file system of /opt/millrace."""


@dataclass(frozen=True)
class Software:
    """Programs, units and distributions."""

    javas: Mapping[str, str]
    """Home -> version of each Java there."""
    refused_java_options: Mapping[str, Mapping[str, str]]
    """Home -> options that its Java does not take, as `jvm_options.asked` lists them -> its
    message."""
    homes: Mapping[str, bool]
    """Home -> whether its distribution is unpacked."""
    installed: Mapping[str, str]
    """Service -> the name of the home that its link leads to."""
    programs: tuple[str, ...]
    """Those of the wanted programs that are there, by their paths."""
    site_units: tuple[str, ...]
    """Those of the units of their packages that the site has enabled, or written itself."""
    openssl: bool
    """Whether OpenSSL is installed."""


@dataclass(frozen=True)
class DeployedKafka:
    """How the Kafka node is configured that is there."""

    between_nodes: Mapping[str, str]
    """How it talks to brokers and controllers, role -> listener; empty without a node."""
    protocols: Mapping[str, str]
    """What it knows, listener -> protocol; empty without a node."""
    authorizer: str | None
    """Its authorizer, empty for none, None without a node."""
    min_isr: int | None
    """Its min.insync.replicas, None where its file does not set that."""
    authorities: tuple[str, ...]
    """The CAs that it trusts, PEM without frames, none without the file that Millrace makes."""
    signed_by: tuple[str, ...]
    """The CAs that follow its own certificate there, PEM without frames."""
    certificates: tuple[Certificate, ...]
    """The stores that the wanted configuration names."""


@dataclass(frozen=True)
class DeployedZooKeeper:
    """How the member of ZooKeeper is configured that is there, and a broker as its client."""

    secured: bool | None
    """Whether the member speaks TLS, None without one."""
    client_secured: bool | None
    """Whether the broker speaks TLS to ZooKeeper, None without such a broker."""
    authorities: tuple[str, ...]
    """The CAs that the member trusts of members, PEM without frames."""
    clients: tuple[str, ...]
    """The CAs that the member trusts of clients, PEM without frames."""
    member_signed_by: tuple[str, ...]
    """The CAs that have signed the certificate of the member, PEM without frames."""


@dataclass(frozen=True)
class DeployedSpark:
    """What Spark has there, and what its jobs run on."""

    python: tuple[int, ...]
    """The version of /usr/bin/python3; empty without one, and on a host that is not of Spark."""
    shared_id: str
    """The id in the shared directory, empty without one."""
    secret: str | None
    """The digest of the secret, empty without one, None without Spark."""
    refused_schedules: Mapping[str, str]
    """Times of jobs that systemd does not take -> its message."""


@dataclass(frozen=True)
class Inspection:
    """What was found on a host, by subject."""

    system: System
    """The operating system, and the machine or container that it runs on."""
    clock: Clock
    """The time of the host."""
    network: Network
    """Ports, addresses and the firewall."""
    disks: Disks
    """File systems, and what data lies on them."""
    software: Software
    """Programs, units and distributions."""
    kafka: DeployedKafka
    """The Kafka node that is there."""
    zookeeper: DeployedZooKeeper
    """The member of ZooKeeper that is there, and a broker as its client."""
    spark: DeployedSpark
    """What Spark has there."""
    operation: Mapping[str, Any]
    """The record of the last rolling change, with its `age` in seconds, empty without one."""
    secrets: Mapping[str, Any]
    """The record of the generation of the secrets with which the host was deployed, empty without
    one."""

    @property
    def facts(self) -> Facts:
        """What of it the model follows from."""
        system = self.system
        return Facts(
            os_release=system.os_release,
            machine=system.machine,
            cores=system.cores,
            memory_mb=system.memory_mb,
            container=bool(system.container),
            disk_mb={directory.path: directory.size >> 20 for directory in self.disks.directories},
            python=".".join(map(str, self.spark.python[:2])),
        )

    @classmethod
    def of(cls, answer: Mapping[str, Any], clock_offset: float) -> Inspection:
        """Return an answer of the module preflight; the control node measured the offset.

        Raises:
            ValueError: names the fields that the answer lacks.

        """
        parts = _values(cls, answer, "")
        clock = {**parts["clock"], "offset": clock_offset}
        disks = _values(Disks, parts["disks"], "disks.")
        disks["directories"] = tuple(
            Directory(**_values(Directory, directory, "disks.directories."))
            for directory in disks["directories"]
        )
        kafka = _values(DeployedKafka, parts["kafka"], "kafka.")
        kafka["certificates"] = tuple(
            Certificate(**_tuples(store_facts(store))) for store in kafka["certificates"]
        )
        return cls(
            system=System(**_values(System, parts["system"], "system.")),
            clock=Clock(**_values(Clock, clock, "clock.")),
            network=Network(**_values(Network, parts["network"], "network.")),
            disks=Disks(**disks),
            software=Software(**_values(Software, parts["software"], "software.")),
            kafka=DeployedKafka(**kafka),
            zookeeper=DeployedZooKeeper(
                **_values(DeployedZooKeeper, parts["zookeeper"], "zookeeper.")
            ),
            spark=DeployedSpark(**_values(DeployedSpark, parts["spark"], "spark.")),
            operation=parts["operation"],
            secrets=parts["secrets"],
        )


@dataclass(frozen=True)
class InspectedHost:
    """A host: what the model wants of it, and what was found."""

    cluster: Cluster
    """The cluster that it belongs to."""
    name: str
    """Its name in the inventory."""
    inspection: Inspection
    """What was found."""
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
        return not self.inspection.system.container

    def directory(self, path: str) -> Directory | None:
        """Return a data directory as it was found."""
        directories = self.inspection.disks.directories
        return next((directory for directory in directories if directory.path == path), None)

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
            if mount["src"] and mount["path"] not in self.inspection.disks.mount_points
        ]
        for configured, inspected in self.data():
            if not any(is_below(inspected.path, path) for path in pending):
                yield configured, inspected


def is_below(path: str, parent: str) -> bool:
    """Return whether a path is `parent` or lies below it."""
    return path == parent or path.startswith(parent.rstrip("/") + "/")


def _values(kind: type[Any], data: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Return the values of an answer for a class whose fields it must all have.

    Raises:
        ValueError: names those that are missing, each after its place in the answer.

    """
    missing = [f"{place}{field.name}" for field in fields(kind) if field.name not in data]
    if missing:
        message = f"the answer of the module preflight lacks {listing(missing)}"
        raise ValueError(message)
    return _tuples(data)


def _tuples(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data with its lists as tuples."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in data.items()}
