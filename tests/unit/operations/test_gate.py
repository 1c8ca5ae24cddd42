"""What forbids stopping a node, and what only seems to."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.snapshot import (
    Broker,
    Partition,
    Quorum,
    Replica,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations.gate import (
    SHOWN,
    Blocker,
    Expected,
    Policy,
    cluster_blockers,
    lacks_majority,
)

from tests.unit.operations.gate_cases import (
    ALL,
    BROKERS,
    EXPECTED,
    HEALTHY,
    LOOSE,
    STRICT,
    ZOOKEEPER,
    named,
    partition,
    predicates,
    state,
    stop,
    voters,
)

# What forbids touching any node


@pytest.mark.parametrize("node", [1, 2, 3])
@pytest.mark.parametrize("policy", [STRICT, LOOSE])
def test_in_a_healthy_cluster_any_one_node_may_be_stopped(node: int, policy: Policy) -> None:
    assert stop(HEALTHY, node, policy=policy) == []
    assert stop(HEALTHY, node, policy=policy, expected=Expected()) == []
    expected = Expected(brokers=ALL)
    assert stop(ZOOKEEPER, node, policy=policy, controller=False, expected=expected) == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"cluster_id": "X"}, {"wrong-cluster": ["X", "C"]}),
        ({"brokers": BROKERS[:2]}, {"not-registered": ["broker 3"]}),
        ({"brokers": (*BROKERS, Broker(9))}, {"unexpected-broker": ["broker 9"]}),
        ({"brokers": (*BROKERS, Broker(9, fenced=True))}, {"unexpected-broker": ["broker 9"]}),
        ({"brokers": (*BROKERS[:2], Broker(3, fenced=True))}, {"fenced": ["broker 3"]}),
        ({"quorum": voters(0, 0, 0, leader=-1)}, {"no-leader": []}),
        ({"quorum": None}, {"no-quorum": ["1, 2, 3"]}),
        ({"quorum": voters(0, 0)}, {"voter-missing": ["controller 3"]}),
        ({"quorum": voters(0, 0, 0, 0)}, {"unexpected-voter": ["controller 4"]}),
        ({"quorum": voters(0, 0, 2000)}, {}),
        ({"quorum": voters(0, 0, 2001)}, {"voter-behind": ["controller 3", "2000 ms"]}),
        ({"quorum": voters(0, 0, None)}, {"voter-behind": ["controller 3", "2000 ms"]}),
        ({"quorum": voters(None, 0, 0, leader=1)}, {}),
        ({"quorum": voters(0, 9999, None)}, {"voter-behind": ["controller 2, 3"]}),
        ({"unreadable_topics": {"secret": 29}}, {"unreadable": ["secret"]}),
        ({"throttled": ("t",)}, {"throttled": ["(t)"]}),
        ({"reassigning": ("t-0",)}, {"reassigning": ["t-0"]}),
    ],
)
def test_trouble_anywhere_forbids_every_node(changes: Any, expected: dict[str, list[str]]) -> None:
    """Each predicate names what it is about."""
    blockers = cluster_blockers(state(**changes), EXPECTED, STRICT)
    assert predicates(blockers) == list(expected)
    for blocker in blockers:
        assert all(name in str(blocker) for name in expected[blocker.predicate])
    for node in ALL:
        assert {*expected} <= {*predicates(stop(state(**changes), node))}


def test_zookeeper_needs_a_controller_among_the_brokers() -> None:
    expected = Expected(brokers=ALL)
    assert cluster_blockers(ZOOKEEPER, expected, STRICT) == []
    nobody = dataclasses.replace(ZOOKEEPER, controller_id=-1)
    assert predicates(cluster_blockers(nobody, expected, STRICT)) == ["no-controller"]


@pytest.mark.parametrize(
    ("troubled", "strict", "loose"),
    [
        (partition(), set(), set()),
        (partition(offline=True), {"offline"}, {"offline"}),
        (partition(isr=(1, 2)), {"under-replicated"}, set()),
        (partition(isr=(1,)), {"under-replicated", "under-min-isr"}, {"under-min-isr"}),
        (partition(isr=(1,), min_isr=1), {"under-replicated"}, set()),
        (partition(replicas=(1,), min_isr=1), {"single-replica"}, {"single-replica"}),
        (partition(replicas=(1,), min_isr=2), {"single-replica"}, {"single-replica"}),
        (partition(replicas=(1, 2)), {"no-spare-replica"}, {"no-spare-replica"}),
        (partition(min_isr=3), {"no-spare-replica"}, {"no-spare-replica"}),
        (partition(replicas=(1, 2), min_isr=1), set(), set()),
    ],
)
def test_a_partition_in_trouble_forbids_also_brokers_without_it(
    troubled: Partition, strict: set[str], loose: set[str]
) -> None:
    expected = Expected(brokers=frozenset({1, 2, 3, 4}), voters=ALL)
    snapshot = state(brokers=(*BROKERS, Broker(4)), partitions=(troubled,))
    for policy, slugs in ((STRICT, strict), (LOOSE, loose)):
        blockers = stop(snapshot, 4, policy=policy, controller=False, expected=expected)
        assert named(blockers) == dict.fromkeys(slugs, ("t-0",))


def test_a_replica_that_is_down_is_named_with_its_partitions() -> None:
    down = state(
        brokers=BROKERS[:2],
        quorum=voters(0, 0, 60_000),
        partitions=tuple(partition(index=i, isr=(1, 2)) for i in range(7)),
    )
    blockers = {blocker.predicate: blocker for blocker in stop(down, 1)}
    assert {*blockers} == {
        "not-registered",
        "voter-behind",
        "quorum-majority",
        "under-replicated",
        "min-isr-without",
    }
    assert blockers["min-isr-without"].partitions == tuple(f"t-{i}" for i in range(7))
    assert "broker 3" in blockers["under-replicated"].what
    assert "broker 1" in blockers["min-isr-without"].what


# What would follow from stopping one broker


@pytest.mark.parametrize(
    ("single", "node", "expected"),
    [
        (partition(isr=(1, 2)), 1, "min-isr-without"),
        (partition(isr=(1, 2)), 3, None),
        (partition(isr=(1, 2), min_isr=1), 1, None),
        (partition(isr=(1,), min_isr=1), 1, "last-in-sync"),
        (partition(isr=(1,), min_isr=1), 2, None),
        (partition(isr=(1,)), 2, "min-isr-without"),
        (partition(isr=(1,), replicas=(1, 3)), 2, None),
        (partition(isr=()), 2, "last-in-sync"),
        (partition(replicas=(1, 2, 3, 4), isr=(1, 2, 3), min_isr=3), 4, None),
        (partition(replicas=(1, 2, 3, 4), isr=(1, 2, 3), min_isr=3), 3, "min-isr-without"),
        (partition("__transaction_state", isr=(1, 2)), 1, "min-isr-without"),
    ],
)
def test_what_a_broker_leaves_behind(single: Partition, node: int, expected: str | None) -> None:
    blockers = stop(state(partitions=(single,)), node, policy=LOOSE, controller=False)
    per_node = {"min-isr-without", "last-in-sync"} & {*predicates(blockers)}
    assert per_node == ({expected} if expected else set())
    for slug in per_node:
        assert named(blockers)[slug] == (single.name,)


def test_a_dedicated_controller_holds_no_replicas() -> None:
    snapshot = state(partitions=(partition(isr=(1, 2)),))
    assert stop(snapshot, 1, policy=LOOSE, broker=False) == []


@pytest.mark.parametrize("allowed", ["t", "*"])
@pytest.mark.parametrize(
    ("troubled", "expected"),
    [
        (partition(replicas=(2,), min_isr=1), set()),
        (partition(replicas=(2,), min_isr=2), set()),
        (partition(replicas=(2, 3)), set()),
        (partition(min_isr=3), set()),
        (partition(isr=(2, 3)), {"min-isr-without"}),
        (partition(isr=(2,), min_isr=1), {"last-in-sync"}),
        (partition(replicas=(2, 3), isr=(2,)), {"under-min-isr", "last-in-sync"}),
        (partition(isr=(1, 2), min_isr=3), {"under-min-isr", "min-isr-without"}),
        (
            partition(replicas=(2,), isr=(), offline=True),
            {"offline", "under-min-isr", "last-in-sync"},
        ),
        (partition(replicas=(2,), offline=True), {"offline"}),
    ],
)
def test_an_outage_is_allowed_for_lack_of_replicas_and_not_for_trouble(
    troubled: Partition, expected: set[str], allowed: str
) -> None:
    snapshot = state(partitions=(troubled,))
    policy = Policy(strict=False, allow_outage=frozenset({allowed}))
    assert {*predicates(stop(snapshot, policy=policy))} == expected


def test_an_allowed_outage_does_not_cover_other_topics() -> None:
    snapshot = state(
        partitions=(partition("a", replicas=(2,)), partition("b", replicas=(2,)), partition("c"))
    )
    blockers = stop(snapshot, policy=Policy(allow_outage=frozenset({"a"})))
    assert named(blockers) == {"single-replica": ("b-0",)}


# What would follow from stopping one controller


@pytest.mark.parametrize(
    ("quorum", "node", "majority"),
    [
        (voters(0, 0, 0), 1, True),
        (voters(0, 0, 0), 2, True),
        (voters(0, 0, 2001), 3, True),
        (voters(0, 0, 2001), 2, False),
        (voters(0, 0, 2001), 1, False),
        (voters(0, 0, None), 2, False),
        (voters(None, 0, 0, leader=1), 2, True),
        (voters(None, 0, 0, leader=2), 3, False),
        (voters(0, 0, 0, 0), 4, True),
        (voters(0, 0, 9999, 0), 3, True),
        (voters(0, 0, 9999, 0), 4, False),
        (voters(0, 0, 0, 9999, 0), 5, True),
        (voters(0, 0, 9999, 9999, 0), 4, True),
        (voters(0, 0, 9999, 9999, 0), 5, False),
        (voters(0, 0, 0, leader=-1), 2, False),
    ],
)
def test_a_majority_must_stay_and_be_caught_up(quorum: Quorum, node: int, majority: bool) -> None:
    blockers = stop(state(quorum=quorum), node, broker=False, expected=Expected())
    assert ("quorum-majority" not in predicates(blockers)) is majority


@pytest.mark.parametrize("behind", [(0,), (0, 0)])
def test_of_one_or_two_voters_none_is_stopped_unless_that_is_allowed(
    behind: tuple[int, ...],
) -> None:
    snapshot = state(quorum=voters(*behind))
    blockers = stop(snapshot, 1, broker=False, expected=Expected())
    assert predicates(blockers) == ["unsafe-quorum"]
    allowed = Policy(allow_unsafe_quorum=True)
    assert stop(snapshot, 1, policy=allowed, broker=False, expected=Expected()) == []
    # Nothing happens to the quorum when a node stops that is no voter.
    assert stop(snapshot, 3, controller=False, expected=Expected()) == []
    assert stop(snapshot, 3, expected=Expected()) == []


def test_allowing_an_unsafe_quorum_does_not_cover_a_voter_that_is_behind() -> None:
    allowed = Policy(allow_unsafe_quorum=True)
    for snapshot in (state(quorum=voters(0, 9999)), state(quorum=voters(0, 9999, 0))):
        blockers = stop(snapshot, 1, policy=allowed, broker=False, expected=Expected())
        assert "voter-behind" in predicates(blockers)


def test_a_controller_without_a_quorum_is_left_alone_and_named_once() -> None:
    for expected in (Expected(), EXPECTED):
        blockers = stop(ZOOKEEPER, 7, broker=False, expected=expected)
        assert predicates(blockers) == ["no-quorum"]


# Nodes that are down and are started first


DOWN = state(
    brokers=(Broker(1), Broker(2), Broker(3, fenced=True)),
    quorum=voters(0, 0, 60_000),
    partitions=(partition(isr=(1, 2)), partition("v", replicas=(3, 1), min_isr=1, offline=True)),
    reassigning=("t-0",),
)


def test_what_a_down_node_causes_does_not_forbid_starting_it() -> None:
    assert predicates(cluster_blockers(DOWN, EXPECTED, STRICT)) == [
        "voter-behind",
        "fenced",
        "offline",
        "under-replicated",
        "reassigning",
    ]
    assert cluster_blockers(DOWN, EXPECTED, STRICT, frozenset({3})) == []
    unregistered = dataclasses.replace(DOWN, brokers=BROKERS[:2], quorum=voters(0, 0))
    assert cluster_blockers(unregistered, EXPECTED, STRICT, frozenset({3})) == []
    short = dataclasses.replace(DOWN, partitions=(partition(isr=(1,)),))
    assert cluster_blockers(short, EXPECTED, LOOSE, frozenset({3})) == []


def test_a_down_voter_may_be_why_there_is_no_leader() -> None:
    leaderless = state(quorum=voters(0, 0, 0, leader=-1))
    for expected in (EXPECTED, Expected()):
        assert cluster_blockers(leaderless, expected, STRICT, frozenset({2})) == []
    empty = state(quorum=Quorum(-1, 5, ()))
    blockers = cluster_blockers(empty, EXPECTED, STRICT, frozenset({2}))
    assert "no-leader" not in predicates(blockers)
    dedicated = cluster_blockers(leaderless, EXPECTED, STRICT, frozenset({9}))
    assert predicates(dedicated) == ["no-leader"]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"cluster_id": "X"}, "wrong-cluster"),
        ({"brokers": (Broker(1), Broker(2, fenced=True))}, "fenced"),
        ({"brokers": (Broker(1),)}, "not-registered"),
        ({"brokers": (Broker(1), Broker(2), Broker(9))}, "unexpected-broker"),
        ({"quorum": voters(0, 9999, 9999)}, "voter-behind"),
        ({"quorum": voters(0)}, "voter-missing"),
        ({"quorum": voters(0, 0, 0, 0)}, "unexpected-voter"),
        ({"quorum": None}, "no-quorum"),
        ({"throttled": ("t",)}, "throttled"),
        ({"unreadable_topics": {"t": 29}}, "unreadable"),
        ({"partitions": (partition(isr=(1,)),)}, "under-replicated"),
        ({"partitions": (partition(replicas=(1, 2), min_isr=1, offline=True),)}, "offline"),
        ({"partitions": (partition(replicas=(1, 2, 4), isr=(1,)),)}, "under-min-isr"),
        ({"partitions": (partition(replicas=(1, 2, 4)),), "reassigning": ("t-0",)}, "reassigning"),
        ({"partitions": (partition(replicas=(3,)),)}, "single-replica"),
    ],
)
def test_what_a_down_node_cannot_be_the_cause_of_still_forbids(changes: Any, expected: str) -> None:
    blockers = cluster_blockers(
        dataclasses.replace(DOWN, **changes), EXPECTED, STRICT, frozenset({3})
    )
    assert expected in predicates(blockers)


def test_an_unready_node_that_runs_may_be_stopped_if_the_others_carry_on() -> None:
    unready = dataclasses.replace(DOWN, partitions=DOWN.partitions[:1])
    assert stop(unready, 3) != []
    assert stop(unready, 3, ready=False) == []
    needed = dataclasses.replace(DOWN, partitions=(partition(isr=(2, 3)),))
    assert predicates(stop(needed, 3, policy=LOOSE, ready=False)) == ["min-isr-without"]
    only = dataclasses.replace(DOWN, partitions=(partition(isr=(3,), min_isr=1),))
    assert "last-in-sync" in predicates(stop(only, 3, ready=False))
    alone = dataclasses.replace(unready, quorum=voters(0, None, 60_000))
    assert "quorum-majority" in predicates(stop(alone, 3, ready=False))


# How blockers are shown


def test_a_blocker_in_one_line_names_some_partitions_and_how_many_more_there_are() -> None:
    names = tuple(f"p{i}" for i in range(SHOWN + 37))
    assert str(Blocker("x", "what")) == "what"
    few = str(Blocker("x", "what", names[:SHOWN]))
    assert all(name in few for name in names[:SHOWN])
    many = str(Blocker("x", "what", names))
    assert names[0] in many
    assert names[SHOWN] not in many
    assert "37" in many


def test_a_report_names_all_partitions() -> None:
    many = tuple(partition(index=i, isr=(1, 2)) for i in range(12))
    (blocker,) = cluster_blockers(state(partitions=many), EXPECTED, STRICT)
    entry = json.loads(json.dumps(blocker.as_data()))
    assert entry["predicate"] == "under-replicated"
    assert entry["partitions"] == sorted(f"t-{i}" for i in range(12))


def test_a_node_may_have_the_id_0() -> None:
    """It leads, votes and carries the quorum as any other."""
    three = tuple(Replica(number, 0, 0) for number in (0, 1, 2))
    zero = state(
        brokers=tuple(map(Broker, (0, 1, 2))),
        controller_id=0,
        quorum=Quorum(0, 5, three),
        partitions=(partition(replicas=(0, 1, 2)),),
    )
    expected = Expected(brokers=frozenset({0, 1, 2}), voters=frozenset({0, 1, 2}), cluster_id="C")
    assert cluster_blockers(zero, expected, STRICT) == []
    for node in (0, 1, 2):
        assert stop(zero, node, expected=expected) == []
    on_zookeeper = dataclasses.replace(zero, quorum=None)
    alone = Expected(brokers=frozenset({0, 1, 2}))
    assert predicates(cluster_blockers(on_zookeeper, alone, STRICT)) == []


@pytest.mark.parametrize(
    "before", [partition("a", replicas=(2, 3)), partition("a", replicas=(1,), min_isr=1)]
)
def test_every_partition_counts_not_only_the_first(before: Partition) -> None:
    """One that the node does not have, or that may be unavailable, comes before one that it has."""
    policy = Policy(strict=False, allow_outage=frozenset({"a"}))
    partitions = (before, partition("b", isr=(1,)), partition("c", isr=(1, 2)))
    blockers = stop(state(partitions=partitions), 1, policy=policy)
    assert {"last-in-sync", "min-isr-without"} <= {*predicates(blockers)}
    assert "b-0" in str(blockers)
    assert "c-0" in str(blockers)


@pytest.mark.parametrize("hidden", [0, 1, 2])
def test_a_line_shows_a_few_partitions_and_how_many_more(hidden: int) -> None:
    names = tuple(f"t-{number}" for number in range(SHOWN + hidden))
    line = str(Blocker("offline", "what", names))
    assert [name for name in names if name in line] == [*names[:SHOWN]]
    assert ("more" in line) is bool(hidden)
    assert not hidden or f"{hidden} more" in line


@pytest.mark.parametrize(
    ("quorum", "needed"),
    [
        (voters(0, 0, 0), False),
        (voters(None, 0, 0, leader=2), False),
        (voters(None, 0, 9000, leader=2), True),
        (voters(None, 0, leader=2), True),
        (voters(None, 0, 0, 9000, 9000, leader=2), True),
        (voters(None, 0, 0, 0, 9000, leader=2), False),
        (voters(None, 0, 0, leader=-1), True),
    ],
)
def test_a_vote_is_needed_unless_the_others_are_a_majority(quorum: Quorum, needed: bool) -> None:
    """Of node 1, whose disk is empty."""
    quorum = dataclasses.replace(quorum, high_watermark=70)
    assert bool(lacks_majority(quorum, 1)) is needed


def test_a_leader_without_a_high_watermark_has_not_shown_its_majority() -> None:
    assert lacks_majority(dataclasses.replace(voters(0, 0, 0), high_watermark=-1), 3)
