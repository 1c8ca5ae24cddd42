"""Clusters for tests of the planner, drawn and built, and what a plan makes of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from ansible_collections.millrace.streaming.plugins.module_utils.operations.placement import goal
from ansible_collections.millrace.streaming.plugins.module_utils.operations.placement.goal import (
    Goal,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations.placement.plan import (
    Move,
    Plan,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations.placement.state import (
    Broker,
    Disk,
    Partition,
    State,
)
from hypothesis import strategies as st

MEGABYTE = 10**6
SIZES = (0, 1, 5, 10, 10, 10, 100, 1000)


def partition(
    index: int,
    *replicas: int,
    size: int = 10,
    topic: str = "a",
    isr: tuple[int, ...] | None = None,
    min_isr: int = 1,
    rate: float = 0.0,
) -> Partition:
    """Return a partition that its first replica leads; size in bytes."""
    return Partition(topic, index, replicas, replicas[0], size, rate, min_isr, isr)


def brokers(count: int, racks: str = "", capacity: int | None = None) -> tuple[Broker, ...]:
    """Return brokers from 1 on; racks has a letter for each, which repeat."""
    return tuple(
        Broker(
            number + 1,
            racks[number % len(racks)] if racks else None,
            (Disk("/d", capacity),) if capacity else (),
        )
        for number in range(count)
    )


def with_use(state: State) -> State:
    """Return the state with disks that hold its replicas and nothing else."""
    used: Counter[tuple[int, str]] = Counter()
    for item in state.partitions:
        for broker in item.replicas:
            used[broker, item.directories.get(broker, "/d")] += item.size
    return State(
        tuple(
            replace(
                broker,
                disks=tuple(
                    replace(disk, used=used[broker.id, disk.path]) for disk in broker.disks
                ),
            )
            for broker in state.brokers
        ),
        state.partitions,
    )


def applied(state: State, moves: Iterable[Move]) -> State:
    """Return the state once moves have ended and preferred replicas lead."""
    by_name = {move.name: move for move in moves}
    partitions = []
    for item in state.partitions:
        move = by_name.get(item.name)
        if move is None:
            partitions.append(item)
            continue
        assert move.before == item.replicas
        kept = {b: path for b, path in item.directories.items() if b in move.after}
        isr = tuple(b for b in move.after if b in item.in_sync or b in move.added)
        partitions.append(
            replace(
                item,
                replicas=move.after,
                isr=None if set(isr) == set(move.after) else isr,
                leader=move.after[0],
                directories={**kept, **dict(move.directories)},
            )
        )
    return with_use(State(state.brokers, tuple(partitions)))


def loads(state: State) -> dict[int, int]:
    """Return bytes of replicas by broker."""
    load: dict[int, int] = {broker.id: 0 for broker in state.brokers}
    for item in state.partitions:
        for broker in item.replicas:
            load[broker] = load.get(broker, 0) + item.size
    return load


def crowding(replicas: Iterable[int], racks: Mapping[int, str | None]) -> int:
    """Return how much replicas share racks: the sum of squares of replicas by rack."""
    return sum(count**2 for count in Counter(racks.get(b) for b in replicas).values())


def receivers(state: State, chosen: Goal) -> list[int]:
    """Return the brokers that may get replicas."""
    return [
        broker.id for broker in state.brokers if broker.receives and broker.id not in chosen.brokers
    ]


def least_crowding(staying: Sequence[int], number: int, state: State, chosen: Goal) -> int:
    """Return the least crowding with so many more replicas, by trying all."""
    racks = {broker.id: broker.rack for broker in state.all_brokers}
    free = [broker for broker in receivers(state, chosen) if broker not in staying]
    return min(crowding([*staying, *added], racks) for added in combinations(free, number))


def least_uneven_leaders(state: State, plan: Plan) -> int:
    """Return the least sum of squares of leaders by broker that orders allow, by trying all."""
    after = applied(state, plan.moves)
    able = {broker.id for broker in state.brokers if broker.present} - plan.goal.brokers
    choices = [
        [b for b in item.replicas if b in able and b in item.in_sync] for item in after.partitions
    ]
    best: set[tuple[int, ...]] = {tuple(0 for _ in able)}
    places = {broker: place for place, broker in enumerate(sorted(able))}
    for choice in choices:
        if choice:
            best = {
                tuple(count + (place == places[b]) for place, count in enumerate(counts))
                for counts in best
                for b in choice
            }
    return min(sum(count**2 for count in counts) for counts in best)


@st.composite
def clusters(draw: st.DrawFn) -> State:
    """Draw a small cluster: with racks or none, disks or none, some brokers cordoned or absent."""
    count = draw(st.integers(2, 6))
    racks = draw(st.sampled_from(["", "", "ab", "abc", "aab"]))
    disks = draw(st.sampled_from([(), ("/d",), ("/d",), ("/d", "/e")]))
    capacity = draw(st.sampled_from([None, 400, 2000, 100_000]))
    ill = draw(st.booleans())
    odd = st.sampled_from([False] * 5 + [ill])
    members = tuple(
        Broker(
            number + 1,
            racks[number % len(racks)] if racks else None,
            tuple(Disk(path, capacity, cordoned=draw(odd)) for path in disks),
            cordoned=draw(odd),
            present=not draw(odd),
        )
        for number in range(count)
    )
    items = tuple(
        draw(partitions(count, index, disks, odd)) for index in range(draw(st.integers(1, 7)))
    )
    return with_use(State(members, items))


@st.composite
def partitions(
    draw: st.DrawFn, count: int, index: int, disks: tuple[str, ...], odd: st.SearchStrategy[bool]
) -> Partition:
    factor = draw(st.integers(1, min(3, count)))
    replicas = tuple(draw(st.permutations(range(1, count + 1)))[:factor])
    isr = tuple(broker for broker in replicas if not draw(odd)) if draw(odd) else None
    return Partition(
        topic=draw(st.sampled_from(["a", "b", "__consumer_offsets"])),
        index=index,
        replicas=replicas,
        leader=draw(st.sampled_from(isr or replicas)),
        size=draw(st.sampled_from(SIZES)),
        rate=draw(st.sampled_from([0.0, 1.0, 10.0, 10.0, 50.0])),
        min_isr=draw(st.integers(1, factor)),
        isr=isr,
        directories={broker: draw(st.sampled_from(disks)) for broker in replicas if disks},
    )


@st.composite
def goals(draw: st.DrawFn, state: State) -> Goal:
    """Draw a goal for a cluster, which may be out of reach."""
    ids = st.sampled_from([broker.id for broker in state.brokers])
    topics = st.sampled_from(["a", "b", "__consumer_offsets"])
    match draw(st.sampled_from([goal.SPREAD, goal.SPREAD, goal.DRAIN, goal.DRAIN, "others"])):
        case goal.SPREAD:
            return goal.spread()
        case goal.DRAIN:
            return goal.drain(draw(st.sets(ids, min_size=1, max_size=2)))
    return draw(
        st.sampled_from(
            [
                goal.racks(),
                goal.hottest(draw(st.integers(1, 4))),
                goal.topic(draw(topics)),
                goal.replication({draw(topics): draw(st.integers(1, 4))}),
            ]
        )
    )


@st.composite
def cases(draw: st.DrawFn) -> tuple[State, Goal]:
    """Draw a cluster and a goal."""
    state = draw(clusters())
    return state, draw(goals(state))
