"""Moving replicas in waves below a throttle, on and on from what the cluster itself shows.

A mover keeps no state of its own: which moves are done, which are on their way and which throttles
are set is read from the cluster in each step. So it may be called slice by slice, killed, and
called again from another host, and goes on where the cluster is.

A wave begins only where the cluster is healthy without it. Kafka adds replicas before it removes
others (KIP-455), so a move takes no partition below min.insync.replicas by itself. Where a wave
fails, it is cancelled and the throttles are removed; where the mover is killed, both stay, and the
next run goes on or cancels.
"""

from __future__ import annotations

import functools
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..kafka import log_dirs, reassignments
from ..kafka.client import Cluster, UnavailableError
from ..kafka.reassignments import MARK, Name, Reassignment, Throttles
from ..kafka.snapshot import Partition, Snapshot
from . import health
from .gate import SHOWN, Expected

POLL_SECONDS = 1.0
GATE_SECONDS = 600.0
STALL_SECONDS = 600.0
"""How long a wave may make no progress: neither a byte nor a partition."""
ELECTION_SECONDS = 30.0
"""How long preferred replicas may take to lead; one that does not is reported."""
CANCEL_SECONDS = 60.0
_MEGA = 1_000_000


class MoverError(Exception):
    """The moves cannot go on; the text says why, and what was done about them."""


@dataclass(frozen=True)
class Move:
    """A partition that gets other replicas, or another order of them."""

    name: Name
    replicas: tuple[int, ...]
    """Afterwards, in their order of preference."""
    adding: tuple[int, ...] = ()
    """Brokers that get a replica."""
    size: int = 0
    """Bytes of one replica."""
    directories: Mapping[int, str] = field(default_factory=dict)
    """Broker -> path of the disk that its new replica gets; by default the broker chooses."""

    @property
    def bytes(self) -> int:
        """Return the bytes that are copied."""
        return self.size * len(self.adding)

    def as_data(self) -> dict[str, Any]:
        """Return it as plain data."""
        topic, index = self.name
        return {
            "topic": topic,
            "partition": index,
            "replicas": list(self.replicas),
            "adding": list(self.adding),
            "size": self.size,
            "directories": {str(broker): path for broker, path in self.directories.items()},
        }

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Move:
        """Return the move that `as_data` describes."""
        return cls(
            (str(data["topic"]), int(data["partition"])),
            tuple(data["replicas"]),
            tuple(data["adding"]),
            int(data["size"]),
            {int(broker): str(path) for broker, path in data["directories"].items()},
        )


Wave = Sequence[Move]


@dataclass
class Progress:
    """How far the moves are."""

    wave: int = 0
    """The number of the current wave, from 1; 0 before the first and after the last one."""
    waves: int = 0
    partitions_done: int = 0
    partitions: int = 0
    bytes_done: int = 0
    bytes: int = 0
    seconds_left: float | None = None
    """None where nothing shows it yet."""
    waiting: list[str] = field(default_factory=list)
    """Why the next wave may not begin yet."""
    done: bool = False
    notes: list[str] = field(default_factory=list)
    """What an operator should know though the moves are done."""

    def line(self) -> str:
        """Return it as one line to show."""
        if self.done:
            return f"moved {self.partitions} partitions, {size_text(self.bytes)}"
        left = "" if self.seconds_left is None else f", about {duration(self.seconds_left)} left"
        text = (
            f"wave {self.wave} of {self.waves}: {self.partitions_done} of {self.partitions} "
            f"partitions, {size_text(self.bytes_done)} of {size_text(self.bytes)}{left}"
        )
        return f"{text}; waiting: {'; '.join(self.waiting)}" if self.waiting else text


def size_text(number: float) -> str:
    """Return a number of bytes for a reader."""
    for limit, unit in ((10**12, "TB"), (10**9, "GB"), (_MEGA, "MB")):
        if number >= limit:
            return f"{number / limit:.1f} {unit}"
    return f"{number / 1000:.0f} kB"


