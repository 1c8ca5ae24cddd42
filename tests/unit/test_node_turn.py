"""What a restarted node still lacks, and the topic of the canary."""

from __future__ import annotations

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils import canary
from ansible_collections.millrace.streaming.plugins.module_utils.cluster_health import (
    Broker,
    Partition,
    Quorum,
    Replica,
    Snapshot,
)
from ansible_collections.millrace.streaming.plugins.module_utils.node_turn import Member, lacks

COMBINED = Member(2, broker=True, controller=True, address="k2:9092", ports=(9092, 9093))
BROKER = Member(2, broker=True, controller=False, address="k2:9092", ports=(9092,))
CONTROLLER = Member(2, broker=False, controller=True, address="k2:9093", ports=(9093,))


def cluster(
    *,
    fenced: bool = False,
    registered: bool = True,
    isr: tuple[int, ...] = (1, 2, 3),
    behind_ms: int | None = 0,
    leader: int = 1,
) -> Snapshot:
    """Three combined nodes; what is said is of node 2."""
    return Snapshot(
        cluster_id="C",
        brokers=tuple(
            Broker(node, fenced=fenced and node == 2)
            for node in (1, 2, 3)
            if registered or node != 2
        ),
        controller_id=leader,
        quorum=Quorum(leader, 7, (Replica(1, 0, 0), Replica(2, 9, behind_ms), Replica(3, 0, 0))),
        partitions=(Partition("t", 0, 1, (1, 2, 3), isr, 2), Partition("u", 0, 1, (1, 3), (1, 3))),
    )


@pytest.mark.parametrize("member", [COMBINED, BROKER, CONTROLLER])
def test_a_node_that_is_back_lacks_nothing(member: Member) -> None:
    assert lacks(cluster(), member) == []


@pytest.mark.parametrize(
    ("member", "snapshot", "words"),
    [
        (BROKER, cluster(fenced=True), "fenced"),
        (BROKER, cluster(registered=False), "not registered"),
        (BROKER, cluster(isr=(1, 3)), "t-0"),
        (COMBINED, cluster(isr=(1, 3)), "t-0"),
        (COMBINED, cluster(behind_ms=2001), "9 records of metadata behind"),
        (CONTROLLER, cluster(behind_ms=None), "behind"),
        (CONTROLLER, cluster(leader=-1), "no leader"),
    ],
)
def test_what_it_lacks_is_named(member: Member, snapshot: Snapshot, words: str) -> None:
    (found,) = lacks(snapshot, member)
    assert words in found


@pytest.mark.parametrize(
    ("member", "snapshot"),
    [
        (CONTROLLER, cluster(isr=(1, 3), fenced=True)),  # a controller holds no partitions
        (BROKER, cluster(behind_ms=60000)),  # of voters alone
        (CONTROLLER, cluster(behind_ms=None, leader=2)),  # the leader is behind nobody
    ],
)
def test_what_is_not_its_own_does_not_count(member: Member, snapshot: Snapshot) -> None:
    assert lacks(snapshot, member) == []


def test_each_broker_leads_one_partition_of_the_canary() -> None:
    found = canary.assignments([3, 1, 2], 3)
    assert found == {0: [1, 2, 3], 1: [2, 3, 1], 2: [3, 1, 2]}
    assert canary.assignments([7], 3) == {0: [7]}
    assert canary.assignments([1, 2, 3, 4], 2)[3] == [4, 1]
