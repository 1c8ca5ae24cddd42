"""Faults on a running cluster: injected, proven, healed, with a ledger that runs all the time.

A fault is a function that injects, proves that it happened, and checks what users and operators
must see. Whatever it leaves is healed afterwards, and the cluster has to be healthy again within
`HEALTHY_SECONDS`: every unit, every replica and every controller.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.client import (
    Cluster,
    UnavailableError,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import errors
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.snapshot import (
    Partition,
    Snapshot,
)
from testinfra.host import Host

from apps.ledger import faults as ledger_faults
from apps.ledger.faults import FaultRun, Machine, Verdict, save
from tests.support.lab.change import Plays
from tests.support.lab.topology import Topology
from tests.support.wait import processors, slowed, wait_for, wait_for_none

T = TypeVar("T")
Place = Literal["any", "kraft", "dedicated", "zookeeper", "closed"]
"""Where a fault can be made; "dedicated": where controllers are no brokers; "closed": where all
listeners have TLS, and users have passwords."""
FULL = os.environ.get("MILLRACE_FULL") == "1"
"""Whether all of it is wanted, by `./lab test --full`."""
PART_OF_FULL = "part of ./lab test --full"
HEALTHY_SECONDS = 180
CAUGHT_UP_MS = 5000
SIDE = {"num_partitions": 1, "replication_factor": 3, "configs": {"min.insync.replicas": "2"}}
REQUEST_MS = 5000
"""How long the ledger's producer waits for an answer before it asks again, elsewhere if need be."""


@dataclass
class Record:
    """The result of one fault; times in wall-clock seconds."""

    number: int
    name: str
    node: str = ""
    start: float = 0.0
    healed: float = 0.0
    healthy: float = 0.0
    recovery_seconds: float | None = None
    limit_seconds: float | None = None
    longest_gap: float | None = None
    proof: str = ""
    verdict: Verdict = "failed"
    detail: str = ""
    least_acks: int | None = None
    """Minimum number of acknowledgements around the fault; None for half of what is sent."""
    begun: tuple[int, int] = field(default_factory=processors)

    def recovered(self, since: float, limit: float | None = None) -> None:
        """Record how long it took since a monotonic moment, which must not be too long."""
        self.recovery_seconds = round(time.monotonic() - since, 1)
        if limit is not None:
            assert self.recovery_seconds <= self.limited(limit)

    def limited(self, seconds: float) -> float:
        """Set the limit, extended by the processor time that others took since the fault began."""
        self.limit_seconds = round(seconds * slowed(self.begun), 1)
        return self.limit_seconds

    def as_fault(self) -> ledger_faults.Fault:
        """As the report has it."""
        plain = asdict(self)
        for ours in ("least_acks", "begun"):
            del plain[ours]
        return ledger_faults.Fault(**plain)


