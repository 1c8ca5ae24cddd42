"""The restart of one Kafka node: gate, stop, start, ready, canary.

It is done in slices, so that the control node can show what is waited for after each: a slice
continues from the phase that the last one reached. No slice ends between stop and start, unless
the stop itself takes long.
"""

from __future__ import annotations

import os
import select
import stat
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..host import start_signs
from ..host.network import listens
from ..host.unit import State, Unit
from ..kafka import canary
from ..kafka.client import Cluster, UnavailableError
from ..kafka.connection import Connection
from ..kafka.snapshot import Snapshot
from . import gate
from .gate import Expected, Policy

PHASES = ("gate", "stop", "start", "ready", "canary", "done")
POLL_SECONDS = 0.1
UNIT_SECONDS = 1.0
"""How often systemd is asked of a JVM that starts, which needs the processor that this costs."""
CANARY_SECONDS = 10.0
"""How long one attempt of the canary may take; the control node limits their number."""
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"


class AbandonedError(Exception):
    """Ansible is gone, and the node was not stopped yet."""


class StartFailedError(Exception):
    """The process does not stay up; what it last logged is in the text."""


@dataclass(frozen=True)
class Node:
    """The node that is restarted."""

    id: int
    broker: bool
    controller: bool
    address: str
    """Its first listener."""
    ports: Sequence[int]
    """All that it opens."""
    data_dirs: Sequence[str] = ()
    replication: int = 3
    peers: Sequence[str] = ()
    """The addresses of all other nodes."""


@dataclass
class Progress:
    """How far a restart is."""

    phase: str
    deadline: float
    entered: str = field(init=False)
    """The phase in which this slice begins; an earlier one may have begun it already."""
    waiting: list[str] = field(default_factory=list)
    """Why the phase is not over."""
    non_retriable: bool = False
    """Whether waiting does not change what is waited for."""
    seconds: dict[str, float] = field(default_factory=dict)
    """By phase."""
    degraded: list[str] = field(default_factory=list)
    signs: Mapping[str, Any] = field(default_factory=dict)
    """How far a process is that still starts."""
    had_failed_directory: bool = False
    """As the gate saw it, before the stop."""

    def __post_init__(self) -> None:
        """Keep the phase in which the slice begins."""
        self.entered = self.phase

    def as_data(self) -> dict[str, Any]:
        """Return what the control node needs for the next slice."""
        return {
            "phase": self.phase,
            "waiting": self.waiting,
            "non_retriable": self.non_retriable,
            "degraded": self.degraded,
            "signs": dict(self.signs),
            "had_failed_directory": self.had_failed_directory,
            "seconds": {phase: round(spent, 3) for phase, spent in self.seconds.items()},
        }


