"""Faults of a node's resources: its id, its clock, its memory and its open files."""

from __future__ import annotations

import base64
import gzip
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients

from tests.support.faults.catalogue.entry import begin, clock, fault, follower, journal_line, stop
from tests.support.faults.target import Record, Target
from tests.support.wait import wait_for

DROP_INS = "/run/systemd/system/kafka.service.d"
ENVIRONMENT, SMALL = "/etc/kafka/environment", "/run/kafka-small"
HEAP, FILES = "24m", 128
FAKETIME = "/run/libfaketime.so"
OFF_SECONDS, CLOCK_SECONDS = 600, 30
TWIN = "/var/tmp/kafka-twin"  # noqa: S108 - on a host of the lab
OTHER_PORTS = r"/listeners=/s#:\([0-9]\)#:1\1#g"
"""What sed does to the ports of a server.properties, so that a second process can listen."""


@contextmanager
def given(target: Target, where: str, *lines: str) -> Iterator[None]:
    """Run a node's service with other unit settings during the block; stop it at the end."""
    stop(target, where)
    target.sh(where, f"mkdir -p {DROP_INS}")
    target.sh(where, f"echo %s > {DROP_INS}/fault.conf", "\n".join(("[Service]", *lines)))
    try:
        target.sh(where, "systemctl daemon-reload && systemctl start kafka")
        yield
    finally:
        target.sh(where, f"rm -r {DROP_INS}; systemctl daemon-reload; systemctl stop kafka")


@fault(27, "another process uses a running broker's id", on="dedicated", long=True)
def twin(target: Target, record: Record) -> None:
    """The second process is refused; the broker is not affected."""
    node = follower(target)
    where = begin(target, record, node)
    pid = target.pid(where)
    (data, *_others), mark = (
        target.topology.cluster.kafka[where].data_dirs,
        clock(target, where),
    )
    script = f"""
        set -ef; rm -rf {TWIN}; mkdir {TWIN}
        sed -e '{OTHER_PORTS}' -e 's#^log.dirs=.*#log.dirs={TWIN}/data#' \
            /etc/kafka/server.properties > {TWIN}/server.properties
        export JAVA_HOME=$(dirname $(dirname $(readlink /proc/{pid}/exe)))
        id=$(sed -n 's/^cluster.id=//p' {data}/meta.properties)
        kafka-storage.sh format --cluster-id $id --config {TWIN}/server.properties
        exec $(tr '\\0' ' ' < /proc/{pid}/cmdline | sed 's#/etc/kafka/server#{TWIN}/server#')
    """
    target.sh(where, "systemd-run --unit=kafka-twin --collect bash -lc %s", script)
    try:
        record.proof = journal_line(
            target, where, mark, "DUPLICATE_BROKER_REGISTRATION", unit="kafka-twin"
        )
        target.wait_for_acks()
        snapshot = target.snapshot(without=node)
        assert snapshot
        assert not any(broker.fenced for broker in snapshot.brokers if broker.id == node)
        assert target.pid(where) == pid
    finally:
        target.hosts[where].run(f"systemctl stop kafka-twin; rm -rf {TWIN}")


@fault(30, "a broker's clock is ten minutes ahead, then behind", long=True)
def wrong_clock(target: Target, record: Record) -> None:
    """Its records have other times; the cluster keeps and serves them all the same."""
    node = follower(target)
    where = begin(target, record, node)
    install_faketime(target, where)
    seen = []
    for offset in (OFF_SECONDS, -OFF_SECONDS):
        settings = (
            f"LD_PRELOAD={FAKETIME}",
            f"FAKETIME={offset:+d}",
            "FAKETIME_DONT_FAKE_MONOTONIC=1",
        )
        with given(target, where, *(f"Environment={setting}" for setting in settings)):
            target.wait_until_healthy()
            seen.append(stamps_off(target, node, offset))
    record.proof = f"{where} stamped records {' and '.join(seen)} off"


def install_faketime(target: Target, where: str) -> None:
    """Take libfaketime, which replaces a process's clock, from this machine's package index."""
    with tempfile.TemporaryDirectory() as folder:
        got = subprocess.run(
            ["apt-get", "download", "libfaketime"],
            cwd=folder,
            check=False,
            capture_output=True,
            text=True,
        )
        if got.returncode:
            pytest.skip(f"libfaketime cannot be downloaded here: {got.stderr[-200:]}")
        (package,) = Path(folder).glob("*.deb")
        subprocess.run(["dpkg-deb", "-x", package, folder], check=True)
        (library,) = Path(folder).rglob("libfaketimeMT.so.1")
        packed = base64.b64encode(gzip.compress(library.read_bytes())).decode()
    target.sh(
        where, "echo %s | base64 -d | gunzip > %s && chmod 0644 %s", packed, FAKETIME, FAKETIME
    )


def stamps_off(target: Target, node: int, offset: float) -> str:
    """Check that a broker's clock is so many seconds off; returns how many there are."""
    off = stamped(target, node) - time.time()
    assert abs(off - offset) < CLOCK_SECONDS, off
    return f"{off:+.0f} s"


def stamped(target: Target, node: int) -> float:
    """The time in seconds that a broker's clock gives a record."""
    topic = "millrace-faults-clock"
    shape = {"assignments": {0: [node]}, "configs": {"message.timestamp.type": "LogAppendTime"}}
    with clients.admin(target.topology.connection) as admin:
        admin.create_topics({topic: shape}, wait_for_metadata=True)
        producer = clients.producer(target.topology.connection)
        try:
            return float(producer.send(topic, b"when").get(30).timestamp) / 1000
        finally:
            producer.close(timeout=5)
            admin.delete_topics([topic])


@fault(32, "a heap that is too small", long=True)
def out_of_memory(target: Target, record: Record) -> None:
    """The process ends at once, and its unit gives up instead of trying for ever."""
    where = begin(target, record, follower(target))
    mark = clock(target, where)
    target.sh(where, f"sed -E 's/-Xm([sx])[0-9]+[kmg]/-Xm\\1{HEAP}/g' {ENVIRONMENT} > {SMALL}")
    with given(target, where, f"EnvironmentFile={SMALL}"):
        line = journal_line(target, where, mark, "java.lang.OutOfMemoryError")
        wait_for(
            lambda: property_of(target, where, "ActiveState") == "failed",
            seconds=180,
            what="a unit that has given up",
        )
        target.wait_for_acks()
        record.proof = (
            f"{line}; given up after {property_of(target, where, 'NRestarts')} more starts"
        )


def property_of(target: Target, where: str, name: str) -> str:
    return target.sh(where, "systemctl show --property=%s --value kafka", name)


@fault(33, "an open-file limit that is too low", long=True)
def out_of_files(target: Target, record: Record) -> None:
    """Its data is not damaged, whatever it can still do, and the others serve."""
    where = begin(target, record, follower(target))
    mark = clock(target, where)
    with given(target, where, f"LimitNOFILE={FILES}"):
        record.proof = journal_line(target, where, mark, "Too many open files", seconds=90)
        target.wait_for_acks()
