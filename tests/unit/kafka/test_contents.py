"""What a cluster holds, by an admin client of which each part may fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import contents, groups
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.groups import Group, Reading
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import errors

NO_ANSWER = errors.KafkaTimeoutError("no answer")
DEAD = 2
"""A broker that does not answer: groups that it coordinates and partitions that it leads."""


class Admin:
    """Two brokers; `failing` are the names of requests without an answer."""

    def __init__(self, *failing: str) -> None:
        self.failing = failing

    def __getattr__(self, name: str) -> Any:
        if name in self.failing:

            def fail(*_: object, **__: object) -> None:
                raise NO_ANSWER

            return fail
        return getattr(self, f"_{name}")

    def _describe_topics(self) -> Any:
        leaders = enumerate((1, DEAD, -1))
        partitions = [
            {"partition_index": i, "leader_id": leader, "replica_nodes": [1, 2], "isr_nodes": [1]}
            for i, leader in leaders
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

    def _describe_configs(self, resources: Any, **_: object) -> Any:
        return {"topic": {"t": {"min.insync.replicas": {"value": "2"}}}}

    def _describe_features(self) -> Any:
        return {"metadata.version": {"finalized": (1, 29)}, "unused": {"supported": (0, 1)}}


READING = Reading(
    {
        "classic": Group(
            "classic", "Stable", members=2, committed={("t", 0): 7, ("t", 1): 5, ("gone", 0): 3}
        ),
        "shared": Group(
            "shared", "Empty", "share", committed={("t", 0): 1, ("t", 1): 1}, lags={("t", 0): 4}
        ),
    },
    {("t", 0): 10},
    problems=(f"broker {DEAD} does not answer",),
)


@pytest.fixture(autouse=True)
def _reading(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(admin: Admin, chosen: Callable[[str], bool], _most: int) -> Reading:
        assert chosen("any")
        if "groups" in admin.failing:
            raise NO_ANSWER
        return READING

    monkeypatch.setattr(groups, "read", read)


def test_groups_have_their_lag_by_partition() -> None:
    """None where it is not known: of a partition without an end, or nothing is committed."""
    snapshot, details = contents.read(Admin())
    assert [partition.min_isr for partition in snapshot.partitions] == [2, 2, 2]
    assert details["features"] == {"metadata.version": 29}
    assert details["quorum_error"] == ""
    assert details["groups_errors"] == [*READING.problems]
    assert details["groups"] == [
        {
            "id": "classic",
            "type": "classic",
            "state": "Stable",
            "members": 2,
            "lags": {"t": [3, None, None]},
        },
        {
            "id": "shared",
            "type": "share",
            "state": "Empty",
            "members": None,
            "lags": {"t": [4, None, None]},
        },
    ]


@pytest.mark.parametrize(
    ("request_", "lost"),
    [("describe_features", "features"), ("describe_configs", ""), ("groups", "groups")],
)
def test_a_part_without_an_answer_costs_itself_alone(request_: str, lost: str) -> None:
    snapshot, details = contents.read(Admin(request_))
    assert snapshot.quorum is not None
    assert len(snapshot.partitions) == 3
    assert all(bool(details[name]) == (name != lost) for name in ("features", "groups"))


def test_a_dead_quorum_is_named_and_all_else_is_there() -> None:
    snapshot, details = contents.read(Admin("describe_metadata_quorum"))
    assert snapshot.quorum is None
    assert details["quorum_error"] == "KafkaTimeoutError: no answer"
    assert details["groups"]


def test_a_broker_without_metadata_is_no_answer() -> None:
    with pytest.raises(errors.KafkaError):
        contents.read(Admin("describe_topics"))
