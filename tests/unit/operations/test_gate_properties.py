"""The gate over generated clusters.

`broken` and `led` work out independently what a stop does to the cluster; the gate may not allow a
stop that breaks it.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.snapshot import (
    Broker,
    Partition,
    Quorum,
    Replica,
    Snapshot,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations import gate
from ansible_collections.millrace.streaming.plugins.module_utils.operations.gate import (
    Blocker,
    Expected,
    Node,
    Policy,
)
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from tests.unit.operations.gate_cases import LOOSE, STRICT

FEW = settings(max_examples=150)
BEHIND = (0, 1, 500, 2000, 2001, 60_000, None)
IDS = (1, 2, 3, 4, 5, 101, 102, 103, 104, 105)
TOPICS = ("a", "b", "__consumer_offsets", "__transaction_state")


@dataclass(frozen=True)
class Case:
    """A cluster, what is expected of it, and a node that is to stop."""

    snapshot: Snapshot
    expected: Expected
    node: Node

    def blockers(self, policy: Policy = STRICT) -> list[Blocker]:
        return gate.stop_blockers(self.snapshot, self.node, self.expected, policy)


@st.composite
def partitions(draw: st.DrawFn, brokers: list[int], index: int, healthy: bool) -> Partition:
    least = min(3, len(brokers)) if healthy else 1
    replicas = draw(st.permutations(brokers))[: draw(st.integers(least, len(brokers)))]
    isr = replicas if healthy else [broker for broker in replicas if draw(st.booleans())]
    min_isr = draw(st.integers(1, max(1, len(replicas) - 1) if healthy else 4))
    leader = draw(st.sampled_from(isr)) if isr and (healthy or draw(st.booleans())) else -1
    topic = draw(st.sampled_from(TOPICS))
    return Partition(topic, index, leader, tuple(replicas), tuple(isr), min_isr)


@st.composite
def quorums(draw: st.DrawFn, ids: list[int], healthy: bool) -> Quorum:
    behind = st.sampled_from(BEHIND[:4] if healthy else BEHIND)
    leader = draw(st.sampled_from(ids if healthy else [*ids, -1]))
    return Quorum(leader, 1, tuple(Replica(i, draw(st.integers(0, 9)), draw(behind)) for i in ids))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw a cluster: each part of it healthy or in any state; combined, dedicated or ZooKeeper.

    If all parts were in any state, hardly any node could ever be stopped.
    """
    brokers = list(range(1, draw(st.sampled_from([3, 3, 4, 5, 1, 2])) + 1))
    mode = draw(st.sampled_from(["combined", "dedicated", "zookeeper"]))
    size = draw(st.sampled_from([3, 3, 4, 5, 5, 1, 2]))
    voters = brokers[:size] if mode == "combined" else list(range(101, 101 + size))
    healthy = st.just(True) if draw(st.booleans()) else st.booleans()
    quorum = None if mode == "zookeeper" else draw(quorums(voters, draw(st.booleans())))
    controller = quorum.leader_id if quorum else draw(st.sampled_from([*brokers, *brokers, -1]))
    missing = draw(st.sampled_from([0, 0, 0, 0, 1]))
    fenced = draw(st.sampled_from([0, 0, 0, 0, 0, *brokers]))
    snapshot = Snapshot(
        cluster_id="C",
        brokers=tuple(Broker(i, fenced=i == fenced) for i in brokers[: len(brokers) - missing]),
        controller_id=controller,
        quorum=quorum,
        partitions=tuple(
            draw(partitions(brokers, index, draw(healthy)))
            for index in range(draw(st.integers(0, 4)))
        ),
    )
    expected = Expected(frozenset(brokers), frozenset(voters if quorum else ()))
    controllers = set(voters) if quorum else set()
    node = draw(st.sampled_from(sorted({*brokers, *controllers})))
    role = Node(node, broker=node in brokers, controller=node in controllers)
    return Case(snapshot, draw(st.sampled_from([expected, Expected()])), role)


def reasons(blockers: list[Blocker]) -> set[tuple[str, str]]:
    """Return what is blocked: each partition for whatever reason, or the reason by itself."""
    return {
        reason
        for blocker in blockers
        for reason in (
            [("partition", name) for name in blocker.partitions] or [("", blocker.predicate)]
        )
    }


def broken(case: Case) -> list[Partition]:
    """Return the partitions that refuse acks=all, or have nobody to lead them, after the stop."""
    if not case.node.broker:
        return []
    return [
        partition
        for partition in case.snapshot.partitions
        if case.node.id in partition.replicas
        if len({*partition.isr} - {case.node.id})
        < max(1, min(partition.min_isr, len(partition.replicas)))
    ]


