"""Sessions of 6 s with two heartbeats a second, beside Kafka's 9 s and one every 2 s.

A broker that restarts waits until its old session is over; one that is slow, or pauses, is fenced
when its own is. So both are measured: a roll under a producer's load, and how often brokers are
fenced while processes take all processors for a minute, and by pauses of growing length.
"""

from __future__ import annotations

import json
import threading
import time

from tests.bench import baseline
from tests.bench.comparison import Measured, compare
from tests.bench.lab import fresh_hosts, playbook, three_nodes
from tests.bench.load import first_record, load
from tests.support.lab.topology import Topology

BUSY = 60
"""Seconds of processes that take all processors, eight on each host."""
PAUSES = (2, 3, 4, 5, 6, 7, 8)
FENCED = "journalctl --unit kafka --output cat | grep -c 'Fencing broker' || true"


def fenced(topology: Topology) -> int:
    """How often a controller has fenced a broker whose session was over."""
    return sum(int(baseline.ssh(topology, host, FENCED)) for host in topology.addresses)


def measured(session_ms: int, heartbeat_ms: int) -> Measured:
    """The roll and its gap; how many were fenced while busy, and by which pause."""
    properties = {
        "broker.session.timeout.ms": session_ms,
        "broker.heartbeat.interval.ms": heartbeat_ms,
    }

    def site(**overrides: int) -> None:
        change = {"kafka_host_config": {**properties, **overrides}}
        roll.update(playbook("playbooks/site.yml", "-e", json.dumps(change)))

    roll: Measured = {}
    topology = fresh_hosts()
    site()
    first_record(topology, time.monotonic())
    with load(topology) as producer:
        site(**{"queued.max.requests": 400})
        gap, before = producer.gap, fenced(topology)
        loop = f"for i in 1 2 3 4 5 6 7 8; do timeout {BUSY} sh -c 'while :; do :; done' & done"
        for host in topology.addresses:
            baseline.ssh(topology, host, f"({loop}) > /dev/null 2>&1")
        threading.Event().wait(BUSY)
        busy = fenced(topology) - before
    return {
        **roll,
        "gap": gap,
        "errors": producer.errors,
        "fenced_while_busy": busy,
        "fenced_after_pause_of": shortest(topology),
    }


def shortest(topology: Topology) -> int:
    """The shortest pause of a broker, in seconds, by which it is fenced; 0 if none is."""
    host = topology.group("kafka_brokers")[-1]
    for pause in PAUSES:
        before = fenced(topology)
        stop, go_on = (f"systemctl kill -s {signal} kafka" for signal in ("STOP", "CONT"))
        baseline.ssh(topology, host, f"{stop}; sleep {pause}; {go_on}; sleep 5")
        if fenced(topology) > before:
            return pause
    return 0


def main(pairs: int) -> None:
    with three_nodes():
        compare(
            "session",
            {"9 s": lambda: measured(9000, 2000), "6 s": lambda: measured(6000, 500)},
            pairs,
        )
