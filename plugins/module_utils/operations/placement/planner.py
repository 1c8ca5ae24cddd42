"""From a state and a goal to moves: the fewest bytes that reach it, and the least that is possible.

Pure: no input or output, no clock, no chance. What holds for every plan:

* A partition's replicas are on different brokers, as many as before (as the goal says, for
  replication).
* No new replica is on a broker that is cordoned, absent or to be drained, nor on a cordoned disk.
* No disk takes a new replica that brings it above the goal's share.
* Replicas of a partition are in as many racks as before or more, in different ones where a new one
  is placed and a rack is without (KIP-36).
* Replicas that stay keep their order, but for one that comes first to spread leaders.
* The result does not depend on the order of the input.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from . import balance, heat
from .checks import find_problems
from .goal import DRAIN, HOTTEST, RACKS, REPLICATION, SPREAD, TOPIC, Goal
from .layout import Layout
from .leaders import leader_of, spread_leaders
from .plan import Move, Plan, Problem
from .state import State


@dataclass
class _Result:
    """What a step of planning gives."""

    bound: float = 0.0
    full: list[int] = field(default_factory=list)
    """Partitions that no disk has room for."""
    stuck: list[int] = field(default_factory=list)
    """Partitions that no broker may take."""
    remarks: list[str] = field(default_factory=list)


def plan(state: State, goal: Goal) -> Plan:
    """Return how a goal is reached, or why it cannot be reached.

    The lower bound (`Plan.bound`) counts bytes that any plan must copy:

    * drain: each replica on a drained broker has to be copied once, if its partition keeps the
      number of its replicas. The plan copies nothing else, so both are equal.
    * replication: what a partition lacks has to be copied; the plan copies nothing else.
    * racks: a partition with more replicas in a rack than fit has to copy each of those; the plan
      copies nothing else.
    * spread, topic: see `balance.level`; partitions that are spread by bytes and those that are
      spread by number are different ones, so their bounds add up. Repairs of racks may serve both,
      so the larger one counts.
    * hottest: see `heat.cool`.
    """
    problems = find_problems(state, goal)
    if problems:
        return Plan(goal, problems=tuple(problems))
    layout = Layout(state, goal)
    before = _leader_counts(layout)
    bytes_before = _by_id(layout, layout.load)
    result = _STEPS[goal.kind](layout, goal)
    problems = _placement_problems(state, goal, layout, result)
    if problems:
        return Plan(goal, problems=tuple(problems))
    _order(layout, goal)
    return Plan(
        goal,
        moves=tuple(_moves(layout)),
        bound=math.floor(result.bound),
        leaders_before=before,
        leaders_after=_by_id(layout, _leader_numbers(layout)),
        bytes_before=bytes_before,
        bytes_after=_by_id(layout, layout.load),
        remarks=tuple(result.remarks),
    )


def _drain(layout: Layout, _: Goal) -> _Result:
    result = _Result()
    affected = [
        number
        for number, replicas in enumerate(layout.replicas)
        if not layout.leaving.isdisjoint(replicas)
    ]
    # Large ones first: small ones then fill what is uneven.
    for partition in _largest_first(layout, affected):
        for broker in [b for b in layout.replicas[partition] if b in layout.leaving]:
            position = layout.remove(partition, broker)
            result.bound += layout.size[partition]
            _place(layout, partition, position, result)
    return result


def _replicate(layout: Layout, goal: Goal) -> _Result:
    result = _Result()
    factors = {
        number: goal.factors[partition.topic]
        for number, partition in enumerate(layout.partitions)
        if partition.topic in goal.factors
    }
    for partition in _largest_first(layout, factors):
        while len(layout.replicas[partition]) > factors[partition]:
            layout.remove(partition, _least_useful(layout, partition))
        while len(layout.replicas[partition]) < factors[partition]:
            result.bound += layout.size[partition]
            if not _place(layout, partition, len(layout.replicas[partition]), result):
                break
    return result


def _place(layout: Layout, partition: int, position: int, result: _Result) -> bool:
    receiver, reason = layout.choose_receiver(partition)
    if receiver is None:
        (result.full if reason == "disk" else result.stuck).append(partition)
        return False
    layout.add(partition, receiver, position)
    return True


def _least_useful(layout: Layout, partition: int) -> int:
    """Return the replica that a partition can spare best.

    One that is not in sync, else one that shares its rack with most others, else that on the
    broker with the most bytes; the preferred leader last.
    """
    in_sync, racks = layout.in_sync(partition), layout.racks_of(partition)
    replicas = layout.replicas[partition]
    return max(
        replicas,
        key=lambda broker: (
            broker not in in_sync or not layout.leads[broker],
            racks[layout.rack[broker]],
            broker != replicas[0],
            layout.load[broker],
            broker,
        ),
    )


def _separate(layout: Layout, _: Goal) -> _Result:
    """Move replicas to racks that have fewer of their partition, until this gains nothing."""
    result = _Result()
    everything = range(len(layout.partitions)) if len(set(layout.rack)) > 1 else ()
    for partition in _largest_first(layout, everything):
        while True:
            surplus = _surplus_replica(layout, partition)
            if surplus is None:
                break
            position = layout.remove(partition, surplus)
            result.bound += layout.size[partition]
            if not _place(layout, partition, position, result):
                break
    return result


def _surplus_replica(layout: Layout, partition: int) -> int | None:
    """Return a replica of a rack that has at least two more than another one with a free broker."""
    replicas = layout.replicas[partition]
    racks = layout.racks_of(partition)
    fullest, most = max(racks.items(), key=lambda item: (item[1], -item[0]))
    if most < 2:
        return None
    free = {layout.rack[broker] for broker in layout.receivers if broker not in replicas}
    if not free or min(racks[rack] for rack in free) > most - 2:
        return None
    in_sync = layout.in_sync(partition)
    members = [broker for broker in replicas if layout.rack[broker] == fullest]
    return max(
        members,
        key=lambda broker: (
            broker not in in_sync,
            broker != replicas[0],
            layout.load[broker],
            broker,
        ),
    )


def _spread(layout: Layout, goal: Goal) -> _Result:
    everything = range(len(layout.partitions))
    scope = [
        number
        for number in everything
        if goal.kind == SPREAD or layout.partitions[number].topic in goal.topics
    ]
    large = {number: layout.size[number] for number in scope if not layout.is_small(number)}
    small = {number: 1 for number in scope if layout.is_small(number)}
    starts = [balance.loads(layout, weights) for weights in (large, small)]
    result = _separate(layout, goal) if goal.kind == SPREAD else _Result()
    if result.full or result.stuck:
        return result
    outcomes = [
        balance.level(layout, weights, start) for weights, start in zip((large, small), starts)
    ]
    by_bytes, by_number = outcomes
    sizes = sorted(layout.size[number] for number in small for _ in layout.replicas[number])
    least = by_bytes.bound + sum(sizes[: math.floor(by_number.bound)])
    result.bound = max(result.bound, least)
    result.remarks += _spread_remarks(layout, outcomes)
    return result


def _spread_remarks(layout: Layout, outcomes: Sequence[balance.Outcome]) -> Iterable[str]:
    uneven = sorted({broker for outcome in outcomes for broker in outcome.uneven})
    if uneven:
        yield (
            "these brokers stay farther from their share than one partition, since no replica may"
            f" move that would bring them nearer: {_ids(layout, uneven)}"
        )
    absent = [number for number, broker in enumerate(layout.brokers) if not broker.present]
    absent = [number for number in absent if layout.count[number]]
    if absent:
        yield (
            f"replicas on brokers that are not there stay: {_ids(layout, absent)}; drain the"
            " brokers to place these replicas elsewhere"
        )
    if any(not layout.movable(number) for number in range(len(layout.partitions))):
        yield "partitions whose replicas are not all in sync stay where they are"


def _cool(layout: Layout, goal: Goal) -> _Result:
    outcome = heat.cool(layout, goal.count)
    result = _Result(bound=outcome.bound)
    if outcome.busy:
        result.remarks.append(
            "these brokers stay busier than the mean by more than"
            f" {heat.TOLERANCE:.0%}: {_ids(layout, outcome.busy)}; more partitions have to move,"
            " or be made for the busiest topics"
        )
    return result


_STEPS: Mapping[str, Callable[[Layout, Goal], _Result]] = {
    SPREAD: _spread,
    TOPIC: _spread,
    DRAIN: _drain,
    REPLICATION: _replicate,
    RACKS: _separate,
    HOTTEST: _cool,
}


def _order(layout: Layout, goal: Goal) -> None:
    """Spread leaders: those of the topics in a goal for topics, else of all; by traffic, none."""
    if goal.kind == HOTTEST:
        return
    changed = frozenset(
        number for number, before in enumerate(_before(layout)) if before != layout.replicas[number]
    )
    scope = (
        number
        for number, partition in enumerate(layout.partitions)
        if goal.kind != TOPIC or partition.topic in goal.topics
    )
    spread_leaders(layout, scope, changed)


def _placement_problems(state: State, goal: Goal, layout: Layout, result: _Result) -> list[Problem]:
    problems = []
    if result.full:
        missing = sum(layout.size[partition] for partition in result.full)
        problems.append(
            Problem(
                "disk-full",
                f"no disk of a broker that may take them stays below {goal.disk_share:.0%}:"
                f" {missing / 10**9:.1f} GB have no place; add brokers or disks, or expire records",
                _nearest(state, goal),
                _partition_names(layout, result.full),
            )
        )
    if result.stuck:
        problems.append(
            Problem(
                "no-broker",
                "every broker that may take replicas has one already: add brokers, or remove"
                " cordoned.log.dirs of some",
                _nearest(state, goal),
                _partition_names(layout, result.stuck),
            )
        )
    return problems


def _nearest(state: State, goal: Goal) -> Goal | None:
    """Return the largest part of a goal that is reachable, by halving; None if no part is."""
    parts = _parts(state, goal)
    low, high = 0, len(parts)
    while high - low > 1:
        middle = (low + high) // 2
        if _reachable(state, parts[middle]):
            low = middle
        else:
            high = middle
    return parts[low] if low else None


def _parts(state: State, goal: Goal) -> list[Goal]:
    """Return parts of a goal, each one larger than the one before; the first asks for nothing."""
    layout = Layout(state, goal)
    if goal.kind == DRAIN:
        brokers = sorted(
            goal.brokers, key=lambda broker: (layout.load[layout.number[broker]], broker)
        )
        return [
            replace(goal, brokers=frozenset(brokers[:count])) for count in range(len(brokers) + 1)
        ]
    if goal.kind == REPLICATION:
        size: dict[str, int] = defaultdict(int)
        for partition in state.partitions:
            size[partition.topic] += partition.size
        topics = sorted(goal.factors, key=lambda topic: (size[topic], topic))
        return [
            replace(goal, factors={topic: goal.factors[topic] for topic in topics[:count]})
            for count in range(len(topics) + 1)
        ]
    return []


def _reachable(state: State, goal: Goal) -> bool:
    if find_problems(state, goal):
        return False
    result = _STEPS[goal.kind](Layout(state, goal), goal)
    return not result.full and not result.stuck


def _moves(layout: Layout) -> Iterable[Move]:
    for number, (partition, before) in enumerate(zip(layout.partitions, _before(layout))):
        after = layout.replicas[number]
        if before == after:
            continue
        added = [broker for broker in after if broker not in before]
        yield Move(
            partition.topic,
            partition.index,
            partition.replicas,
            tuple(layout.brokers[broker].id for broker in after),
            partition.size,
            partition.rate,
            tuple(
                (layout.brokers[broker].id, layout.paths[broker][layout.disk[number, broker]])
                for broker in added
                if len(layout.paths[broker]) > 1
            ),
        )


def _before(layout: Layout) -> Iterable[list[int]]:
    for partition in layout.partitions:
        yield [layout.number[broker] for broker in partition.replicas]


def _largest_first(layout: Layout, partitions: Iterable[int]) -> list[int]:
    return sorted(partitions, key=lambda number: (-layout.size[number], number))


def _leader_counts(layout: Layout) -> dict[int, int]:
    """Return how many partitions each broker leads now."""
    counts = [0] * len(layout.brokers)
    for partition in layout.partitions:
        if partition.leader in layout.number:
            counts[layout.number[partition.leader]] += 1
    return _by_id(layout, counts)


def _leader_numbers(layout: Layout) -> list[int]:
    counts = [0] * len(layout.brokers)
    for partition in range(len(layout.partitions)):
        leader = leader_of(layout, partition)
        if leader is not None:
            counts[leader] += 1
    return counts


def _by_id(layout: Layout, values: Sequence[int]) -> dict[int, int]:
    return {broker.id: values[number] for number, broker in enumerate(layout.brokers)}


def _partition_names(layout: Layout, partitions: Iterable[int]) -> tuple[str, ...]:
    return tuple(layout.partitions[number].name for number in sorted(set(partitions)))


def _ids(layout: Layout, brokers: Iterable[int]) -> str:
    return ", ".join(str(layout.brokers[broker].id) for broker in brokers)
