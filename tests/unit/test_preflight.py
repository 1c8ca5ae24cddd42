"""Each check of the preflight by a host that it refuses and one that it lets pass."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils import (
    preflight,
    preflight_storage,
    preflight_system,
)
from ansible_collections.millrace.streaming.plugins.module_utils.preflight import (
    CHECKS,
    Certificate,
    Clock,
    Directory,
    Host,
    Java,
    Snapshot,
    Wish,
)

from plugins.action.preflight import clock_offset, pem_stores

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
]


def told(name: str, one: Host) -> list[str]:
    """What a check says of a host."""
    return [f"{p.what} {p.fix}" for p in preflight.judge(one) if p.check == name]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.check}: {case.says[:40]}")
def test_check(case: Case) -> None:
    found = told(case.check, case.bad)
    assert len(found) == 1
    assert case.says in found[0]
    assert told(case.check, case.good) == []


def test_every_check_has_a_case() -> None:
    assert {case.check for case in CASES} == {one.name for one in CHECKS}
    assert len(CHECKS) > 25


def test_a_good_host_has_no_problem() -> None:
    assert preflight.judge(host(exists=True, meta=meta(), codename="bookworm")) == []


def test_a_container_is_not_refused_for_its_machine() -> None:
    """The same limits, once a machine's own and once a container's."""
    found = {"open_files": 20_000, "clock": Clock(False, "chrony", 9.0)}
    time = {"time_service": "chrony"}
    own = preflight.judge(host(host=time, **found))
    assert [problem.severity for problem in own] == ["error"] * 3
    contained = preflight.judge(host(host=time, **found, **CONTAINER))
    assert [problem.severity for problem in contained] == ["warning"] * 3


def test_the_report_has_every_problem_of_the_host() -> None:
    bad = host(meta=meta(cluster=OTHER, node=9), names=("junk/",), systemd=False, mount="/")
    text = preflight.report(preflight.judge(bad))
    assert text.startswith("The host has 4 problems; nothing was changed.")
    for number in range(1, 5):
        assert f"\n{number}. " in text
    assert "[foreign-directory]\n   where: kafka_data_dirs, /data/kafka\n   why:   " in text
    assert text.endswith("is on the root file system. Give it a disk of its own (host_mounts). "
                         "[data-on-root]")  # fmt: skip


def test_hosts_share_a_warning_and_different_javas_are_named() -> None:
    warned = [problem.as_dict() for problem in preflight.judge(host(mount="/"))]
    results: dict[str, dict[str, Any]] = {
        "k1": {"java": 17, "problems": warned},
        "k2": {"java": 21, "problems": warned},
        "k3": {"java": 17, "problems": []},
        "k4": {"java": None},
    }
    first, second = preflight.summary(results)
    assert first.startswith(f"k1 and k2: {DATA} is on the root file system.")
    assert second.startswith("Java 17 on k1 and k3 and Java 21 on k2")
    assert preflight.summary({"k3": results["k3"]}) == []


def test_the_clock_is_off_by_what_the_way_cannot_explain() -> None:
    assert clock_offset(100.0, 101.0, 102.0) == 0
    assert clock_offset(100.0, 99.0, 102.0) == -1
    assert clock_offset(100.0, 104.5, 102.0) == 2.5


def test_pem_stores_of_all_listeners_are_found() -> None:
    config = {
        "ssl.keystore.location": "/a.pem",
        "ssl.keystore.type": "PEM",
        "ssl.truststore.location": "/b.jks",
        "listener.name.client.ssl.truststore.location": "/c.pem",
        "listener.name.client.ssl.truststore.type": "PEM",
    }
    assert pem_stores(config) == {"/a.pem": True, "/c.pem": False}


def test_ports_homes_and_directories_come_from_the_descriptions() -> None:
    wish = Wish(kafka={**KAFKA, "metadata_dir": DATA}, spark={**SPARK, "data_dirs": ["/srv"]})
    assert wish.data_dirs() == [("kafka_data_dirs", DATA), ("spark_shared_dir", "/srv")]
    assert wish.ports() == {9092: "kafka_listeners (CLIENT)", 7077: "spark_master_port"}
    assert wish.homes() == {"kafka": "/opt/millrace/kafka-4"}
    assert preflight_system.java_major(Host(wish, Snapshot(java=OPENJDK))) == 17
