"""The canary: its topic, with a partition that each broker leads, and its record."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import canary, library
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.client import (
    UnavailableError,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.connection import Connection

TOPIC = canary.TOPIC


class Admin:
    """An admin client of a cluster where every partition is led by its preferred leader, or -1."""

    def __init__(self, partitions: list[list[int]] | None = None) -> None:
        self.partitions, self.leaderless = partitions, False
        self.config: Mapping[str, str] = {}
        self.elected: list[int] = []
        self.refuses = False

    def list_topics(self) -> list[str]:
        return [] if self.partitions is None else [TOPIC]

    def create_topics(self, topics: Mapping[str, Any], raise_errors: bool) -> None:
        assert not raise_errors
        topic = topics[TOPIC]
        self.partitions = [topic["assignments"][index] for index in sorted(topic["assignments"])]
        self.config = topic["configs"]

    def create_partitions(self, topics: Mapping[str, Any]) -> None:
        assert self.partitions is not None
        sizes = {len(replicas) for replicas in (*self.partitions, *topics[TOPIC]["assignments"])}
        if len(sizes) > 1:
            raise library.errors.InvalidReplicationAssignmentError
        self.partitions += topics[TOPIC]["assignments"]
        assert len(self.partitions) == topics[TOPIC]["count"]

    def alter_partition_reassignments(
        self, moves: Mapping[Any, list[int]]
    ) -> dict[Any, type[Exception] | None]:
        assert self.partitions is not None
        if self.refuses:
            return dict.fromkeys(moves, library.errors.InvalidReplicationAssignmentError)
        for (topic, index), replicas in moves.items():
            assert topic == TOPIC
            self.partitions[index] = replicas
        return dict.fromkeys(moves)

    def describe_topics(self, names: list[str]) -> list[dict[str, Any]]:
        assert names == [TOPIC]
        partitions = [
            {
                "partition_index": index,
                "leader_id": -1 if self.leaderless else replicas[0],
                "replica_nodes": replicas,
            }
            for index, replicas in enumerate(self.partitions or ())
        ]
        return [{"name": TOPIC, "partitions": partitions}]

    def elect_leaders(self, kind: int, topics: Mapping[str, Any], raise_errors: bool) -> None:
        assert (kind, raise_errors) == (canary.PREFERRED, False)
        self.elected += topics[TOPIC]


def test_each_broker_is_the_preferred_leader_of_one_partition() -> None:
    assigned = canary.assignments([3, 1, 2], 3)
    assert assigned == {0: [1, 2, 3], 1: [2, 3, 1], 2: [3, 1, 2]}
    assert canary.assignments([7], 3) == {0: [7]}
    assert canary.assignments([1, 2, 3, 4], 2)[3] == [4, 1]


@pytest.mark.parametrize(("brokers", "min_isr"), [([1], 1), ([1, 2], 1), ([1, 2, 3], 2)])
def test_the_topic_takes_records_while_one_replica_is_missing(
    brokers: list[int], min_isr: int
) -> None:
    admin = Admin()
    assert canary.led_partition(admin, brokers[0], brokers, 3) is None, "it is only being made"
    assert int(admin.config["min.insync.replicas"]) == min_isr
    led = [canary.led_partition(admin, broker, brokers, 3) for broker in brokers]
    assert led == list(range(len(brokers)))
    assert admin.elected == []


@pytest.mark.parametrize("former", [[], [[3, 1]]], ids=["no other", "one of a removed broker"])
def test_a_new_broker_gets_a_partition(former: list[list[int]]) -> None:
    admin, brokers = Admin([[1, 2], [2, 1], *former]), [1, 2, 5, 9]
    assert canary.led_partition(admin, 5, brokers, 2) is None, "it is only being made"
    partitions = list(admin.partitions or ())
    assert partitions == [[1, 2], [2, 1], *former, [5, 9], [9, 1]]
    leaders = {
        partitions[canary.led_partition(admin, broker, brokers, 2) or 0][0] for broker in brokers
    }
    assert leaders == set(brokers)
    assert admin.partitions == partitions


@pytest.mark.parametrize(
    ("partitions", "brokers"),
    [
        ([[1, 2], [2, 1]], [1, 2, 3]),
        ([[1]], [1, 2, 3]),
        ([[1, 2, 3], [2, 3, 1], [3, 1, 2]], [1, 2]),
        ([[7, 1], [1, 7]], [1, 2, 3]),
    ],
    ids=["of two brokers", "of one", "of a removed broker", "of another broker"],
)
def test_the_topic_is_brought_to_the_size_of_the_cluster(
    partitions: list[list[int]], brokers: list[int]
) -> None:
    admin, led = Admin(partitions), {}
    for _ in range(3):
        led = {broker: canary.led_partition(admin, broker, brokers, 3) for broker in brokers}
    assert admin.partitions
    assert {len(replicas) for replicas in admin.partitions} == {min(3, len(brokers))}
    assert {broker: admin.partitions[index or 0][0] for broker, index in led.items()} == {
        broker: broker for broker in brokers
    }
    assert None not in led.values()


def test_a_refused_reassignment_is_named() -> None:
    admin = Admin([[1, 2], [2, 1]])
    admin.refuses = True
    with pytest.raises(library.errors.InvalidReplicationAssignmentError):
        canary.led_partition(admin, 1, [1, 2, 3], 3)


def test_the_broker_is_elected_where_it_does_not_lead_its_partition() -> None:
    admin = Admin([[1, 2], [2, 1]])
    assert canary.led_partition(admin, 2, [1, 2], 2) == 1
    admin.leaderless = True
    assert canary.led_partition(admin, 2, [1, 2], 2) is None
    assert admin.elected == [1]


class Broker:
    """A broker that takes one record and gives it back; `breaks` names the step that fails.

    `left_open` are the clients that were made, or begun, and not closed.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, breaks: str = "") -> None:
        self.breaks, self.left_open, self.record = breaks, ["nothing was opened"], b""
        monkeypatch.setattr(library, "KafkaNetClient", lambda **_: self._opened("network"))
        monkeypatch.setattr(library, "KafkaProducer", self._producer)
        monkeypatch.setattr(library, "KafkaConsumer", self._consumer)

    def _opened(self, name: str, **methods: Any) -> Any:
        if self.left_open == ["nothing was opened"]:
            self.left_open = []
        self.left_open.append(name)

        def close(**_: object) -> None:
            self.left_open.remove(name)

        return SimpleNamespace(close=close, **methods)

    def _step(self, name: str) -> None:
        if self.breaks == name:
            raise library.errors.KafkaTimeoutError(name)

    def _producer(self, *, kafka_client: Any, **_: Any) -> Any:
        kafka_client()
        self._step("producer")
        return self._opened("producer", send=self._send)

    def _consumer(self, *, kafka_client: Any, **_: Any) -> Any:
        kafka_client()
        self._step("consumer")
        return self._opened(
            "consumer", assign=lambda _: None, seek=lambda *_: None, poll=self._poll
        )

    def _send(self, topic: str, value: bytes, partition: int) -> Any:
        assert (topic, partition) == (TOPIC, 4)
        self.record = value

        def get(timeout: float) -> Any:
            assert timeout
            self._step("send")
            return SimpleNamespace(offset=7)

        return SimpleNamespace(get=get)

    def _poll(self, timeout_ms: int) -> dict[int, list[Any]]:
        assert timeout_ms
        self._step("poll")
        value = b"another" if self.breaks == "value" else self.record
        records = [] if self.breaks == "silent" else [SimpleNamespace(offset=7, value=value)]
        return {0: records}


def test_a_record_goes_through_the_broker_and_back(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = Broker(monkeypatch)
    canary.round_trip(Connection(("k1:9092",)), 4, 1)
    assert len(broker.record) == 16
    assert broker.left_open == []


@pytest.mark.parametrize("breaks", ["producer", "consumer", "send", "poll", "value", "silent"])
def test_a_record_that_does_not_come_back_leaves_no_client_open(
    monkeypatch: pytest.MonkeyPatch, breaks: str
) -> None:
    """It is tried again ten times a second, and each client has a thread."""
    broker = Broker(monkeypatch, breaks)
    with pytest.raises(UnavailableError):
        canary.round_trip(Connection(("k1:9092",)), 4, 0.05)
    assert broker.left_open == []
