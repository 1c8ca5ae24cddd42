"""Faults on a running cluster: injected, proven, healed, and a ledger beside them all the time.

A fault is a function that injects, proves that it happened, and sees what it must see. Whatever
it leaves is healed afterwards, and the cluster has to be whole again within `WHOLE_SECONDS`
(the closing state C0).
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
from ansible_collections.millrace.streaming.plugins.module_utils.cluster_health import (
    Partition,
    Snapshot,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka_admin import (
    Cluster,
    NotYetError,
)
from kafka.errors import KafkaError  # type: ignore[import-untyped] # no types
from testinfra.host import Host

import ledger.faults
from ledger.faults import FaultRun, Machine, Verdict, save
from tests.support.change import Plays
from tests.support.topology import Topology
from tests.support.wait import processors, slowed, wait_for

T = TypeVar("T")
Place = Literal["any", "kraft", "dedicated", "zookeeper"]
"""Where a fault can be made; "dedicated": where controllers are no brokers."""
FULL = os.environ.get("MILLRACE_FULL") == "1"
"""Whether all of it is asked for, by `./lab test --full`."""
PART_OF_FULL = "part of ./lab test --full"
WHOLE_SECONDS = 180
CAUGHT_UP_MS = 5000
SIDE = {"num_partitions": 1, "replication_factor": 3, "configs": {"min.insync.replicas": "2"}}
REQUEST_MS = 5000
"""How long the ledger's producer waits for an answer before it asks again, elsewhere if need be."""


@dataclass
class Record:
    """What became of one fault; times in wall seconds."""

    number: int
    name: str
    node: str = ""
    start: float = 0.0
    healed: float = 0.0
    whole: float = 0.0
    recovery_seconds: float | None = None
    limit_seconds: float | None = None
    longest_gap: float | None = None
    proof: str = ""
    verdict: Verdict = "failed"
    detail: str = ""
    least_acks: int | None = None
    """How many acknowledgements there have to be around it, where not half of what is sent."""
    begun: tuple[int, int] = field(default_factory=processors)

    def recovered(self, since: float, limit: float | None = None) -> None:
        """Note how long it took since a monotonic moment, which must not be too long."""
        self.recovery_seconds = round(time.monotonic() - since, 1)
        if limit is not None:
            assert self.recovery_seconds <= self.limited(limit)

    def limited(self, seconds: float) -> float:
        """Set the limit, longer by what others took of this machine since the fault began."""
        self.limit_seconds = round(seconds * slowed(self.begun), 1)
        return self.limit_seconds

    def told(self) -> ledger.faults.Fault:
        """As the report has it."""
        plain = asdict(self)
        for ours in ("least_acks", "begun"):
            del plain[ours]
        return ledger.faults.Fault(**plain)


