"""One node's turn in a roll: gate, stop, start, readiness, canary (operations.md, G2 to G5).

A turn is done in slices, so that whoever waits hears of it: each slice goes on from the phase that
the last one reached. Between stop and start no slice ends, unless the stop itself takes long.
"""

from __future__ import annotations

import select
import socket
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils import availability, canary
from ansible_collections.millrace.streaming.plugins.module_utils.availability import Policy
from ansible_collections.millrace.streaming.plugins.module_utils.cluster_health import (
    Expected,
    Snapshot,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka_admin import (
    Cluster,
    NotYetError,
)
from ansible_collections.millrace.streaming.plugins.module_utils.service_unit import State, Unit

PHASES = ("gate", "stop", "start", "ready", "canary", "done")
POLL_SECONDS = 0.1
CANARY_SECONDS = 10.0
CLEAN = ".kafka_cleanshutdown"
CAUGHT_UP_MS = 2000
"""Milliseconds that a restarted controller may be behind the leader (G5)."""


class AbandonedError(Exception):
    """Ansible is gone, and the node was not stopped yet."""


class RefusedError(Exception):
    """The process does not stay up; what it last said is in the text."""


@dataclass(frozen=True)
class Member:
    """The node whose turn it is. `address` is a broker's first listener, `ports` all it opens.

    `peers` are the addresses of all other nodes.
    """

    id: int
    broker: bool
    controller: bool
    address: str
    ports: tuple[int, ...]
    data_dirs: tuple[str, ...] = ()
    replication: int = 3
    peers: tuple[str, ...] = ()


@dataclass
class Turn:
    """What a turn knows; `seconds` by phase, `waiting` says why the phase is not over.

    `entered` is the phase that an earlier slice left unfinished, empty in the first one. `lasting`
    tells that no waiting will end what is waited for.
    """

    phase: str
    deadline: float
    entered: str = ""
    waiting: list[str] = field(default_factory=list)
    lasting: bool = False
    seconds: dict[str, float] = field(default_factory=dict)
    degraded: list[str] = field(default_factory=list)


class Node:
    """Takes one node through its turn, as far as a slice of time allows."""

    def __init__(
        self,
        member: Member,
        unit: Unit,
        mark: Path,
        cluster: Cluster,
        expected: Expected,
        policy: Policy,
        security: Mapping[str, Any],
    ) -> None:
        """Know the node, its service, its cluster and what is allowed."""
        self.member, self.unit, self.mark, self.cluster = member, unit, mark, cluster
        self.expected, self.policy, self.security = expected, policy, security

    def advance(self, turn: Turn, until: str = "done") -> None:
        """Go on from `turn.phase` until the phase `until` or the end of the slice.

        Raises:
            RefusedError: the process ends by itself.

        """
        steps: dict[str, Callable[[Turn], str]] = {
            "gate": self._gate,
            "stop": self._stop,
            "start": self._start,
            "ready": self._ready,
            "canary": self._canary,
        }
        while turn.phase not in (until, "done"):
            begun, phase = time.monotonic(), turn.phase
            turn.phase = steps[phase](turn)
            turn.seconds[phase] = turn.seconds.get(phase, 0.0) + time.monotonic() - begun
            if turn.phase == phase:
                return
            turn.waiting = []

    def blockers(self, snapshot: Snapshot) -> list[availability.Blocker]:
        """Return what forbids to stop this node; one that serves nobody needs only the others."""
        serving = {broker.id for broker in snapshot.brokers if not broker.fenced}
        unready = self.member.broker and self.member.id not in serving
        return availability.stop_blockers(
            snapshot,
            self.member.id,
            broker=self.member.broker,
            controller=self.member.controller,
            expected=self.expected,
            policy=self.policy,
            without=frozenset({self.member.id} if unready else ()),
        )

    def _gate(self, turn: Turn) -> str:
        """Wait until the cluster can spare the node; one that is down already is only started.

        Somebody else may have restarted it meanwhile: then nothing is left to do.
        """

        def reasons() -> list[str]:
            if not self.unit.state().running or not self.mark.exists():
                return []
            # The cluster believes in a node that just died until its session ends.
            dead = [peer for peer in self.member.peers if not listens(peer)]
            found = self.blockers(self.cluster.read(gate=True))
            turn.lasting = any(one.predicate in availability.LASTING for one in found)
            return [f"{peer} accepts no connection" for peer in dead] + list(map(str, found))

        if not self._wait(turn, reasons):
            return "gate"
        return "stop" if self.mark.exists() or not self.unit.state().running else "done"

    def _stop(self, turn: Turn) -> str:
        state = self.unit.state()
        if state.running or state.sub.startswith("auto-restart"):
            if abandoned():
                raise AbandonedError
            self.unit.stop()

        def reasons() -> list[str]:
            return [] if self.unit.state().stopped else ["it shuts down: leadership moves away"]

        if not self._wait(turn, reasons):
            return "stop"
        # A node that was down before its turn was stopped by nobody here.
        if state.running or state.stopping or turn.entered == "stop":
            turn.degraded += self._unclean(self.unit.state())
        return "start"

    def _unclean(self, state: State) -> list[str]:
        if state.result == "timeout":
            return [
                "it did not stop in time and was killed: its logs are being recovered; look at "
                "why before the next node (kafka_stop_timeout, the node's journal)"
            ]
        lacking = [path for path in self.member.data_dirs if not Path(path, CLEAN).exists()]
        if self.member.broker and lacking:
            return [f"it left no {CLEAN} in {', '.join(lacking)}: it did not stop cleanly"]
        return []

    def _start(self, turn: Turn) -> str:
        up = turn.entered == "start"
        if not up:
            self.start()

        def reasons() -> list[str]:
            nonlocal up
            state = self.unit.state()
            self._stays_up(state, was_up=up)
            up = up or state.running
            host = self.member.address.rpartition(":")[0]
            shut = [port for port in self.member.ports if not listens(f"{host}:{port}")]
            return [f"it does not listen on port {port} yet" for port in shut]

        return "ready" if self._wait(turn, reasons) else "start"

    def start(self) -> None:
        """Ask the service to start.

        Raises:
            RefusedError: systemd does not take the unit.

        """
        try:
            self.unit.start()
        except (OSError, subprocess.SubprocessError) as error:
            text = f"systemd refuses to start it: {error}"
            raise RefusedError(text) from error

    def _ready(self, turn: Turn) -> str:
        """Wait until it is registered, caught up and in every ISR, seen twice in a row."""

        def reasons() -> list[str]:
            self._stays_up(self.unit.state(), was_up=True)
            found = lacks(self.cluster.read(), self.member)
            if not found:
                time.sleep(POLL_SECONDS)
                found = lacks(self.cluster.read(), self.member)
            return found

        return "canary" if self._wait(turn, reasons) else "ready"

    def _canary(self, turn: Turn) -> str:
        if not self.member.broker:
            return "done"
        own, brokers = self.member.id, sorted(self.expected.brokers | {self.member.id})

        def partition(admin: Any) -> int | None:  # noqa: ANN401  kafka-python has no types
            canary.prepare(admin, brokers, self.member.replication)
            found = canary.partition_of(admin, own)
            return found if found is not None and canary.leads(admin, own, found) else None

        def reasons() -> list[str]:
            led = self.cluster.ask(partition)
            if led is None:
                return [f"it does not lead its partition of {canary.TOPIC} yet"]
            canary.round_trip(self.member.address, led, self.security, CANARY_SECONDS)
            return []

        return "done" if self._wait(turn, reasons) else "canary"

    def _stays_up(self, state: State, *, was_up: bool) -> None:
        ended = state.restarts or state.active == "failed" or state.sub.startswith("auto-restart")
        if ended or (was_up and state.stopped):
            said = "\n  ".join(self.unit.journal())
            text = f"it ends by itself after its start. Its last words:\n  {said}"
            raise RefusedError(text)

    def _wait(self, turn: Turn, reasons: Callable[[], list[str]]) -> bool:
        while True:
            try:
                turn.waiting = reasons()
            except NotYetError as error:
                turn.waiting = [str(error)]
            if not turn.waiting:
                return True
            if turn.lasting or time.monotonic() + POLL_SECONDS > turn.deadline:
                return False
            time.sleep(POLL_SECONDS)


def listens(address: str) -> bool:
    """Tell whether somebody accepts connections at `host:port`."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), 0.5).close()
    except OSError:
        return False
    return True


def abandoned() -> bool:
    """Tell whether nobody reads what this process will say: its Ansible is gone."""
    poll = select.poll()
    poll.register(1, select.POLLERR)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


def lacks(snapshot: Snapshot, member: Member) -> list[str]:
    """Say what a restarted node still lacks: registration, metadata, ISRs (G5)."""
    found: list[str] = []
    if member.broker:
        own = next((broker for broker in snapshot.brokers if broker.id == member.id), None)
        out = [
            partition.name
            for partition in snapshot.partitions
            if member.id in partition.replicas and member.id not in partition.isr
        ]
        if out:
            found.append(f"{len(out)} partitions do not have it in sync yet: {', '.join(out[:5])}")
        if own is None or own.fenced:
            found.append("it is not registered" if own is None else "it is fenced still")
    if member.controller and snapshot.quorum:
        voters = {voter.id: voter for voter in snapshot.quorum.voters}
        voter = voters.get(member.id)
        if voter is None or snapshot.quorum.leader_id < 0:
            found.append("it is no voter" if voter is None else "the quorum has no leader")
        elif member.id != snapshot.quorum.leader_id and (
            voter.behind_ms is None or voter.behind_ms > CAUGHT_UP_MS
        ):
            found.append(f"it is {voter.lag} records of metadata behind")
    return found