@dataclass
class Target:
    """What faults are made on: a cluster, its hosts, and the ledger that runs meanwhile."""

    topology: Topology
    hosts: dict[str, Host]
    plays: Plays
    folder: Path
    topic: str = "millrace-faults"
    side_topic: str = "millrace-faults-side"
    """For records that the ledger does not know of."""
    records: list[Record] = field(default_factory=list)
    earlier: Sequence[ledger_faults.Fault] = ()
    """What the report has before them."""
    _views: dict[int, Cluster] = field(default_factory=dict)

    @property
    def status(self) -> dict[str, Any]:
        """The ledger's own status."""
        status: dict[str, Any] = json.loads((self.folder / "status.json").read_text())
        return status

    @property
    def acked(self) -> int:
        return int(self.status["acked"])

    @cached_property
    def kafka_hosts(self) -> list[str]:
        """Every host with a Kafka node, controllers first."""
        groups = (self.topology.group("kafka_controllers"), self.topology.group("kafka_brokers"))
        return list(dict.fromkeys(host for group in groups for host in group))

    def snapshot(self, *, without: int = -1) -> Snapshot | None:
        """The cluster as it is, None while nobody answers; `without` is a broker not to ask."""
        if without not in self._views:
            addresses = [at for node, at in self.topology.brokers.items() if node != without]
            self._views[without] = Cluster(self.topology.connection.at(*addresses))
        return answered(self._views[without].read)

    def partition(self, *, topic: str = "", without: int = -1) -> Partition | None:
        """The first partition of a topic, the ledger's by default; None while nobody answers."""
        snapshot, key = self.snapshot(without=without), (topic or self.topic, 0)
        partitions = snapshot.partitions if snapshot else ()
        return next(
            (partition for partition in partitions if (partition.topic, partition.index) == key),
            None,
        )

    def led_by(self, *, topic: str = "", without: int = -1) -> int:
        """Who leads that partition; -1 for nobody."""
        partition = self.partition(topic=topic, without=without)
        return partition.leader if partition else -1

    def replicas(self) -> list[int]:
        """The brokers that have the ledger's first partition, in ascending order."""
        partition = wait_for(self.partition, seconds=30, what=f"the replicas of {self.topic}-0")
        return sorted(partition.replicas)

    def elected(self, former: int, *, topic: str = "", seconds: float = 60) -> int:
        """Wait until another broker leads that partition; return which."""

        def other() -> int | None:
            leader = self.led_by(topic=topic, without=former)
            return leader if leader not in (-1, former) else None

        return wait_for(other, seconds=seconds, what=f"a leader after {former}")

    def fenced(self, node: int, seconds: float = 60) -> None:
        """Wait until the cluster has fenced a broker, or forgotten it."""

        def gone() -> bool:
            snapshot = self.snapshot(without=node)
            brokers = snapshot.brokers if snapshot else ()
            return bool(brokers) and all(broker.fenced for broker in brokers if broker.id == node)

        wait_for(gone, seconds=seconds, what=f"broker {node} fenced")

    def controller(self) -> int:
        """The active controller."""

        def leads() -> int | None:
            snapshot = self.snapshot()
            leader = snapshot.quorum.leader_id if snapshot and snapshot.quorum else -1
            return leader if leader >= 0 else None

        return wait_for(leads, seconds=60, what="an active controller")

    def epoch(self) -> int:
        """The quorum's epoch, -1 while nobody answers."""
        snapshot = self.snapshot()
        return snapshot.quorum.leader_epoch if snapshot and snapshot.quorum else -1

    def session_seconds(self, node: int) -> float:
        """How long the controllers wait for a heartbeat before they fence a broker."""
        return self.number(node, "broker.session.timeout.ms") / 1000

    def election_seconds(self, node: int) -> float:
        """How long voters wait for a leader that is silent, and for each other's votes."""
        keys = ("controller.quorum.fetch.timeout.ms", "controller.quorum.election.timeout.ms")
        return sum(self.number(node, key) for key in keys) / 1000

    def number(self, node: int, key: str) -> int:
        """A property of a node, Kafka's own default where the inventory sets none."""
        value = self.topology.cluster.kafka[self.topology.node(node)].properties.number(key)
        assert value is not None, key
        return value

    def sh(self, where: str, command: str, *words: str) -> str:
        """Run a command as root that has to succeed."""
        return str(self.hosts[where].check_output(command, *words)).strip()

    def main_pid(self, where: str, unit: str) -> int:
        """The process of a unit, 0 while it is down."""
        return int(self.sh(where, "systemctl show --property=MainPID --value %s", unit))

    def pid(self, where: str) -> int:
        """The process of a node, 0 while it is down."""
        return self.main_pid(where, "kafka")

    def wait_for_acks(self, count: int = 20, seconds: float = 60) -> None:
        """Wait until the ledger has so many more acknowledgements."""
        before = self.acked
        wait_for(
            lambda: self.acked >= before + count,
            seconds=seconds,
            what=f"{count} more acks than {before}",
        )

    def acks_stop(self, seconds: float = 40, quiet: float = 3.0) -> None:
        """Wait until nothing was acknowledged for `quiet` seconds."""
        wait_for(
            lambda: (self.status["last_ack_age"] or 0) >= quiet,
            seconds=seconds,
            what="an end of acknowledgements",
        )

    def heal(self) -> None:
        """Remove every fault that may still be there; leave everything else as it is."""
        for name in self.kafka_hosts:
            self.hosts[name].run(HEAL)

    def missing(self) -> list[str]:
        """What this cluster lacks compared with a healthy one."""
        snapshot = self.snapshot()
        if snapshot is None:
            return ["nobody answers"]
        wrong = [
            f"{partition.name} of {partition.isr}"
            for partition in snapshot.partitions
            if partition.under_replicated
        ]
        wrong += [
            f"{partition.name} has no leader"
            for partition in snapshot.partitions
            if partition.offline
        ]
        serving = {broker.id for broker in snapshot.brokers if not broker.fenced}
        wrong += [f"broker {node}" for node in set(self.topology.brokers) - serving]
        voters = snapshot.quorum.voters if snapshot.quorum else ()
        unexpected = self.topology.voters ^ {voter.id for voter in voters}
        wrong += [
            f"controller {node} is only in the quorum or the inventory" for node in unexpected
        ]
        wrong += [
            f"controller {voter.id} is {voter.lag} behind"
            for voter in voters
            if voter.behind_ms is None or voter.behind_ms > CAUGHT_UP_MS
        ]
        return wrong

    def seen_by_clients(self) -> list[str]:
        """What Kafka's answers to clients lack compared with a healthy cluster."""

        def ask() -> tuple[list[Any], set[int]]:
            with clients.admin(self.topology.connection) as admin:
                alive = {int(broker["broker_id"]) for broker in admin.describe_cluster()["brokers"]}
                return admin.describe_topics(), alive

        response = answered(ask)
        if response is None:
            return ["no answer to a client"]
        topics, alive = response
        return [f"broker {node} is not listed" for node in set(self.topology.brokers) - alive] + [
            f"{topic['name']} {partition['partition_index']}: in sync {partition['isr_nodes']}"
            for topic in topics
            for partition in topic["partitions"]
            if {*partition["isr_nodes"]} != {*partition["replica_nodes"]}
        ]

    def wait_until_healthy(self) -> None:
        """Wait until nothing is missing, and for acknowledgements.

        Raises:
            AssertionError: something is still missing after `HEALTHY_SECONDS`.

        """
        wait_for_none(
            lambda: [*(self.missing() or self.seen_by_clients())],
            seconds=HEALTHY_SECONDS,
            what="a healthy cluster",
        )
        for name in self.kafka_hosts:
            assert self.pid(name), f"no Kafka on {name}"
        self.wait_for_acks()

    def run(self, fault: Fault) -> Record:
        """Take the cluster through one fault and back.

        Raises:
            AssertionError: it did not happen, or did not have the required effects.

        """
        record = Record(fault.number, fault.name, start=time.time())
        self.records.append(record)
        try:
            self.wait_until_healthy()
            record.start, record.begun = time.time(), processors()
            try:
                fault.inject(self, record)
            finally:
                record.healed = time.time()
                self.heal()
            self.wait_until_healthy()
            assert record.proof, "nothing proves that it happened"
            record.verdict = "passed"
        except BaseException as error:
            record.detail = str(error)[:500]
            if isinstance(error, pytest.skip.Exception):
                record.verdict = "skipped"
            raise
        finally:
            record.healthy = time.time()
            self.record_event(record)
        return record

    def record_event(self, record: Record) -> None:
        """Write it to the ledger's events: without acknowledgements around it nothing is proven."""
        event = {
            "node": record.node,
            "phase": record.name,
            "start": record.start,
            "end": record.healthy,
            "least_acks": record.least_acks,
            "detail": record.proof,
        }
        with (self.folder / "events.jsonl").open("a") as stream:
            stream.write(json.dumps(event) + "\n")

    def save(self, suite: Literal["failover", "chaos"]) -> None:
        """Write what the report is made of."""
        fault_run = FaultRun(
            suite=suite,
            machine=this_machine(),
            date=datetime.now(UTC).date().isoformat(),
            topology=self.topology.name,
            kafka=self.topology.cluster.brokers[0].version,
            faults=[*self.earlier, *(record.as_fault() for record in self.records)],
        )
        save(fault_run, self.folder)


