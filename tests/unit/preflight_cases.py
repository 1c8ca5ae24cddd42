"""Hosts for the tests of the preflight: for each check one that it names and one that passes."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils import preflight_storage
from ansible_collections.millrace.streaming.plugins.module_utils.preflight import (
    Certificate,
    Clock,
    Directory,
    Host,
    Java,
    Snapshot,
    Wish,
)

CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"
OTHER = "Qg3OEVBNTcwNTJENDM2MkA"
GIB = preflight_storage.GIB
DATA = "/data/kafka"

KAFKA: dict[str, Any] = {
    "version": "4.3.1",
    "node_id": 1,
    "roles": ["broker", "controller"],
    "data_dirs": [DATA],
    "metadata_dir": "",
    "listeners": [{"name": "CLIENT", "port": 9092, "protocol": "PLAINTEXT"}],
    "files": {"/opt/millrace/kafka": {"state": "link", "target": "/opt/millrace/kafka-4"}},
    "advertised_host": "k1",
    "mode": "kraft",
    "quorum": "dynamic",
}
SPARK: dict[str, Any] = {"version": "4.2.0", "ports": {"spark_master_port": 7077}}
ZOOKEEPER: dict[str, Any] = {"id": 2, "data_dirs": ["/data/zookeeper"]}
DISK = Directory(DATA, mount="/data", device="8:1", fstype="xfs", free=60 * GIB, size=100 * GIB)
TWO_DIRS = {**KAFKA, "data_dirs": [DATA, "/data2/kafka"]}
VERSIONS = {"bookworm": 17, "trixie": 21}
MOUNT = {"path": "/data", "src": "/dev/sdb"}
CONTAINER = {"container": "systemd-nspawn"}


def meta(version: int = 1, cluster: str = CLUSTER, node: int = 1, directory: str = "x") -> str:
    key = "node.id" if version else "broker.id"
    text = f"version={version}\ncluster.id={cluster}\n{key}={node}\n"
    return text + (f"directory.id={directory}\n" if version else "")


def host(**changes: Any) -> Host:
    """A good Kafka host with other values: fields of Wish, else of the one disk, else found."""
    wish = {one.name: changes.pop(one.name) for one in fields(Wish) if one.name in changes}
    disk = {one.name: changes.pop(one.name) for one in fields(DISK) if one.name in changes}
    wanted = Wish(**{"kafka": KAFKA, "cluster_id": CLUSTER, "java_versions": VERSIONS, **wish})
    return Host(wanted, Snapshot(**{"directories": (replace(DISK, **disk),), **changes}))


def two(**second: Any) -> Host:
    """A host with two data directories on two disks, the first one formatted."""
    first = replace(DISK, exists=True, meta=meta(directory="a"))
    other = {"path": "/data2/kafka", "mount": "/data2", "device": "8:2", **second}
    return host(kafka=TWO_DIRS, directories=(first, replace(first, **other)))


def zookeeper(myid: str | None) -> Host:
    disk = Directory("/data/zookeeper", exists=True, myid=myid)
    return host(kafka={}, zookeeper=ZOOKEEPER, directories=(disk,))


def quorum(version: int, voters: list[Any], wanted: str) -> Host:
    state = {"data_version": version, "currentVoters": voters}
    return host(quorum=state, kafka={**KAFKA, "quorum": wanted})


def java(found: Java, **wish: Any) -> Host:
    return host(java=found, **wish)


OPENJDK = Java("/usr/lib/jvm/java-17", exists=True, version="17.0.9", packaged=17)
KEYSTORE = Certificate("/etc/kafka/k.pem", days_left=300.0, names=("k1",))


def named(address: str, *, shared: bool = True, **wish: Any) -> Host:
    """A host that resolves k1 to a loopback address and another one."""
    roles = ("kafka", "zookeeper", "spark") if shared else ()
    return host(addresses={"k1": ["::1", address]}, shared=roles, **wish)


@dataclass(frozen=True)
class Case:
    """A check, a host that it names with `says`, and one that it lets pass."""

    check: str
    says: str
    bad: Host
    good: Host


CASES = [
    Case(
        "storage-of-another",
        f"{DATA}/meta.properties says cluster.id {OTHER}, the inventory says {CLUSTER}.",
        host(meta=meta(cluster=OTHER)),
        host(meta=meta()),
    ),
    Case(
        "storage-of-another",
        f"{DATA}/meta.properties says node.id 9, the inventory says 1.",
        host(meta=meta(version=0, node=9)),
        host(meta=meta(version=0)),
    ),
    Case(
        "storage-of-another",
        f"{DATA}/meta.properties has no node.id. It is damaged; restore",
        host(meta="version=1\ncluster.id=x\n"),
        host(meta=meta(cluster=OTHER), cluster_id=""),
    ),
    Case(
        "storage-of-another",
        f"{DATA} holds 2 partitions (a-0, b-1) but no meta.properties",
        host(exists=True, partitions=("a-0", "b-1")),
        host(exists=True),
    ),
    Case(
        "directory-id-twice",
        f"{DATA} and /data2/kafka have the same directory.id a.",
        two(),
        two(meta=meta(directory="b")),
    ),
    Case(
        "storage-of-another-mode",
        f"{DATA} was written in ZooKeeper mode; the inventory says KRaft.",
        host(meta=meta(version=0)),
        host(meta=meta(version=0), kafka={**KAFKA, "mode": "zookeeper"}),
    ),
    Case(
        "storage-of-another-mode",
        f"{DATA} was written in KRaft mode; the inventory says ZooKeeper.",
        host(meta=meta(), kafka={**KAFKA, "mode": "zookeeper"}),
        host(meta=meta()),
    ),
    Case(
        "quorum-differs",
        "Set kafka_quorum: static.",
        quorum(0, [{"voterId": 1}], "dynamic"),
        quorum(0, [{"voterId": 1}], "static"),
    ),
    Case(
        "quorum-differs",
        f"The quorum in {DATA} is dynamic; the inventory says static.",
        quorum(1, [], "static"),
        quorum(0, [], "dynamic"),
    ),
    Case(
        "foreign-directory",
        f"{DATA} holds backup, which is no topic-partition.",
        host(names=("backup/", "meta.properties")),
        host(names=("remote-log-index-cache/", "a-file")),
    ),
    Case(
        "foreign-directory",
        f"{DATA}/kafka in kafka_data_dirs.",
        host(names=("lost+found/",)),
        host(names=("lost+found/",), kafka={**KAFKA, "roles": ["controller"]}),
    ),
    Case(
        "foreign-file",
        f"{DATA} holds PG_VERSION, which is no file of Kafka.",
        host(names=("PG_VERSION", ".lock")),
        host(names=(".lock", ".kafka_cleanshutdown", "cleaner-offset-checkpoint.tmp")),
    ),
    Case("myid-differs", "/data/zookeeper/myid says 3;", zookeeper("3\n"), zookeeper("2\n")),
    Case(
        "mount-missing",
        "/data is not mounted, and host_mounts names no src",
        host(host={"mounts": [{"path": "/data"}]}),
        host(host={"mounts": [{"path": "/data"}]}, mount_points=("/", "/data")),
    ),
    Case(
        "mount-missing",
        "/dev/sdb, to be mounted on /data, is not there.",
        host(host={"mounts": [MOUNT]}, absent_sources=("/dev/sdb",)),
        host(host={"mounts": [MOUNT]}),
    ),
    Case(
        "mount-missing",
        f"{DATA} belongs on /data, which /etc/fstab has and nobody mounted.",
        host(unmounted="/data"),
        host(unmounted="/data", host={"mounts": [MOUNT]}),
    ),
    Case(
        "data-dir-parent",
        f"{DATA} cannot be made: /data does not exist.",
        host(parent=False),
        host(parent=False, host={"mounts": [MOUNT]}),
    ),
    Case(
        "mount-would-hide",
        "/data holds files, which /dev/sdb would hide.",
        host(host={"mounts": [MOUNT]}, occupied=("/data",)),
        host(host={"mounts": [MOUNT]}, occupied=("/data",), mount_points=("/data",)),
    ),
    Case(
        "data-in-memory",
        f"{DATA} is in memory: /data is a tmpfs.",
        host(fstype="tmpfs"),
        host(fstype="tmpfs", host={"mounts": [MOUNT]}),
    ),
    Case(
        "data-in-memory",
        "/data is a ramfs.",
        host(fstype="ramfs", host={"mounts": [MOUNT]}, mount_points=("/data",)),
        host(
            fstype="tmpfs",
            host={"mounts": [{**MOUNT, "fstype": "tmpfs"}]},
            mount_points=("/data",),
        ),
    ),
    Case("read-only", "/data is mounted read-only.", host(options=("ro",)), host(options=("rw",))),
    Case("disk-full", "has 4096 MiB of 102400 MiB free (4 %)", host(free=4 * GIB), host()),
    Case("disk-full", "(8 %)", host(free=GIB - 1, size=12 * GIB), host(free=GIB, size=12 * GIB)),
    Case("disk-low", "(14 %)", host(free=14 * GIB), host(free=15 * GIB)),
    Case(
        "no-room-for-software",
        "/opt/millrace has 100 MiB free and /opt/millrace/kafka-4 needs 400 MiB.",
        host(homes={"/opt/millrace/kafka-4": False}, opt_free=100 * 1024**2),
        host(homes={"/opt/millrace/kafka-4": True}),
    ),
    Case("data-on-root", f"{DATA} is on the root file system.", host(mount="/"), host()),
    Case("disk-shared", "/data2/kafka are on one device.", two(device="8:1"), two()),
    Case(
        "mount-inside",
        f"{DATA}/x is mounted inside {DATA}.",
        host(mounts_inside=(f"{DATA}/x",)),
        host(),
    ),
    Case(
        "operating-system",
        "The system is Fedora 40.",
        host(os_id="fedora", os_name="Fedora 40"),
        host(os_id="mint", os_like="ubuntu debian"),
    ),
    Case(
        "release-untested",
        "buster is not among bookworm or trixie.",
        host(codename="buster"),
        host(codename="buster", java_home="/opt/java"),
    ),
    Case("python-too-old", "Python is 3.8.10.", host(python=(3, 8, 10)), host(python=(3, 9, 0))),
    Case("no-systemd", "Process 1 is not systemd.", host(systemd=False), host()),
    Case("selinux", "SELinux is enforcing", host(selinux=True), host()),
    Case("swap", "/dev/sda2", host(swap=("/dev/sda2",)), host(swap=("/dev/sda2",), **CONTAINER)),
    Case("open-files", "at most 4096 files", host(open_files=4096), host(open_files=100_000)),
    Case(
        "tmp-noexec",
        "is mounted noexec.",
        host(tmp_options=("rw", "noexec")),
        host(
            tmp_options=("rw", "noexec"),
            java_options=("-Dorg.xerial.snappy.tempdir=/x", "-DZstdTempFolder=/x"),
        ),
    ),
    Case(
        "java",
        "/opt/java/bin/java does not exist.",
        java(Java("/opt/java"), java_home="/opt/java"),
        java(Java("/opt/java"), java_home="/opt/java", java_package="openjdk-17-jre"),
    ),
    Case(
        "java",
        "Kafka 4.3.1 runs on Java 17, 21 or 25; /usr/lib/jvm/java-17 has 11.0.2.",
        java(replace(OPENJDK, version="11.0.2")),
        java(OPENJDK),
    ),
    Case(
        "java",
        "Kafka 4.3.1 runs on Java 17, 21 or 25; /x would get 11.",
        java(Java("/x", packaged=17), java_package="openjdk-11-jre-headless"),
        java(Java("/x", packaged=21)),
    ),
    Case(
        "port-taken",
        "Port 9092 is taken by nc (process 7).",
        host(listeners={"9092": "nc (process 7)"}),
        host(listeners={"22": "sshd (process 1)"}),
    ),
    Case(
        "name-is-loopback",
        "k1 is ::1 and 127.0.1.1 on the host itself. Remove k1 from the line of",
        named("127.0.1.1", kafka={}, zookeeper={**ZOOKEEPER, "host": "k1"}),
        named("10.0.0.1", kafka={}, zookeeper={**ZOOKEEPER, "host": "k1"}),
    ),
    Case(
        "name-is-loopback",
        "or set ansible_host or spark_host to an address.",
        named("127.0.0.1", spark={**SPARK, "host": "k1"}),
        named("127.0.0.1", spark={**SPARK, "host": "k1"}, shared=False),
    ),
    Case(
        "name-is-loopback",
        "k1 is ::1 and 127.0.0.1",
        named("127.0.0.1", spark={**SPARK, "host": "k1"}),
        named("127.0.0.1", spark={**SPARK, "host": "not-to-be-resolved"}),
    ),
    Case(
        "advertised-is-loopback",
        "or set ansible_host or kafka_advertised_host to an address.",
        named("127.0.1.1"),
        named("fe80::1%eth0"),
    ),
    Case(
        "clock-unsynchronised",
        "The clock is not synchronised, although chrony runs.",
        host(host={"time_service": "chrony"}, clock=Clock(False, "chrony")),
        host(host={"time_service": "chrony"}, clock=Clock(False, "")),
    ),
    Case(
        "clock-unsynchronised",
        "Synchronise the machine that the container runs on.",
        host(host={"time_service": "chrony"}, clock=Clock(False), **CONTAINER),
        host(host={"time_service": ""}, clock=Clock(False), **CONTAINER),
    ),
    Case(
        "clock-offset",
        "The clock is 2.0 s behind the controller's.",
        host(clock=Clock(True, "", -2.0)),
        host(clock=Clock(True, "", 0.4)),
    ),
    Case(
        "store-unusable",
        "/etc/kafka/k.pem does not exist.",
        host(certificates=(replace(KEYSTORE, exists=False),)),
        host(certificates=(KEYSTORE,)),
    ),
    Case(
        "store-unusable",
        "Kafka's user may not read /etc/kafka/k.pem.",
        host(certificates=(replace(KEYSTORE, readable=False),)),
        host(certificates=(replace(KEYSTORE, days_left=None),)),
    ),
    Case(
        "store-unusable",
        "/etc/kafka/k.pem expired 3 days ago.",
        host(certificates=(replace(KEYSTORE, days_left=-3.0),)),
        host(certificates=(replace(KEYSTORE, days_left=2.0),)),
    ),
    Case(
        "store-unusable",
        "/etc/kafka/k.pem expires in 24 hours.",
        host(certificates=(replace(KEYSTORE, days_left=1.0),)),
        host(certificates=(replace(KEYSTORE, days_left=2.0),)),
    ),
    Case(
        "certificate-due",
        "/etc/kafka/k.pem expires in 29 days.",
        host(certificates=(replace(KEYSTORE, days_left=29.0),)),
        host(certificates=(replace(KEYSTORE, days_left=30.0),)),
    ),
    Case(
        "certificate-due",
        "/etc/kafka/k.pem is for k2, not for k1.",
        host(certificates=(replace(KEYSTORE, names=("k2",)),)),
        host(certificates=(replace(KEYSTORE, names=None),)),
    ),
    Case(
        "certificate-due",
        "/etc/kafka/k.pem is for *.k1.example, not for k1.",
        host(certificates=(replace(KEYSTORE, names=("*.k1.example",)),)),
        host(
            certificates=(replace(KEYSTORE, names=("*.example",)),),
            kafka={**KAFKA, "advertised_host": "k1.example"},
        ),
    ),
]
