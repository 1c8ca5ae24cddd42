"""The catalogue of faults of Kafka's disks and of what says who a node is."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.catalogue.entry import (
    KILL,
    begin,
    clock,
    fault,
    follower,
    said_since,
    start,
    stop,
)
from tests.support.faults import Record, Site
from tests.support.wait import wait_for

DISK = "192m"
KEPT = 100
"""KB that a full file system may still show."""
CONFIG = "/etc/kafka/server.properties"


def data_dirs(site: Site, where: str) -> list[str]:
    return list(site.topology.kafka(where)["data_dirs"])


def holder(site: Site, where: str) -> str:
    """The log directory of a host in which a partition lies that it leads or follows."""
    found = partition_dirs(site, where, "*")
    return found[-1].rpartition("/")[0]


def partition_dirs(site: Site, where: str, index: str) -> list[str]:
    """Where partitions of the ledger's topic lie on a host."""
    places = " ".join(f"{path}/{site.topic}-{index}" for path in data_dirs(site, where))
    found = str(site.hosts[where].run(f"ls -d {places}").stdout).split()
    assert found, f"{where} holds no partition {index} of the ledger"
    return found


@contextmanager
def small_disk(site: Site, where: str, path: str) -> Iterator[None]:
    """Put a log directory on a small disk of its own, and back with all that it then holds."""
    away = f"{path}.away"
    try:
        stop(site, where)
        site.sh(
            where,
            f"mv {path} {away} && mkdir {path} && mount -t tmpfs -o size={DISK} tmpfs {path}"
            f" && chmod --reference={away} {path} && chown --reference={away} {path}"
            f" && cp -a {away}/. {path}/ && rm -r {away}",
        )
        start(site, where)
        site.whole()
        yield
    finally:
        # While the first copy is there, the small disk has not got all of it.
        site.sh(
            where,
            f"{KILL}; systemctl stop kafka; if mountpoint -q {path};"
            f" then rm -f {path}/filler; test -d {away} || cp -a {path} {away}; umount {path}; fi;"
            f" if test -d {away}; then rmdir {path}; mv {away} {path}; fi",
        )


def fill(site: Site, where: str, path: str) -> None:
    """Leave no space; whoever writes next is told so. XFS keeps some blocks that nobody gets."""
    site.hosts[where].run(
        f"fallocate -l $(df --output=avail --block-size=1 {path} | tail -1) {path}/filler;"
        f" cat /dev/zero >> {path}/filler; dd if=/dev/zero bs=4096 >> {path}/filler"
    )
    free = int(site.sh(where, f"df --output=avail {path} | tail -1"))
    assert free < KEPT, f"{free} KB are free in {path}"


@fault(18, "a log directory is full", on="dedicated")
def log_dir_full(site: Site, record: Record) -> None:
    """That directory goes offline, its leaders move, and the process serves the others."""
    where = begin(site, record, follower(site))
    path = holder(site, where)
    metadata = data_dirs(site, where)[0]
    with small_disk(site, where, path):
        mark, pid = clock(site, where), site.pid(where)
        since = time.monotonic()
        fill(site, where, path)
        line = said_since(site, where, mark, f"Stopping serving logs in dir {path}")
        record.recovered(since)
        record.proof = line
        site.acks_flow()
        if path != metadata:
            assert site.pid(where) == pid, "the whole process ended"


@fault(19, "the directory of the metadata log is full")
def metadata_dir_full(site: Site, record: Record) -> None:
    """The process ends, and the others go on."""
    where = begin(site, record, follower(site))
    path = data_dirs(site, where)[0]
    with small_disk(site, where, path):
        mark, pid = clock(site, where), site.pid(where)
        fill(site, where, path)
        said_since(site, where, mark, "No space left on device")
        wait_for(lambda: site.pid(where) != pid, seconds=60, what="the end of the process")
        site.acks_flow()
        record.proof = f"process {pid} ended for lack of space"


@fault(20, "a log directory cannot be written to", on="dedicated", long=True)
def log_dir_read_only(site: Site, record: Record) -> None:
    """As one that is full: what it writes of its own state (each 5 s) is refused."""
    where = begin(site, record, follower(site))
    path = holder(site, where)
    mark = clock(site, where)
    since = time.monotonic()
    site.sh(where, f"chmod a-w {path}")  # the kernel refuses to remount what is open read-only
    try:
        record.proof = said_since(site, where, mark, f"Stopping serving logs in dir {path}")
        record.recovered(since)
        site.acks_flow()
    finally:
        stop(site, where)
        site.sh(where, f"chmod u+w {path}")


