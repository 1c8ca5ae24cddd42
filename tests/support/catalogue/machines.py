"""The catalogue of faults that only machines with a kernel, disks and power of their own know."""

from __future__ import annotations

import re
import socket
import statistics
import time

from tests.support.catalogue.disks import data_dirs, fill, holder
from tests.support.catalogue.entry import (
    KILL,
    begin,
    catalogue,
    clock,
    follower,
    narrowed,
    said_since,
    stop,
)
from tests.support.catalogue.limits import OFF_SECONDS, stamps_off
from tests.support.faults import Fault, Record
from tests.support.machines import Machines
from tests.support.wait import scaled, wait_for

FAULTS, fault = catalogue(Machines)
NETEM = "tc qdisc replace dev eth0 root netem delay 100ms 10ms loss 5% reorder 25%"
LATENCY = 0.08
"""Seconds that it lays upon most packets which a machine sends, at least."""


@fault(13, "the power of a follower's machine is cut")
def follower_without_power(site: Machines, record: Record) -> None:
    """The others go on, and it comes back by itself."""
    power_cut(site, record, follower(site))


@fault(43, "the power of a leader's machine is cut")
def leader_without_power(site: Machines, record: Record) -> None:
    """Another leads; what its memory held is in the others' logs."""
    power_cut(site, record, site.led_by())


def power_cut(site: Machines, record: Record, node: int) -> None:
    where = begin(site, record, node)
    led, before, cut = site.led_by() == node, site.boot(where), time.monotonic()
    site.cut(where)
    if led:
        site.elected(node)
        record.recovered(cut, site.session_seconds(node) + site.election_seconds(node) + scaled(1))
    site.fenced(node)
    site.acks_flow()
    site.power_on(where)
    after = site.boot(where)
    assert after != before
    record.proof = f"fenced without power; boot {before[:8]} became {after[:8]}"


@fault(16, "latency of 100 ms, loss of 5 % and reordering on a leader's link")
def bad_link(site: Machines, record: Record) -> None:
    """Everything is slower and nothing is lost."""
    node = site.led_by()
    where = begin(site, record, node)
    record.least_acks = 20
    site.sh(where, NETEM)
    took = statistics.median(connected(site.topology.brokers[node]) for _ in range(9))
    site.acks_flow(50)
    dropped = re.search(r"dropped (\d+)", site.sh(where, "tc -s qdisc show dev eth0"))
    assert dropped, "tc counts nothing"
    assert int(dropped[1]) > 0, "no packet was lost"
    assert took >= LATENCY, took
    record.proof = f"{dropped[1]} packets dropped, a connection took {took * 1000:.0f} ms"


def connected(place: str) -> float:
    """Seconds until a connection stands."""
    host, _, port = place.rpartition(":")
    begun = time.monotonic()
    socket.create_connection((host, int(port)), timeout=30).close()
    return time.monotonic() - begun


@fault(30, "a machine's clock is ten minutes ahead, then behind")
def wrong_clock(site: Machines, record: Record) -> None:
    """Its records have other times; the cluster keeps and serves them all the same."""
    node, seen = follower(site), []
    where = begin(site, record, node)
    try:
        for offset in (OFF_SECONDS, -OFF_SECONDS):
            set_clock(site, where, offset)
            seen.append(stamps_off(site, node, offset))
            site.acks_flow()
    finally:
        set_clock(site, where, 0)
    record.proof = f"{where} stamped records {' and '.join(seen)} off"


def set_clock(site: Machines, where: str, offset: float) -> None:
    """Set a machine's clock, which nobody corrects, so many seconds ahead of this one's."""
    site.sh(where, "date --set=@%s > /dev/null", f"{time.time() + offset:.0f}")


