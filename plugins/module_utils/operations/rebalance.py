"""From a cluster to a plan of moves, and its waves: what `kafka_rebalance` shows and moves."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..formats import goal_options
from ..kafka import reassignments
from ..kafka.client import Cluster
from ..kafka.reassignments import LogDir, Name, Reassignment
from ..kafka.snapshot import Snapshot
from . import mover
from .mover import Move, duration, seconds_needed, size_text
from .placement import goal as goals
from .placement import plan as placement
from .placement import planner, reasons, throttle
from .placement.goal import Goal
from .placement.state import Broker, Disk, Partition, State
from .placement.waves import Limits, waves

SHOWN_MOVES = 20
Directories = Mapping[int, Sequence[LogDir]]


@dataclass(frozen=True)
class Plan:
    """What is moved, in which waves and how fast; or why it cannot be."""

    waves: tuple[tuple[Move, ...], ...] = ()
    rate: int = 0
    """Bytes/s of moves into and out of each broker."""
    problems: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    """The plan, for a reader."""
    data: Mapping[str, Any] = field(default_factory=dict)
    """The plan as plain data, for a module's result."""


def goal_of(params: Mapping[str, Any]) -> Goal:
    """Return the goal that options describe.

    `params` has goal, topics, hottest, drain and replication as the module's options.
    """
    kinds: Mapping[str, Callable[[], Goal]] = {
        goals.DRAIN: lambda: goals.drain(params["drain"]),
        goals.HOTTEST: lambda: goals.hottest(params["hottest"]),
        goals.TOPIC: lambda: goals.topic(*params["topics"]),
        goals.REPLICATION: lambda: goals.replication(
            dict.fromkeys(params["topics"], params["replication"])
        ),
        goals.RACKS: goals.racks,
        goals.SPREAD: goals.spread,
    }
    return kinds[goal_options.kind_of(params)]()


def read_directories(cluster: Cluster, snapshot: Snapshot) -> dict[int, tuple[LogDir, ...]]:
    """Return broker -> its log directories, of the brokers that serve."""
    serving = [broker.id for broker in snapshot.brokers if not broker.fenced]
    return cluster.ask(functools.partial(reassignments.log_dirs, brokers=serving))


