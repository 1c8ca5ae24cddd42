"""The topic of the canary: a partition for each broker, which leads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import canary

TOPIC = canary.TOPIC


class Admin:
    """An admin client of a cluster where every partition is led by its preferred leader, or -1."""

    def __init__(self, partitions: list[list[int]] | None = None) -> None:
        self.partitions, self.leaderless = partitions, False
        self.config: Mapping[str, str] = {}
        self.elected: list[int] = []

    def list_topics(self) -> list[str]:
        return [] if self.partitions is None else [TOPIC]

    def create_topics(self, topics: Mapping[str, Any], raise_errors: bool) -> None:
        assert not raise_errors
        wanted = topics[TOPIC]
        self.partitions = [wanted["assignments"][index] for index in sorted(wanted["assignments"])]
        self.config = wanted["configs"]

    def create_partitions(self, topics: Mapping[str, Any]) -> None:
        assert self.partitions is not None
        self.partitions += topics[TOPIC]["assignments"]
        assert len(self.partitions) == topics[TOPIC]["count"]

    def describe_topics(self, names: list[str]) -> list[dict[str, Any]]:
        assert names == [TOPIC]
        found = [
            {
                "partition_index": index,
                "leader_id": -1 if self.leaderless else replicas[0],
                "replica_nodes": replicas,
            }
            for index, replicas in enumerate(self.partitions or ())
        ]
        return [{"name": TOPIC, "partitions": found}]

    def elect_leaders(self, kind: int, topics: Mapping[str, Any], raise_errors: bool) -> None:
        assert (kind, raise_errors) == (canary.PREFERRED, False)
        self.elected += topics[TOPIC]


def test_each_broker_is_the_preferred_leader_of_one_partition() -> None:
    found = canary.assignments([3, 1, 2], 3)
    assert found == {0: [1, 2, 3], 1: [2, 3, 1], 2: [3, 1, 2]}
    assert canary.assignments([7], 3) == {0: [7]}
    assert canary.assignments([1, 2, 3, 4], 2)[3] == [4, 1]


@pytest.mark.parametrize(("brokers", "min_isr"), [([1], 1), ([1, 2], 1), ([1, 2, 3], 2)])
def test_the_topic_takes_records_while_one_replica_is_missing(
    brokers: list[int], min_isr: int
) -> None:
    admin = Admin()
    canary.prepare(admin, brokers, 3)
    assert int(admin.config["min.insync.replicas"]) == min_isr
    assert [canary.partition_of(admin, one) for one in brokers] == list(range(len(brokers)))


def test_a_new_broker_gets_a_partition() -> None:
    admin = Admin([[1, 2], [2, 1]])
    canary.prepare(admin, [1, 2, 5, 9], 2)
    assert canary.partition_of(admin, 1) == 0
    assert {canary.partition_of(admin, one) for one in (5, 9)} == {2, 3}
    before = list(admin.partitions or ())
    canary.prepare(admin, [1, 2, 5, 9], 2)
    assert admin.partitions == before


def test_a_broker_without_a_partition_has_none() -> None:
    assert canary.partition_of(Admin([[1, 2]]), 2) is None


def test_the_broker_is_elected_where_it_does_not_lead_its_partition() -> None:
    admin = Admin([[1, 2], [2, 1]])
    assert canary.leads(admin, 2, 1)
    admin.leaderless = True
    assert not canary.leads(admin, 2, 1)
    assert admin.elected == [1]
