"""A cluster at one moment, out of the admin client's answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import snapshot
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import errors
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.snapshot import (
    MIN_ISR,
    THROTTLES,
    Broker,
    Partition,
    Quorum,
    Replica,
)

REPLICA = ("replica_id", "log_end_offset", "last_caught_up_timestamp", "last_fetch_timestamp")
NOBODY: dict[str, Any] = {"cluster_id": "C", "controller_id": 1, "brokers": []}


def quorum(voters: list[Any], leader: int = 1, observers: list[Any] | None = None) -> Any:
    """DescribeQuorum's answer, each replica by the first few of `REPLICA`."""
    log = {
        "leader_id": leader,
        "leader_epoch": 7,
        "high_watermark": 90,
        "current_voters": [dict(zip(REPLICA, state, strict=False)) for state in voters],
        "observers": [dict(zip(REPLICA, state, strict=False)) for state in observers or []],
    }
    return {"topics": [{"partitions": [log]}]}


def topic(name: str, *partitions: tuple[int, list[int], list[int]], error: int = 0) -> Any:
    """Metadata of a topic: leader, replicas and ISR of each partition, the last one first."""
    entries = [
        {"partition_index": i, "leader_id": leader, "replica_nodes": replicas, "isr_nodes": isr}
        for i, (leader, replicas, isr) in enumerate(partitions)
    ]
    return {"name": name, "error_code": error, "partitions": entries[::-1]}


def test_brokers_and_partitions_come_in_order() -> None:
    brokers = [
        {"broker_id": 2, "host": "h2", "port": 9092, "rack": "r", "is_fenced": True},
        {"broker_id": 1, "host": "h1", "port": 9092, "rack": None},
    ]
    partitions = ((2, [2], [2]), (-1, [1, 2], [1]))
    topics = [topic("b", *partitions), topic("a", *partitions), topic("c", error=29)]
    cluster_state = snapshot.snapshot({**NOBODY, "brokers": brokers}, topics, None, {"b": 2})
    assert cluster_state.brokers == (Broker(1, "h1", 9092), Broker(2, "h2", 9092, "r", fenced=True))
    assert cluster_state.partitions[1:3] == (
        Partition("a", 1, -1, (1, 2), (1,), 1),
        Partition("b", 0, 2, (2,), (2,), 2),
    )
    assert [partition.name for partition in cluster_state.partitions] == [
        "a-0",
        "a-1",
        "b-0",
        "b-1",
    ]
    assert cluster_state.unreadable_topics == {"c": 29}


@pytest.mark.parametrize(
    ("partition", "offline", "under_replicated", "under_min_isr"),
    [
        (Partition("t", 0, 1, (1, 2, 3), (1, 2, 3), 2), False, False, False),
        (Partition("t", 0, 1, (1, 2, 3), (1, 2), 2), False, True, False),
        (Partition("t", 0, 1, (1, 2, 3), (1,), 2), False, True, True),
        (Partition("t", 0, -1, (1, 2, 3), (), 1), True, True, True),
        (Partition("t", 0, 0, (0, 1), (0, 1), 2), False, False, False),
        # Brokers cap the setting at the number of replicas.
        (Partition("t", 0, 1, (1,), (1,), 2), False, False, False),
    ],
)
def test_what_a_partition_lacks(
    partition: Partition, offline: bool, under_replicated: bool, under_min_isr: bool
) -> None:
    assert partition.offline is offline
    assert partition.under_replicated is under_replicated
    assert partition.under_min_isr is under_min_isr


def test_lag_is_counted_from_the_leaders_end_by_the_leaders_clock() -> None:
    voters = [(1, 100, 5000), (2, 98, 4200), (3, 100, -1)]
    cluster_state = snapshot.snapshot({**NOBODY, "controller_id": 2}, [], quorum(voters), {})
    states = (Replica(1, 0, 0), Replica(2, 2, 800), Replica(3, 0, None))
    assert cluster_state.quorum == Quorum(1, 7, states, high_watermark=90)
    assert cluster_state.controller_id == 1, (
        "brokers name any broker as controller, the quorum its leader"
    )


def test_a_follower_is_never_ahead_of_its_leader() -> None:
    """It may have fetched again, and stamped later, while the leader's own numbers were read."""
    quorum_state = snapshot.snapshot(
        NOBODY, [], quorum([(1, 100, 5000), (2, 103, 5004)]), {}
    ).quorum
    assert quorum_state
    assert quorum_state.voters == (Replica(1, 0, 0), Replica(2, 0, 0))


def test_the_leader_is_one_voter_of_several() -> None:
    voters = [(0, 40, 1000), (1, 60, 2000), (2, 100, 5000)]
    quorum_state = snapshot.snapshot(NOBODY, [], quorum(voters, leader=2), {}).quorum
    assert quorum_state
    assert quorum_state.voters == (Replica(0, 60, 4000), Replica(1, 40, 3000), Replica(2, 0, 0))