def duration(seconds: float) -> str:
    """Return a time for a reader."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def seconds_needed(waves: Iterable[Wave], rate: int) -> float:
    """Return how long waves take below a throttle: each as long as the broker that gets the most."""
    return sum(max(_incoming(wave).values(), default=0) / rate for wave in waves)


def _incoming(moves: Iterable[Move]) -> dict[int, int]:
    """Return broker -> bytes that moves bring it."""
    total: dict[int, int] = defaultdict(int)
    for move in moves:
        for broker in move.adding:
            total[broker] += move.size
    return total


def listed(names: Collection[Name]) -> str:
    """Return a few partitions as Kafka's tools write them."""
    few = ", ".join(f"{topic}-{index}" for topic, index in sorted(names)[:SHOWN])
    return few + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")


class Replicas:
    """The replicas of a cluster: what they are, and the changes of them that a mover makes."""

    def __init__(self, cluster: Cluster) -> None:
        """Keep the cluster."""
        self._cluster = cluster

    def snapshot(self) -> Snapshot:
        """Return the cluster as it is now."""
        return self._cluster.read()

    def failed(self, snapshot: Snapshot) -> dict[int, list[str]]:
        """Return broker -> directories out of use, of brokers whose replicas show that."""
        brokers = snapshot.with_failed_directory
        return self._cluster.ask(lambda admin: log_dirs.failed(admin, brokers)) if brokers else {}

    def ongoing(self) -> dict[Name, Reassignment]:
        """Return the partitions that are being reassigned."""
        return self._cluster.ask(reassignments.ongoing)

    def sizes(self, brokers: Iterable[int]) -> dict[int, dict[Name, int]]:
        """Return broker -> partition -> bytes of its replica there; only of those that answer."""
        sizes: dict[int, dict[Name, int]] = {}
        for broker in sorted(brokers):
            ask = functools.partial(reassignments.log_dirs, brokers=[broker])
            try:
                directories = self._cluster.ask(ask)[broker]
            except UnavailableError:
                continue
            sizes[broker] = {}
            for directory in directories:
                sizes[broker].update(directory.sizes)
        return sizes

    def alter(self, targets: Mapping[Name, Sequence[int] | None]) -> dict[Name, str]:
        """Start reassignments, or cancel those of None; return partition -> why it is refused."""
        return self._cluster.ask(lambda admin: reassignments.alter(admin, targets))

    def choose_disks(self, broker: int, paths: Mapping[Name, str]) -> dict[Name, str]:
        """Choose the disks of replicas that a broker will get; return refusals."""
        return self._cluster.ask(
            lambda admin: reassignments.move_between_disks(admin, broker, paths)
        )

    def throttles(self, topics: Iterable[str], brokers: Iterable[int]) -> Throttles:
        """Return what throttles replication now."""
        selection = sorted(topics), sorted(brokers)
        return self._cluster.ask(lambda admin: reassignments.throttles(admin, *selection))

    def throttle_topics(self, values: Mapping[str, Mapping[str, str] | None]) -> dict[str, str]:
        """Set the throttled replicas of topics, of None remove them; return refusals."""
        if not values:
            return {}
        return self._cluster.ask(lambda admin: reassignments.throttle_topics(admin, values))

    def throttle_rate(self, rate: int | None) -> str:
        """Set the rate of throttled replication of all brokers, None to remove it."""
        return self._cluster.ask(lambda admin: reassignments.throttle_rate(admin, rate))

    def remove_rates(self, broker: int) -> str:
        """Remove the rates that one broker has for itself."""
        return self._cluster.ask(lambda admin: reassignments.remove_rates(admin, broker))

    def elect(self, names: Iterable[Name]) -> dict[Name, str]:
        """Let preferred replicas lead; return partition -> why one does not."""
        partitions = sorted(names)
        return self._cluster.ask(lambda admin: reassignments.elect_preferred(admin, partitions))