@fault(22, "a data disk is gone")
def disk_gone(site: Machines, record: Record) -> None:
    """Systemd stops what needs a mount whose device is gone; the others go on."""
    node = follower(site)
    where = begin(site, record, node)
    path = data_dirs(site, where)[-1]
    mark, since = clock(site, where), time.monotonic()
    device = site.sh(where, f"basename $(findmnt --noheadings --output SOURCE --target {path})")
    try:
        site.sh(where, f"echo 1 > $(readlink -f /sys/block/{device}/device)/../remove")
        assert site.hosts[where].run(f"test -b /dev/{device}").failed
        words = f"Stopping serving logs in dir {path}"
        record.proof = said_since(site, where, mark, words, seconds=90)
        site.fenced(node)
        record.recovered(since)
        site.acks_flow()
        wait_for(lambda: not site.pid(where), seconds=60, what="a node that is stopped")
    finally:
        site.cut(where)  # switched on again, it has its disk


@fault(18, "a data disk is full")
def disk_full(site: Machines, record: Record) -> None:
    """That directory goes offline, and the process serves the others."""
    where = begin(site, record, follower(site))
    path = holder(site, where)
    mark, pid, since = clock(site, where), site.pid(where), time.monotonic()
    try:
        fill(site, where, path)
        record.proof = said_since(site, where, mark, f"Stopping serving logs in dir {path}")
        record.recovered(since)
        site.acks_flow()
        if path != data_dirs(site, where)[0]:
            assert site.pid(where) == pid, "the whole process ended"
    finally:
        stop(site, where)
        site.sh(where, f"rm -f {path}/filler")


@fault(20, "a machine's disks turn read-only")
def disks_read_only(site: Machines, record: Record) -> None:
    """The process ends, and the others go on."""
    node = follower(site)
    where = begin(site, record, node)
    pid, probe = site.pid(where), f"{data_dirs(site, where)[0]}/probe"
    try:
        site.sh(where, "echo u > /proc/sysrq-trigger")
        wait_for(
            lambda: site.hosts[where].run(f"touch {probe} && rm {probe}").failed,
            seconds=30,
            what="a disk that refuses",
        )
        site.fenced(node)
        site.acks_flow()
        wait_for(lambda: site.pid(where) != pid, seconds=60, what="the end of the process")
        record.proof = f"no file can be written on {where}; it is fenced"
    finally:
        site.cut(where)


@fault(29, "a data disk is replaced by an empty one")
def disk_replaced(site: Machines, record: Record) -> None:
    """`site.yml` mounts and formats the new one, and it fills again."""
    where = begin(site, record, follower(site))
    path = data_dirs(site, where)[-1]
    uuid = f"findmnt --noheadings --output UUID --target {path}"
    before = site.sh(where, uuid)
    site.sh(
        where,
        f"{KILL}; systemctl stop kafka;"
        f" disk=$(findmnt --noheadings --output SOURCE --target {path});"
        " label=$(lsblk --noheadings --output LABEL $disk); umount $disk;"
        " mkfs.xfs -q -f -L $label $disk; udevadm settle",
    )
    site.acks_flow()
    site.plays.succeed("site", "--limit", where)
    after = site.sh(where, uuid)
    assert after != before
    site.whole()
    refilled = site.sh(where, f"find {path} -name '*.log' -size +0 | wc -l")
    assert int(refilled) > 0, "nothing lies on the new disk"
    record.proof = f"file system {before[:8]} became {after[:8]}, {refilled} segments on it"


def all_off(site: Machines, record: Record) -> None:
    """Kafka does not wait for the disk, unless it is told to. The caller says what was lost."""
    record.node, record.least_acks = ", ".join(site.kafka_hosts), 0
    before = {name: site.boot(name) for name in site.kafka_hosts}
    site.cut(*site.kafka_hosts)
    site.power_on(*site.kafka_hosts)
    assert not set(before.values()) & {site.boot(name) for name in site.kafka_hosts}
    record.proof = f"no power on {record.node}; each has another boot"


ALL_OFF = Fault(9, "the power of all machines is cut", narrowed(Machines, all_off))
"""Not in the catalogue: what it may cost depends on who ran before it."""
