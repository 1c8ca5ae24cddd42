"""What holds for every plan, over drawn clusters; worked out independently of the planner."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

from ansible_collections.millrace.streaming.plugins.module_utils.operations.placement import goal
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
    Partition,
    State,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations.placement.waves import (
    Limits,
    waves,
)
from hypothesis import Phase, event, given, settings

from tests.unit.operations.placement import clusters as c

MANY = settings(max_examples=100)
Case = tuple[State, Goal]


def crossed_disks(state: State, moves: list[Move], share: float) -> list[str]:
    """Return the disks that take new replicas and are above the share afterwards."""
    used = Counter(
        {(broker.id, disk.path): disk.used for broker in state.brokers for disk in broker.disks}
    )
    receiving = set()
    for move in moves:
        for broker in move.added:
            paths = [disk.path for b in state.brokers if b.id == broker for disk in b.disks]
            if paths:
                path = dict(move.directories).get(broker, paths[0])
                assert len(paths) == 1 or broker in dict(move.directories)
                used[broker, path] += move.size
                receiving.add((broker, path))
    return [
        f"{broker.id}{disk.path}"
        for broker in state.brokers
        for disk in broker.disks
        if (broker.id, disk.path) in receiving and disk.capacity
        if used[broker.id, disk.path] > share * disk.capacity
    ]


def factor(item: Partition, chosen: Goal) -> int:
    if chosen.kind == goal.REPLICATION:
        return chosen.factors.get(item.topic, len(item.replicas))
    return len(item.replicas)


@MANY
@given(c.cases())
def test_replicas_are_where_they_may_be(case: Case) -> None:
    state, chosen = case
    result = plan(state, chosen)
    event(f"{chosen.kind}: {'refused' if result.problems else 'planned'}")
    moves = {move.name: move for move in result.moves}
    assert not (result.problems and moves)
    for item in state.partitions:
        move = moves.get(item.name)
        after = move.after if move else item.replicas
        assert len(set(after)) == len(after)
        if not result.problems:
            assert len(after) == factor(item, chosen)
            if chosen.kind == goal.DRAIN:
                assert chosen.brokers.isdisjoint(after)
        if move:
            assert move.after != move.before
            assert set(move.added) <= set(c.receivers(state, chosen))
            paths = {(b.id, d.path) for b in state.brokers for d in b.disks if d.cordoned}
            assert paths.isdisjoint(move.directories)
    assert not result.moves or sorted(moves.values(), key=lambda m: (m.topic, m.index)) == list(
        result.moves
    )


@MANY
@given(c.cases())
def test_new_replicas_are_in_as_many_racks_as_can_be(case: Case) -> None:
    state, chosen = case
    racks = {broker.id: broker.rack for broker in state.all_brokers}
    for move in plan(state, chosen).moves:
        staying = [broker for broker in move.before if broker in move.after]
        crowding = c.crowding(move.after, racks)
        if chosen.kind in (goal.DRAIN, goal.REPLICATION, goal.RACKS):
            assert crowding == c.least_crowding(staying, len(move.added), state, chosen)
        else:
            assert crowding <= c.crowding(move.before, racks)


@MANY
@given(c.clusters())
def test_racks_are_repaired(state: State) -> None:
    racks = {broker.id: broker.rack for broker in state.all_brokers}
    for chosen in (goal.racks(), goal.spread()):
        result = plan(state, chosen)
        if result.problems:
            continue
        free = c.receivers(state, chosen)
        for item in c.applied(state, result.moves).partitions:
            least = min(
                c.crowding([*(b for b in item.replicas if b != old), new], racks)
                for old in item.replicas
                for new in [old, *(b for b in free if b not in item.replicas)]
            )
            assert c.crowding(item.replicas, racks) == least


@MANY
@given(c.cases())
def test_replicas_that_stay_keep_their_order_but_for_a_new_leader(case: Case) -> None:
    state, chosen = case
    for move in plan(state, chosen).moves:
        before = [broker for broker in move.before if broker in move.after]
        after = [broker for broker in move.after if broker in move.before]
        first = move.after[0]
        # Two leads may change hands where traffic is spread.
        if chosen.kind != goal.HOTTEST:
            assert [b for b in before if b != first] == [b for b in after if b != first]


@MANY
@given(c.cases())
def test_leaders_are_as_even_as_replicas_allow(case: Case) -> None:
    state, chosen = case
    result = plan(state, chosen)
    if result.problems or chosen.kind in (goal.HOTTEST, goal.TOPIC):
        return
    assert sum(result.leaders_after[b.id] ** 2 for b in state.brokers) == c.least_uneven_leaders(
        state, result
    )


@MANY
@given(c.cases())
def test_no_disk_is_filled_above_its_limit(case: Case) -> None:
    state, chosen = case
    result = plan(state, chosen)
    after = c.applied(state, result.moves)
    receiving = {broker for move in result.moves for broker in move.added}
    for broker in after.brokers:
        before = next(b for b in state.brokers if b.id == broker.id)
        for disk, former in zip(broker.disks, before.disks, strict=True):
            if broker.id in receiving and disk.capacity and disk.used > former.used:
                assert disk.used <= chosen.disk_share * disk.capacity


@MANY
@given(c.cases())
def test_the_bound_is_below_what_moves(case: Case) -> None:
    state, chosen = case
    result = plan(state, chosen)
    assert 0 <= result.bound <= result.bytes
    if chosen.kind in (goal.DRAIN, goal.REPLICATION, goal.RACKS):
        assert result.bound == result.bytes
    if chosen.kind == goal.DRAIN and not result.problems:
        assert result.bytes == sum(
            item.size * len(chosen.brokers & set(item.replicas)) for item in state.partitions
        )


@MANY
@given(c.cases())
def test_the_order_of_the_input_does_not_matter(case: Case) -> None:
    state, chosen = case
    shuffled = [list(state.brokers), list(state.partitions)]
    for values in shuffled:
        random.Random(1).shuffle(values)  # type: ignore[arg-type]  # two lists of different types
    mixed = State(tuple(shuffled[0]), tuple(shuffled[1]))  # type: ignore[arg-type]  # as above
    mixed = State(
        tuple(replace(b, disks=tuple(reversed(b.disks))) for b in mixed.brokers), mixed.partitions
    )
    first, second = plan(state, chosen), plan(mixed, chosen)
    assert first == second
    assert waves(first, state) == waves(second, mixed)


@MANY
@given(c.cases())
def test_a_second_plan_moves_nothing(case: Case) -> None:
    state, chosen = case
    result = plan(state, chosen)
    if result.problems:
        return
    again = plan(c.applied(state, result.moves), chosen)
    assert not again.problems
    assert not again.moves


@MANY
@given(c.cases())
def test_the_nearest_goal_lacks_that_problem(case: Case) -> None:
    state, chosen = case
    for problem in plan(state, chosen).problems:
        event(problem.slug)
        if problem.nearest is not None:
            assert problem.nearest != chosen
            slugs = {problem_left.slug for problem_left in plan(state, problem.nearest).problems}
            assert problem.slug not in slugs


def follow(state: State, chosen: Goal) -> Plan:
    """Return the plan of the nearest goal that can be reached, one problem after the other."""
    result = plan(state, chosen)
    for _ in range(10):
        nearest = [problem.nearest for problem in result.problems]
        if not nearest or nearest[0] is None:
            return result
        result = plan(state, nearest[0])
    raise AssertionError(result)


@MANY
@given(c.cases())
def test_nearest_goals_lead_somewhere(case: Case) -> None:
    follow(*case)


@MANY
@given(c.cases())
def test_waves_keep_every_limit_on_the_way(case: Case) -> None:
    state, chosen = case
    result = plan(state, chosen)
    limits = Limits(in_flight=100, partitions=2)
    schedule = waves(result, state, limits)
    blocked = {name for problem in schedule.problems for name in problem.names}
    assert sorted([*(move.name for wave in schedule.waves for move in wave), *blocked]) == sorted(
        move.name for move in result.moves
    )
    for wave in schedule.waves:
        assert 0 < len(wave) <= limits.partitions
        assert not crossed_disks(state, list(wave), limits.disk_share)
        items = {item.name: item for item in state.partitions}
        received, sent = Counter[int](), Counter[int]()
        for move in wave:
            item = items[move.name]
            staying = set(item.in_sync) & set(move.after) | set(move.added)
            enough = min(item.min_isr, len(move.after))
            assert len(staying) >= min(enough, len(item.in_sync))
            sent[item.leader] += move.bytes
            received.update(dict.fromkeys(move.added, move.size))
        for counts in (received, sent):
            largest = max((move.bytes for move in wave), default=0)
            assert all(count <= max(limits.in_flight, largest) for count in counts.values())
        state = c.applied(state, wave)


def test_cases_reach_all_kinds_of_goals() -> None:
    """Each property above is about plans that copy replicas, too, and about waves that wait."""
    seen = Counter[str]()

    @settings(max_examples=400, phases=[Phase.generate], database=None)
    @given(c.cases())
    def draw(case: Case) -> None:
        state, chosen = case
        result = plan(state, chosen)
        seen[chosen.kind] += bool(result.bytes)
        seen["waves"] += len(waves(result, state, Limits(in_flight=100)).waves) > 1

    draw()
    kinds = (goal.SPREAD, goal.DRAIN, goal.RACKS, goal.HOTTEST, goal.TOPIC, goal.REPLICATION)
    assert all(seen[kind] for kind in (*kinds, "waves")), seen