def measure(
    cluster: Cluster,
    snapshot: Snapshot,
    before: Directories,
    seconds: float,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> dict[Name, float]:
    """Return partition -> bytes/s that producers write, by how its leader grows for some seconds.

    What is deleted meanwhile hides what is written: a negative rate counts as none.
    """
    begun = clock()
    sleep(seconds)
    after = read_directories(cluster, snapshot)
    spent = clock() - begun
    earlier, later = _replica_sizes(before), _replica_sizes(after)
    rates = {}
    for partition in snapshot.partitions:
        name = (partition.topic, partition.index)
        sizes = [sizes.get((partition.leader, name)) for sizes in (earlier, later)]
        if sizes[0] is not None and sizes[1] is not None:
            rates[name] = max(0, sizes[1] - sizes[0]) / spent
    return rates


def _replica_sizes(directories: Directories) -> dict[tuple[int, Name], int]:
    return {
        (broker, name): size
        for broker, listed in directories.items()
        for directory in listed
        for name, size in directory.sizes.items()
    }


def state_of(
    snapshot: Snapshot,
    directories: Directories,
    ongoing: Mapping[Name, Reassignment],
    rates: Mapping[Name, float],
) -> State:
    """Return the state for the planner; a reassignment that is going on counts as complete."""
    sizes = _replica_sizes(directories)
    paths: dict[Name, dict[int, str]] = {}
    for broker, listed in directories.items():
        for directory in listed:
            for name in directory.sizes:
                paths.setdefault(name, {})[broker] = directory.path
    partitions = []
    for part in snapshot.partitions:
        name = (part.topic, part.index)
        move = ongoing.get(name)
        held = [sizes[broker, name] for broker in part.replicas if (broker, name) in sizes]
        replicas = move.target if move else part.replicas
        partitions.append(
            Partition(
                topic=part.topic,
                index=part.index,
                replicas=replicas,
                leader=part.leader,
                size=sizes.get((part.leader, name), max(held, default=0)),
                rate=rates.get(name, 0.0),
                min_isr=part.min_isr,
                isr=replicas if move else part.isr,
                directories={b: p for b, p in paths.get(name, {}).items() if b in replicas},
            )
        )
    brokers = tuple(
        Broker(
            id=broker.id,
            rack=broker.rack,
            disks=tuple(_disk(directory) for directory in directories.get(broker.id, ())),
            cordoned=_is_cordoned(directories.get(broker.id, ())),
            present=not broker.fenced,
        )
        for broker in snapshot.brokers
    )
    return State(brokers, tuple(partitions))


def _disk(directory: LogDir) -> Disk:
    if directory.failed or directory.total is None or directory.usable is None:
        return Disk(directory.path, cordoned=directory.failed or directory.cordoned)
    used = directory.total - directory.usable
    return Disk(directory.path, directory.total, used, directory.cordoned)


def _is_cordoned(directories: Sequence[LogDir]) -> bool:
    return bool(directories) and all(item.cordoned or item.failed for item in directories)


def make_plan(
    state: State,
    goal: Goal,
    *,
    adopted: Sequence[Move] = (),
    rate: int | None = None,
    in_flight: int | None = None,
) -> Plan:
    """Return how a goal is reached; `adopted` are moves on their way, which are the first wave.

    `rate` is bytes/s, None to choose it by what producers write; `in_flight` bounds the bytes that
    a broker gets in a wave.
    """
    plan = planner.plan(state, goal)
    limits = Limits() if in_flight is None else replace(Limits(), in_flight=in_flight)
    schedule = waves(plan, state, limits)
    throttled = throttle.choose(schedule.waves, state, rate)
    problems = (*plan.problems, *schedule.problems, *throttled.problems)
    moves = tuple(tuple(_move(move) for move in wave) for wave in schedule.waves)
    all_waves = ((tuple(adopted),) if adopted else ()) + moves
    why = _reasons(plan, state)
    return Plan(
        waves=all_waves,
        rate=throttled.rate,
        problems=tuple(dict.fromkeys(_problem_text(problem) for problem in problems)),
        lines=tuple(_lines(plan, all_waves, adopted, throttled, why)),
        data=_data(plan, all_waves, throttled.rate, why),
    )


def _reasons(plan: placement.Plan, state: State) -> dict[str, str]:
    """Return partition -> why it moves."""
    racks = {broker.id: broker.rack for broker in state.brokers}
    return {
        move.name: reasons.explain(move, plan.goal, racks, plan.bytes_before) for move in plan.moves
    }


def _move(move: placement.Move) -> Move:
    return Move((move.topic, move.index), move.after, move.added, move.size, dict(move.directories))


def _problem_text(problem: placement.Problem) -> str:
    nearest = problem.nearest
    # No option lets a plan disregard racks: what would need that is not to be had.
    if nearest is None or not nearest.rack_aware:
        return str(problem)
    return f"{problem}. The nearest that can be reached: {goal_text(nearest)}."


def goal_text(goal: Goal) -> str:
    """Return a goal for a reader."""
    brokers = ", ".join(map(str, sorted(goal.brokers)))
    factors = ", ".join(f"{topic} {factor}" for topic, factor in sorted(goal.factors.items()))
    words = {
        goals.DRAIN: f"drain broker {brokers}",
        goals.HOTTEST: f"move the {goal.count} hottest partitions",
        goals.TOPIC: f"spread {', '.join(sorted(goal.topics))}",
        goals.REPLICATION: f"replication {factors}",
        goals.RACKS: "separate racks",
        goals.SPREAD: "spread",
    }
    return words[goal.kind]


def _lines(
    plan: placement.Plan,
    all_waves: Sequence[mover.Wave],
    adopted: Sequence[Move],
    throttled: throttle.Throttle,
    why: Mapping[str, str],
) -> Iterable[str]:
    if adopted:
        copied = sum(move.bytes for move in adopted)
        yield f"{len(adopted)} partitions are on their way already: {size_text(copied)}"
    if not plan.moves:
        yield from plan.remarks
        if not plan.problems:
            yield f"Nothing more to move: {goal_text(plan.goal)} is reached"
        return
    copied = sum(1 for move in plan.moves if move.added)
    yield (
        f"{goal_text(plan.goal)}: moves {size_text(plan.bytes)} of {copied} partitions, the least "
        f"is {size_text(plan.bound)}; {len(plan.moves) - copied} more change without a copy"
    )
    yield (
        f"{len(all_waves)} waves below {size_text(throttled.rate)}/s into and out of each broker "
        f"({throttled.reason}), about {duration(seconds_needed(all_waves, throttled.rate))}"
    )
    for broker in sorted(plan.leaders_before.keys() | plan.leaders_after.keys()):
        leaders, sizes = (
            [side.get(broker, 0) for side in sides]
            for sides in (
                (plan.leaders_before, plan.leaders_after),
                (plan.bytes_before, plan.bytes_after),
            )
        )
        yield (
            f"broker {broker}: leads {leaders[0]} -> {leaders[1]} partitions, "
            f"holds {size_text(sizes[0])} -> {size_text(sizes[1])}"
        )
    largest = sorted(plan.moves, key=lambda move: (-move.bytes, move.topic, move.index))
    for move in largest[:SHOWN_MOVES]:
        before, after = (", ".join(map(str, side)) for side in (move.before, move.after))
        yield f"{move.name}: {before} -> {after} ({size_text(move.bytes)}): {why[move.name]}"
    if len(largest) > SHOWN_MOVES:
        yield f"and {len(largest) - SHOWN_MOVES} more, which the result of the task has"
    yield from plan.remarks


def _data(
    plan: placement.Plan, all_waves: Sequence[mover.Wave], rate: int, why: Mapping[str, str]
) -> dict[str, Any]:
    def by_broker(values: Mapping[int, int]) -> dict[str, int]:
        return {str(broker): value for broker, value in sorted(values.items())}

    return {
        "goal": plan.goal.kind,
        "moves": [
            {
                "topic": move.topic,
                "partition": move.index,
                "before": list(move.before),
                "after": list(move.after),
                "bytes": move.bytes,
                "reason": why[move.name],
            }
            for move in plan.moves
        ],
        "bytes": plan.bytes,
        "least_bytes": plan.bound,
        "leaders_before": by_broker(plan.leaders_before),
        "leaders_after": by_broker(plan.leaders_after),
        "bytes_before": by_broker(plan.bytes_before),
        "bytes_after": by_broker(plan.bytes_after),
        "waves": len(all_waves),
        "rate": rate,
        "seconds": seconds_needed(all_waves, rate),
        "remarks": list(plan.remarks),
    }