@dataclass
class Site:
    """A cluster, its hosts, and the ledger that runs beside the faults."""

    topology: Topology
    hosts: dict[str, Host]
    plays: Plays
    folder: Path
    topic: str = "millrace-faults"
    side_topic: str = "millrace-faults-side"
    """For records that the ledger does not know of."""
    records: list[Record] = field(default_factory=list)
    earlier: Sequence[ledger.faults.Fault] = ()
    """What the report has before them."""
    _views: dict[int, Cluster] = field(default_factory=dict)

    @property
    def status(self) -> dict[str, Any]:
        """What the ledger says of itself."""
        found: dict[str, Any] = json.loads((self.folder / "status.json").read_text())
        return found

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
            places = [at for node, at in self.topology.brokers.items() if node != without]
            self._views[without] = Cluster(places, {})
        return answered(self._views[without].read)

    def partition(self, *, topic: str = "", without: int = -1) -> Partition | None:
        """The first partition of a topic, the ledger's by default; None while nobody answers."""
        found, wanted = self.snapshot(without=without), (topic or self.topic, 0)
        known = found.partitions if found else ()
        return next((one for one in known if (one.topic, one.index) == wanted), None)

    def led_by(self, *, topic: str = "", without: int = -1) -> int:
        """Who leads that partition; -1 for nobody."""
        found = self.partition(topic=topic, without=without)
        return found.leader if found else -1

    def elected(self, former: int, *, topic: str = "", seconds: float = 60) -> int:
        """Wait until another broker leads that partition; return which."""

        def other() -> int | None:
            leader = self.led_by(topic=topic, without=former)
            return leader if leader not in (-1, former) else None

        return wait_for(other, seconds=seconds, what=f"a leader after {former}")

    def fenced(self, node: int, seconds: float = 60) -> None:
        """Wait until the cluster has given a broker up."""

        def gone() -> bool:
            found = self.snapshot(without=node)
            known = found.brokers if found else ()
            return bool(known) and all(one.fenced for one in known if one.id == node)

        wait_for(gone, seconds=seconds, what=f"broker {node} fenced")

    def controller(self) -> int:
        """The active controller."""

        def leads() -> int | None:
            found = self.snapshot()
            leader = found.quorum.leader_id if found and found.quorum else -1
            return leader if leader >= 0 else None

        return wait_for(leads, seconds=60, what="an active controller")

    def epoch(self) -> int:
        """The quorum's epoch, -1 while nobody tells."""
        found = self.snapshot()
        return found.quorum.leader_epoch if found and found.quorum else -1

    def session_seconds(self, node: int) -> float:
        """How long the controllers believe in a broker that is silent."""
        return float(self.setting(node, "broker.session.timeout.ms", 9000)) / 1000

    def election_seconds(self, node: int) -> float:
        """How long voters wait for a leader that is silent, and for each other's votes."""
        keys = {
            "controller.quorum.fetch.timeout.ms": 2000,
            "controller.quorum.election.timeout.ms": 1000,
        }
        return sum(float(self.setting(node, key, default)) for key, default in keys.items()) / 1000

    def setting(self, node: int, key: str, default: float | str) -> str:
        """What a node's file says, Kafka's own value otherwise."""
        return str(self.topology.kafka(self.topology.node(node))["config"].get(key, default))

    def sh(self, where: str, command: str, *words: str) -> str:
        """Run a command as root that has to succeed."""
        return str(self.hosts[where].check_output(command, *words)).strip()

    def pid(self, where: str) -> int:
        """The process of a node, 0 while it is down."""
        return int(self.sh(where, "systemctl show --property=MainPID --value kafka"))

    def acks_flow(self, more: int = 20, seconds: float = 60) -> None:
        """Wait until the ledger has so many more acknowledgements."""
        before = self.acked
        wait_for(
            lambda: self.acked >= before + more,
            seconds=seconds,
            what=f"{more} more acks than {before}",
        )

    def acks_stop(self, seconds: float = 40, quiet: float = 3.0) -> None:
        """Wait until nothing was acknowledged for `quiet` seconds."""
        wait_for(
            lambda: (self.status["last_ack_age"] or 0) >= quiet,
            seconds=seconds,
            what="an end of acknowledgements",
        )

    def heal(self) -> None:
        """Take every fault back that may still be there; what is well is left alone."""
        for name in self.kafka_hosts:
            self.hosts[name].run(HEAL)

    def lacks(self) -> list[str]:
        """What is missing to C0: every unit, every replica, every controller."""
        snapshot = self.snapshot()
        if snapshot is None:
            return ["nobody answers"]
        wrong = [f"{one.name} of {one.isr}" for one in snapshot.partitions if one.under_replicated]
        wrong += [f"{one.name} has no leader" for one in snapshot.partitions if one.offline]
        serving = {broker.id for broker in snapshot.brokers if not broker.fenced}
        wrong += [f"broker {node}" for node in set(self.topology.brokers) - serving]
        voters = snapshot.quorum.voters if snapshot.quorum else ()
        strange = self.topology.voters ^ {voter.id for voter in voters}
        wrong += [f"controller {node} is in one of quorum and inventory only" for node in strange]
        wrong += [
            f"controller {voter.id} is {voter.lag} behind"
            for voter in voters
            if voter.behind_ms is None or voter.behind_ms > CAUGHT_UP_MS
        ]
        return wrong

    def whole(self) -> None:
        """Wait for C0, and for acknowledgements.

        Raises:
            AssertionError: something is still missing after `WHOLE_SECONDS`.

        """
        last: list[str] = []

        def is_whole() -> bool:
            last[:] = self.lacks()
            return not last

        try:
            wait_for(is_whole, seconds=WHOLE_SECONDS, what="a whole cluster")
        except AssertionError as error:
            message = f"{error}: {', '.join(last)}"
            raise AssertionError(message) from None
        for name in self.kafka_hosts:
            assert self.pid(name), f"no Kafka on {name}"
        self.acks_flow()

    def run(self, fault: Fault) -> Record:
        """Take the cluster through one fault and back.

        Raises:
            AssertionError: it did not happen, or something that must be seen was not.

        """
        record = Record(fault.number, fault.name, start=time.time())
        self.records.append(record)
        try:
            self.whole()
            record.start, record.begun = time.time(), processors()
            try:
                fault.inject(self, record)
            finally:
                record.healed = time.time()
                self.heal()
            self.whole()
            assert record.proof, "nothing proves that it happened"
            record.verdict = "passed"
        except BaseException as error:
            record.detail = str(error)[:500]
            if isinstance(error, pytest.skip.Exception):
                record.verdict = "skipped"
            raise
        finally:
            record.whole = time.time()
            self.note(record)
        return record

    def note(self, record: Record) -> None:
        """Tell the ledger of it: no acknowledgements around it, no proof (I12)."""
        event = {
            "node": record.node,
            "phase": record.name,
            "start": record.start,
            "end": record.whole,
            "least_acks": record.least_acks,
            "detail": record.proof,
        }
        with (self.folder / "events.jsonl").open("a") as stream:
            stream.write(json.dumps(event) + "\n")

    def save(self, suite: Literal["failover", "chaos"]) -> None:
        """Write what the report is made of."""
        broker = self.topology.group("kafka_brokers")[0]
        found = FaultRun(
            suite=suite,
            machine=this_machine(),
            date=datetime.now(UTC).date().isoformat(),
            topology=self.topology.name,
            kafka=str(self.topology.kafka(broker)["version"]),
            faults=[*self.earlier, *(record.told() for record in self.records)],
        )
        save(found, self.folder)


