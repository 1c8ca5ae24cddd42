"""What each goal makes of clusters whose best plan is plain to see."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from itertools import product

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.operations.placement import goal
from ansible_collections.millrace.streaming.plugins.module_utils.operations.placement.balance import (
    Band,
    least_weight,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations.placement.plan import (
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

from tests.unit.operations.placement.clusters import applied, brokers, loads, partition, with_use


def circle(count: int, replicas: int, members: int, size: int = 10) -> tuple[Partition, ...]:
    """Return partitions whose replicas go round the first brokers."""
    return tuple(
        partition(index, *((index + step) % members + 1 for step in range(replicas)), size=size)
        for index in range(count)
    )


def apart(values: dict[int, int]) -> int:
    return max(values.values()) - min(values.values())


def moved(result: Plan) -> dict[str, tuple[int, ...]]:
    return {move.name: move.after for move in result.moves}


@pytest.mark.parametrize(
    ("members", "added", "replicas"), [(3, 1, 3), (3, 2, 3), (4, 2, 2), (1, 2, 1)]
)
def test_new_brokers_get_their_share_and_nothing_else_moves(
    members: int, added: int, replicas: int
) -> None:
    state = State(brokers(members + added), circle(60, replicas, members))
    result = plan(state, goal.spread())
    after = applied(state, result.moves)
    assert result.bound * 0.95 <= result.bytes == result.bound
    assert apart(loads(after)) <= 20
    new = {broker.id for broker in state.brokers[members:]}
    assert all(set(move.added) <= new for move in result.moves)
    assert apart(dict(result.leaders_after)) <= (1 if replicas > 1 else 2)


def test_new_brokers_get_empty_partitions_too() -> None:
    state = State(brokers(4), circle(40, 2, 2, size=0))
    after = applied(state, plan(state, goal.spread()).moves)
    counts = Counter(broker for item in after.partitions for broker in item.replicas)
    assert apart(counts) <= 2


def test_a_rack_with_fewer_brokers_keeps_its_replica_of_each_partition() -> None:
    members = brokers(5, "abcab")  # rack c has broker 3 alone
    state = State(members, circle(30, 3, 3))
    after = applied(state, plan(state, goal.spread()).moves)
    assert all(3 in item.replicas for item in after.partitions)
    assert apart({b: load for b, load in loads(after).items() if b != 3}) <= 20


def test_an_even_cluster_stays_as_it_is() -> None:
    assert not plan(State(brokers(3), circle(30, 2, 3)), goal.spread()).moves


def test_replicas_of_drained_brokers_are_copied_once() -> None:
    state = State(brokers(5), circle(50, 3, 5))
    result = plan(state, goal.drain([4, 5]))
    after = applied(state, result.moves)
    assert {b for item in after.partitions for b in item.replicas} == {1, 2, 3}
    assert result.bytes == result.bound == loads(state)[4] + loads(state)[5]
    assert apart({b: n for b, n in result.leaders_after.items() if b <= 3}) <= 1


def test_internal_topics_are_drained_too() -> None:
    state = State(brokers(4), (partition(0, 4, 1, topic="__consumer_offsets"),))
    assert moved(plan(state, goal.drain([4]))).keys() == {"__consumer_offsets-0"}


def test_a_replica_comes_to_the_place_of_the_one_that_leaves() -> None:
    state = State(brokers(4), (partition(0, 1, 4, 2), partition(1, 2, 1, 4), partition(2, 3, 2, 1)))
    assert moved(plan(state, goal.drain([4]))) == {"a-0": (1, 3, 2), "a-1": (2, 1, 3)}


def test_a_lost_rack_leaves_its_partitions_in_all_others() -> None:
    members = tuple(replace(b, present=b.rack != "c") for b in brokers(9, "abc"))
    items = tuple(
        replace(item, isr=tuple(b for b in item.replicas if b % 3 != 0))
        for item in circle(27, 3, 9)
    )
    state = State(members, items)
    result = plan(state, goal.drain([3, 6, 9]))
    racks = {broker.id: broker.rack for broker in members}
    for item in applied(state, result.moves).partitions:
        assert {racks[broker] for broker in item.replicas} == {"a", "b"}


def test_one_replica_becomes_three() -> None:
    state = State(brokers(3), tuple(partition(index, 1) for index in range(6)))
    result = plan(state, goal.replication({"a": 3}))
    assert result.bytes == result.bound == 6 * 2 * 10
    assert set(result.leaders_after.values()) == {2}


def test_a_replica_too_many_is_one_that_is_not_in_sync() -> None:
    item = partition(0, 1, 2, 3, isr=(1, 3))
    assert moved(plan(State(brokers(3), (item,)), goal.replication({"a": 2}))) == {"a-0": (1, 3)}


def test_racks_that_were_named_later_move_what_shares_one() -> None:
    state = State(brokers(4, "aabb"), (partition(0, 1, 2), partition(1, 1, 3), partition(2, 3, 4)))
    result = plan(state, goal.racks())
    assert result.bytes == result.bound == 20
    assert "a-1" not in {move.name for move in result.moves if move.added}


def test_a_topic_is_spread_by_itself() -> None:
    state = State(
        brokers(3),
        (
            *(partition(index, 1, size=100, topic="hot") for index in range(6)),
            *(partition(index, 2, size=900, topic="other") for index in range(3)),
        ),
    )
    result = plan(state, goal.topic("hot"))
    assert {move.topic for move in result.moves} == {"hot"}
    after = [i for i in applied(state, result.moves).partitions if i.topic == "hot"]
    assert max(Counter(item.replicas[0] for item in after).values()) <= 3


def test_a_busy_broker_hands_over_leads_before_replicas() -> None:
    busy = tuple(partition(index, 1, 2 + index % 2, rate=100.0) for index in range(4))
    result = plan(State(brokers(3), busy), goal.hottest(4))
    assert result.bytes == result.bound == 0
    assert dict(result.leaders_after) == {1: 0, 2: 2, 3: 2}
    # Two leads are not enough: a replica has to leave, too.
    result = plan(State(brokers(3), busy), goal.hottest(2))
    assert len(result.moves) == 2
    assert 0 < result.bound <= result.bytes
    assert "busier than the mean" not in " ".join(result.remarks)


def test_the_smallest_of_equally_busy_replicas_moves() -> None:
    items = (
        partition(0, 1, rate=100.0, size=1000),
        partition(1, 1, rate=100.0, size=10),
        partition(2, 2, rate=1.0),
    )
    result = plan(State(brokers(2), items), goal.hottest(2))
    assert moved(result) == {"a-1": (2,)}
    # What a broker has above 1.1 times the mean may leave with less than a replica.
    assert 0 < result.bound <= result.bytes == 10


def test_a_disk_is_named_on_brokers_with_several() -> None:
    two = (Disk("/d", 1000), Disk("/e", 1000, used=500))
    members = (Broker(1), Broker(2), Broker(3, disks=two))
    result = plan(State(members, (partition(0, 1, 2),)), goal.drain([2]))
    assert result.moves[0].directories == ((3, "/d"),)


def test_a_cordoned_disk_and_broker_get_nothing() -> None:
    members = (
        Broker(1),
        Broker(2),
        Broker(3, cordoned=True),
        Broker(4, disks=(Disk("/d", 10**6, cordoned=True),)),
        Broker(5, disks=(Disk("/d", 10**6, cordoned=True), Disk("/e", 10**6, used=10**5))),
    )
    result = plan(State(members, (partition(0, 1, 2),)), goal.drain([2]))
    assert moved(result) == {"a-0": (1, 5)} or moved(result) == {"a-0": (5, 1)}
    assert result.moves[0].directories == ((5, "/e"),)


def test_a_full_disk_gets_less_than_its_share() -> None:
    members = (*brokers(2), Broker(3, disks=(Disk("/d", 100, used=50),)))
    state = State(members, circle(30, 1, 2))
    after = applied(state, plan(state, goal.spread()).moves)
    assert 20 <= loads(after)[3] <= 30


def test_replicas_of_absent_brokers_stay_when_others_are_spread() -> None:
    members = (*brokers(2), Broker(3, present=False), Broker(4))
    state = State(members, tuple(partition(index, 1, 3, isr=(1,)) for index in range(4)))
    result = plan(state, goal.spread())
    assert not result.moves
    assert any("not there stay: 3" in remark for remark in result.remarks)
    assert any("in sync stay" in remark for remark in result.remarks)


def test_leads_change_where_replicas_are_copied_anyway() -> None:
    items = (partition(0, 1, 2, 4), partition(1, 1, 2, 3))
    assert moved(plan(State(brokers(4), items), goal.drain([4]))).keys() == {"a-0"}


def test_a_broker_with_a_very_large_partition_keeps_enough_to_lead() -> None:
    items = (
        partition(0, 1, size=1000),
        *(partition(index, 1, size=100) for index in range(1, 11)),
        *(partition(index, 2 + index % 2, size=50) for index in range(11, 31)),
    )
    state = State(brokers(3), items)
    result = plan(state, goal.spread())
    assert result.leaders_after[1] == 5  # half of the mean of 31 on three
    assert any("stay farther from their share" in remark for remark in result.remarks)


def test_partitions_of_very_different_sizes_move_little_more_than_the_least() -> None:
    ratios = []
    for seed in range(12):
        draw = random.Random(seed)
        items = tuple(
            partition(index, *draw.sample(range(1, 7), 3), size=int(draw.lognormvariate(15, 1.5)))
            for index in range(100)
        )
        result = plan(State(brokers(7), items), goal.spread())
        assert result.bound <= result.bytes
        ratios.append(result.bytes / result.bound)
    assert max(ratios) <= 1.05
    # The last replica that a broker gets is of the size that it lacks.
    assert sorted(ratios)[6] <= 1.015


def test_the_bounds_of_racks_add_up_where_each_holds_one_replica() -> None:
    # In rack a broker 1 has too much, in rack b broker 4 too little.
    members = brokers(4, "ab")
    items = (
        *(partition(index, 1, 2 + 2 * (index % 3 == 0), size=10) for index in range(12)),
        *(partition(index, 3, 2, size=10) for index in range(12, 18)),
    )
    result = plan(State(members, items), goal.spread())
    assert result.bound == result.bytes > 0


@pytest.mark.parametrize(
    ("count", "racks", "places"),
    [(3, "", ((1, 2), (1, 3), (2, 3))), (4, "ab", ((1, 2), (3, 2), (1, 4), (3, 4)))],
)
def test_the_bound_of_a_spread_is_below_every_way_to_reach_it(
    count: int, racks: str, places: tuple[tuple[int, int], ...]
) -> None:
    """Try all placements of four partitions that keep racks, from some of them."""
    sizes = (7, 5, 4, 2)
    mean, tolerance = 2 * sum(sizes) / count, 5  # the upper one of the middle sizes
    for start in product(places[:2], repeat=4):
        items = tuple(
            partition(index, *replicas, size=size)
            for index, (replicas, size) in enumerate(zip(start, sizes, strict=True))
        )
        result = plan(State(brokers(count, racks), items), goal.spread())
        bands = [
            (min(load, mean - tolerance), max(load, mean + tolerance))
            for _, load in sorted(result.bytes_after.items())
        ]
        best = min(
            sum(
                size * len(set(after) - set(before))
                for size, before, after in zip(sizes, start, end, strict=True)
            )
            for end in product(places, repeat=4)
            if all(
                low <= load <= high
                for (low, high), load in zip(bands, on_brokers(sizes, end, count), strict=True)
            )
        )
        assert result.bound <= best <= result.bytes


def on_brokers(sizes: tuple[int, ...], end: tuple[tuple[int, ...], ...], count: int) -> list[int]:
    return [
        sum(size for size, replicas in zip(sizes, end, strict=True) if broker in replicas)
        for broker in range(1, count + 1)
    ]


def test_the_bound_counts_what_is_missing_or_what_is_too_much() -> None:
    bands = {0: Band(9, 11, 10), 1: Band(9, 11, 10), 2: Band(9, 11, 10)}
    assert least_weight([0, 15, 15], [10, 10, 10], bands) == 9
    assert least_weight([8, 8, 14], [10, 10, 10], bands) == 3
    assert least_weight([0, 15, 15], [4, 13, 13], bands) == 4
    assert with_use(State((), ())) == State((), ())
