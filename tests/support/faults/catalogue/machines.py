"""The catalogue of faults that need machines with their own kernel, disks and power."""

from __future__ import annotations

import re
import socket
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.faults.catalogue.disks import data_dirs, fill, holder
from tests.support.faults.catalogue.entry import (
    KILL,
    begin,
    catalogue,
    clock,
    follower,
    journal_line,
    narrowed,
    stop,
)
from tests.support.faults.catalogue.resources import OFF_SECONDS, stamps_off
from tests.support.faults.machine_target import Machines
from tests.support.faults.target import Fault, Record, Target
from tests.support.wait import scaled, wait_for

FAULTS, fault = catalogue(Machines)
NETEM = "tc qdisc replace dev eth0 root netem delay 100ms 10ms loss 5% reorder 25%"
LATENCY = 0.08
"""Seconds that it lays upon most packets which a machine sends, at least."""


@fault(13, "the power of a follower's machine is cut")
def follower_without_power(target: Machines, record: Record) -> None:
    """The others go on, and it comes back by itself."""
    power_cut(target, record, follower(target))


@fault(43, "the power of a leader's machine is cut")
def leader_without_power(target: Machines, record: Record) -> None:
    """Another leads; what its memory held is in the others' logs."""
    power_cut(target, record, target.led_by())


def power_cut(target: Machines, record: Record, node: int) -> None:
    where = begin(target, record, node)
    led, before, cut = target.led_by() == node, target.boot(where), time.monotonic()
    target.cut(where)
    if led:
        target.elected(node)
        record.recovered(
            cut, target.session_seconds(node) + target.election_seconds(node) + scaled(1)
        )
    target.fenced(node)
    target.wait_for_acks()
    target.power_on(where)
    after = target.boot(where)
    assert after != before
    record.proof = f"fenced without power; boot {before[:8]} became {after[:8]}"


@fault(16, "latency of 100 ms, loss of 5 % and reordering on a leader's link")
def bad_link(target: Machines, record: Record) -> None:
    """Everything is slower and nothing is lost."""
    node = target.led_by()
    where = begin(target, record, node)
    record.least_acks = 20
    target.sh(where, NETEM)
    took = statistics.median(connected(target.topology.brokers[node]) for _ in range(9))
    target.wait_for_acks(50)
    dropped = re.search(r"dropped (\d+)", target.sh(where, "tc -s qdisc show dev eth0"))
    assert dropped, "tc counts nothing"
    assert int(dropped[1]) > 0, "no packet was lost"
    assert took >= LATENCY, took
    record.proof = f"{dropped[1]} packets dropped, a connection took {took * 1000:.0f} ms"


def connected(address: str) -> float:
    """Seconds until a connection is open."""
    host, _, port = address.rpartition(":")
    begun = time.monotonic()
    socket.create_connection((host, int(port)), timeout=30).close()
    return time.monotonic() - begun


@fault(30, "a machine's clock is ten minutes ahead, then behind")
def wrong_clock(target: Machines, record: Record) -> None:
    """Its records have other times; the cluster keeps and serves them all the same."""
    node, seen = follower(target), []
    where = begin(target, record, node)
    for offset in (OFF_SECONDS, -OFF_SECONDS):
        with clock_ahead(target, where, offset):
            seen.append(stamps_off(target, node, offset))
            target.wait_for_acks()
    record.proof = f"{where} stamped records {' and '.join(seen)} off"


@contextmanager
def clock_ahead(target: Target, where: str, seconds: int) -> Iterator[None]:
    """A machine's clock, which nobody corrects, is so many seconds ahead during the block."""
    move = "date --set=%s > /dev/null"
    target.sh(where, move, f"{seconds:+} seconds")
    try:
        yield
    finally:
        target.sh(where, move, f"{-seconds:+} seconds")


