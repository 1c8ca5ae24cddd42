"""A Kafka node whose machine or disks are new: what forbids it, what it copies again, and how far.

The new node has the node id of the former one, so Kafka itself lets it copy the replicas that it
lacks. The throttles of that copy bear the mark of a mover: whoever moves replicas next removes
them, if this run is killed. All else is read from the cluster in each step.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..kafka import reassignments
from ..kafka.reassignments import Name
from ..kafka.snapshot import Partition, Snapshot
from . import gate, mover
from .gate import Expected, Policy
from .mover import MoverError, Progress, Replicas, duration, listed, size_text
from .placement.throttle import LEAST, MARGIN

SHOWN_TOPICS = 20
Sizes = Mapping[Name, int]
# What else may be wrong with a cluster does not become worse by a node that comes back.
_OTHERS = frozenset(
    {
        "wrong-cluster",
        "no-leader",
        "no-controller",
        "no-quorum",
        "voter-missing",
        "unexpected-voter",
        "voter-behind",
        "not-registered",
        "fenced",
        "unexpected-broker",
        "unreadable",
    }
)


@dataclass(frozen=True)
class Node:
    """The node that gets another machine, or empty disks."""

    id: int
    host: str
    """In the inventory."""
    broker: bool
    controller: bool
    running: bool
    """Whether its service runs on that host."""
    empty: Sequence[str] = ()
    """Its directories that are not formatted."""

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Node:
        """Return the node that the option of the module describes."""
        return cls(
            int(data["id"]),
            str(data["host"]),
            bool(data["broker"]),
            bool(data["controller"]),
            bool(data["running"]),
            tuple(data["empty"]),
        )


@dataclass(frozen=True)
class Plan:
    """The partitions that the node copies again, and the rate."""

    missing: tuple[Name, ...] = ()
    bytes: int = 0
    """Of these partitions, as their leaders have them."""
    rate: int = 0
    problems: tuple[str, ...] = ()
    """Why it may not take its place."""
    lines: tuple[str, ...] = ()

    def as_data(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "partitions": [f"{topic}-{index}" for topic, index in self.missing],
            "bytes": self.bytes,
            "rate": self.rate,
            "seconds": self.bytes / self.rate if self.rate else 0,
        }


def held(snapshot: Snapshot, broker: int) -> list[Partition]:
    """Return the partitions that have a replica on a broker."""
    return [partition for partition in snapshot.partitions if broker in partition.replicas]


def missing(snapshot: Snapshot, broker: int) -> list[Partition]:
    """Return the partitions whose replica on a broker is not in sync."""
    return [partition for partition in held(snapshot, broker) if broker not in partition.isr]


def former_lives(snapshot: Snapshot, node: Node) -> str:
    """Return how it shows that the node runs elsewhere, empty if it does not.

    A node that has just ended still counts for the time of its session.
    """
    if node.running:
        return ""
    serves = any(item.id == node.id and not item.fenced for item in snapshot.brokers)
    if node.broker and serves:
        return f"broker {node.id} is registered and serves"
    votes = snapshot.quorum is not None and node.id in gate.caught_up(snapshot.quorum)
    return f"controller {node.id} takes part in the quorum" if node.controller and votes else ""


def problems(
    snapshot: Snapshot, node: Node, expected: Expected, moving: Sequence[Name] = ()
) -> list[str]:
    """Return everything that forbids the node to take its place; `moving` is being reassigned."""
    reasons = []
    if signs := former_lives(snapshot, node):
        reasons.append(
            f"{signs}, while Kafka does not run on {node.host}: the former machine still lives. "
            "Run systemctl disable --now kafka there, or switch it off"
        )
    if lost := _last_copies(snapshot, node):
        reasons.append(
            f"{len(lost)} partitions are offline ({listed(lost)}), and broker {node.id} was the "
            "last one in sync: their last copy is on its former disk. Bring that disk back with "
            f"its data and run site.yml --limit {node.host}. If there is none, delete these topics "
            "first, or restore them from elsewhere: no replica that lacks records is made a leader"
        )
    others = gate.cluster_blockers(
        snapshot, expected, Policy(strict=False), unready=frozenset({node.id})
    )
    reasons += [str(blocker) for blocker in others if blocker.predicate in _OTHERS]
    if (
        node.controller
        and snapshot.quorum
        and (why := gate.lacks_majority(snapshot.quorum, node.id))
    ):
        reasons.append(
            f"the quorum has no majority without controller {node.id}: {why}. Start the other "
            "controllers first; where a majority of them has lost its disks, restore one from a "
            "backup"
        )
    if moving:
        reasons.append(
            f"{len(moving)} partitions are being reassigned ({listed(moving)}): wait, or put them "
            "back with rebalance.yml -e cancel=true, and those of something else with "
            "-e foreign=cancel too"
        )
    return reasons


def _last_copies(snapshot: Snapshot, node: Node) -> list[Name]:
    """Return offline partitions of which no other broker is in sync.

    With eligible leader replicas (KIP-966) the list of those in sync may be empty: a live broker
    among the eligible ones would be the leader.
    """
    return [
        (partition.topic, partition.index)
        for partition in held(snapshot, node.id)
        if partition.offline and set(partition.isr) <= {node.id}
    ]


def make_plan(
    snapshot: Snapshot,
    node: Node,
    sizes: Mapping[int, Sizes],
    reasons: Sequence[str] = (),
    *,
    rates: Mapping[Name, float] | None = None,
    rate: int | None = None,
) -> Plan:
    """Return what the node copies again; `sizes` is by broker, `rates` what producers write.

    `reasons` forbids it already; `rate` is bytes per second, None to choose it.
    """
    behind = missing(snapshot, node.id)
    names = [(part.topic, part.index) for part in behind]
    leaders = leader_sizes(behind, sizes)
    writes = sum((rates or {}).get(name, 0.0) for name in names)
    least = math.ceil(MARGIN * writes)
    chosen = rate or max(least, LEAST)
    all_problems = list(reasons)
    if names and chosen < least:
        all_problems.append(
            f"a rate of {chosen} bytes/s is too little: producers write {writes:.0f} bytes/s to "
            f"what broker {node.id} copies. Set at least {least}, or wait for less traffic"
        )
    copied = sum(leaders.values())
    return Plan(
        tuple(names),
        copied,
        chosen,
        tuple(all_problems),
        tuple(_lines(snapshot, node, leaders, copied, chosen)),
    )


def leader_sizes(partitions: Sequence[Partition], sizes: Mapping[int, Sizes]) -> dict[Name, int]:
    """Return partition -> its bytes at its leader, 0 where that is not known."""
    return {
        (part.topic, part.index): sizes.get(part.leader, {}).get((part.topic, part.index), 0)
        for part in partitions
    }


def _lines(snapshot: Snapshot, node: Node, leaders: Sizes, copied: int, rate: int) -> Sequence[str]:
    lines = []
    if node.empty:
        lines.append(
            f"{node.host}: empty, to be formatted for node {node.id}: {', '.join(node.empty)}"
        )
    elif not node.running:
        lines.append(f"{node.host}: every directory of node {node.id} has data, which is kept")
    if node.controller and snapshot.quorum:
        voters = {voter.id for voter in snapshot.quorum.voters}
        remaining = len(gate.caught_up(snapshot.quorum) - {node.id})
        change = (
            f"its vote goes from its former disk to its new one, and {remaining} of {len(voters)} "
            "voters carry the quorum until then"
            if node.empty
            else "it keeps its vote"
        )
        lines.append(f"controller {node.id}: {change}")
    if node.broker:
        lines += _broker_lines(snapshot, node, leaders, copied, rate)
    return lines


def _broker_lines(
    snapshot: Snapshot, node: Node, leaders: Sizes, copied: int, rate: int
) -> Sequence[str]:
    count = len(held(snapshot, node.id))
    if not leaders:
        return [f"broker {node.id}: all of its {count} replicas are in sync, nothing is copied"]
    lines = [
        f"broker {node.id}: copies {len(leaders)} of its {count} replicas, at most "
        f"{size_text(copied)}, below {size_text(rate)}/s, about {duration(copied / rate)}"
    ]
    by_topic: dict[str, list[int]] = defaultdict(list)
    for (topic, _), size in leaders.items():
        by_topic[topic].append(size)
    largest = sorted(by_topic.items(), key=lambda item: (-sum(item[1]), item[0]))
    lines += [
        f"{topic}: {len(parts)} partitions, {size_text(sum(parts))}"
        for topic, parts in largest[:SHOWN_TOPICS]
    ]
    if len(largest) > SHOWN_TOPICS:
        lines.append(f"and {len(largest) - SHOWN_TOPICS} topics more")
    other = [
        (part.topic, part.index)
        for part in snapshot.partitions
        if set(part.replicas) - set(part.isr) - {node.id}
    ]
    if other:
        lines.append(f"under-replicated for another reason: {listed(other)}")
    return lines


def throttle(replicas: Replicas, snapshot: Snapshot, broker: int, rate: int) -> str:
    """Throttle what a broker copies, and nothing else; return why Kafka refuses.

    The brokers that send it are throttled too, each to the same rate (KIP-73). Replicas in sync
    are never throttled.
    """
    behind = missing(snapshot, broker)
    if not behind:
        return ""
    names = [(part.topic, part.index) for part in behind]
    senders = {
        name: [item for item in part.replicas if item != broker]
        for name, part in zip(names, behind)
    }
    values = reassignments.throttled_replicas(senders, dict.fromkeys(names, (broker,)))
    reason = replicas.throttle_rate(rate) or mover.remove_other_rates(replicas)
    refused = {"": reason} if reason else replicas.throttle_topics(values)
    return "; ".join(f"{topic}: {text}".lstrip(": ") for topic, text in refused.items())


def release(replicas: Replicas, snapshot: Snapshot) -> list[str]:
    """Remove the throttles; return what could not be removed."""
    topics = {partition.topic for partition in snapshot.partitions}
    return mover.remove_throttles(replicas, replicas.throttles(topics, ()))


@dataclass
class Refill(mover.Follower):
    """Follows how a broker copies what it lacks, and removes the throttles at the end."""

    replicas: Replicas
    broker: int
    rate: int
    stall_seconds: float = mover.STALL_SECONDS
    carried: dict[str, Any] = field(default_factory=dict)
    """What the next slice has to know: times, in seconds since the epoch."""
    report: Callable[[Progress], None] = lambda _: None
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.time
    _leaders: dict[int, dict[Name, int]] | None = field(default=None, init=False)
    """Broker -> partition -> bytes, once for a slice."""

    def step(self) -> Progress:
        """Look at the cluster once.

        Raises:
            MoverError: there is no progress; no throttle is left.

        """
        snapshot = self.replicas.snapshot()
        behind = missing(snapshot, self.broker)
        progress = self._progress(snapshot, behind)
        serves = any(item.id == self.broker and not item.fenced for item in snapshot.brokers)
        if not serves:
            progress.waiting = [f"broker {self.broker} does not serve yet"]
        elif not behind:
            return self._end(snapshot, progress)
        self._check_stall(progress)
        return progress

    def _progress(self, snapshot: Snapshot, behind: Sequence[Partition]) -> Progress:
        if self._leaders is None:
            senders = {item.id for item in snapshot.brokers if not item.fenced} - {self.broker}
            self._leaders = self.replicas.sizes(senders)
        parts = held(snapshot, self.broker)
        total = sum(leader_sizes(parts, self._leaders).values())
        copied = self.replicas.sizes([self.broker] if behind else []).get(self.broker, {})
        bytes_left = sum(
            max(0, size - copied.get(name, 0))
            for name, size in leader_sizes(behind, self._leaders).items()
        )
        progress = Progress(
            wave=1,
            waves=1,
            partitions_done=len(parts) - len(behind),
            partitions=len(parts),
            bytes_done=total - bytes_left,
            bytes=total,
        )
        progress.seconds_left = self._seconds_left(progress)
        return progress

    def _seconds_left(self, progress: Progress) -> float:
        """Return the time that the rest takes as fast as so far, or else as fast as throttled."""
        now, bytes_left = self.clock(), progress.bytes - progress.bytes_done
        first = self.carried.setdefault("first", [now, progress.bytes_done])
        copied, seconds = progress.bytes_done - first[1], now - first[0]
        if copied > 0 and seconds > 5:
            return float(bytes_left * seconds / copied)
        return bytes_left / self.rate

    def _check_stall(self, progress: Progress) -> None:
        state = [progress.partitions_done, progress.bytes_done]
        now = self.clock()
        last = self.carried.setdefault("stall", [state, now])
        # Those that fall out of sync again do not hide what is copied of others.
        if any(value > best for value, best in zip(state, last[0])):
            self.carried["stall"] = [list(map(max, state, last[0])), now]
        elif now - last[1] > self.stall_seconds:
            stays = "; ".join(release(self.replicas, self.replicas.snapshot()))
            text = (
                f"broker {self.broker} made no progress for {duration(self.stall_seconds)}: "
                f"{line(progress)}. See its journal, and those of the brokers that lead. Or the "
                f"rate of {size_text(self.rate)}/s is below what producers write: run again with a "
                f"higher one\n{stays or 'No throttle is left'}. Run again to go on."
            )
            raise MoverError(text)

    def _end(self, snapshot: Snapshot, progress: Progress) -> Progress:
        """Let preferred replicas lead, and remove the throttles."""
        names = {(part.topic, part.index) for part in held(snapshot, self.broker)}
        # The throttles mark what is to be led by others, until it is.
        progress.notes = mover.elect_preferred(
            self.replicas, names, sleep=self.sleep, clock=self.clock
        )
        progress.notes += release(self.replicas, self.replicas.snapshot())
        progress.done = True
        return progress


def line(progress: Progress) -> str:
    """Return the progress as one line to show."""
    done = f"{progress.partitions_done} of {progress.partitions} replicas are in sync"
    if progress.done:
        return f"{done}, {size_text(progress.bytes)}"
    time_left = (
        "" if progress.seconds_left is None else f", about {duration(progress.seconds_left)} left"
    )
    text = f"{done}, {size_text(progress.bytes_done)} of {size_text(progress.bytes)}{time_left}"
    return f"{text}; waiting: {'; '.join(progress.waiting)}" if progress.waiting else text
