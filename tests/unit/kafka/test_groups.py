"""Groups of consumers: who is asked what, and what becomes of answers that are missing."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import (
    clients,
    groups,
    messages,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.connection import (
    Connection,
    ConnectionDescriptionError,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.groups import (
    Group,
    Reading,
    Watched,
    read,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import errors

LOADING, NOT_LEADER, NOT_FOUND, NO_TOPIC = 14, 6, 69, 3
DENIED_GROUP, DENIED_TOPIC = 30, 29


@dataclass
class Stored:
    """A group of a cluster."""

    coordinator: int = 1
    state: str = "Stable"
    type: str | None = "Classic"
    members: int = 1
    committed: dict[tuple[str, int], int] = field(default_factory=dict)
    code: int = 0
    """The error code of all questions about the group."""
    lags: dict[tuple[str, int], int] = field(default_factory=dict)
    """Of a share group, whose start offsets are in `committed`."""
    partition_code: int = 0
    """The error code of each partition of a share group."""


@dataclass
class FakeBrokers:
    """An admin client of a cluster."""

    groups: dict[str, Stored] = field(default_factory=dict)
    """Groups by name."""
    partitions: dict[tuple[str, int], tuple[int, int]] = field(default_factory=dict)
    """Partition -> leader and end."""
    brokers: tuple[int, ...] = (1, 2, 3)
    down: tuple[int, ...] = ()
    """Brokers of which no answer comes."""
    known: tuple[int, ...] = ()
    updates: list[int] = field(default_factory=list)
    asked: list[tuple[int | None, Any]] = field(default_factory=list)
    """Broker and request, in the order of requests."""

    @property
    def _manager(self) -> FakeBrokers:
        return self

    @property
    def cluster(self) -> Any:
        """What the client knows: the brokers of its last metadata."""
        return SimpleNamespace(
            brokers=lambda: [
                SimpleNamespace(node_id=node_id) for node_id in self.known or self.brokers
            ],
            request_update=lambda: self.updates.append(1),
        )

    def run(self, question: Callable[[], Awaitable[Any]]) -> Any:
        async def answered() -> Any:
            return await question()

        return asyncio.run(answered())

    async def wait_for(self, response: Any, timeout_ms: int) -> Any:
        assert timeout_ms == groups.REQUEST_MS
        if not isinstance(response, SimpleNamespace):
            raise response.exception
        return response

    def send(self, request: Any, node_id: int | None = None) -> Any:
        self.asked.append((node_id, request))
        if node_id in self.down:
            raise errors.NodeNotReadyError(str(node_id))
        name = type(request).__name__
        return getattr(self, f"_{name}")(request, node_id)

    def requests(self, name: str) -> list[tuple[int | None, Any]]:
        """Return the requests of a kind with the brokers that got them."""
        return [(node, request) for node, request in self.asked if type(request).__name__ == name]

    def _MetadataRequest(self, request: Any, _: int | None) -> Any:
        def topic(name: str) -> Any:
            partitions = {
                index: led
                for (topic_name, index), led in self.partitions.items()
                if topic_name == name
            }
            return SimpleNamespace(
                name=name,
                error_code=0 if partitions else NO_TOPIC,
                partitions=[
                    SimpleNamespace(partition_index=index, leader_id=leader)
                    for index, (leader, _) in partitions.items()
                ],
            )

        return SimpleNamespace(
            brokers=[SimpleNamespace(node_id=node_id) for node_id in self.brokers],
            topics=[topic(topic_request.name) for topic_request in request.topics],
        )

    def _ListGroupsRequest(self, _: Any, node: int | None) -> Any:
        coordinated = {
            name: group for name, group in self.groups.items() if group.coordinator == node
        }
        listed = [
            SimpleNamespace(group_id=name, group_state=group.state, group_type=group.type)
            for name, group in coordinated.items()
        ]
        return SimpleNamespace(error_code=0, groups=listed)

    def _DescribeGroupsRequest(self, request: Any, _: int | None) -> Any:
        return self._described(request.groups)

    def _ConsumerGroupDescribeRequest(self, request: Any, _: int | None) -> Any:
        return self._described(request.group_ids)

    def _ShareGroupDescribeRequest(self, request: Any, _: int | None) -> Any:
        assert request._min_version == 1
        return self._described(request.group_ids)

    def _described(self, names: Sequence[str]) -> Any:
        entries = [
            SimpleNamespace(
                group_id=name,
                error_code=self.groups[name].code,
                members=[None] * self.groups[name].members,
            )
            for name in names
        ]
        return SimpleNamespace(groups=entries)

    def _DescribeShareGroupOffsetsRequest(self, request: Any, _: int | None) -> Any:
        def group(name: str) -> Any:
            stored = self.groups[name]
            topics = [
                SimpleNamespace(
                    topic_name=topic,
                    partitions=[
                        SimpleNamespace(
                            partition_index=index,
                            start_offset=offset,
                            lag=stored.lags.get((topic, index), -1),
                            error_code=stored.partition_code,
                        )
                    ],
                )
                for (topic, index), offset in stored.committed.items()
            ]
            return SimpleNamespace(group_id=name, error_code=stored.code, topics=topics)

        assert all(requested.topics is None for requested in request.groups)
        return SimpleNamespace(groups=[group(requested.group_id) for requested in request.groups])

    def _OffsetFetchRequest(self, request: Any, _: int | None) -> Any:
        def group(name: str) -> Any:
            stored = self.groups[name]
            topics = [
                SimpleNamespace(
                    name=topic,
                    partitions=[
                        SimpleNamespace(
                            partition_index=index, error_code=0, committed_offset=offset
                        )
                    ],
                )
                for (topic, index), offset in stored.committed.items()
            ]
            return SimpleNamespace(group_id=name, error_code=stored.code, topics=topics)

        return SimpleNamespace(groups=[group(requested.group_id) for requested in request.groups])

    def _ListOffsetsRequest(self, request: Any, node: int | None) -> Any:
        def partition(topic: str, requested: Any) -> Any:
            assert requested.timestamp == -1
            leader, end = self.partitions[topic, requested.partition_index]
            code = 0 if leader == node and end >= 0 else NOT_LEADER
            return SimpleNamespace(
                partition_index=requested.partition_index, error_code=code, offset=end
            )

        topics = [
            SimpleNamespace(
                name=topic.name,
                partitions=[
                    partition(topic.name, partition_request)
                    for partition_request in topic.partitions
                ],
            )
            for topic in request.topics
        ]
        return SimpleNamespace(topics=topics)


def everything(admin: FakeBrokers, most: int = 1000) -> Reading:
    return read(admin, lambda _: True, most)


def test_all_is_read_with_one_request_of_a_kind_to_each_broker() -> None:
    admin = FakeBrokers(
        {f"g{n}": Stored(1 + n % 3, committed={("t", n % 6): n}) for n in range(30)},
        {("t", n): (1 + n % 2, 100 + n) for n in range(6)},
    )
    reading = everything(admin)
    assert reading.problems == ()
    assert reading.ends == {("t", n): 100 + n for n in range(6)}
    assert reading.groups["g7"] == Group("g7", "Stable", "classic", 1, {("t", 1): 7})
    counts = {type(request).__name__ for _, request in admin.asked}
    kinds = {name: [node for node, _ in admin.requests(name)] for name in counts}
    assert kinds == {
        "MetadataRequest": [1, 2, 3, 1],
        "ListGroupsRequest": [1, 2, 3],
        "DescribeGroupsRequest": [1, 2, 3],
        "OffsetFetchRequest": [1, 2, 3],
        "ListOffsetsRequest": [1, 2],
    }


def test_thousands_of_groups_are_asked_for_in_batches() -> None:
    admin = FakeBrokers({f"g{n:04}": Stored(state="Empty") for n in range(450)})
    assert len(everything(admin).groups) == 450
    sizes = [len(request.groups) for _, request in admin.requests("OffsetFetchRequest")]
    assert sizes == [200, 200, 50]
    # An empty group has no members: nobody needs to be asked.
    assert not admin.requests("DescribeGroupsRequest")


def test_too_many_groups_are_left_out_and_counted() -> None:
    admin = FakeBrokers({name: Stored() for name in ("c", "a", "d", "b")})
    reading = everything(admin, most=3)
    assert ([*reading.groups], reading.skipped) == (["a", "b", "c"], 1)
    chosen = read(admin, lambda name: name in ("d", "b"), 3)
    assert ([*chosen.groups], chosen.skipped) == (["b", "d"], 0)


def test_a_broker_that_is_down_costs_only_what_it_would_have_said() -> None:
    stored = {"a": Stored(1, committed={("t", 0): 5, ("t", 1): 5}), "b": Stored(2)}
    admin = FakeBrokers(stored, {("t", 0): (1, 9), ("t", 1): (2, 9)}, down=(2,))
    reading = everything(admin)
    assert [*reading.groups] == ["a"]
    assert reading.ends == {("t", 0): 9}
    assert len(reading.problems) == 2
    assert reading.problems[0].startswith("broker 2: NodeNotReadyError")
    assert reading.problems[1] == "t-1: broker 2"


def test_a_partition_without_leader_and_one_whose_leader_moves_are_problems() -> None:
    stored = {"a": Stored(committed={("t", 0): 5, ("t", 1): 5, ("t", 2): 5})}
    admin = FakeBrokers(stored, {("t", 0): (-1, 9), ("t", 1): (1, -1), ("t", 2): (1, 7)})
    reading = everything(admin)
    assert reading.ends == {("t", 2): 7}
    assert [*reading.problems] == [
        "t-0 has no leader",
        "the end of t-1: NotLeaderForPartitionError",
    ]


def test_a_group_whose_coordinator_loads_is_a_problem_and_a_deleted_one_is_none() -> None:
    admin = FakeBrokers({"a": Stored(code=LOADING), "b": Stored(code=NOT_FOUND), "c": Stored()})
    reading = everything(admin)
    assert reading.groups["a"].committed is None
    assert reading.groups["a"].members is None
    assert reading.groups["b"].committed is None
    assert reading.groups["c"].committed == {}
    assert [problem for problem in reading.problems if "group b" in problem] == []
    assert len([problem for problem in reading.problems if "group a: " in problem]) == 2


def test_a_deleted_topic_has_no_end_and_is_no_problem() -> None:
    reading = everything(FakeBrokers({"a": Stored(committed={("gone", 0): 5})}))
    assert (reading.ends, reading.problems) == ({}, ())


def test_no_committed_offset_is_none() -> None:
    admin = FakeBrokers({"a": Stored(committed={("t", 0): -1})}, {("t", 0): (1, 3)})
    assert everything(admin).groups["a"].committed == {}


def test_each_type_of_group_is_asked_as_it_answers() -> None:
    stored = {
        "new": Stored(type="Consumer", members=2, committed={("t", 0): 1}),
        "share": Stored(type="Share", members=3),
        "streams": Stored(type="Streams"),
        "old": Stored(type=None),
    }
    admin = FakeBrokers(stored, {("t", 0): (1, 3)})
    reading = everything(admin)
    assert reading.groups["new"] == Group("new", "Stable", "consumer", 2, {("t", 0): 1})
    assert reading.groups["share"] == Group("share", "Stable", "share", 3, {})
    assert reading.groups["streams"].members is None
    assert reading.groups["old"].members == 1
    assert [
        request.API_KEY for _, request in admin.asked if "Describe" in type(request).__name__
    ] == [
        15,
        69,
        77,
        90,
    ]
    (fetch,) = (request for _, request in admin.requests("OffsetFetchRequest"))
    assert {group.group_id for group in fetch.groups} == {"new", "streams", "old"}


def test_the_lag_of_a_share_group_is_what_the_broker_counts() -> None:
    """Records after its start offset are done too; without a count it is up to the end."""
    places = {("t", 0): 2, ("t", 1): 4, ("t", 2): -1}
    stored = {"jobs": Stored(type="Share", committed=places, lags={("t", 0): 3})}
    admin = FakeBrokers(stored, {("t", n): (1, 10) for n in range(3)})
    reading = everything(admin)
    assert reading.problems == ()
    assert reading.groups["jobs"].committed == {("t", 0): 2, ("t", 1): 4}
    assert reading.lags("jobs") == {("t", 0): 3, ("t", 1): 6}
    assert not admin.requests("OffsetFetchRequest")


def test_share_groups_that_may_not_be_described_are_a_problem_and_deleted_ones_are_none() -> None:
    offsets = {("t", 0): 2}
    stored = {
        "denied": Stored(type="Share", code=DENIED_GROUP, committed=offsets),
        "gone": Stored(type="Share", code=NOT_FOUND, committed=offsets),
        "secret": Stored(type="Share", partition_code=DENIED_TOPIC, committed=offsets),
    }
    reading = everything(FakeBrokers(stored, {("t", 0): (1, 10)}))
    assert [reading.groups[name].committed for name in stored] == [None, None, {}]
    assert [*reading.problems] == [
        "members of the group denied: GroupAuthorizationFailedError",
        "offsets of the share group denied: GroupAuthorizationFailedError",
        "offset of secret in t-0: TopicAuthorizationFailedError",
    ]


def test_a_cluster_without_share_groups_is_not_asked_about_any() -> None:
    """Its version may have no such request."""
    admin = FakeBrokers({"a": Stored(), "b": Stored(type=None)})
    assert everything(admin).problems == ()
    assert not [request for _, request in admin.asked if request.API_KEY in (77, 90)]


def test_a_broker_that_hangs_is_waited_for_once_in_a_reading() -> None:
    stored = {"a": Stored(1, committed={("t", 0): 5, ("t", 1): 5})}
    admin = FakeBrokers(stored, {("t", 0): (1, 9), ("t", 1): (2, 9)}, down=(2,))
    everything(admin)
    assert [node for node, _ in admin.asked].count(2) == 1


def test_a_cluster_of_which_no_broker_answers_cannot_be_read() -> None:
    with pytest.raises(errors.KafkaConnectionError, match=r"broker 1: .*; broker 2: .*"):
        everything(FakeBrokers({"a": Stored()}, down=(1, 2, 3)))


def test_a_new_broker_is_found_and_until_then_nothing_is_taken_for_gone() -> None:
    admin = FakeBrokers({"a": Stored(1), "b": Stored(3)}, known=(1, 2))
    reading = everything(admin)
    assert [*reading.groups] == ["a"]
    assert reading.problems == ("brokers [3] are asked from the next reading on",)
    assert admin.updates == [1]


# Connections


@pytest.fixture
def closed_port() -> Iterator[int]:
    """Return a port on which nothing listens."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        yield server.getsockname()[1]