@dataclass(frozen=True)
class Situation:
    """Reassignments of a cluster by whose they are, and what throttles them."""

    own: Mapping[Name, Reassignment]
    """Those that Millrace has started, as their topics' throttles say."""
    foreign: Mapping[Name, Reassignment]
    throttles: Throttles

    @property
    def all(self) -> dict[Name, Reassignment]:
        """Return all of them."""
        return {**self.own, **self.foreign}


def situation(replicas: Replicas, snapshot: Snapshot) -> Situation:
    """Return the reassignments that are going on, and all throttles."""
    ongoing = replicas.ongoing()
    topics = {partition.topic for partition in snapshot.partitions}
    serving = [broker.id for broker in snapshot.brokers if not broker.fenced]
    throttles = replicas.throttles(topics, serving)
    own = {name: move for name, move in ongoing.items() if throttles.marks(name, move)}
    foreign = {name: move for name, move in ongoing.items() if name not in own}
    return Situation(own, foreign, throttles)


def adopted(ongoing: Mapping[Name, Reassignment], sizes: Mapping[Name, int]) -> list[Move]:
    """Return reassignments that are going on as the moves of a wave."""
    return [
        Move(name, reassignment.target, reassignment.adding, sizes.get(name, 0))
        for name, reassignment in sorted(ongoing.items())
    ]


def health_problems(
    snapshot: Snapshot,
    expected: Expected,
    ongoing: Mapping[Name, Reassignment],
    failed: Mapping[int, Sequence[str]] | None = None,
    leaving: Collection[int] = (),
) -> list[str]:
    """Return what is wrong with a cluster besides its moves.

    A replica that is being added is not in sync yet, and a broker that leaves may be gone already:
    neither counts as missing.
    """

    def without(partition: Partition) -> Partition:
        move = ongoing.get((partition.topic, partition.index))
        ignored = {*leaving, *(move.adding if move else ())} - set(partition.isr)
        remaining = tuple(broker for broker in partition.replicas if broker not in ignored)
        return replace(partition, replicas=remaining)

    present = frozenset(broker.id for broker in snapshot.brokers if not broker.fenced)
    gone = frozenset(leaving) - present
    brokers = (expected.brokers - gone) | (frozenset(leaving) & present)
    registered = tuple(broker for broker in snapshot.brokers if broker.id not in gone)
    stripped = replace(
        snapshot, brokers=registered, partitions=tuple(map(without, snapshot.partitions))
    )
    if not expected.brokers:
        brokers = expected.brokers
    return health.problems(stripped, replace(expected, brokers=brokers), failed)


def marked_topics(throttles: Throttles) -> list[str]:
    """Return the topics whose throttles a mover has set."""
    return [
        topic
        for topic, keys in throttles.topics.items()
        if any(MARK in text.split(",") for text in keys.values())
    ]


def remove_other_rates(replicas: Replicas) -> str:
    """Remove rates that brokers have for themselves, which would override that of the moves.

    Kafka's own tool sets these and leaves them (KIP-73). Returns why one cannot be removed.
    """
    serving = [item.id for item in replicas.snapshot().brokers if not item.fenced]
    rates = replicas.throttles([], serving).rates
    return "; ".join(filter(None, map(replicas.remove_rates, sorted(rates))))


def remove_throttles(replicas: Replicas, throttles: Throttles) -> list[str]:
    """Remove the throttles that a mover has set; return what could not be removed."""
    refused = replicas.throttle_topics(dict.fromkeys(marked_topics(throttles)))
    problems = [f"topic {topic}: {reason}" for topic, reason in refused.items()]
    if throttles.rate and (reason := replicas.throttle_rate(None)):
        problems.append(f"the brokers' rate: {reason}")
    return [f"a throttle of replication stays: {problem}" for problem in problems]