def test_without_timestamps_nobody_is_known_to_have_caught_up() -> None:
    """Brokers before KIP-836 give none."""
    quorum_state = snapshot.snapshot(NOBODY, [], quorum([(1, 100), (2, 90)]), {}).quorum
    assert quorum_state
    assert quorum_state.voters == (Replica(1, 0, None), Replica(2, 10, None))
    some = quorum([(1, 100, 5000), (2, 90)])
    quorum_state = snapshot.snapshot(NOBODY, [], some, {}).quorum
    assert quorum_state
    assert quorum_state.voters == (Replica(1, 0, 0), Replica(2, 10, None))


def test_without_a_quorum_the_controller_is_a_broker() -> None:
    cluster_state = snapshot.snapshot({**NOBODY, "controller_id": 2}, [], None, {})
    assert (cluster_state.controller_id, cluster_state.quorum) == (2, None)


def test_without_a_leader_lag_is_counted_from_the_high_watermark() -> None:
    quorum_state = snapshot.snapshot(
        NOBODY, [], quorum([(1, 80, -1), (2, 95, -1)], leader=-1), {}
    ).quorum
    assert quorum_state
    assert [(voter.lag, voter.behind_ms) for voter in quorum_state.voters] == [
        (10, None),
        (0, None),
    ]


def test_a_node_formatted_anew_is_listed_once_as_it_is() -> None:
    """The leader lists the directory that it had before for five minutes more (KIP-853)."""
    observers = [(100, 100, 4900, 4990), (100, 40, 2000, 2000), (101, 100, 4950, 4950)]
    observers.append((1, 40, 2000, 2000))  # of the voter's former disk
    for order in (observers, observers[::-1]):
        response = quorum([(1, 100, 5000)], observers=order)
        quorum_state = snapshot.snapshot(NOBODY, [], response, {}).quorum
        assert quorum_state
        assert quorum_state.observers == (Replica(100, 0, 100), Replica(101, 0, 50))


def test_only_shrunk_topics_need_their_settings() -> None:
    topics = [topic("b", (1, [1, 2], [1])), topic("a", (1, [1, 2], [])), topic("c", (1, [1], [1]))]
    assert snapshot.shrunk_topics(topics) == ["a", "b"]


# Asking


@dataclass
class Admin:
    """As much of an admin client as a snapshot asks."""

    settings: dict[str, dict[str, str]]
    """Topic -> key -> value."""
    kraft: Callable[[], Any] = lambda: quorum([(1, 100, 5000)])
    asked: list[list[str]] = field(default_factory=list)

    def describe_topics(self) -> list[Any]:
        return [topic("full", (1, [1, 2], [1, 2])), topic("shrunk", (1, [1, 2], [1]))]

    def describe_configs(self, resources: list[Any], config_filter: str) -> dict[str, Any]:
        assert config_filter == "all"
        self.asked.append([resource.name for resource in resources])
        return {
            "topic": {
                resource.name: {
                    k: {"value": v} for k, v in self.settings.get(resource.name, {}).items()
                }
                for resource in resources
            }
        }

    def list_partition_reassignments(self) -> dict[Any, Any]:
        return {Move("shrunk", 0): None}

    def describe_cluster(self) -> dict[str, Any]:
        return NOBODY

    def describe_metadata_quorum(self) -> Any:
        return self.kraft()


@dataclass(frozen=True)
class Move:
    """As much of a TopicPartition as a snapshot reads."""

    topic: str
    partition: int


BOTH = {"full": {MIN_ISR: "1"}, "shrunk": {MIN_ISR: "2", THROTTLES[0]: "*"}}


def test_health_reads_the_settings_of_shrunk_topics_alone() -> None:
    admin = Admin(BOTH)
    cluster_state = snapshot.read(admin)
    assert admin.asked == [["shrunk"]]
    assert {partition.topic: partition.min_isr for partition in cluster_state.partitions} == {
        "full": 1,
        "shrunk": 2,
    }
    assert cluster_state.reassigning == ()


def test_the_gate_reads_all_settings_and_what_moves() -> None:
    admin = Admin(BOTH)
    cluster_state = snapshot.read(admin, gate=True)
    assert admin.asked == [["full", "shrunk"]]
    assert (cluster_state.reassigning, cluster_state.throttled) == (("shrunk-0",), ("shrunk",))


def test_a_few_of_many_hidden_topics_are_named() -> None:
    admin = Admin({})
    names = [f"t{number}" for number in range(7)]
    admin.describe_topics = lambda: [topic(name, (1, [1], [1])) for name in names]  # type: ignore[method-assign]  # a stand-in
    with pytest.raises(LookupError) as error:
        snapshot.read(admin, gate=True)
    assert [name for name in names if name in str(error.value)] == names[:5]


def test_the_gate_needs_settings_that_are_not_shown() -> None:
    admin = Admin({"shrunk": {MIN_ISR: "2"}})
    with pytest.raises(LookupError, match="the settings of full are not shown"):
        snapshot.read(admin, gate=True)
    assert snapshot.read(admin).partitions


@pytest.mark.parametrize("error", ["IncompatibleBrokerVersion", "UnsupportedVersionError"])
def test_a_cluster_on_zookeeper_has_no_quorum(error: str) -> None:
    def refuse() -> None:
        raise getattr(errors, error)

    assert snapshot.read(Admin(BOTH, refuse)).quorum is None