def led(case: Case) -> bool:
    """Return whether the voters that stay can have a leader that has all metadata."""
    quorum = case.snapshot.quorum
    if quorum is None:
        return case.snapshot.controller_id >= 0
    staying = [
        voter
        for voter in quorum.voters
        if not (case.node.controller and voter.id == case.node.id)
        if voter.id == quorum.leader_id or (voter.behind_ms is not None and voter.behind_ms <= 2000)
    ]
    return quorum.leader_id >= 0 and 2 * len(staying) > len(quorum.voters)


@FEW
@given(cases())
def test_a_stop_that_is_allowed_leaves_a_cluster_that_serves(case: Case) -> None:
    if not case.blockers():
        assert broken(case) == []
        assert led(case)
        # In strict mode one more broker may fail before any partition is without a leader.
        assert all(
            len(partition.isr) == len(partition.replicas) > 1
            for partition in case.snapshot.partitions
        )


@FEW
@given(cases())
def test_without_strict_the_cluster_still_serves(case: Case) -> None:
    if not case.blockers(LOOSE):
        assert broken(case) == []
        assert led(case)


@FEW
@given(cases(), st.sets(st.sampled_from([*TOPICS, "*"])), st.booleans())
def test_an_allowed_outage_covers_only_the_topics_it_names(
    case: Case, topics: set[str], unsafe: bool
) -> None:
    policy = Policy(strict=False, allow_outage=frozenset(topics), allow_unsafe_quorum=unsafe)
    if not case.blockers(policy):
        for partition in broken(case):
            assert topics & {partition.topic, "*"}
            assert {*partition.isr} == {*partition.replicas}
            assert len(partition.replicas) <= max(1, partition.min_isr)
        quorum = case.snapshot.quorum
        assert led(case) or (unsafe and quorum is not None and len(quorum.voters) <= 2)


@FEW
@given(cases())
def test_an_unready_node_is_stopped_only_where_no_partition_needs_it(case: Case) -> None:
    unready = dataclasses.replace(case, node=dataclasses.replace(case.node, ready=False))
    for policy in (STRICT, LOOSE):
        if not unready.blockers(policy):
            assert all(case.node.id not in partition.isr for partition in broken(case))
            assert not case.node.controller or led(case)


@FEW
@given(cases(), st.sets(st.sampled_from(IDS)))
def test_knowing_which_nodes_are_down_only_removes_blockers(case: Case, ids: set[int]) -> None:
    blockers = gate.cluster_blockers(case.snapshot, case.expected, STRICT)
    remaining = gate.cluster_blockers(case.snapshot, case.expected, STRICT, frozenset(ids))
    assert reasons(remaining) <= reasons(blockers)


@FEW
@given(cases(), st.data())
def test_less_in_sync_never_removes_a_blocker(case: Case, data: st.DataObject) -> None:
    def shrunk(partition: Partition) -> Partition:
        isr = tuple(i for i in partition.isr if data.draw(st.booleans()))
        return dataclasses.replace(partition, isr=isr)

    snapshot = dataclasses.replace(
        case.snapshot, partitions=tuple(map(shrunk, case.snapshot.partitions))
    )
    worse = dataclasses.replace(case, snapshot=snapshot)
    topics = frozenset(data.draw(st.sets(st.sampled_from(TOPICS))))
    for strict in (True, False):
        policy = Policy(strict=strict, allow_outage=topics)
        assert reasons(case.blockers(policy)) <= reasons(worse.blockers(policy))


@FEW
@given(cases(), st.data())
def test_a_slower_voter_never_removes_a_blocker(case: Case, data: st.DataObject) -> None:
    quorum = case.snapshot.quorum
    if quorum is not None:
        slow = tuple(
            dataclasses.replace(voter, behind_ms=None) if data.draw(st.booleans()) else voter
            for voter in quorum.voters
        )
        snapshot = dataclasses.replace(
            case.snapshot, quorum=dataclasses.replace(quorum, voters=slow)
        )
        worse = dataclasses.replace(case, snapshot=snapshot)
        assert reasons(case.blockers()) <= reasons(worse.blockers())


def test_the_generated_clusters_have_both_verdicts() -> None:
    seen: Counter[bool] = Counter()

    @FEW
    @given(cases())
    def count(case: Case) -> None:
        seen[not case.blockers()] += 1

    count()
    assert min(seen[True], seen[False]) >= 15, seen


@pytest.mark.parametrize(
    "expected",
    [
        "no-leader",
        "no-controller",
        "voter-behind",
        "unsafe-quorum",
        "quorum-majority",
        "not-registered",
        "fenced",
        "offline",
        "under-min-isr",
        "under-replicated",
        "single-replica",
        "no-spare-replica",
        "last-in-sync",
        "min-isr-without",
    ],
)
def test_the_generated_clusters_have_each_blocker(expected: str) -> None:
    require(lambda case: expected in {blocker.predicate for blocker in case.blockers()})