def cancel(
    replicas: Replicas,
    names: Collection[Name],
    *,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> dict[Name, str]:
    """Cancel reassignments, and wait until none is left of them; return those that stay, and why.

    The partitions have their former replicas again, in the order that Kafka gives them.
    """
    refused = replicas.alter(dict.fromkeys(names)) if names else {}
    deadline = clock() + CANCEL_SECONDS
    while remaining := (set(names) - set(refused)) & set(replicas.ongoing()):
        if clock() > deadline:
            late = f"it is still being reassigned after {CANCEL_SECONDS:.0f} s"
            return {**refused, **dict.fromkeys(remaining, late)}
        sleep(POLL_SECONDS)
    return refused


class Follower:
    """Follows a copy of replicas step by step."""

    report: Callable[[Progress], None]
    sleep: Callable[[float], None]
    clock: Callable[[], float]

    def run(self, until: float | None = None) -> Progress:
        """Go on until all is copied, or until a time of the clock; return how far it is.

        Raises:
            MoverError: it cannot go on; no throttle is left.
            UnavailableError: no broker answers; what is on its way goes on, and is throttled.

        """
        while True:
            begun = self.clock()
            progress = self.step()
            self.report(progress)
            # A large cluster takes long to read: it is not read all the time.
            pause = max(POLL_SECONDS, self.clock() - begun)
            if progress.done or (until is not None and self.clock() + pause > until):
                return progress
            self.sleep(pause)

    def step(self) -> Progress:
        """Look at the cluster once, and do what is next."""
        raise NotImplementedError


@dataclass
class Mover(Follower):
    """Takes a cluster through waves of moves."""

    replicas: Replicas
    waves: Sequence[Wave]
    rate: int
    """Bytes/s of moves into and out of each broker."""
    expected: Expected = field(default_factory=Expected)
    leaving: frozenset[int] = frozenset()
    """Brokers that the moves drain."""
    gate_seconds: float = GATE_SECONDS
    stall_seconds: float = STALL_SECONDS
    carried: dict[str, Any] = field(default_factory=dict)
    """What the next slice of the same moves has to know: times, in seconds since the epoch."""
    report: Callable[[Progress], None] = lambda _: None
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.time
    _throttled: int | None = field(default=None, init=False)
    """The wave whose throttles this mover has set."""

    def step(self) -> Progress:
        """Look at the cluster once, and do what is next.

        Raises:
            MoverError: the moves cannot go on; the current wave is cancelled.

        """
        # In this order: what has ended between the two is not taken for a replica out of sync.
        ongoing = self.replicas.ongoing()
        snapshot = self.replicas.snapshot()
        placed = {(part.topic, part.index): part for part in snapshot.partitions}
        open_moves = [
            [move for move in wave if not _is_done(move, placed, ongoing)] for wave in self.waves
        ]
        number = next((i for i, moves in enumerate(open_moves) if moves), None)
        if number is None:
            return self._end(placed)
        moves = open_moves[number]
        pending = [move for move in moves if _target(ongoing.get(move.name)) != move.replicas]
        progress = self._progress(number, open_moves)
        if pending:
            failed = self.replicas.failed(snapshot)
            problems = health_problems(snapshot, self.expected, ongoing, failed, self.leaving)
            if problems:
                return self._wait(progress, problems)
        self.carried.pop("gate", None)
        if self._throttled != number:
            self._throttle(number, moves, placed)
        if pending:
            self._start(pending)
            self.carried.pop("stall", None)
        self._check_stall(progress)
        return progress

    def _wait(self, progress: Progress, problems: list[str]) -> Progress:
        """Let a wave wait until the cluster is healthy."""
        since = self.carried.setdefault("gate", self.clock())
        if self.clock() - since > self.gate_seconds:
            lines = "\n- ".join(problems)
            text = f"the cluster was not healthy for {duration(self.gate_seconds)}:\n- {lines}"
            raise self.give_up(text)
        # What is on its way may itself be what the cluster waits for.
        self.carried.pop("stall", None)
        progress.waiting = problems
        return progress

    def _throttle(
        self, number: int, moves: Sequence[Move], placed: Mapping[Name, Partition]
    ) -> None:
        """Throttle a wave, and nothing of the one before it; the throttles mark it as a mover's."""
        values: dict[str, Mapping[str, str] | None] = {}
        if number:
            values.update(dict.fromkeys(move.name[0] for move in self.waves[number - 1]))
        leaders = {
            move.name: [b for b in placed[move.name].replicas if b not in move.adding]
            for move in moves
        }
        adding = {move.name: move.adding for move in moves}
        values.update(reassignments.throttled_replicas(leaders, adding))
        reason = self.replicas.throttle_rate(self.rate) or self._end_other_rates()
        refused = {"": reason} if reason else self.replicas.throttle_topics(values)
        if refused:
            lines = "; ".join(f"{topic}: {text}".lstrip(": ") for topic, text in refused.items())
            text = f"Kafka refuses to throttle replication: {lines}"
            raise self.give_up(text)
        self._throttled = number

    def _end_other_rates(self) -> str:
        return remove_other_rates(self.replicas) if self._throttled is None else ""

    def _start(self, pending: Sequence[Move]) -> None:
        self._choose_disks(pending)
        refused = self.replicas.alter({move.name: move.replicas for move in pending})
        # One of a topic that was deleted meanwhile is done with the next look.
        if refused:
            present = {
                (part.topic, part.index) for part in self.replicas.snapshot().partitions
            } & refused.keys()
            if present:
                lines = "; ".join(f"{listed([name])}: {refused[name]}" for name in sorted(present))
                text = f"Kafka refuses to reassign {lines}"
                raise self.give_up(text)

    def _choose_disks(self, pending: Sequence[Move]) -> None:
        paths: dict[int, dict[Name, str]] = defaultdict(dict)
        for move in pending:
            for broker, path in move.directories.items():
                paths[broker][move.name] = path
        for broker, chosen in sorted(paths.items()):
            if refused := self.replicas.choose_disks(broker, chosen):
                lines = "; ".join(f"{listed([name])}: {refused[name]}" for name in sorted(refused))
                text = f"broker {broker} refuses the disk of {lines}"
                raise self.give_up(text)

    def _progress(self, number: int, open_moves: Sequence[Sequence[Move]]) -> Progress:
        moves = [move for wave in self.waves for move in wave]
        unfinished = [move for wave in open_moves for move in wave]
        current = {broker for move in open_moves[number] for broker in move.adding}
        sizes = self.replicas.sizes(current)
        copied = sum(
            min(move.size, sizes.get(broker, {}).get(move.name, 0))
            for move in open_moves[number]
            for broker in move.adding
        )
        total = sum(move.bytes for move in moves)
        left = sum(move.bytes for move in unfinished) - copied
        progress = Progress(
            wave=number + 1,
            waves=len(self.waves),
            partitions_done=len(moves) - len(unfinished),
            partitions=len(moves),
            bytes_done=total - left,
            bytes=total,
        )
        progress.seconds_left = self._seconds_left(progress, open_moves)
        return progress

    def _seconds_left(self, progress: Progress, open_moves: Sequence[Wave]) -> float | None:
        """Return the time that the rest takes as fast as so far, or else as fast as throttled."""
        now, left = self.clock(), progress.bytes - progress.bytes_done
        first = self.carried.setdefault("first", [now, progress.bytes_done])
        copied, seconds = progress.bytes_done - first[1], now - first[0]
        if copied > 0 and seconds > 5:
            return float(left * seconds / copied)
        return seconds_needed(open_moves, self.rate)

    def _check_stall(self, progress: Progress) -> None:
        state = [progress.wave, progress.partitions_done, progress.bytes_done]
        now = self.clock()
        last = self.carried.setdefault("stall", [state, now])
        if state > last[0]:
            self.carried["stall"] = [state, now]
        elif now - last[1] > self.stall_seconds:
            text = (
                f"wave {progress.wave} of {progress.waves} made no progress for "
                f"{duration(self.stall_seconds)}. A broker that sends or gets replicas may be down: "
                f"see the brokers' journals. Or the rate of {size_text(self.rate)}/s is below what "
                "producers write to these partitions: run again with a higher one"
            )
            raise self.give_up(text)

    def give_up(self, why: str) -> MoverError:
        """Cancel what is on its way of these moves, remove the throttles; return the error."""
        names = {move.name for wave in self.waves for move in wave} & set(self.replicas.ongoing())
        refused = cancel(self.replicas, names, sleep=self.sleep)
        stays = (
            self._remove_throttles()
            if not refused
            else [
                f"{listed([name])} is still being reassigned: {text}"
                for name, text in refused.items()
            ]
        )
        kept = f" {len(names)} partitions of this wave were put back." if names else ""
        now = "; ".join(stays) or "No throttle is left"
        return MoverError(f"{why}\n{now}.{kept} Moves that were complete stay; run again to go on.")

    def _remove_throttles(self) -> list[str]:
        snapshot = self.replicas.snapshot()
        return remove_throttles(self.replicas, situation(self.replicas, snapshot).throttles)

    def _end(self, placed: Mapping[Name, Partition]) -> Progress:
        """Let preferred replicas lead, and remove the throttles."""
        moves = [move for wave in self.waves for move in wave]
        progress = Progress(
            waves=len(self.waves),
            partitions_done=len(moves),
            partitions=len(moves),
            bytes_done=sum(move.bytes for move in moves),
            bytes=sum(move.bytes for move in moves),
            seconds_left=0,
            done=True,
        )
        names = {move.name for move in moves if move.name in placed}
        # The throttles mark what is to be led by others, until it is.
        progress.notes = elect_preferred(self.replicas, names, sleep=self.sleep, clock=self.clock)
        progress.notes += self._remove_throttles()
        return progress


def elect_preferred(
    replicas: Replicas,
    names: Collection[Name],
    *,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> list[str]:
    """Let the preferred replicas of partitions lead; return which do not, for an operator."""
    deadline = clock() + ELECTION_SECONDS
    while True:
        displaced = {
            (partition.topic, partition.index)
            for partition in replicas.snapshot().partitions
            if (partition.topic, partition.index) in names
            and partition.leader != partition.replicas[0]
        }
        if not displaced:
            return []
        if clock() > deadline:
            return [f"the preferred replica does not lead {listed(displaced)}"]
        replicas.elect(displaced)
        sleep(POLL_SECONDS)


def clean_up(
    replicas: Replicas,
    snapshot: Snapshot,
    throttles: Throttles,
    *,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> tuple[bool, list[str]]:
    """Do what an earlier run has left that was killed, where Kafka has ended its moves.

    Returns whether something was left, and what an operator should know.
    """
    topics = set(marked_topics(throttles))
    if not topics and not throttles.rate:
        return False, []
    names = {(part.topic, part.index) for part in snapshot.partitions if part.topic in topics}
    notes = elect_preferred(replicas, names, sleep=sleep, clock=clock)
    return True, notes + remove_throttles(replicas, throttles)


def _target(reassignment: Reassignment | None) -> tuple[int, ...] | None:
    return None if reassignment is None else reassignment.target


def _is_done(
    move: Move, placed: Mapping[Name, Partition], ongoing: Mapping[Name, Reassignment]
) -> bool:
    """Return whether a partition has its new replicas; one of a deleted topic needs none."""
    if move.name not in placed:
        return True
    return move.name not in ongoing and placed[move.name].replicas == move.replicas