def test_a_cluster_that_cannot_be_reached_is_found_at_once(closed_port: int) -> None:
    watched = Watched(Connection((f"127.0.0.1:{closed_port}",)))
    for _ in range(3):
        with pytest.raises(OSError, match=f"127.0.0.1:{closed_port}: .*refused"):
            watched.read(lambda _: True, 1)


def test_connections_are_kept_until_a_reading_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[FakeBrokers] = []
    closed: list[object] = []

    def admin(connection: Connection, **settings: Any) -> FakeBrokers:
        assert connection.bootstrap == ("b:2",)
        settings["kafka_client"]()
        made.append(FakeBrokers({"a": Stored()}))
        return made[-1]

    def reach(address: str) -> None:
        if address == "a:1":
            raise TimeoutError

    monkeypatch.setattr(groups, "connect", reach)
    monkeypatch.setattr(clients, "admin", admin)
    client = SimpleNamespace(close=lambda: closed.append(1))
    monkeypatch.setattr(clients, "rebootstrapping", lambda **_: client)
    watched = Watched(Connection(("a:1", "b:2")))
    watched.read(lambda _: True, 1)
    watched.read(lambda _: True, 1)
    assert (len(made), len(closed)) == (1, 0)

    def fail(name: str) -> bool:
        raise errors.KafkaConnectionError(name)

    with pytest.raises(errors.KafkaConnectionError):
        watched.read(fail, 1)
    assert len(closed) == 1
    watched.read(lambda _: True, 1)
    assert len(made) == 2


