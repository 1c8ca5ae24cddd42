"""The planner of placements beside Kafka's own assignment and a greedy spread, in simulation.

100 brokers in three racks with 50,000 partitions of three replicas: a tenth more brokers, a rack
that is lost, three brokers drained. Beside these, two brokers added to four, for each number of
replicas. Each kind plans the same states in a process of its own, one after the other.

`generated` is what `kafka-reassign-partitions --generate` proposes: for each topic all replicas
anew, by the rules that Kafka's operations guide and KIP-36 describe. Its start is drawn, so here a
seed fixes it. It knows no sizes, and the clusters are as a KRaft controller creates topics, by
another algorithm. `greedy` gives each replica of brokers that leave to the emptiest
broker. To spread, it moves the largest replica that helps from the fullest broker of a rack to the
emptiest, until each is as near to the mean as the planner asks for. It moves no leaders.
"""

from __future__ import annotations

import multiprocessing
import random
import resource
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, zip_longest

from ansible_collections.millrace.streaming.plugins.module_utils.operations.placement import goal
from ansible_collections.millrace.streaming.plugins.module_utils.operations.placement.balance import (
    TOLERANCE,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations.placement.goal import (
    Goal,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations.placement.plan import (
    Move,
    Plan,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations.placement.planner import (
    plan,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations.placement.state import (
    Broker,
    Disk,
    Partition,
    State,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations.placement.waves import (
    waves,
)

from tests.bench.comparison import Measured, Round, in_turn, ratios, save, show

PAIRS = 1
BROKERS, RACKS, PARTITIONS, TOPICS = 100, 3, 50_000, 500
MEDIAN, SIGMA = 2 * 10**9, 1.0
"""Bytes of half of the partitions, and how far the others are from it: log-normal, so that one in
a hundred has more than ten times as many."""
FILLED = 0.35
"""The part of the disks in use: without a third of the brokers the rest stays below 80 %."""

Assignment = dict[tuple[str, int], tuple[int, ...]]
"""Topic and index -> replicas in order of preference."""
Planner = Callable[[State, Goal], tuple[Assignment, int]]
"""Returns also the lower bound of the bytes, in bytes; 0 where it computes none."""


@dataclass(frozen=True)
class Case:
    """A cluster, and what is to become of it."""

    brokers: int
    partitions: int
    replicas: int = 3
    racks: int = RACKS
    added: int = 0
    drained: tuple[int, ...] = ()
    absent: bool = False
    """Whether the drained brokers are lost."""
    sigma: float = SIGMA

    @property
    def goal(self) -> Goal:
        return goal.drain(self.drained) if self.drained else goal.spread()

    def state(self) -> State:
        """Return the cluster as its controller has made it, topic by topic, and empty brokers."""
        draw = random.Random(7)
        members = [self._broker(number) for number in range(self.brokers)]
        topics = min(TOPICS, max(1, self.partitions // 20))
        partitions = []
        for topic in range(topics):
            count = len(range(topic, self.partitions, topics))
            for index, replicas in enumerate(created(members, count, self.replicas, draw)):
                size = int(draw.lognormvariate(0, self.sigma) * MEDIAN)
                partitions.append(
                    Partition(f"t{topic:03}", index, replicas, replicas[0], size, min_isr=2)
                )
        used = Counter[int]()
        for item in partitions:
            used.update(dict.fromkeys(item.replicas, item.size))
        capacity = int(sum(used.values()) / self.brokers / FILLED)
        members += [self._broker(self.brokers + number) for number in range(self.added)]
        disks = {broker.id: (Disk("/d", capacity, used[broker.id]),) for broker in members}
        lost = set(self.drained) if self.absent else set()
        return State(
            tuple(replace(b, disks=disks[b.id], present=b.id not in lost) for b in members),
            tuple(replace(p, isr=in_sync(p, lost), leader=leader(p, lost)) for p in partitions),
        )

    def _broker(self, number: int) -> Broker:
        return Broker(number, f"r{number % self.racks}" if self.racks else None)


CASES: Mapping[str, Case] = {
    "add-10": Case(BROKERS, PARTITIONS, added=BROKERS // 10),
    "lose-rack": Case(BROKERS, PARTITIONS, drained=tuple(range(2, BROKERS, RACKS)), absent=True),
    "drain-3": Case(BROKERS, PARTITIONS, drained=(10, 40, 41)),
    **{
        f"add-2-to-4-of-{replicas}": Case(4, 600, replicas, racks=0, added=2, sigma=0.5)
        for replicas in (1, 2, 3)
    },
}


def in_sync(item: Partition, lost: set[int]) -> tuple[int, ...]:
    return tuple(broker for broker in item.replicas if broker not in lost)


def leader(item: Partition, lost: set[int]) -> int:
    return next((broker for broker in item.replicas if broker not in lost), -1)


def created(
    brokers: Sequence[Broker], partitions: int, replicas: int, draw: random.Random
) -> Iterator[tuple[int, ...]]:
    """Place the partitions of a new topic as a KRaft controller's striped placer describes it.

    Replicas go to the racks in turn, the first of each partition one rack further; in a rack to
    its brokers in turn, from a drawn start.
    """
    by_rack: dict[str, list[int]] = defaultdict(list)
    for broker in sorted(brokers, key=lambda broker: broker.id):
        by_rack[broker.rack or ""].append(broker.id)
    racks = [by_rack[rack] for rack in sorted(by_rack)]
    offsets = [draw.randrange(len(members)) for members in racks]
    start = draw.randrange(len(racks))
    for number in range(partitions):
        places = [divmod(step, len(racks)) for step in range(replicas)]
        chosen = []
        for repetition, step in places:
            rack = (start + number + step) % len(racks)
            members = racks[rack]
            chosen.append(members[(offsets[rack] + number + repetition) % len(members)])
        yield tuple(chosen)


def assigned(
    brokers: Sequence[Broker], partitions: int, replicas: int, draw: random.Random
) -> Iterator[tuple[int, ...]]:
    """Assign the partitions of a topic to brokers as `--generate` does.

    Brokers are in a circle, those of the racks in turn. First replicas go around it from a drawn
    start; the others follow at a distance that is drawn, and that grows by one after each round. A
    broker is passed over while its rack has a replica and another rack has none.
    """
    circle = alternated(brokers)
    rack = {broker.id: broker.rack for broker in brokers}
    racks = len(set(rack.values()))
    start, shift = draw.randrange(len(circle)), draw.randrange(len(circle))
    for number in range(partitions):
        shift += number > 0 and number % len(circle) == 0
        first = (number + start) % len(circle)
        chosen = [circle[first]]
        distance = shift * (racks if racks > 1 else 1)
        while len(chosen) < replicas:
            broker = circle[(first + 1 + distance % (len(circle) - 1)) % len(circle)]
            distance += 1
            taken = {rack[other] for other in chosen}
            if broker not in chosen and (rack[broker] not in taken or len(taken) == racks):
                chosen.append(broker)
        yield tuple(chosen)


def alternated(brokers: Sequence[Broker]) -> list[int]:
    """Return the brokers' ids, one of each rack in turn."""
    by_rack: dict[str, list[int]] = defaultdict(list)
    for broker in sorted(brokers, key=lambda broker: broker.id):
        by_rack[broker.rack or ""].append(broker.id)
    rounds = zip_longest(*(by_rack[rack] for rack in sorted(by_rack)))
    return [broker for broker in chain.from_iterable(rounds) if broker is not None]


def generated(state: State, chosen: Goal) -> tuple[Assignment, int]:
    """Return what `--generate` proposes for all topics and the brokers that stay."""
    draw = random.Random(11)
    staying = [broker for broker in state.brokers if broker.id not in chosen.brokers]
    by_topic = defaultdict(list)
    for item in state.partitions:
        by_topic[item.topic].append(item)
    assignment: Assignment = {}
    for items in by_topic.values():
        replicas = assigned(staying, len(items), len(items[0].replicas), draw)
        assignment |= {(i.topic, i.index): r for i, r in zip(items, replicas, strict=True)}
    return assignment, 0


def greedy(state: State, chosen: Goal) -> tuple[Assignment, int]:
    """Return a greedy spread over the brokers that stay."""
    rack = {broker.id: broker.rack for broker in state.brokers}
    load = {b.id: 0 for b in state.brokers if b.id not in chosen.brokers}
    assignment = {(item.topic, item.index): list(item.replicas) for item in state.partitions}
    size = {(item.topic, item.index): item.size for item in state.partitions}
    for name, replicas in assignment.items():
        for broker in set(replicas) & set(load):
            load[broker] += size[name]
    for name, replicas in assignment.items():
        for position, broker in enumerate(replicas):
            if broker not in load:
                racks = Counter(rack[other] for other in replicas if other in load)
                free = [b for b in load if b not in replicas]
                receiver = min(free, key=lambda b: (racks[rack[b]], load[b]))
                replicas[position] = receiver
                load[receiver] += size[name]
    if chosen == goal.spread():
        for members in sorted({b.rack or "" for b in state.brokers}):
            level([b for b in load if (rack[b] or "") == members], load, assignment, size)
    return {name: tuple(replicas) for name, replicas in assignment.items()}, 0


def level(
    members: Sequence[int],
    load: dict[int, int],
    assignment: Mapping[tuple[str, int], list[int]],
    size: Mapping[tuple[str, int], int],
) -> None:
    """Move the largest replica that helps from the fullest to the emptiest broker, and again."""
    held = defaultdict(list)
    for name in sorted(assignment, key=lambda name: size[name]):
        for broker in assignment[name]:
            held[broker].append(name)
    mean = sum(load[broker] for broker in members) / len(members)
    while True:
        fullest = max(members, key=lambda broker: (load[broker], broker))
        emptiest = min(members, key=lambda broker: (load[broker], broker))
        if max(load[fullest] - mean, mean - load[emptiest]) <= TOLERANCE * mean:
            return
        most = (load[fullest] - load[emptiest]) / 2
        fitting = (
            name
            for name in reversed(held[fullest])
            if size[name] <= most and emptiest not in assignment[name]
        )
        largest = next(fitting, None)
        if largest is None:
            return
        replicas = assignment[largest]
        replicas[replicas.index(fullest)] = emptiest
        held[fullest].remove(largest)
        load[fullest] -= size[largest]
        load[emptiest] += size[largest]


def moves_of(state: State, assignment: Assignment) -> tuple[Move, ...]:
    return tuple(
        Move(item.topic, item.index, item.replicas, assignment[item.topic, item.index], item.size)
        for item in state.partitions
        if assignment[item.topic, item.index] != item.replicas
    )


def planned(state: State, chosen: Goal) -> tuple[Assignment, int]:
    """Return what Millrace plans, and the lower bound of bytes."""
    result = plan(state, chosen)
    assert not result.problems, result.problems
    assignment = {(item.topic, item.index): item.replicas for item in state.partitions}
    return assignment | {(m.topic, m.index): m.after for m in result.moves}, result.bound


def measured(case: Case, planner: Planner) -> Measured:
    """Plan once in a new process; returns the figures."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_measured, (case, planner))


def _measured(case: Case, planner: Planner) -> Measured:
    state = case.state()
    clock, cpu = time.monotonic(), time.process_time()
    assignment, bound = planner(state, case.goal)
    seconds, cpu_seconds = time.monotonic() - clock, time.process_time() - cpu
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    moves = moves_of(state, assignment)
    staying = [broker.id for broker in state.brokers if broker.id not in case.goal.brokers]
    leaders = Counter(dict.fromkeys(staying, 0))
    leaders.update(replicas[0] for replicas in assignment.values())
    loads = Counter(dict.fromkeys(staying, 0))
    for item in state.partitions:
        loads.update(dict.fromkeys(assignment[item.topic, item.index], item.size))
    clock = time.monotonic()
    schedule = waves(Plan(case.goal, moves), state)
    return {
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "memory_mb": memory,
        "gb": sum(move.bytes for move in moves) / 10**9,
        "bound_gb": bound / 10**9,
        "copied": sum(1 for move in moves if move.added),
        "leaders_apart": max(leaders.values()) - min(leaders.values()),
        "gb_apart": (max(loads.values()) - min(loads.values())) / 10**9,
        "waves": len(schedule.waves),
        "unscheduled": sum(len(problem.names) for problem in schedule.problems),
        "waves_seconds": time.monotonic() - clock,
    }


def main(pairs: int) -> None:
    results: dict[str, Sequence[Round]] = {}
    for name, case in CASES.items():
        kinds = {
            "generated": partial(measured, case, generated),
            "greedy": partial(measured, case, greedy),
            "millrace": partial(measured, case, planned),
        }
        results[name] = in_turn(f"placement-{name}", kinds, pairs)
    compared = {
        name: {
            "of_bound": rounds[0]["millrace"]["gb"] / rounds[0]["millrace"]["bound_gb"],
            "of_generated": ratios(rounds, "millrace", "generated", "gb")[0],
            "of_greedy": ratios(rounds, "millrace", "greedy", "gb")[0],
        }
        for name, rounds in results.items()
    }
    save("placement", {"cases": results, "ratios": compared})
    for name, figures in compared.items():
        show(f"placement: bytes, {name}", figures)
