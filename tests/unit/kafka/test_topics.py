"""Topics: what Kafka is asked, and what its answers mean."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import (
    library,
    requests,
    topics,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import errors
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.topics import (
    Contents,
    NewTopic,
)

from tests.unit.kafka.answering_admin import AnsweringAdmin, response

METADATA = response(library.MetadataRequest)
DESCRIBED = response(library.DescribeConfigsRequest)
CREATED = response(library.CreateTopicsRequest)
GROWN = response(library.CreatePartitionsRequest)
DELETED = response(library.DeleteTopicsRequest)
OFFSETS = response(library.ListOffsetsRequest)
FETCHED = response(library.FetchRequest)
UNKNOWN_TOPIC, NOT_LEADER, DENIED = 3, 6, 29
ALREADY_EXISTS, INVALID_PARTITIONS, NOT_CONTROLLER, POLICY = 36, 37, 41, 44
THROTTLED = 89
OWN, DEFAULT_BROKER, DEFAULT = 1, 3, 5
DEFAULTS = {
    "cleanup.policy": "delete",
    "min.insync.replicas": "1",
    "retention.bytes": "-1",
    "retention.ms": "604800000",
    "segment.bytes": "1073741824",
}
WEEK = "604800000"


def metadata(placements: Mapping[str, Sequence[Sequence[int]]], code: int = 0) -> Any:
    """Return the answer about topics: name -> replicas by partition, the first of them leads."""
    topic = METADATA.MetadataResponseTopic
    return METADATA(
        brokers=[METADATA.MetadataResponseBroker(node_id=1, host="h", port=1)],
        topics=[
            topic(
                error_code=code,
                name=name,
                is_internal=name.startswith("__"),
                partitions=[
                    topic.MetadataResponsePartition(
                        partition_index=index,
                        leader_id=replicas[0] if replicas else -1,
                        replica_nodes=list(replicas),
                    )
                    for index, replicas in reversed(list(enumerate(placement)))
                ],
            )
            for name, placement in placements.items()
        ],
    )


class Configs:
    """Answers to DescribeConfigs, as those of 4.4.0."""

    def __init__(
        self,
        configs: Mapping[str, Mapping[str, str]],
        codes: Mapping[str, int] | None = None,
        broker: Mapping[str, str | None] | None = None,
    ) -> None:
        """Keep the topics' own keys, the error codes of some, and a broker's configuration."""
        self.configs, self.codes = configs, codes or {}
        self.broker = broker

    def __call__(self, request: Any) -> Any:
        result = DESCRIBED.DescribeConfigsResult
        results = []
        for kind, name, keys in request.resources:
            code = self.codes.get(name, 0)
            if kind == 4:
                code = 31 if self.broker is None else 0
                entries = [
                    self._entry(key, value, DEFAULT, [])
                    for key, value in (self.broker or {}).items()
                ]
            else:
                entries = [] if code else self._topic(name, keys, request.include_synonyms)
            results.append(
                result(error_code=code, resource_type=kind, resource_name=name, configs=entries)
            )
        return DESCRIBED(results=results)

    def _topic(self, name: str, keys: Sequence[str] | None, synonyms: bool) -> list[Any]:
        configured = self.configs.get(name, {})
        entries = []
        for key, default in DEFAULTS.items():
            if keys is not None and key not in keys:
                continue
            shown = [(key, configured[key], OWN)] if key in configured else []
            if key == "min.insync.replicas":
                shown.append((key, "2", DEFAULT_BROKER))
            elif key != "retention.ms":  # Kafka shows no synonym of it
                shown.append((f"log.{key}", default, DEFAULT))
            value = configured.get(key, "2" if key == "min.insync.replicas" else default)
            source = shown[0][2] if shown else DEFAULT
            entries.append(self._entry(key, value, source, shown if synonyms else []))
        return entries

    @staticmethod
    def _entry(key: str, value: str | None, source: int, synonyms: Sequence[Any]) -> Any:
        entry = DESCRIBED.DescribeConfigsResult.DescribeConfigsResourceResult
        return entry(
            name=key,
            value=value,
            config_source=source,
            synonyms=[
                entry.DescribeConfigsSynonym(name=name, value=text, source=origin)
                for name, text, origin in synonyms
            ],
        )


def read(
    placements: Mapping[str, Sequence[Sequence[int]]], configs: Configs
) -> dict[str, topics.Topic]:
    """Return the topics of a cluster."""
    return topics.read(
        AnsweringAdmin(
            {"MetadataRequest": [metadata(placements)], "DescribeConfigsRequest": configs}
        )
    )


# Reading


def test_a_topic_has_its_partitions_in_order_and_only_its_own_keys() -> None:
    configs = Configs({"b": {"retention.ms": "5", "segment.bytes": "9"}})
    read_topics = read({"b": [(1, 2), (2, 3), (3, 1)], "__a": [(1,)]}, configs)
    assert list(read_topics) == ["__a", "b"]
    topic = read_topics["b"]
    assert topic.placement == ((1, 2), (2, 3), (3, 1))
    assert (topic.partitions, topic.replication, topic.uneven, topic.internal) == (
        3,
        2,
        False,
        False,
    )
    assert topic.config == {"retention.ms": "5", "segment.bytes": "9"}
    assert topic.effective == {
        "cleanup.policy": "delete",
        "min.insync.replicas": "2",
        "retention.bytes": "-1",
        "retention.ms": "5",
    }
    assert topic.below == {**topic.effective, "retention.ms": WEEK}
    assert read_topics["__a"].internal
    assert read_topics["__a"].below == read_topics["__a"].effective


@pytest.mark.parametrize(
    ("placement", "replication", "uneven"),
    [
        ([(1, 2, 3), (1, 2), (2, 3)], 2, True),
        ([(1, 2, 3), (1, 2)], 2, True),
        ([(1, 2, 3), (1, 2, 3), (1,)], 3, True),
        ([(1, 2, 3)], 3, False),
    ],
)
def test_the_replication_factor_is_the_most_frequent(
    placement: list[tuple[int, ...]], replication: int, uneven: bool
) -> None:
    topic = read({"a": placement}, Configs({}))["a"]
    assert (topic.replication, topic.uneven) == (replication, uneven)


@pytest.mark.parametrize(
    ("broker", "below"),
    [
        (
            {"log.retention.ms": None, "log.retention.minutes": None, "log.retention.hours": "168"},
            WEEK,
        ),
        (
            {"log.retention.ms": None, "log.retention.minutes": "2", "log.retention.hours": "1"},
            "120000",
        ),
        ({"log.retention.ms": "7", "log.retention.minutes": "2", "log.retention.hours": "1"}, "7"),
        ({"log.retention.hours": "-1"}, "-1"),
        (None, ""),  # not shown to this login
    ],
)
def test_the_brokers_retention_is_asked_for_where_all_topics_have_their_own(
    broker: dict[str, str | None] | None, below: str
) -> None:
    topic = read({"a": [(1,)]}, Configs({"a": {"retention.ms": "5"}}, broker=broker))["a"]
    assert topic.below["retention.ms"] == below


def test_a_topic_whose_configuration_is_not_shown_is_there_all_the_same() -> None:
    read_topics = read({"a": [(1,)], "b": [(1,)]}, Configs({}, {"a": DENIED}))
    assert read_topics["a"].config is None
    assert read_topics["a"].effective == read_topics["a"].below == {}
    assert read_topics["b"].config == {}


def test_a_topic_that_is_deleted_meanwhile_is_not_there() -> None:
    assert list(read({"a": [(1,)], "b": [(1,)]}, Configs({}, {"a": UNKNOWN_TOPIC}))) == ["b"]


def test_an_error_about_a_topic_is_not_taken_for_no_topic() -> None:
    admin = AnsweringAdmin({"MetadataRequest": [metadata({"a": []}, code=UNKNOWN_TOPIC)]})
    with pytest.raises(errors.UnknownTopicOrPartitionError):
        topics.read(admin)


def test_many_topics_are_read_in_batches() -> None:
    admin = AnsweringAdmin(
        {
            "MetadataRequest": [metadata({f"t{number}": [(1,)] for number in range(600)})],
            "DescribeConfigsRequest": Configs({}),
        }
    )
    assert len(topics.read(admin)) == 600
    assert [len(request.resources) for request in admin.requests[1:]] == [250, 250, 100]


# Changes


def created(codes: Mapping[str, int]) -> Any:
    """Return a function that answers to CreateTopics by topic."""
    result = CREATED.CreatableTopicResult

    def respond(request: Any) -> Any:
        return CREATED(
            topics=[
                result(name=topic.name, error_code=codes.get(topic.name, 0), error_message=None)
                for topic in request.topics
            ]
        )

    return respond


def test_a_topic_is_created_with_what_it_says_and_the_brokers_defaults() -> None:
    admin = AnsweringAdmin({"CreateTopicsRequest": created({})})
    desired = {"a": NewTopic(None, None), "b": NewTopic(3, 2, {"retention.ms": "5"})}
    assert topics.create(admin, desired, validate_only=True) == {}
    (request,) = admin.requests
    assert request.validate_only
    assert [
        (topic.name, topic.num_partitions, topic.replication_factor) for topic in request.topics
    ] == [("a", -1, -1), ("b", 3, 2)]
    assert [(entry.name, entry.value) for entry in request.topics[1].configs] == [
        ("retention.ms", "5")
    ]
    assert admin.brokers == ["controller"]  # with ZooKeeper no other broker takes it
    # kafka-python can write it in every version from that with defaults on.
    assert all(request.encode(version=version) for version in (4, 7))


def test_a_topic_that_is_there_is_refused_by_validation_alone() -> None:
    desired = {"a": NewTopic(1, 1), "b": NewTopic(1, 1)}
    codes = {"a": ALREADY_EXISTS, "b": POLICY}
    refused = topics.create(
        AnsweringAdmin({"CreateTopicsRequest": created(codes)}), desired, validate_only=False
    )
    assert list(refused) == ["b"]
    assert "PolicyViolation" in refused["b"]
    refused = topics.create(
        AnsweringAdmin({"CreateTopicsRequest": created(codes)}), desired, validate_only=True
    )
    assert list(refused) == ["a", "b"]


@pytest.mark.parametrize(("partitions", "requests_sent"), [(1, 2), (10, 2), (500, 75), (None, 8)])
def test_no_request_creates_too_many_partitions(partitions: int | None, requests_sent: int) -> None:
    admin = AnsweringAdmin({"CreateTopicsRequest": created({})})
    desired = {f"t{number}": NewTopic(partitions, 1) for number in range(300)}
    assert topics.create(admin, desired, validate_only=False) == {}
    assert len(admin.requests) == requests_sent
    assert sum(len(request.topics) for request in admin.requests) == 300


def test_what_a_quota_delays_is_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """KIP-599: the controller takes some topics of a request, and not the others."""
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    result = CREATED.CreatableTopicResult

    def respond(request: Any) -> Any:
        return CREATED(
            throttle_time_ms=500 if len(request.topics) > 1 else 0,
            topics=[
                result(name=topic.name, error_code=THROTTLED if index else 0)
                for index, topic in enumerate(request.topics)
            ],
        )

    admin = AnsweringAdmin({"CreateTopicsRequest": respond})
    desired = {name: NewTopic(1, 1) for name in "abc"}
    assert topics.create(admin, desired, validate_only=False) == {}
    assert [[topic.name for topic in request.topics] for request in admin.requests] == [
        ["a", "b", "c"],
        ["b", "c"],
        ["c"],
    ]
    assert sum(pauses) > 1  # kafka-python sends nothing in that time


def test_a_quota_that_delays_too_long_is_an_error_that_may_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(requests, "THROTTLED_SECONDS", -1)
    admin = AnsweringAdmin({"CreateTopicsRequest": created({"a": THROTTLED})})
    with pytest.raises(errors.ThrottlingQuotaExceededError):
        topics.create(admin, {"a": NewTopic(1, 1)}, validate_only=False)


def test_an_error_that_may_pass_is_raised() -> None:
    admin = AnsweringAdmin({"CreateTopicsRequest": created({"a": NOT_CONTROLLER})})
    with pytest.raises(errors.NotControllerError):
        topics.create(admin, {"a": NewTopic(1, 1)}, validate_only=False)


def test_an_answer_that_lacks_a_topic_is_no_success() -> None:
    admin = AnsweringAdmin({"CreateTopicsRequest": [CREATED(topics=[])]})
    with pytest.raises(LookupError, match="no answer about a"):
        topics.create(admin, {"a": NewTopic(1, 1)}, validate_only=False)


def grown(codes: Mapping[str, int]) -> Any:
    """Return the answer to CreatePartitions."""
    result = GROWN.CreatePartitionsTopicResult
    return GROWN(results=[result(name=name, error_code=code) for name, code in codes.items()])


def test_a_topic_that_has_as_many_partitions_already_is_grown() -> None:
    """The answer to an earlier request may have been lost."""
    codes = {"a": INVALID_PARTITIONS, "b": INVALID_PARTITIONS, "c": UNKNOWN_TOPIC, "d": 0}
    answers = {
        "CreatePartitionsRequest": [grown(codes)],
        "MetadataRequest": [metadata({"a": [(1,)] * 4, "b": [(1,)] * 6, "c": []})],
    }
    admin = AnsweringAdmin(answers)
    assert list(topics.grow(admin, dict.fromkeys(codes, 4), validate_only=False)) == ["b", "c"]
    assert [topic.count for topic in admin.requests[0].topics] == [4] * 4
    assert admin.brokers == ["controller", None]
    admin = AnsweringAdmin({"CreatePartitionsRequest": [grown(codes)]})
    assert list(topics.grow(admin, dict.fromkeys(codes, 4), validate_only=True)) == ["a", "b", "c"]


def test_a_topic_that_is_not_there_is_deleted() -> None:
    result = DELETED.DeletableTopicResult
    codes = {"a": 0, "b": UNKNOWN_TOPIC, "c": DENIED}
    deleted = DELETED(
        responses=[result(name=name, error_code=code) for name, code in codes.items()]
    )
    admin = AnsweringAdmin({"DeleteTopicsRequest": [deleted]})
    assert list(topics.delete(admin, list(codes))) == ["c"]
    (request,) = admin.requests
    assert request.encode(version=5).count(b"\x02a\x02b\x02c") == 1
    assert request.encode(version=6)


# Contents


class Partitions:
    """The partitions of a topic: their offsets, and what a fetch returns."""

    def __init__(
        self,
        spans: Mapping[int, tuple[int, int]],
        later: Mapping[int, int] | None = None,
        records: bytes = b"",
        code: int = 0,
        fetch_code: int = 0,
    ) -> None:
        """Keep first offset and end, the first offset at or after a time, and error codes."""
        self.spans, self.later = spans, later or {}
        self.records, self.code, self.fetch_code = records, code, fetch_code
        self.admin = AnsweringAdmin(
            {
                "MetadataRequest": lambda _: metadata(
                    {"t": [(i % 2 + 1,) for i in range(len(spans))]}
                ),
                "ListOffsetsRequest": self._offsets,
                "FetchRequest": self._fetched,
            }
        )

    def contents(self, **options: Any) -> Contents:
        """Return what the adapter says."""
        return topics.contents(self.admin, "t", **options)

    def _offsets(self, request: Any) -> Any:
        topic = OFFSETS.ListOffsetsTopicResponse
        (requested,) = request.topics
        partitions = []
        for place in requested.partitions:
            span = self.spans[place.partition_index]
            offset = {-2: span[0], -1: span[1]}.get(
                place.timestamp, self.later.get(place.partition_index, -1)
            )
            partitions.append(
                topic.ListOffsetsPartitionResponse(
                    partition_index=place.partition_index, error_code=self.code, offset=offset
                )
            )
        return OFFSETS(topics=[topic(name="t", partitions=partitions)])

    def _fetched(self, request: Any) -> Any:
        topic = FETCHED.FetchableTopicResponse
        part = topic.PartitionData(
            partition_index=request.topics[0].partitions[0].partition,
            error_code=self.fetch_code,
            records=self.records,
        )
        assert request.encode(version=12)
        return FETCHED(responses=[topic(topic="t", partitions=[part])])


def batch(keys: Sequence[bytes | None], compression: int = 0) -> bytes:
    """Return records with these keys."""
    builder = library.MemoryRecordsBuilder(
        magic=2, compression_type=compression, batch_size=1 << 20
    )
    for key in keys:
        builder.append(timestamp=1, key=key, value=b"v" * 200)
    builder.close()
    return bytes(builder.buffer())


def test_records_are_looked_for_at_every_leader() -> None:
    partitions = Partitions({0: (5, 5), 1: (0, 0), 2: (0, 1)})
    assert partitions.contents() == Contents(has_records=True)
    assert partitions.admin.brokers == [None, 1, 2, 1, 2]
    assert Partitions({0: (5, 5), 1: (0, 0)}).contents() == Contents(has_records=False)


@pytest.mark.parametrize(
    ("spans", "later", "older"),
    [
        ({0: (3, 9)}, {0: 3}, False),
        ({0: (3, 9)}, {0: 4}, True),
        ({0: (3, 9)}, {}, True),  # all are before that time
        ({0: (3, 9), 1: (0, 2)}, {0: 3, 1: 1}, True),
        ({0: (3, 3)}, {}, False),
    ],
)
def test_older_records_are_those_before_a_time(
    spans: dict[int, tuple[int, int]], later: dict[int, int], older: bool
) -> None:
    assert Partitions(spans, later).contents(older_than_ms=1000).older is older


@pytest.mark.parametrize(
    ("records", "has_keys"),
    [
        (batch([None, b"k"]), True),
        (batch([None, None]), False),
        (batch([b"k"], compression=1), True),
        (b"", None),
    ],
    # The time of compression is in its bytes, so they are no name that all workers of pytest agree on.
    ids=["some", "none", "compressed", "no records"],
)
def test_the_newest_records_show_whether_there_are_keys(records: bytes, has_keys: Any) -> None:
    partitions = Partitions({0: (0, 100)}, records=records)
    assert partitions.contents(keys=True).has_keys is has_keys
    assert partitions.admin.requests[-1].topics[0].partitions[0].fetch_offset == 80


def test_a_topic_without_records_has_no_keys() -> None:
    assert Partitions({0: (2, 2)}).contents(keys=True).has_keys is False


def test_a_compressed_batch_that_is_large_is_not_unpacked() -> None:
    keys = random.Random(1)
    large = batch([keys.randbytes(100) for _ in range(2000)], compression=1)
    assert len(large) > 1 << 16
    assert Partitions({0: (0, 100)}, records=large).contents(keys=True).has_keys is None


def test_a_codec_that_is_not_installed_leaves_keys_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    records = batch([b"k"], compression=1)
    monkeypatch.setattr(library.codec, "has_gzip", lambda: False)
    assert Partitions({0: (0, 1)}, records=records).contents(keys=True).has_keys is None


def test_what_this_login_may_not_read_is_unknown() -> None:
    options = {"older_than_ms": 1, "keys": True}
    assert Partitions({0: (0, 1)}, code=DENIED).contents(**options) == Contents()
    unread = Partitions({0: (0, 1)}, {0: 0}, fetch_code=DENIED).contents(**options)
    assert unread == Contents(has_records=True, has_keys=None, older=False)


def test_a_partition_without_a_leader_may_have_records() -> None:
    partitions = Partitions({0: (0, 0)})
    partitions.admin._answers["MetadataRequest"] = [metadata({"t": [(1,), ()]})]
    assert partitions.contents(older_than_ms=1) == Contents()


def test_a_leader_that_moves_may_be_asked_again() -> None:
    with pytest.raises(errors.NotLeaderForPartitionError):
        Partitions({0: (0, 1)}, code=NOT_LEADER).contents()


@pytest.mark.parametrize("code", [UNKNOWN_TOPIC, DENIED])
def test_a_topic_that_is_not_shown_has_unknown_contents(code: int) -> None:
    admin = AnsweringAdmin({"MetadataRequest": [metadata({"t": []}, code=code)]})
    assert topics.contents(admin, "t", older_than_ms=1, keys=True) == Contents()
