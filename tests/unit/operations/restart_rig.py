"""A node in a fake cluster with a time of its own, for tests of its restart."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host import start_signs
from ansible_collections.millrace.streaming.plugins.module_utils.host.start_signs import Signs
from ansible_collections.millrace.streaming.plugins.module_utils.host.unit import State
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import canary
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.client import (
    UnavailableError,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.connection import Connection
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.snapshot import (
    Broker,
    Snapshot,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations import node_restart
from ansible_collections.millrace.streaming.plugins.module_utils.operations.gate import (
    Expected,
    Policy,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations.node_restart import (
    CLEAN_SHUTDOWN,
    Node,
    NodeRestart,
    Progress,
)

from tests.unit.operations.gate_cases import ALL, partition, state, voters

COMBINED = Node(
    2,
    broker=True,
    controller=True,
    address="k2:9092",
    ports=(9092, 9093),
    peers=("k1:9092", "k3:9092"),
)
BROKER = dataclasses.replace(COMBINED, controller=False, ports=(9092,))
CONTROLLER = dataclasses.replace(COMBINED, broker=False, address="k2:9093", ports=(9093,))

RUNNING = State("active", "running", pid=1)
STOPPING = State("deactivating", "stop-sigterm", pid=1)
STOPPED = State()
KILLED = State("failed", "failed", "timeout")
STARTING = State("activating", "start", pid=2)
FAILED = State("failed", "failed", "exit-code")
STARTS_AGAIN = State("activating", "auto-restart", "exit-code")
STARTED_AGAIN = dataclasses.replace(RUNNING, restarts=1)


def cluster(
    *,
    fenced: bool = False,
    registered: bool = True,
    isr: tuple[int, ...] = (1, 2, 3),
    behind_ms: int | None = 0,
    leader: int = 1,
) -> Snapshot:
    """Three combined nodes; what the arguments say is of node 2."""
    return state(
        brokers=tuple(
            Broker(node, fenced=fenced and node == 2)
            for node in (1, 2, 3)
            if registered or node != 2
        ),
        controller_id=leader,
        quorum=voters(0, behind_ms, 0, leader=leader),
        partitions=(partition(isr=isr), partition("u", replicas=(1, 3), min_isr=1)),
    )


HEALTHY = cluster()


@dataclass
class FakeUnit:
    """A service; its states follow one another as time passes."""

    states: list[State] = field(default_factory=lambda: [RUNNING])
    after_stop: tuple[State, ...] = (STOPPING, STOPPED)
    after_start: tuple[State, ...] = (STARTING, RUNNING)
    calls: list[str] = field(default_factory=list)
    refuses: str = ""
    refuses_stop: str = ""
    asked: int = 0

    def state(self) -> State:
        self.asked += 1
        return self.states[0]

    def pass_time(self) -> None:
        if len(self.states) > 1:
            self.states.pop(0)

    def stop(self) -> None:
        if self.refuses_stop:
            raise OSError(self.refuses_stop)
        self.calls.append("stop")
        self.states = list(self.after_stop)

    def start(self) -> None:
        if self.refuses:
            raise OSError(self.refuses)
        self.calls.append("start")
        self.states = list(self.after_start)

    def journal(self, lines: int = 12) -> list[str]:
        return ["INFO starting", "ERROR no such class"][-lines:]


class FakeCluster:
    """A cluster: `snapshots` follow one another as time passes; None stands for no answer."""

    def __init__(self) -> None:
        self.snapshots: list[Snapshot | None] = [HEALTHY]
        self.led: int | None = 0
        self.asked: tuple[int, list[int], int] | None = None
        self.round_trips: list[Connection] = []
        self.refuses_records = False

    def pass_time(self) -> None:
        if len(self.snapshots) > 1:
            self.snapshots.pop(0)

    def read(self, *, gate: bool = False) -> Snapshot:
        if (snapshot := self.snapshots[0]) is None:
            text = "k1:9092: refused"
            raise UnavailableError(text)
        return snapshot if gate else dataclasses.replace(snapshot, reassigning=(), throttled=())

    def ask(self, question: Any) -> Any:
        """Answer what an admin client is asked, which is for the canary alone."""
        return question(self)

    def led_partition(self, _: Any, broker: int, brokers: list[int], replicas: int) -> int | None:
        """Answer which partition of the canary's topic the node leads."""
        self.asked = (broker, brokers, replicas)
        return self.led

    def round_trip(self, connection: Connection, *_: Any) -> None:
        if self.refuses_records:
            text = "it acknowledged no record"
            raise UnavailableError(text)
        self.round_trips.append(connection)


class Rig:
    """A node in a cluster with a time of its own, for one restart."""

    def __init__(self, path: Path) -> None:
        self.unit, self.cluster, self.now = FakeUnit(), FakeCluster(), 0.0
        self.mark, self.data = path / "restart-pending", path / "data"
        self.mark.touch()
        self.data.mkdir()
        (self.data / CLEAN_SHUTDOWN).touch()
        self.closed: set[str] = set()
        self.abandoned = False
        self.unmarked_at: float | None = None
        self.signs = Signs(read=5, text="5 MiB read")
        self.fatal: list[str] = []

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.unit.pass_time()
        self.cluster.pass_time()
        if self.unmarked_at is not None and self.now >= self.unmarked_at:
            self.mark.unlink(missing_ok=True)

    def restart(
        self, node: Node = COMBINED, policy: Policy | None = None, *, forced: bool = False
    ) -> NodeRestart:
        unit: Any = self.unit
        cluster: Any = self.cluster
        return NodeRestart(
            dataclasses.replace(node, data_dirs=(str(self.data),)),
            unit,
            self.mark,
            cluster,
            Connection(("k1:9092",)),
            Expected(brokers=ALL, voters=ALL),
            policy or Policy(),
            forced=forced,
            clock=lambda: self.now,
            sleep=self.sleep,
        )

    def run(
        self,
        phase: str = "gate",
        until: str = "done",
        *,
        seconds: float = 5,
        forced: bool = False,
        node: Node = COMBINED,
    ) -> Progress:
        """Do one slice."""
        progress = Progress(phase, self.now + seconds)
        self.restart(node, forced=forced).advance(progress, until)
        return progress


def install(path: Path, monkeypatch: pytest.MonkeyPatch) -> Rig:
    rig = Rig(path)
    monkeypatch.setattr(node_restart, "listens", lambda address: address not in rig.closed)
    monkeypatch.setattr(node_restart, "abandoned", lambda: rig.abandoned)
    monkeypatch.setattr(start_signs, "read", lambda _: rig.signs)
    monkeypatch.setattr(start_signs, "fatal_lines", lambda *_: rig.fatal)
    monkeypatch.setattr(canary, "round_trip", rig.cluster.round_trip)
    monkeypatch.setattr(canary, "led_partition", rig.cluster.led_partition)
    return rig