@fault(22, "a data disk is gone")
def disk_gone(target: Machines, record: Record) -> None:
    """Systemd stops what needs a mount whose device is gone; the others go on."""
    node = follower(target)
    where = begin(target, record, node)
    path = data_dirs(target, where)[-1]
    mark, since = clock(target, where), time.monotonic()
    device = target.sh(where, f"basename $(findmnt --noheadings --output SOURCE --target {path})")
    try:
        target.sh(where, f"echo 1 > $(readlink -f /sys/block/{device}/device)/../remove")
        assert target.hosts[where].run(f"test -b /dev/{device}").failed
        words = f"Stopping serving logs in dir {path}"
        record.proof = journal_line(target, where, mark, words, seconds=90)
        target.fenced(node)
        record.recovered(since)
        target.wait_for_acks()
        wait_for(lambda: not target.pid(where), seconds=60, what="a node that is stopped")
    finally:
        target.cut(where)  # switched on again, it has its disk


@fault(18, "a data disk is full")
def disk_full(target: Machines, record: Record) -> None:
    """That directory goes offline, and the process serves the others."""
    where = begin(target, record, follower(target))
    path = holder(target, where)
    mark, pid, since = clock(target, where), target.pid(where), time.monotonic()
    try:
        fill(target, where, path)
        record.proof = journal_line(target, where, mark, f"Stopping serving logs in dir {path}")
        record.recovered(since)
        target.wait_for_acks()
        if path != data_dirs(target, where)[0]:
            assert target.pid(where) == pid, "the process ended"
    finally:
        stop(target, where)
        target.sh(where, f"rm -f {path}/filler")


@fault(20, "a machine's disks turn read-only")
def disks_read_only(target: Machines, record: Record) -> None:
    """The process ends, and the others go on."""
    node = follower(target)
    where = begin(target, record, node)
    pid, probe = target.pid(where), f"{data_dirs(target, where)[0]}/probe"
    try:
        target.sh(where, "echo u > /proc/sysrq-trigger")
        wait_for(
            lambda: target.hosts[where].run(f"touch {probe} && rm {probe}").failed,
            seconds=30,
            what="a disk that refuses",
        )
        target.fenced(node)
        target.wait_for_acks()
        wait_for(lambda: target.pid(where) != pid, seconds=60, what="the end of the process")
        record.proof = f"no file can be written on {where}; it is fenced"
    finally:
        target.cut(where)


@fault(29, "a data disk is replaced by an empty one")
def disk_replaced(target: Machines, record: Record) -> None:
    """`site.yml` mounts and formats the new one, and it fills again."""
    where = begin(target, record, follower(target))
    path = data_dirs(target, where)[-1]
    uuid = f"findmnt --noheadings --output UUID --target {path}"
    before = target.sh(where, uuid)
    target.sh(
        where,
        f"{KILL}; systemctl stop kafka;"
        f" disk=$(findmnt --noheadings --output SOURCE --target {path});"
        " label=$(lsblk --noheadings --output LABEL $disk); umount $disk;"
        " mkfs.xfs -q -f -L $label $disk; udevadm settle",
    )
    target.wait_for_acks()
    target.plays.succeed("site", "--limit", where)
    after = target.sh(where, uuid)
    assert after != before
    target.wait_until_healthy()
    refilled = target.sh(where, f"find {path} -name '*.log' -size +0 | wc -l")
    assert int(refilled) > 0, "nothing lies on the new disk"
    record.proof = f"file system {before[:8]} became {after[:8]}, {refilled} segments on it"


def all_off(target: Machines, record: Record) -> None:
    """Kafka does not wait for the disk unless configured to. The caller finds what was lost."""
    record.node, record.least_acks = ", ".join(target.kafka_hosts), 0
    before = {name: target.boot(name) for name in target.kafka_hosts}
    target.cut(*target.kafka_hosts)
    target.power_on(*target.kafka_hosts)
    assert not set(before.values()) & {target.boot(name) for name in target.kafka_hosts}
    record.proof = f"no power on {record.node}; each has another boot"


ALL_OFF = Fault(9, "the power of all machines is cut", narrowed(Machines, all_off))
"""Not in the catalogue: how much it may lose depends on the faults before it."""