def test_a_connection_without_security_that_the_library_has_is_refused_at_once() -> None:
    with pytest.raises(ConnectionDescriptionError):
        Watched(Connection(("a:1",), {"security.protocol": "SASL_SSL"}))


# Messages that kafka-python does not have


def test_a_request_about_consumer_groups_and_its_answer_are_as_kafka_writes_them() -> None:
    request = messages.describe_consumer_groups(["a", "bc"])
    request.API_VERSION = 0
    assert request.encode(version=0) == b"\x03\x02a\x03bc\x00\x00"
    _, kind = messages._consumer_group_describe()
    # No throttling; one group without members, in state Dead, with an error and a message.
    text = b"\x00\x00\x00\x00\x02\x00\x45\x03no\x02g\x05Dead" + b"\x00\x00\x00\x01" * 2
    response = kind.decode(text + b"\x01\x01\x80\x00\x00\x00\x00\x00", version=0)
    (group,) = response.groups
    assert (group.group_id, group.error_code, group.group_state) == ("g", NOT_FOUND, "Dead")
    assert len(group.members) == 0


def test_a_request_about_share_groups_and_its_answer_are_as_kafka_writes_them() -> None:
    request = messages.describe_share_groups(["a", "bc"])
    assert request.encode(version=1) == b"\x03\x02a\x03bc\x00\x00"
    _, kind = messages._share_group_describe()
    member = b"\x02m\x00\x00\x00\x00\x01\x02c\x02h\x02\x02t\x01\x00\x00"
    text = b"\x00\x00\x00\x00\x02\x00\x00\x00\x02g\x07Stable" + b"\x00\x00\x00\x01" * 2
    response = kind.decode(
        text + b"\x07simple\x02" + member + b"\x80\x00\x00\x00\x00\x00", version=1
    )
    (group,) = response.groups
    assert (group.group_id, group.group_state, len(group.members)) == ("g", "Stable", 1)


@pytest.mark.parametrize(("version", "lag"), [(0, -1), (1, 9)])
def test_a_request_about_offsets_of_share_groups_and_its_answer_are_as_kafka_writes_them(
    version: int, lag: int
) -> None:
    request = messages.describe_share_group_offsets(["a"])
    assert request.encode(version=version) == b"\x02\x02a\x00\x00\x00"
    _, kind = messages._describe_share_group_offsets()
    partition = b"\x00\x00\x00\x02" + bytes([*[0] * 7, 7]) + b"\x00\x00\x00\x05"
    partition += bytes([*[0] * 7, 9]) * version + b"\x00\x00\x00\x00"
    topic = b"\x02t" + bytes(16) + b"\x02" + partition + b"\x00"
    text = b"\x00\x00\x00\x00\x02\x02a\x02" + topic + b"\x00\x00\x00\x00\x00"
    (group,) = kind.decode(text, version=version).groups
    (read_topic,) = group.topics
    (answer,) = read_topic.partitions
    assert (read_topic.topic_name, answer.partition_index) == ("t", 2)
    assert (answer.start_offset, answer.lag) == (7, lag)