def this_machine() -> Machine:
    """What the lab and its load run on."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    return Machine(os.cpu_count() or 1, round(memory, 1), platform.release())


def long_one() -> None:
    """Skip what takes minutes and is not asked for."""
    if not FULL:
        pytest.skip(PART_OF_FULL)


@dataclass(frozen=True)
class Fault:
    """One entry of the catalogue: `inject` does it, proves it and sees what must be seen.

    `on` is the kind of cluster that it needs; `long` ones take minutes.
    """

    number: int
    name: str
    inject: Callable[[Site, Record], None]
    on: Place = "kraft"
    long: bool = False

    def unfit(self, topology: Topology) -> str:
        """Why a topology cannot be put to it; empty if it can."""
        if self.on == "any":
            return ""
        if self.on == "zookeeper":
            return "controllers elect each other here" if topology.voters else ""
        if not topology.voters:
            return "ZooKeeper elects the controller here"
        if self.on == "dedicated" and topology.voters & set(topology.brokers):
            return "its controllers are brokers too"
        return ""


# Each part by itself: what is not there fails alone. Reset first, for a unit that gave up.
HEAL = """
for route in $(ip -4 route show type blackhole | awk '{print $2}')
do ip route del blackhole $route; done
ip rule del pref 10 2> /dev/null
tc qdisc del dev eth0 root 2> /dev/null
rm -f /run/kafka-small /run/libfaketime.so
systemctl kill --signal=CONT kafka
systemctl reset-failed kafka
systemctl start kafka
true
"""


def answered(ask: Callable[[], T]) -> T | None:
    """What a cluster in trouble answers, None while it gives an error instead."""
    try:
        return ask()
    except (KafkaError, NotYetError):
        return None