@dataclass
class NodeRestart:
    """Takes one node through its restart, as far as a slice of time allows."""

    node: Node
    unit: Unit
    mark: Path
    cluster: Cluster
    connection: Connection
    expected: Expected
    policy: Policy
    forced: bool = False
    """Whether it is restarted even without a mark."""
    others: frozenset[int] = frozenset()
    """Brokers that are restarted at the same time."""
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def advance(self, progress: Progress, until: str = "done") -> None:
        """Go on from `progress.phase` until the phase `until` or the end of the slice.

        Raises:
            StartFailedError: the process ends by itself.
            AbandonedError: Ansible is gone before the node was stopped.

        """
        phases: dict[str, Callable[[Progress], str]] = {
            "gate": self._gate,
            "stop": self._stop,
            "start": self._start,
            "ready": self._ready,
            "canary": self._canary,
        }
        while progress.phase not in (until, "done"):
            begun, phase = self.clock(), progress.phase
            progress.phase = phases[phase](progress)
            spent = self.clock() - begun
            progress.seconds[phase] = progress.seconds.get(phase, 0.0) + spent
            if progress.phase == phase:
                return
            progress.waiting = []

    def must_be_last(self, remaining: set[int]) -> bool:
        """Return whether the node leads the metadata now and other controllers are still to come.

        One that is down, or does not serve, is repaired first: it waits for no other.
        """
        controllers = remaining - {self.node.id}
        if not controllers or not self._wanted():
            return False
        try:
            snapshot = self.cluster.read()
        except UnavailableError:
            return False
        ready = self.unit.state().running and self._serves(snapshot)
        return ready and gate.must_wait_for_others(self.node.id, controllers, snapshot)

    def serves(self) -> bool:
        """Return whether its process has started well, and serves."""
        state = self.unit.state()
        if not state.running or state.restarts:
            return False
        try:
            return not not_ready_reasons(self.cluster.read(), self.node)
        except UnavailableError:
            return False

    def blockers(self, snapshot: Snapshot) -> list[gate.Blocker]:
        """Return what forbids stopping this node; if it does not serve, only other nodes count."""
        ready = self._serves(snapshot)
        node = gate.Node(self.node.id, self.node.broker, self.node.controller, ready=ready)
        if self.others:
            snapshot = gate.without_topic(snapshot, canary.TOPIC)
        return gate.stop_blockers(snapshot, node, self.expected, self.policy, self.others)

    def _serves(self, snapshot: Snapshot) -> bool:
        """Return whether it serves clients, from all its directories."""
        serving = {broker.id for broker in snapshot.brokers if not broker.fenced}
        return not self.node.broker or self.node.id in serving - snapshot.with_failed_directory

    def _gate(self, progress: Progress) -> str:
        """Wait until the cluster can spare the node; one that is down already is only started.

        Somebody else may have restarted it meanwhile: then nothing is left to do.
        """

        def reasons() -> list[str]:
            if not self.unit.state().running or not self._wanted():
                return []
            # The cluster lists a node that has just died until its session ends.
            dead = [
                f"{peer} accepts no connection" for peer in self.node.peers if not listens(peer)
            ]
            snapshot = self.cluster.read(gate=True)
            blockers = self.blockers(snapshot)
            progress.had_failed_directory = self.node.id in snapshot.with_failed_directory
            dead += self._unusable_directories() if progress.had_failed_directory else []
            progress.non_retriable = any(
                blocker.predicate in gate.NON_RETRIABLE for blocker in blockers
            )
            return dead + list(map(str, blockers))

        if not self._wait(progress, reasons):
            return "gate"
        return "stop" if self._wanted() or not self.unit.state().running else "done"

    def _unusable_directories(self) -> list[str]:
        """Return which directories would fail again at the start, as far as that can be seen."""
        problems = []
        for path in self.node.data_dirs:
            try:
                usable = os.access(path, os.W_OK) and Path(path).stat().st_mode & stat.S_IWUSR
            except OSError:
                usable = False
            if not usable:
                problems.append(f"{path} cannot be written: repair it before the node is restarted")
        return problems

    def _wanted(self) -> bool:
        return self.forced or self.mark.exists()

    def _stop(self, progress: Progress) -> str:
        state = self.unit.state()
        if state.running or state.sub.startswith("auto-restart"):
            if abandoned():
                raise AbandonedError
            self.unit.stop()

        def reasons() -> list[str]:
            return [] if self.unit.state().stopped else ["shutting down (controlled shutdown)"]

        if not self._wait(progress, reasons):
            return "stop"
        # A node that was down before was not stopped by this restart.
        if state.running or state.stopping or progress.entered == "stop":
            progress.degraded += self._unclean(self.unit.state(), progress)
        return "start"

    def _unclean(self, state: State, progress: Progress) -> list[str]:
        if state.result == "timeout":
            return [
                "it did not stop in time and was killed: its logs are being recovered; see why "
                "before the next node (kafka_stop_timeout, the node's journal)"
            ]
        missing = [path for path in self.node.data_dirs if not Path(path, CLEAN_SHUTDOWN).exists()]
        # Kafka writes nothing into a directory that it has taken out of use. Marks in the others
        # alone prove nothing: each gets its own when its logs are closed (LogManager.shutdown).
        if progress.had_failed_directory and len(missing) < len(self.node.data_dirs):
            return []
        if self.node.broker and missing:
            return [f"it left no {CLEAN_SHUTDOWN} in {', '.join(missing)}: it did not stop cleanly"]
        return []

    def _start(self, progress: Progress) -> str:
        up, checked_at = progress.entered == "start", -UNIT_SECONDS
        if not up:
            self.start()
        host = self.node.address.rpartition(":")[0]

        def reasons() -> list[str]:
            nonlocal up, checked_at
            closed = [port for port in self.node.ports if not listens(f"{host}:{port}")]
            if not (closed and up) or self.clock() - checked_at >= UNIT_SECONDS:
                state, checked_at = self.unit.state(), self.clock()
                self._check_running(state, was_up=up)
                up = up or state.running
            return [f"it does not listen on port {port} yet" for port in closed]

        if self._wait(progress, reasons):
            return "ready"
        signs = start_signs.read(self.unit)
        progress.signs = signs.as_data()
        progress.waiting.append(signs.text)
        return "start"

    def start(self) -> None:
        """Ask the service to start.

        Raises:
            StartFailedError: systemd does not take the unit.

        """
        try:
            self.unit.start()
        except (OSError, subprocess.SubprocessError) as error:
            text = f"systemd refuses to start it: {error}"
            raise StartFailedError(text) from error

    def _ready(self, progress: Progress) -> str:
        """Wait until it is registered, caught up and in every ISR, seen twice in a row."""

        def reasons() -> list[str]:
            self._check_running(self.unit.state(), was_up=True)
            problems = not_ready_reasons(self.cluster.read(), self.node)
            if not problems:
                self.sleep(POLL_SECONDS)
                problems = not_ready_reasons(self.cluster.read(), self.node)
            return problems

        return "canary" if self._wait(progress, reasons) else "ready"

    def _canary(self, progress: Progress) -> str:
        if not self.node.broker:
            return "done"
        node_id, brokers = self.node.id, sorted(self.expected.brokers | {self.node.id})

        def partition(admin: Any) -> int | None:
            return canary.led_partition(admin, node_id, brokers, self.node.replication)

        def reasons() -> list[str]:
            led = self.cluster.ask(partition)
            if led is None:
                return [f"it does not lead its partition of {canary.TOPIC} yet"]
            canary.round_trip(self.connection.at(self.node.address), led, CANARY_SECONDS)
            return []

        return "done" if self._wait(progress, reasons) else "canary"

    def _check_running(self, state: State, *, was_up: bool) -> None:
        ended = state.restarts or state.active == "failed" or state.sub.startswith("auto-restart")
        if ended or (was_up and state.stopped):
            logged = "\n  ".join(self.unit.journal())
            text = f"the process exited after it was started. Its last log lines:\n  {logged}"
            raise StartFailedError(text)

    def _wait(self, progress: Progress, reasons: Callable[[], list[str]]) -> bool:
        while True:
            try:
                progress.waiting = reasons()
            except UnavailableError as error:
                progress.waiting = [str(error)]
            if not progress.waiting:
                return True
            if progress.non_retriable or self.clock() + POLL_SECONDS > progress.deadline:
                return False
            self.sleep(POLL_SECONDS)


def abandoned() -> bool:
    """Return whether the Ansible that started this process, and reads its output, is gone."""
    poll = select.poll()
    poll.register(1, select.POLLERR)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


def not_ready_reasons(snapshot: Snapshot, node: Node) -> list[str]:
    """Return why a restarted node is not ready: registration, metadata, replicas in sync."""
    reasons: list[str] = []
    if node.broker:
        broker = next((broker for broker in snapshot.brokers if broker.id == node.id), None)
        out = [
            partition.name
            for partition in snapshot.partitions
            if node.id in partition.replicas and node.id not in partition.isr
        ]
        if out:
            reasons.append(
                f"{len(out)} partitions do not have it in sync yet: {', '.join(out[:5])}"
            )
        if broker is None or broker.fenced:
            reasons.append("it is not registered" if broker is None else "it is still fenced")
    if node.controller and snapshot.quorum:
        voters = {voter.id: voter for voter in snapshot.quorum.voters}
        voter = voters.get(node.id)
        if voter is None or snapshot.quorum.leader_id < 0:
            reasons.append("it is not a voter" if voter is None else "the quorum has no leader")
        elif node.id not in gate.caught_up(snapshot.quorum):
            reasons.append(f"it is {voter.lag} records of metadata behind")
    return reasons
