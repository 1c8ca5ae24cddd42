"""Brokers that are restarted at the same time: which ones, and what their gates say meanwhile."""

from __future__ import annotations

import dataclasses
from collections import Counter
from dataclasses import dataclass
from itertools import chain

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.snapshot import (
    Broker,
    Partition,
    Snapshot,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations import gate
from ansible_collections.millrace.streaming.plugins.module_utils.operations.gate import (
    Expected,
    Node,
    Policy,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.operations.gate_cases import STRICT, named, partition, predicates, state

FEW = settings(max_examples=150)
EVERYTHING = Policy(allow_outage=frozenset("*"))


@dataclass(frozen=True)
class Case:
    """A cluster, and brokers of it in the order of their restarts."""

    snapshot: Snapshot
    brokers: tuple[int, ...]
    most: int

    def sets(self) -> list[list[int]]:
        return gate.sets(self.snapshot, self.brokers, self.most)


@st.composite
def cases(draw: st.DrawFn, *, healthy: bool = False) -> Case:
    ids = list(range(1, draw(st.integers(1, 8)) + 1))
    partitions = []
    for index in range(draw(st.integers(0, 6))):
        replicas = tuple(draw(st.permutations(ids))[: draw(st.integers(1, min(5, len(ids))))])
        isr = tuple(broker for broker in replicas if healthy or draw(st.booleans()))
        least = draw(st.integers(1, max(1, len(replicas) - 1) if healthy else 4))
        partitions.append(Partition("t", index, isr[0] if isr else -1, replicas, isr, least))
    brokers = draw(st.lists(st.sampled_from(ids), unique=True))
    snapshot = Snapshot("C", tuple(map(Broker, ids)), 1, None, tuple(partitions))
    return Case(snapshot, tuple(brokers), draw(st.integers(1, 8)))


def needed(item: Partition) -> int:
    """How many replicas a partition needs in sync to have a leader and take acks=all."""
    return max(1, min(item.min_isr, len(item.replicas)))


@FEW
@given(cases())
def test_sets_have_each_broker_once_and_no_more_than_allowed(case: Case) -> None:
    sets = case.sets()
    assert sorted(chain(*sets)) == sorted(case.brokers)
    assert all(1 <= len(members) <= case.most for members in sets)
    positions = {broker: position for position, broker in enumerate(case.brokers)}
    assert all(members == sorted(members, key=positions.__getitem__) for members in sets)
    # The first that is left is never left out again, so that none waits for ever.
    firsts = [positions[members[0]] for members in sets]
    assert firsts == sorted(firsts)


@FEW
@given(cases())
def test_no_partition_loses_several_replicas_that_it_needs(case: Case) -> None:
    for members in case.sets():
        for item in case.snapshot.partitions:
            lost = {*members} & {*item.isr}
            if lost and len({*members} & {*item.replicas}) > 1:
                assert len({*item.isr} - lost) >= needed(item)


@FEW
@given(cases())
def test_a_broker_is_left_out_only_where_a_partition_needs_it(case: Case) -> None:
    first, *later = case.sets() or [[]]
    for broker in chain(*later) if len(first) < case.most else ():
        together = {*first, broker}
        assert any(
            len({*item.isr} - together) < needed(item)
            for item in case.snapshot.partitions
            if broker in item.replicas and len(together & {*item.replicas}) > 1
        )


def stopped(snapshot: Snapshot, away: set[int], *, fenced: set[int]) -> Snapshot:
    """Return a cluster in which brokers were stopped; those that are not `fenced` are back."""
    partitions = tuple(
        dataclasses.replace(item, isr=left, leader=left[0] if left else -1)
        for item in snapshot.partitions
        for left in [tuple(broker for broker in item.isr if broker not in away)]
    )
    brokers = tuple(Broker(item.id, fenced=item.id in fenced) for item in snapshot.brokers)
    return dataclasses.replace(snapshot, brokers=brokers, partitions=partitions)


def verdict(snapshot: Snapshot, broker: int, members: set[int], policy: Policy) -> list[str]:
    node = Node(broker, broker=True, controller=False)
    expected = Expected(frozenset(item.id for item in snapshot.brokers))
    others = frozenset(members - {broker})
    return predicates(gate.stop_blockers(snapshot, node, expected, policy, others))


@FEW
@given(cases(healthy=True), st.data())
def test_a_set_never_waits_for_its_own_members(case: Case, data: st.DataObject) -> None:
    """Whoever of it is away already, or serves again and is not in sync yet."""
    spare = all(len(item.replicas) > item.min_isr for item in case.snapshot.partitions)
    for members in case.sets():
        away = data.draw(st.sets(st.sampled_from(members)))
        # A partition without a spare replica is offline until it is in sync.
        back = data.draw(st.sets(st.sampled_from(sorted(away)))) if away and spare else set()
        meanwhile = stopped(case.snapshot, away, fenced=away - back)
        for broker in {*members} - away:
            assert verdict(meanwhile, broker, {*members}, EVERYTHING) == []


@FEW
@given(cases(), st.sampled_from([STRICT, Policy(strict=False), EVERYTHING]))
def test_a_set_that_every_gate_lets_go_leaves_a_cluster_that_serves(
    case: Case, policy: Policy
) -> None:
    members = {*case.brokers}
    if members and not any(verdict(case.snapshot, broker, members, policy) for broker in members):
        for item in case.snapshot.partitions:
            lost = members & {*item.replicas}
            exempt = len(lost) < 2 and policy is EVERYTHING
            if lost and not exempt:
                assert len({*item.isr} - lost) >= needed(item)


@FEW
@given(cases(), st.data())
def test_others_that_share_no_partition_change_no_verdict(case: Case, data: st.DataObject) -> None:
    broker = data.draw(st.sampled_from([item.id for item in case.snapshot.brokers]))
    sharing = {
        other
        for item in case.snapshot.partitions
        if broker in item.replicas
        for other in item.replicas
    }
    others = {item.id for item in case.snapshot.brokers} - sharing - {broker}
    alone = verdict(case.snapshot, broker, {broker}, Policy(strict=False))
    assert verdict(case.snapshot, broker, {broker, *others}, Policy(strict=False)) == alone


def test_the_generated_clusters_have_sets_of_each_kind() -> None:
    sizes: Counter[str] = Counter()

    @FEW
    @given(cases())
    def tally(case: Case) -> None:
        sets = case.sets()
        sizes["several"] += any(len(members) > 1 for members in sets)
        sizes["divided"] += len(sets) > 1 and any(len(members) < case.most for members in sets[:-1])

    tally()
    assert min(sizes["several"], sizes["divided"]) >= 15, sizes


def ring(brokers: int) -> Snapshot:
    """Return a cluster with a partition on each three brokers in a row."""
    partitions = tuple(
        partition("t", first, replicas=tuple((first + step) % brokers for step in range(3)))
        for first in range(brokers)
    )
    return state(brokers=tuple(map(Broker, range(brokers))), partitions=partitions)


@pytest.mark.parametrize(
    ("most", "expected"),
    [
        (12, [[0, 3, 6, 9]]),
        (4, [[0, 3, 6, 9]]),
        (3, [[0, 3, 6], [9]]),
        (1, [[0], [3], [6], [9]]),
    ],
)
def test_a_rack_is_one_set_where_no_partition_is_twice_in_it(
    most: int, expected: list[list[int]]
) -> None:
    assert gate.sets(ring(12), [0, 3, 6, 9], most) == expected


def test_brokers_without_racks_go_together_where_they_share_no_partition() -> None:
    assert gate.sets(ring(6), [0, 1, 2, 3, 4, 5], 2) == [[0, 3], [1, 4], [2, 5]]


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (partition(replicas=(1, 2, 3), min_isr=1), [[1, 2]]),
        (partition(replicas=(1, 2, 3), min_isr=2), [[1], [2]]),
        (partition(replicas=(1, 2), min_isr=1), [[1], [2]]),
        (partition(replicas=(1,), min_isr=1), [[1, 2]]),
        # It has nobody in sync there: it loses nothing.
        (partition(replicas=(1, 2, 3), isr=(3,), min_isr=2), [[1, 2]]),
        (partition(replicas=(1, 2, 3, 4), isr=(2, 3), min_isr=2), [[1], [2]]),
    ],
)
def test_what_a_partition_can_spare(item: Partition, expected: list[list[int]]) -> None:
    assert gate.sets(state(partitions=(item,)), [1, 2], 2) == expected


def test_the_message_names_all_brokers_of_the_set_and_the_partition() -> None:
    node = Node(2, broker=True, controller=False)
    blockers = gate.stop_blockers(state(quorum=None), node, Expected(), EVERYTHING, frozenset({3}))
    assert named(blockers) == {"min-isr-without": ("__consumer_offsets-7", "t-0")}
    assert "without broker 2, 3" in str(blockers[0])


def test_an_allowed_outage_is_no_reason_to_stop_all_replicas() -> None:
    pair = partition("logs", replicas=(2, 3))
    snapshot = state(partitions=(pair,))
    assert verdict(snapshot, 2, {2}, EVERYTHING) == []
    assert verdict(snapshot, 2, {2, 3}, EVERYTHING) == ["last-in-sync"]


def test_a_fault_of_a_broker_outside_the_set_still_blocks() -> None:
    snapshot = state(brokers=(Broker(1, fenced=True), Broker(2), Broker(3)))
    assert "fenced" in verdict(snapshot, 2, {2, 3}, STRICT)
    within = state(brokers=(Broker(1), Broker(2), Broker(3, fenced=True)), partitions=())
    assert verdict(within, 2, {2, 3}, STRICT) == []
    assert "fenced" in verdict(within, 2, {2}, STRICT)
