"""The catalogue of faults of Kafka's disks and of what identifies a node."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.faults.catalogue.entry import (
    KILL,
    begin,
    clock,
    fault,
    follower,
    journal_line,
    start,
    stop,
)
from tests.support.faults.target import Record, Target
from tests.support.wait import wait_for

DISK = "192m"
KEPT = 100
"""KB that a full file system may still show."""
CONFIG = "/etc/kafka/server.properties"


def data_dirs(target: Target, where: str) -> list[str]:
    return target.topology.cluster.kafka[where].data_dirs


def holder(target: Target, where: str) -> str:
    """The log directory of a host in which a partition lies that it leads or follows."""
    directories = partition_dirs(target, where, "*")
    return directories[-1].rpartition("/")[0]


def partition_dirs(target: Target, where: str, index: str) -> list[str]:
    """Where partitions of the ledger's topic lie on a host."""
    places = " ".join(f"{path}/{target.topic}-{index}" for path in data_dirs(target, where))
    directories = str(target.hosts[where].run(f"ls -d {places}").stdout).split()
    assert directories, f"{where} holds no partition {index} of the ledger"
    return directories


@contextmanager
def small_disk(target: Target, where: str, path: str) -> Iterator[None]:
    """Move a log directory to a small disk for the block, and back with its content at the end."""
    away = f"{path}.away"
    try:
        stop(target, where)
        target.sh(
            where,
            f"mv {path} {away} && mkdir {path} && mount -t tmpfs -o size={DISK} tmpfs {path}"
            f" && chmod --reference={away} {path} && chown --reference={away} {path}"
            f" && cp -a {away}/. {path}/ && rm -r {away}",
        )
        start(target, where)
        target.wait_until_healthy()
        yield
    finally:
        # While the original is there, the small disk does not have all of it yet.
        target.sh(
            where,
            f"{KILL}; systemctl stop kafka; if mountpoint -q {path};"
            f" then rm -f {path}/filler; test -d {away} || cp -a {path} {away}; umount {path}; fi;"
            f" if test -d {away}; then rmdir {path}; mv {away} {path}; fi",
        )


def fill(target: Target, where: str, path: str) -> None:
    """Leave no space for the next write. XFS reserves some blocks."""
    target.hosts[where].run(
        f"fallocate -l $(df --output=avail --block-size=1 {path} | tail -1) {path}/filler;"
        f" cat /dev/zero >> {path}/filler; dd if=/dev/zero bs=4096 >> {path}/filler"
    )
    free = int(target.sh(where, f"df --output=avail {path} | tail -1"))
    assert free < KEPT, f"{free} KB are free in {path}"


@fault(18, "a log directory is full", on="dedicated")
def log_dir_full(target: Target, record: Record) -> None:
    """That directory goes offline, its leaders move, and the process serves the others."""
    where = begin(target, record, follower(target))
    path = holder(target, where)
    metadata = data_dirs(target, where)[0]
    with small_disk(target, where, path):
        mark, pid = clock(target, where), target.pid(where)
        since = time.monotonic()
        fill(target, where, path)
        line = journal_line(target, where, mark, f"Stopping serving logs in dir {path}")
        record.recovered(since)
        record.proof = line
        target.wait_for_acks()
        if path != metadata:
            assert target.pid(where) == pid, "the process ended"


@fault(19, "the directory of the metadata log is full")
def metadata_dir_full(target: Target, record: Record) -> None:
    """The process ends, and the others go on."""
    where = begin(target, record, follower(target))
    path = data_dirs(target, where)[0]
    with small_disk(target, where, path):
        mark, pid = clock(target, where), target.pid(where)
        fill(target, where, path)
        journal_line(target, where, mark, "No space left on device")
        wait_for(lambda: target.pid(where) != pid, seconds=60, what="the end of the process")
        target.wait_for_acks()
        record.proof = f"process {pid} ended for lack of space"


@fault(20, "a log directory cannot be written to", on="dedicated", long=True)
def log_dir_read_only(target: Target, record: Record) -> None:
    """As with a full one: the broker cannot write its checkpoints (every 5 s).

    It keeps the directory out of use once it is repaired, until the restart that health.yml names.
    """
    where = begin(target, record, follower(target))
    path = holder(target, where)
    mark, pid = clock(target, where), target.pid(where)
    since = time.monotonic()
    target.sh(where, f"chmod a-w {path}")  # the kernel refuses to remount what is open read-only
    try:
        record.proof = journal_line(target, where, mark, f"Stopping serving logs in dir {path}")
        record.recovered(since)
        target.wait_for_acks()
    finally:
        target.sh(where, f"chmod u+w {path}")
    if path == data_dirs(target, where)[0]:  # that of its metadata: the process has ended
        start(target, where)
        return
    wait_for(
        lambda: path in target.plays.refuse("health"), seconds=60, what=f"health.yml names {path}"
    )
    pids = {name: target.pid(name) for name in target.kafka_hosts if name != where}
    target.plays.succeed("rolling_restart")
    assert target.pid(where) != pid
    assert {name: target.pid(name) for name in pids} == pids