def this_machine() -> Machine:
    """What the lab and its load run on."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    return Machine(os.cpu_count() or 1, round(memory, 1), platform.release())


def skip_unless_full() -> None:
    """Skip a test that takes minutes, unless all of it is wanted."""
    if not FULL:
        pytest.skip(PART_OF_FULL)


@dataclass(frozen=True)
class Fault:
    """One entry of the catalogue."""

    number: int
    name: str
    inject: Callable[[Target, Record], None]
    """Does it, proves it and checks its effects."""
    on: Place = "kraft"
    """The kind of cluster that it needs."""
    long: bool = False
    """It takes minutes."""

    def unsupported_reason(self, topology: Topology) -> str:
        """Why it cannot be made on a topology; empty if it can."""
        if self.on == "any":
            return ""
        if self.on == "closed":
            return "" if topology.closed else "its listeners are open"
        if self.on == "zookeeper":
            return "controllers elect each other here" if topology.voters else ""
        if not topology.voters:
            return "ZooKeeper elects the controller here"
        if self.on == "dedicated" and topology.voters & set(topology.brokers):
            return "its controllers are brokers too"
        return ""


# 6 is TCP: not every host knows names of protocols.
DROP_ANSWERS = "ip rule add pref 10 ipproto 6 sport %s blackhole"
"""A port answers nobody."""
DROP_ANSWERS_TO = "ip rule add pref 10 to %s ipproto 6 sport %s blackhole"
"""A port does not answer an address."""
STOP_DROPPING = "ip rule del pref 10"
"""Ends either of them."""
# Each command on its own: one that finds nothing to remove prevents none of the others. The reset
# is for a unit that systemd no longer restarts.
HEAL = f"""
for route in $(ip -4 route show type blackhole | awk '{{print $2}}')
do ip route del blackhole $route; done
{STOP_DROPPING} 2> /dev/null
tc qdisc del dev eth0 root 2> /dev/null
rm -f /run/kafka-small /run/libfaketime.so
systemctl kill --signal=CONT kafka
systemctl reset-failed kafka
systemctl start kafka
true
"""


def answered(ask: Callable[[], T]) -> T | None:
    """The answer of an impaired cluster, None while it returns an error instead."""
    try:
        return ask()
    except (errors.KafkaError, UnavailableError):
        return None
