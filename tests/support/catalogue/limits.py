"""Faults of what a node is given: an id of its own, a clock, memory and files."""

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
from kafka import KafkaAdminClient, KafkaProducer  # type: ignore[import-untyped] # no types

from tests.support.catalogue.entry import begin, clock, fault, follower, said_since, stop
from tests.support.faults import Record, Site
from tests.support.wait import wait_for

DROP_INS = "/run/systemd/system/kafka.service.d"
ENVIRONMENT, SMALL = "/etc/kafka/environment", "/run/kafka-small"
HEAP, FILES = "24m", 128
FAKETIME = "/run/libfaketime.so"
OFF_SECONDS, CLOCK_SECONDS = 600, 30
TWIN, TWIN_PORT = "/var/tmp/kafka-twin", 19092  # noqa: S108 - on a host of the lab


@contextmanager
def given(site: Site, where: str, *lines: str) -> Iterator[None]:
    """Run a node's service with other lines during the block; it is stopped at the end."""
    stop(site, where)
    site.sh(where, f"mkdir -p {DROP_INS}")
    site.sh(where, f"echo %s > {DROP_INS}/fault.conf", "\n".join(("[Service]", *lines)))
    try:
        site.sh(where, "systemctl daemon-reload && systemctl start kafka")
        yield
    finally:
        site.sh(where, f"rm -r {DROP_INS}; systemctl daemon-reload; systemctl stop kafka")


@fault(27, "another process has a living broker's id", on="dedicated", long=True)
def twin(site: Site, record: Record) -> None:
    """The newcomer is turned away; the broker does not notice."""
    node = follower(site)
    where = begin(site, record, node)
    pid, port = site.pid(where), site.topology.brokers[node].rsplit(":", 1)[1]
    (data, *_others), mark = site.topology.kafka(where)["data_dirs"], clock(site, where)
    script = f"""
        set -ef; rm -rf {TWIN}; mkdir {TWIN}
        sed -e 's#:{port}$#:{TWIN_PORT}#' -e 's#^log.dirs=.*#log.dirs={TWIN}/data#' \
            /etc/kafka/server.properties > {TWIN}/server.properties
        export JAVA_HOME=$(dirname $(dirname $(readlink /proc/{pid}/exe)))
        id=$(sed -n 's/^cluster.id=//p' {data}/meta.properties)
        kafka-storage.sh format --cluster-id $id --config {TWIN}/server.properties
        exec $(tr '\\0' ' ' < /proc/{pid}/cmdline | sed 's#/etc/kafka/server#{TWIN}/server#')
    """
    site.sh(where, "systemd-run --unit=kafka-twin --collect bash -lc %s", script)
    try:
        record.proof = said_since(
            site, where, mark, "DUPLICATE_BROKER_REGISTRATION", unit="kafka-twin"
        )
        site.acks_flow()
        found = site.snapshot(without=node)
        assert found
        assert not any(broker.fenced for broker in found.brokers if broker.id == node)
        assert site.pid(where) == pid
    finally:
        site.hosts[where].run(f"systemctl stop kafka-twin; rm -rf {TWIN}")


@fault(30, "a broker's clock is ten minutes ahead, then behind", long=True)
def wrong_clock(site: Site, record: Record) -> None:
    """Its records have other times; the cluster keeps and serves them all the same."""
    node = follower(site)
    where = begin(site, record, node)
    bring_faketime(site, where)
    seen = []
    for offset in (OFF_SECONDS, -OFF_SECONDS):
        settings = (
            f"LD_PRELOAD={FAKETIME}",
            f"FAKETIME={offset:+d}",
            "FAKETIME_DONT_FAKE_MONOTONIC=1",
        )
        with given(site, where, *(f"Environment={one}" for one in settings)):
            site.whole()
            seen.append(stamps_off(site, node, offset))
    record.proof = f"{where} stamped records {' and '.join(seen)} off"


def bring_faketime(site: Site, where: str) -> None:
    """Take libfaketime, which lies over a process's clock, from this machine's package index."""
    with tempfile.TemporaryDirectory() as folder:
        got = subprocess.run(
            ["apt-get", "download", "libfaketime"],  # noqa: S607 - the system's
            cwd=folder,
            check=False,
            capture_output=True,
            text=True,
        )
        if got.returncode:
            pytest.skip(f"no libfaketime is to be had here: {got.stderr[-200:]}")
        (package,) = Path(folder).glob("*.deb")
        subprocess.run(["dpkg-deb", "-x", package, folder], check=True)  # noqa: S603, S607 - the system's
        (library,) = Path(folder).rglob("libfaketimeMT.so.1")
        packed = base64.b64encode(gzip.compress(library.read_bytes())).decode()
    site.sh(where, "echo %s | base64 -d | gunzip > %s && chmod 0644 %s", packed, FAKETIME, FAKETIME)


def stamps_off(site: Site, node: int, offset: float) -> str:
    """See that a broker's clock is so many seconds off; tells how many there are."""
    off = stamped(site, node) - time.time()
    assert abs(off - offset) < CLOCK_SECONDS, off
    return f"{off:+.0f} s"


def stamped(site: Site, node: int) -> float:
    """The time in seconds that a broker's clock gives a record."""
    topic = "millrace-faults-clock"
    shape = {"assignments": {0: [node]}, "configs": {"message.timestamp.type": "LogAppendTime"}}
    servers = list(site.topology.brokers.values())
    with KafkaAdminClient(bootstrap_servers=servers) as admin:
        admin.create_topics({topic: shape}, wait_for_metadata=True)
        producer = KafkaProducer(bootstrap_servers=servers)
        try:
            return float(producer.send(topic, b"when").get(30).timestamp) / 1000
        finally:
            producer.close(timeout=5)
            admin.delete_topics([topic])


@fault(32, "a heap that is too small", long=True)
def out_of_memory(site: Site, record: Record) -> None:
    """The process ends at once, and its unit gives up instead of trying for ever."""
    where = begin(site, record, follower(site))
    mark = clock(site, where)
    site.sh(where, f"sed -E 's/-Xm([sx])[0-9]+[kmg]/-Xm\\1{HEAP}/g' {ENVIRONMENT} > {SMALL}")
    with given(site, where, f"EnvironmentFile={SMALL}"):
        line = said_since(site, where, mark, "java.lang.OutOfMemoryError")
        wait_for(
            lambda: property_of(site, where, "ActiveState") == "failed",
            seconds=180,
            what="a unit that has given up",
        )
        site.acks_flow()
        record.proof = f"{line}; given up after {property_of(site, where, 'NRestarts')} more starts"


def property_of(site: Site, where: str, name: str) -> str:
    return site.sh(where, "systemctl show --property=%s --value kafka", name)


@fault(33, "fewer open files than it needs", long=True)
def out_of_files(site: Site, record: Record) -> None:
    """Whatever it can still do, nothing that it has is damaged, and the others serve."""
    where = begin(site, record, follower(site))
    mark = clock(site, where)
    with given(site, where, f"LimitNOFILE={FILES}"):
        record.proof = said_since(site, where, mark, "Too many open files", seconds=90)
        site.acks_flow()
