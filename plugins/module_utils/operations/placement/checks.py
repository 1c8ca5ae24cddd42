"""Why a goal cannot be reached, as far as it shows before any planning; all reasons at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from .goal import DRAIN, HOTTEST, RACKS, REPLICATION, TOPIC, Goal, spread
from .plan import Problem
from .state import Broker, Partition, State


def find_problems(state: State, goal: Goal) -> list[Problem]:
    """Return what forbids a goal, each with the nearest goal that it does not forbid."""
    return [problem for check in _CHECKS for problem in check(state, goal)]


def remaining_brokers(state: State, goal: Goal) -> list[Broker]:
    """Return the brokers that are there and stay."""
    return [broker for broker in state.brokers if broker.present and broker.id not in goal.brokers]


def _unknown_brokers(state: State, goal: Goal) -> Iterator[Problem]:
    unknown = goal.brokers - {broker.id for broker in state.all_brokers}
    if unknown:
        registered = goal.brokers - unknown
        yield Problem(
            "unknown-broker",
            "no broker has this id, and no replica is on it: correct the id",
            replace(goal, brokers=registered) if registered else None,
            _names(unknown),
        )


def _unknown_topics(state: State, goal: Goal) -> Iterator[Problem]:
    topics = {partition.topic for partition in state.partitions}
    named = goal.topics | set(goal.factors)
    unknown = named - topics
    if unknown:
        factors = {name: factor for name, factor in goal.factors.items() if name in topics}
        nearest = replace(goal, topics=goal.topics & topics, factors=factors)
        yield Problem(
            "unknown-topic",
            "there is no topic of this name: correct the name, or create the topic",
            nearest if named & topics else None,
            tuple(sorted(unknown)),
        )


def _empty_goals(_: State, goal: Goal) -> Iterator[Problem]:
    named = {DRAIN: goal.brokers, TOPIC: goal.topics, REPLICATION: goal.factors}
    if goal.kind in named and not named[goal.kind]:
        yield Problem("no-names", f"the goal {goal.kind} names nothing: name what it is about")
    if goal.kind == HOTTEST and goal.count < 1:
        yield Problem("no-count", "the number of partitions is below 1", replace(goal, count=1))


def _racks(state: State, goal: Goal) -> Iterator[Problem]:
    if not goal.rack_aware:
        return
    remaining = remaining_brokers(state, goal)
    without = [broker.id for broker in remaining if broker.rack is None]
    if without and len(without) < len(remaining):
        yield Problem(
            "racks-of-some",
            "some brokers have a rack and these have none, so replicas cannot be kept in different"
            " racks: set kafka_rack of each broker, or of none, and run site.yml",
            # Replicas in different racks are all that the goal racks is.
            replace(spread() if goal.kind == RACKS else goal, rack_aware=False),
            _names(without),
        )
    elif without and goal.kind == RACKS:
        yield Problem(
            "no-racks",
            "no broker has a rack: set kafka_rack of each broker, and run site.yml",
            spread(),
        )


def _few_brokers(state: State, goal: Goal) -> Iterator[Problem]:
    remaining = len(remaining_brokers(state, goal))
    if goal.kind == REPLICATION:
        above = {name: factor for name, factor in goal.factors.items() if factor > remaining}
        if above:
            lower = {name: min(factor, remaining) for name, factor in goal.factors.items()}
            yield Problem(
                "few-brokers",
                f"more replicas than the {remaining} brokers: add brokers, or set a smaller factor",
                replace(goal, factors=lower) if remaining else None,
                tuple(sorted(above)),
            )
        return
    if goal.kind != DRAIN:
        return
    largest = max((len(partition.replicas) for partition in state.partitions), default=0)
    if remaining < largest:
        topics = {p.topic for p in state.partitions if len(p.replicas) > remaining}
        yield Problem(
            "few-brokers",
            f"{remaining} brokers would be left for {largest} replicas: add brokers first, drain"
            " fewer, or give these topics fewer replicas",
            _smaller_drain(state, goal, largest),
            tuple(sorted(topics)),
        )


def _smaller_drain(state: State, goal: Goal, largest: int) -> Goal | None:
    """Return the goal of draining as many of the brokers as can be spared, absent ones first."""
    brokers = [broker for broker in state.all_brokers if broker.id in goal.brokers]
    absent = [broker.id for broker in brokers if not broker.present]
    present = [broker.id for broker in brokers if broker.present]
    spared = sum(1 for broker in state.brokers if broker.present) - largest
    if spared < 0:
        return None
    chosen = frozenset(absent + present[:spared])
    return replace(goal, brokers=chosen) if chosen else None


def _factors(state: State, goal: Goal) -> Iterator[Problem]:
    below_one = [name for name, factor in goal.factors.items() if factor < 1]
    if below_one:
        least = {name: max(1, factor) for name, factor in goal.factors.items()}
        yield Problem(
            "no-replica",
            "a partition needs at least one replica",
            replace(goal, factors=least),
            tuple(sorted(below_one)),
        )
    min_isr: dict[str, int] = {}
    for partition in state.partitions:
        # Kafka caps min.insync.replicas at the number of replicas: a topic may be there already.
        effective = min(partition.min_isr, len(partition.replicas))
        if goal.factors.get(partition.topic, effective) < effective:
            min_isr[partition.topic] = max(effective, min_isr.get(partition.topic, 0))
    if min_isr:
        yield Problem(
            "below-min-isr",
            "fewer replicas than min.insync.replicas: lower that first, or set a larger factor",
            replace(goal, factors={**goal.factors, **min_isr}),
            tuple(sorted(min_isr)),
        )


def _sources(state: State, goal: Goal) -> Iterator[Problem]:
    present = {broker.id for broker in state.brokers if broker.present}
    lost = [
        partition
        for partition in state.partitions
        if _must_copy(partition, goal) and present.isdisjoint(partition.in_sync)
    ]
    if lost:
        yield Problem(
            "no-source",
            "no replica in sync is on a broker that is there, so nothing can be copied: start one"
            " of their brokers, or delete the topics",
            _without(state, goal, lost),
            tuple(sorted(partition.name for partition in lost)),
        )


def _must_copy(partition: Partition, goal: Goal) -> bool:
    if goal.kind == REPLICATION:
        return goal.factors.get(partition.topic, 0) > len(partition.replicas)
    return goal.kind == DRAIN and not goal.brokers.isdisjoint(partition.replicas)


def _without(state: State, goal: Goal, partitions: Iterable[Partition]) -> Goal | None:
    """Return the goal without the brokers, or topics, of these partitions; None if none is left."""
    brokers = goal.brokers - {broker for item in partitions for broker in item.replicas}
    topics = {partition.topic for partition in partitions}
    factors = {name: factor for name, factor in goal.factors.items() if name not in topics}
    return replace(goal, brokers=brokers, factors=factors) if brokers or factors else None


def _rates(state: State, goal: Goal) -> Iterator[Problem]:
    if goal.kind == HOTTEST and not any(partition.rate > 0 for partition in state.partitions):
        yield Problem(
            "no-rates", "no partition has any traffic, or none is measured: spread bytes", spread()
        )


def _receivers(state: State, goal: Goal) -> Iterator[Problem]:
    if goal.kind != HOTTEST and not any(
        broker.receives for broker in remaining_brokers(state, goal)
    ):
        yield Problem(
            "no-receiver",
            "every broker that stays is cordoned or not there: remove cordoned.log.dirs of some",
        )


def _names(brokers: Iterable[int]) -> tuple[str, ...]:
    return tuple(str(broker) for broker in sorted(brokers))


_CHECKS: tuple[Callable[[State, Goal], Iterator[Problem]], ...] = (
    _unknown_brokers,
    _unknown_topics,
    _empty_goals,
    _racks,
    _few_brokers,
    _factors,
    _sources,
    _rates,
    _receivers,
)
