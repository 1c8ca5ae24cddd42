"""What a cluster holds, by an admin client of which each part may fail."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import contents
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import (
    TopicPartition,
    errors,
)

NO_ANSWER = errors.KafkaTimeoutError("no answer")
REFUSED = errors.KafkaConnectionError("refused")
DEAD = 2
"""A broker that does not answer: groups that it coordinates and partitions that it leads."""


class Admin:
    """Two brokers; `failing` are the names of requests without an answer."""

    def __init__(self, *failing: str) -> None:
        self.failing = failing
        self.asked: list[Any] = []
        self.committed = {
            "classic": {("t", 0): 7, ("t", 1): 5, ("t", 2): -1, ("gone", 0): 3},
            "new": {("t", 0): 12},
        }

    def __getattr__(self, name: str) -> Any:
        if name in self.failing:

            def fail(*_: object, **__: object) -> None:
                raise NO_ANSWER

            return fail
        return getattr(self, f"_{name}")

    def _describe_topics(self) -> Any:
        leaders = enumerate((1, DEAD, -1))
        partitions = [
            {"partition_index": i, "leader_id": x, "replica_nodes": [1, 2], "isr_nodes": [1]}
            for i, x in leaders
        ]
        return [{"name": "t", "error_code": 0, "partitions": partitions}]

    def _describe_cluster(self) -> Any:
        brokers = [
            {"broker_id": i, "host": f"h{i}", "port": 1, "is_fenced": i == 3} for i in (1, DEAD, 3)
        ]
        return {"cluster_id": "C", "controller_id": 1, "brokers": brokers}

    def _describe_metadata_quorum(self) -> Any:
        log = {"leader_id": 1, "leader_epoch": 7, "high_watermark": 9}
        return {"topics": [{"partitions": [{**log, "current_voters": [], "observers": []}]}]}

    def _describe_configs(self, asked: Any, **_: object) -> Any:
        return {"topic": {"t": {"min.insync.replicas": {"value": "2"}}}}

    def _describe_features(self) -> Any:
        return {"metadata.version": {"finalized": (1, 29)}, "unused": {"supported": (0, 1)}}

    def _list_groups(self, brokers: list[int]) -> Any:
        if brokers == [DEAD] and "broker" in self.failing:
            raise REFUSED
        if brokers == [DEAD]:
            return [
                {"group_id": "new", "group_state": "Stable", "group_type": "consumer"},
                {"group_id": "shared", "group_state": "Empty", "group_type": "share"},
            ]
        return [{"group_id": "classic", "group_state": "", "group_type": ""}]

    def _describe_groups(self, names: Iterable[str], group_coordinator_id: int) -> Any:
        assert (list(names), group_coordinator_id) == (["classic"], 1)
        return {"classic": {"group_state": "Stable", "members": [1, 2]}}

    def _list_group_offsets(self, names: Iterable[str]) -> Any:
        assert "shared" not in names
        return {
            name: {
                TopicPartition(*at): SimpleNamespace(offset=x)
                for at, x in self.committed[name].items()
            }
            for name in names
        }

    def _list_partition_offsets(self, asked: Any) -> Any:
        self.asked.append({(one.topic, one.partition) for one in asked})
        if "broker" in self.failing and TopicPartition("t", 1) in asked:
            raise REFUSED
        return {one: SimpleNamespace(offset=10) for one in asked}


def test_groups_have_their_lag_by_partition() -> None:
    found, more = contents.read(Admin())
    assert [one.min_isr for one in found.partitions] == [2, 2, 2]
    assert more["features"] == {"metadata.version": 29}
    assert more["quorum_error"] == ""
    assert more["groups_errors"] == []
    classic, new, shared = more["groups"]
    # Nothing is committed in the partition without a leader, and a topic is gone.
    assert classic == {
        "id": "classic",
        "state": "Stable",
        "members": 2,
        "lags": {"t": [3, 5, None]},
    }
    assert new == {
        "id": "new",
        "state": "Stable",
        "members": None,
        "lags": {"t": [0, None, None]},
    }
    assert shared["lags"] == {}


def test_leaders_are_asked_for_their_own_partitions_alone() -> None:
    admin = Admin()
    contents.read(admin)
    assert admin.asked == [{("t", 0)}, {("t", 1)}]


def test_a_broker_without_an_answer_costs_its_own_groups_and_ends() -> None:
    admin = Admin("broker")
    found, more = contents.read(admin)
    assert len(found.partitions) == 3
    (classic,) = more["groups"]
    assert classic["lags"] == {"t": [3, None, None]}
    assert [one.partition(": ")[0] for one in more["groups_errors"]] == [
        f"broker {DEAD} does not show its groups",
        f"broker {DEAD} does not show the ends of its partitions",
    ]


@pytest.mark.parametrize(
    ("request_", "lost"),
    [("describe_features", "features"), ("describe_configs", ""), ("list_groups", "groups")],
)
def test_a_part_without_an_answer_costs_itself_alone(request_: str, lost: str) -> None:
    found, more = contents.read(Admin(request_))
    assert found.quorum is not None
    assert len(found.partitions) == 3
    assert all(bool(more[name]) == (name != lost) for name in ("features", "groups"))


def test_a_dead_quorum_is_named_and_all_else_is_there() -> None:
    found, more = contents.read(Admin("describe_metadata_quorum"))
    assert found.quorum is None
    assert more["quorum_error"] == "KafkaTimeoutError: no answer"
    assert more["groups"]


def test_a_broker_without_metadata_is_no_answer() -> None:
    with pytest.raises(errors.KafkaError):
        contents.read(Admin("describe_topics"))