@pytest.mark.parametrize("policy", [STRICT, LOOSE])
@pytest.mark.parametrize("on_zookeeper", [False, True])
def test_some_brokers_with_replicas_in_sync_may_be_stopped(
    policy: Policy, on_zookeeper: bool
) -> None:
    def matters(case: Case) -> bool:
        of_node = [
            partition for partition in case.snapshot.partitions if case.node.id in partition.isr
        ]
        mode = (case.snapshot.quorum is None) is on_zookeeper
        return mode and bool(of_node) and not case.blockers(policy)

    require(matters)


def test_an_allowed_outage_lets_a_needed_broker_be_stopped() -> None:
    everything = Policy(strict=False, allow_outage=frozenset("*"))
    require(lambda case: bool(broken(case)) and not case.blockers(everything))


@pytest.mark.parametrize("policy", [STRICT, LOOSE])
def test_some_brokers_may_be_stopped_because_they_are_not_ready(policy: Policy) -> None:
    def only_unready(case: Case) -> bool:
        unready = dataclasses.replace(case, node=dataclasses.replace(case.node, ready=False))
        return bool(case.blockers(policy)) and not unready.blockers(policy)

    require(only_unready)


def require(condition: Callable[[Case], bool]) -> None:
    """Raise NoSuchExample if no generated cluster is such a one."""
    once = settings(FEW, max_examples=1000, phases=[Phase.generate], database=None)
    find(cases(), condition, settings=once, random=Random(0))


# Order


@st.composite
def nodes(draw: st.DrawFn) -> list[Node]:
    ids = draw(st.lists(st.integers(0, 9), unique=True))
    role = st.sampled_from([(True, False), (False, True), (True, True)])
    return [
        Node(i, broker, controller, draw(st.sampled_from(["", "a", "b"])), draw(st.booleans()))
        for i in ids
        for broker, controller in [draw(role)]
    ]


@FEW
@given(nodes(), st.booleans(), st.data())
def test_an_order_of_restarts(group: list[Node], reverse: bool, data: st.DataObject) -> None:
    voters = tuple(Replica(node.id, 0, 0) for node in group if node.controller)
    active = data.draw(st.sampled_from([-1, 99, *(voter.id for voter in voters)]))
    snapshot = Snapshot("C", (), active, Quorum(active, 1, voters))
    ids = gate.order(group, active, on_zookeeper=False, reverse_roles=reverse)
    assert sorted(ids) == sorted(node.id for node in group)
    assert ids == gate.order(reversed(group), active, on_zookeeper=False, reverse_roles=reverse)

    by_id = {node.id: node for node in group}
    placed = [by_id[i] for i in ids]
    assert [node.ready for node in placed] == sorted(node.ready for node in placed)
    ready = [node for node in placed if node.ready]
    roles = [node.controller for node in ready]
    assert roles == sorted(roles, reverse=not reverse)
    controllers = [node.id for node in ready if node.controller]
    assert active not in controllers[:-1]
    racks = [node.rack for node in ready if not node.controller]
    assert racks == sorted(racks)
    # A run in this order never has to wait by the same snapshot.
    for position, node in enumerate(ready):
        remaining = [later.id for later in ready[position + 1 :]]
        assert not gate.must_wait_for_others(node.id, remaining, snapshot)


@FEW
@given(nodes(), st.integers(-1, 9), st.booleans())
def test_an_order_on_zookeeper(group: list[Node], active: int, reverse: bool) -> None:
    brokers = [dataclasses.replace(node, broker=True, controller=False) for node in group]
    ids = gate.order(brokers, active, on_zookeeper=True, reverse_roles=reverse)
    by_id = {node.id: node for node in brokers}
    ready = [i for i in ids if by_id[i].ready]
    assert ids[len(ids) - len(ready) :] == ready
    assert active not in ready[:-1]
    racks = [by_id[i].rack for i in ready if i != active]
    assert racks == sorted(racks)


@FEW
@given(cases())
def test_only_replicas_of_others_forbid_the_restart_of_a_node_with_a_failed_directory(
    case: Case,
) -> None:
    """Whatever else is so: the gate says of it what it says where its own replicas are in sync."""
    if not case.node.broker:
        return
    node = case.node.id
    failing = [
        dataclasses.replace(
            partition,
            isr=tuple(broker for broker in partition.isr if broker != node),
            offline_replicas=(node,),
        )
        for partition in case.snapshot.partitions
        if node in partition.replicas
    ]
    unaffected = [
        partition for partition in case.snapshot.partitions if node not in partition.replicas
    ]
    snapshot = dataclasses.replace(case.snapshot, partitions=tuple(unaffected + failing))
    unready = dataclasses.replace(case.node, ready=False)
    names = {partition.name for partition in failing}
    blockers = gate.stop_blockers(snapshot, unready, case.expected, STRICT)
    under_replicated = {
        partition.name for partition in failing if {*partition.replicas} - {*partition.isr} - {node}
    }
    for blocker in blockers:
        if blocker.predicate == "under-replicated":
            assert names & {*blocker.partitions} == under_replicated
        assert blocker.predicate not in ("last-in-sync", "min-isr-without")