@fault(21, "bytes of the last segment are damaged on a broker that was killed")
def damaged_tail(site: Site, record: Record) -> None:
    """Recovery finds them by their checksum, cuts them off, and fetches them again."""
    where = begin(site, record, follower(site))
    mark = clock(site, where)
    site.sh(where, KILL + "; systemctl stop kafka")
    (path,) = partition_dirs(site, where, "0")
    segment = site.sh(where, f"ls {path}/*.log | tail -1")
    size = int(site.sh(where, f"stat -c %s {segment}"))
    assert size > 2000, f"{segment} has {size} bytes only"
    site.sh(
        where,
        f"printf 'damaged!' | dd of={segment} bs=1 seek={size - 1000} conv=notrunc status=none;"
        f" rm -f {' '.join(d + '/.kafka_cleanshutdown' for d in data_dirs(site, where))}",
    )
    start(site, where)
    record.proof = said_since(site, where, mark, "Found invalid messages in log segment")
    site.acks_flow()


@fault(23, "all data of a broker is gone", on="dedicated")
def data_lost(site: Site, record: Record) -> None:
    """It does not start on its own; `site.yml` formats it under its id, and it fills again."""
    emptied(site, record, follower(site))


@fault(24, "all data of a controller is gone", on="dedicated")
def metadata_lost(site: Site, record: Record) -> None:
    """The other two serve on; it comes back as the voter that it was."""
    emptied(site, record, min(site.topology.voters - {site.controller()}))


def emptied(site: Site, record: Record, node: int) -> None:
    """Leave no file of a node, see that it does not start with nothing, and format it anew."""
    where = begin(site, record, node)
    mark = clock(site, where)
    paths = " ".join(data_dirs(site, where))
    site.sh(
        where,
        f"{KILL}; systemctl stop kafka; find {paths} -mindepth 1 -delete; systemctl start kafka",
    )
    try:
        record.proof = said_since(site, where, mark, "No readable meta.properties files found")
        site.acks_flow()
    finally:
        stop(site, where)
        site.plays.succeed("site", "--limit", where)


@fault(25, "a broker has the directories of another cluster")
def other_cluster(site: Site, record: Record) -> None:
    """It is turned away for as long as it asks, and the cluster does not notice."""
    where = begin(site, record, follower(site))
    files = " ".join(f"{d}/meta.properties" for d in data_dirs(site, where))
    with spoiled(
        site,
        where,
        f"sed -i.kept 's/^cluster.id=.*/cluster.id=MkU3OEVBNTcwNTJENDM2Qg/' {files}",
        f"for f in {files}; do mv $f.kept $f; done",
    ) as mark:
        record.proof = said_since(site, where, mark, "INCONSISTENT_CLUSTER_ID")
        site.acks_flow()


@fault(26, "a broker's id is changed over its data")
def other_node_id(site: Site, record: Record) -> None:
    """It does not start."""
    where = begin(site, record, follower(site))
    with spoiled(
        site,
        where,
        f"sed -i.kept 's/^node.id=.*/node.id=4711/' {CONFIG}",
        f"mv {CONFIG}.kept {CONFIG}",
    ) as mark:
        record.proof = said_since(site, where, mark, "Stored node id")
        site.acks_flow()


@fault(28, "a directory of somebody else lies among the logs")
def foreign_directory(site: Site, record: Record) -> None:
    """Kafka names it and does not use that log directory."""
    where = begin(site, record, follower(site))
    foreign = f"{data_dirs(site, where)[-1]}/somebody"
    with spoiled(
        site, where, f"install -d -o kafka -g kafka {foreign}", f"rmdir {foreign}"
    ) as mark:
        record.proof = said_since(site, where, mark, "is not in the form of")
        site.acks_flow()


@contextmanager
def spoiled(site: Site, where: str, spoil: str, mend: str) -> Iterator[str]:
    """Start a node on something spoiled; yields the time before, leaves it stopped and mended."""
    mark = clock(site, where)
    stop(site, where)
    site.sh(where, spoil)
    try:
        start(site, where)
        yield mark
    finally:
        stop(site, where)
        site.sh(where, mend)