@fault(21, "bytes of the last segment are damaged on a broker that was killed")
def damaged_tail(target: Target, record: Record) -> None:
    """Recovery finds them by their checksum, cuts them off, and fetches them again."""
    where = begin(target, record, follower(target))
    mark = clock(target, where)
    target.sh(where, KILL + "; systemctl stop kafka")
    (path,) = partition_dirs(target, where, "0")
    segment = target.sh(where, f"ls {path}/*.log | tail -1")
    size = int(target.sh(where, f"stat -c %s {segment}"))
    assert size > 2000, f"{segment} has {size} bytes only"
    target.sh(
        where,
        f"printf 'damaged!' | dd of={segment} bs=1 seek={size - 1000} conv=notrunc status=none;"
        f" rm -f {' '.join(d + '/.kafka_cleanshutdown' for d in data_dirs(target, where))}",
    )
    start(target, where)
    record.proof = journal_line(target, where, mark, "Found invalid messages in log segment")
    target.wait_for_acks()


@fault(23, "all data of a broker is gone", on="dedicated")
def data_lost(target: Target, record: Record) -> None:
    """It does not start; `site.yml` formats it with its id, and its replicas catch up again."""
    emptied(target, record, follower(target))


@fault(24, "all data of a controller is gone", on="dedicated")
def metadata_lost(target: Target, record: Record) -> None:
    """The other two continue to serve; it becomes the same voter again."""
    emptied(target, record, min(target.topology.voters - {target.controller()}))


def emptied(target: Target, record: Record, node: int) -> None:
    """Delete all files of a node, check that it does not start, and format it again."""
    where = begin(target, record, node)
    mark = clock(target, where)
    paths = " ".join(data_dirs(target, where))
    target.sh(
        where,
        f"{KILL}; systemctl stop kafka; find {paths} -mindepth 1 -delete; systemctl start kafka",
    )
    try:
        record.proof = journal_line(target, where, mark, "No readable meta.properties files found")
        target.wait_for_acks()
    finally:
        stop(target, where)
        target.plays.succeed("site", "--limit", where)


@fault(25, "a broker has the directories of another cluster")
def other_cluster(target: Target, record: Record) -> None:
    """Its registration is refused each time, and the cluster is not affected."""
    where = begin(target, record, follower(target))
    files = " ".join(f"{d}/meta.properties" for d in data_dirs(target, where))
    start_with_broken_files(
        target,
        record,
        where,
        f"sed -i.kept 's/^cluster.id=.*/cluster.id=MkU3OEVBNTcwNTJENDM2Qg/' {files}",
        f"for f in {files}; do mv $f.kept $f; done",
        "INCONSISTENT_CLUSTER_ID",
    )


@fault(26, "a broker's id is changed over its data")
def other_node_id(target: Target, record: Record) -> None:
    """It does not start."""
    where = begin(target, record, follower(target))
    start_with_broken_files(
        target,
        record,
        where,
        f"sed -i.kept 's/^node.id=.*/node.id=4711/' {CONFIG}",
        f"mv {CONFIG}.kept {CONFIG}",
        "Stored node id",
    )


@fault(28, "a foreign directory is in the log directory")
def foreign_directory(target: Target, record: Record) -> None:
    """Kafka names it and does not use that log directory."""
    where = begin(target, record, follower(target))
    foreign = f"{data_dirs(target, where)[-1]}/somebody"
    start_with_broken_files(
        target,
        record,
        where,
        f"install -d -o kafka -g kafka {foreign}",
        f"rmdir {foreign}",
        "is not in the form of",
    )


def start_with_broken_files(
    target: Target, record: Record, where: str, spoil: str, repair: str, logged: str
) -> None:
    """Start a node with broken files until it logs why it does not serve, and leave it stopped and
    repaired.
    """
    mark = clock(target, where)
    stop(target, where)
    target.sh(where, spoil)
    try:
        start(target, where)
        record.proof = journal_line(target, where, mark, logged)
        target.wait_for_acks()
    finally:
        stop(target, where)
        target.sh(where, repair)
