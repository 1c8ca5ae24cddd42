"""Topics of a cluster: their partitions and configuration, creating, growing and deleting some.

The admin client's own methods put the whole answer into an error, and end at the first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from . import library, resource_configs
from .answers import UNKNOWN_TOPIC, check, refusal
from .requests import BATCH, TIMEOUT_MS, batches, change, send, send_to

EFFECTIVE = ("cleanup.policy", "min.insync.replicas", "retention.bytes", "retention.ms")
"""The keys whose values in force are read too: changes of them may lose records."""
_RETENTION = "retention.ms"
_BROKER_MS = {
    "log.retention.ms": 1,
    "log.retention.minutes": 60_000,
    "log.retention.hours": 3_600_000,
}
"""Brokers' keys for retention.ms, in the order of precedence -> milliseconds of their unit."""
_BATCH_PARTITIONS = 2000
"""How many partitions one request may create; a KRaft controller refuses more than 10,000."""
_DEFAULT_PARTITIONS = 50
"""What a topic counts for that leaves their number to the broker."""
_BROKER = 4  # resource type
_UNSHOWN = (29, 31)  # TOPIC_AUTHORIZATION_FAILED, CLUSTER_AUTHORIZATION_FAILED
_ALREADY_EXISTS, _INVALID_PARTITIONS = 36, 37
_OFFSET_OUT_OF_RANGE = 1
_EARLIEST, _LATEST = -2, -1
_SAMPLED_PARTITIONS = 8
_SAMPLED_RECORDS = 20
_SAMPLE_BYTES = 1 << 16
_SAMPLE_WAIT_MS = 500

Span = tuple[int, int]
"""The first offset of a partition, and its end."""


@dataclass(frozen=True)
class Topic:
    """A topic as this login is shown it."""

    name: str
    partitions: int
    replication: int
    """Replicas of a partition: the most frequent number, of several the smallest."""
    uneven: bool = False
    """Whether its partitions differ in the number of replicas."""
    internal: bool = False
    """Kafka's own flag."""
    placement: tuple[tuple[int, ...], ...] = ()
    """Brokers of the replicas, by partition."""
    config: Mapping[str, str] | None = None
    """Dynamic keys of the topic alone; None where the configuration is not shown."""
    effective: Mapping[str, str] = field(default_factory=dict)
    """The value in force of each key of EFFECTIVE; empty where it is not shown."""
    below: Mapping[str, str] = field(default_factory=dict)
    """What would be in force without the topic's own key; of the same keys."""


@dataclass(frozen=True)
class NewTopic:
    """A topic to create."""

    partitions: int | None
    """None: as many as the broker gives by default."""
    replication: int | None
    """Replicas of each partition; None: the broker's default."""
    config: Mapping[str, str] = field(default_factory=dict)
    """Dynamic keys."""


@dataclass(frozen=True)
class Contents:
    """What a topic holds; None is what this login is not shown, or what cannot be read."""

    has_records: bool | None = None
    has_keys: bool | None = None
    """Whether one of the newest records has a key."""
    older: bool | None = None
    """Whether it has records before a time."""


def read(admin: Any) -> dict[str, Topic]:
    """Return name -> topic, of all that this login is shown.

    Raises:
        KafkaError: Kafka does not answer about one now.
        RefusedError: it refuses to show one for another reason than this login's grants.

    """
    metadata = _metadata(admin, None)
    described = sorted(metadata.topics, key=lambda topic: str(topic.name))
    for topic in described:
        check(topic)
    brokers = sorted(broker.node_id for broker in metadata.brokers)
    settings = _settings(admin, [topic.name for topic in described], brokers)
    return {
        topic.name: _topic(topic, settings[topic.name])
        for topic in described
        if topic.name in settings
    }


@dataclass(frozen=True)
class _Settings:
    """A topic's configuration, as in Topic."""

    config: Mapping[str, str] | None = None
    effective: Mapping[str, str] = field(default_factory=dict)
    below: Mapping[str, str] = field(default_factory=dict)


def _settings(
    admin: Any,
    names: Collection[str],
    brokers: Sequence[int],
) -> dict[str, _Settings]:
    """Return topic -> settings; a topic that was deleted meanwhile is left out."""
    settings: dict[str, _Settings] = {}
    for result in resource_configs.describe(admin, resource_configs.TOPIC, names):
        if result.error_code == UNKNOWN_TOPIC:
            continue
        if result.error_code in _UNSHOWN:
            settings[result.resource_name] = _Settings()
            continue
        check(result)
        values = {
            entry.name: entry.value or "" for entry in result.configs if entry.name in EFFECTIVE
        }
        config = resource_configs.dynamic(resource_configs.TOPIC, result)
        settings[result.resource_name] = _Settings(config, values, values)
    overriding = [
        name
        for name, setting in settings.items()
        if not set(EFFECTIVE).isdisjoint(setting.config or ())
    ]
    inherited = _inherited(settings.values())
    # With the synonyms of all keys the answers would be twice as large.
    described = resource_configs.describe(
        admin, resource_configs.TOPIC, overriding, EFFECTIVE, synonyms=True
    )
    for result in described:
        name = result.resource_name
        if result.error_code == UNKNOWN_TOPIC:
            settings.pop(name)
            continue
        check(result)
        below = {entry.name: _below(entry, inherited) for entry in result.configs}
        if not below.get(_RETENTION, "-"):
            below[_RETENTION] = inherited[_RETENTION] = _broker_retention(admin, brokers)
        settings[name] = replace(settings[name], below=below)
    return settings


def _inherited(settings: Iterable[_Settings]) -> dict[str, str]:
    """Return key -> value in force where a topic has none of its own, as far as some topic shows."""
    return {
        key: value
        for setting in settings
        for key, value in setting.effective.items()
        if key not in (setting.config or ())
    }


def _below(entry: Any, inherited: Mapping[str, str]) -> str:
    """Return what would be in force without the topic's own key, empty where that is not shown.

    Synonyms come in the order of precedence, the brokers' under their own names and in their own
    units. Of retention.ms Kafka shows none but log.retention.ms.
    """
    dynamic = resource_configs.DYNAMIC[resource_configs.TOPIC]
    for synonym in entry.synonyms:
        if synonym.source != dynamic and synonym.value is not None:
            return _milliseconds(synonym) if synonym.name in _BROKER_MS else str(synonym.value)
    return inherited.get(entry.name, "") if entry.config_source == dynamic else str(entry.value)


def _broker_retention(admin: Any, brokers: Sequence[int]) -> str:
    """Return the retention.ms of a broker's topics, empty if this login may not see it."""
    name = str(brokers[0])
    request = library.DescribeConfigsRequest(
        resources=[(_BROKER, name, list(_BROKER_MS))], include_synonyms=False, min_version=1
    )
    (result,) = send_to(admin, brokers[0], request).results
    if result.error_code in _UNSHOWN:
        return ""
    check(result)
    entries = {entry.name: entry for entry in result.configs if entry.value is not None}
    return next((_milliseconds(entries[key]) for key in _BROKER_MS if key in entries), "")


def _milliseconds(entry: Any) -> str:
    """Return the value of one of a broker's keys for the retention as retention.ms has it."""
    number = int(entry.value)
    return str(number * _BROKER_MS[entry.name] if number >= 0 else -1)


def _topic(topic: Any, settings: _Settings) -> Topic:
    ordered = sorted(topic.partitions, key=lambda partition: int(partition.partition_index))
    placement = tuple(tuple(partition.replica_nodes) for partition in ordered)
    sizes = Counter(map(len, placement))
    most = max(sizes.values(), default=0)
    return Topic(
        name=topic.name,
        partitions=len(placement),
        replication=min((size for size, count in sizes.items() if count == most), default=0),
        uneven=len(sizes) > 1,
        internal=bool(topic.is_internal),
        placement=placement,
        config=settings.config,
        effective=settings.effective,
        below=settings.below,
    )


def create(
    admin: Any,
    topics: Mapping[str, NewTopic],
    *,
    validate_only: bool,
) -> dict[str, str]:
    """Create topics; return name -> why Kafka refuses, of those that it does.

    A topic that is there already is refused by validation alone: an answer to an earlier request
    may have been lost, or another run was faster.
    """

    def request(names: Sequence[str]) -> Any:
        message = library.CreateTopicsRequest
        return message(
            topics=[
                message.CreatableTopic(
                    name=name,
                    num_partitions=topics[name].partitions or -1,
                    replication_factor=topics[name].replication or -1,
                    assignments=[],
                    configs=[
                        message.CreatableTopic.CreatableTopicConfig(name=key, value=value)
                        for key, value in topics[name].config.items()
                    ],
                )
                for name in names
            ],
            timeout_ms=TIMEOUT_MS,
            validate_only=validate_only,
            min_version=4,  # KIP-464: the broker's defaults
        )

    sizes = {name: topic.partitions or _DEFAULT_PARTITIONS for name, topic in topics.items()}
    passed = () if validate_only else (_ALREADY_EXISTS,)
    return _changed(admin, _by_size(sizes), request, lambda response: response.topics, passed)


def grow(admin: Any, counts: Mapping[str, int], *, validate_only: bool) -> dict[str, str]:
    """Give topics more partitions, `counts` in all; return name -> why Kafka refuses.

    A topic that has exactly that many already is no refusal, unless it is validated.
    """

    def request(names: Sequence[str]) -> Any:
        message = library.CreatePartitionsRequest
        return message(
            topics=[
                message.CreatePartitionsTopic(name=name, count=counts[name], assignments=None)
                for name in names
            ],
            timeout_ms=TIMEOUT_MS,
            validate_only=validate_only,
        )

    reasons = _changed(admin, _by_size(counts), request, lambda response: response.results)
    if validate_only or not reasons:
        return reasons
    present = {
        topic.name: len(topic.partitions) for topic in _metadata(admin, list(reasons)).topics
    }
    return {name: text for name, text in reasons.items() if present.get(name) != counts[name]}


def delete(admin: Any, names: Sequence[str]) -> dict[str, str]:
    """Delete topics with their records; return name -> why Kafka refuses, of those that it does.

    A topic that is not there is no refusal.
    """

    def request(names: Sequence[str]) -> Any:
        message = library.DeleteTopicsRequest
        return message(
            topics=[message.DeleteTopicState(name=name) for name in names],
            topic_names=list(names),  # before version 6
            timeout_ms=TIMEOUT_MS,
        )

    return _changed(
        admin, batches(names), request, lambda response: response.responses, (UNKNOWN_TOPIC,)
    )


def _changed(
    admin: Any,
    groups: Iterable[Sequence[str]],
    request: Callable[[Sequence[str]], Any],
    results: Callable[[Any], Iterable[Any]],
    passed: Collection[int] = (),
) -> dict[str, str]:
    """Send a change in batches; return name -> why Kafka refuses; `passed` are codes of success."""
    reasons: dict[str, str] = {}
    for names in groups:
        responses = change(
            admin,
            names,
            request,
            lambda response: ((result.name, result) for result in results(response)),
        )
        reasons.update(
            (name, refusal(result, lasting=(UNKNOWN_TOPIC,)))
            for name, result in responses.items()
            if result.error_code not in passed
        )
    return {name: reason for name, reason in reasons.items() if reason}


def _by_size(sizes: Mapping[str, int]) -> Iterator[list[str]]:
    """Yield names in batches that are neither too many nor have too many partitions together."""
    batch: list[str] = []
    total = 0
    for name, size in sizes.items():
        if batch and (len(batch) >= BATCH or total + size > _BATCH_PARTITIONS):
            yield batch
            batch, total = [], 0
        batch.append(name)
        total += size
    if batch:
        yield batch


def contents(
    admin: Any,
    name: str,
    *,
    older_than_ms: int | None = None,
    keys: bool = False,
) -> Contents:
    """Return what a topic holds: records, with `keys` whether they have keys, and how old they are.

    `older_than_ms` is the time before which records are looked for, in ms since the epoch. A
    partition without a leader is not shown; a transaction's end counts as a record.

    Raises:
        KafkaError: a leader does not answer now.

    """
    (topic,) = _metadata(admin, [name]).topics
    if topic.error_code in (UNKNOWN_TOPIC, *_UNSHOWN):
        return Contents()
    check(topic)
    leaders = {
        partition.partition_index: partition.leader_id
        for partition in topic.partitions
        if partition.leader_id >= 0
    }
    earliest = _offsets(admin, name, leaders, _EARLIEST)
    latest = _offsets(admin, name, leaders, _LATEST)
    if earliest is None or latest is None:
        return Contents()
    spans = {
        index: (earliest[index], end) for index, end in latest.items() if end > earliest[index]
    }
    complete = len(leaders) == len(topic.partitions)
    older = None
    if older_than_ms is not None and not spans:
        older = _known(False, complete=complete)
    elif older_than_ms is not None:
        later = _offsets(admin, name, {index: leaders[index] for index in spans}, older_than_ms)
        # The first offset at or after that time, -1 where all records are before it.
        before = any(
            offset < 0 or offset > spans[index][0] for index, offset in (later or {}).items()
        )
        older = None if later is None else _known(before, complete=complete)
    return Contents(
        has_records=_known(bool(spans), complete=complete),
        has_keys=_has_keys(admin, name, leaders, spans) if keys else None,
        older=older,
    )


def _known(certain: bool, *, complete: bool) -> bool | None:
    """Return an answer; no for some partitions says nothing about those that did not answer."""
    return certain or (False if complete else None)


def _metadata(admin: Any, names: Sequence[str] | None) -> Any:
    topic = library.MetadataRequest.MetadataRequestTopic
    topics = None if names is None else [topic(name=name) for name in names]
    request = library.MetadataRequest(topics=topics, allow_auto_topic_creation=False)
    return send(admin, request)


def _offsets(
    admin: Any,
    name: str,
    leaders: Mapping[int, int],
    timestamp: int,
) -> dict[int, int] | None:
    """Return partition -> offset of a time, None if this login may not see it."""
    topic = library.ListOffsetsRequest.ListOffsetsTopic
    offsets: dict[int, int] = {}
    for leader, indexes in _by_leader(leaders).items():
        partitions = [
            topic.ListOffsetsPartition(partition_index=index, timestamp=timestamp)
            for index in indexes
        ]
        request = library.ListOffsetsRequest(
            isolation_level=0,
            topics=[topic(name=name, partitions=partitions)],
            timeout_ms=TIMEOUT_MS,
        )
        (response,) = send_to(admin, leader, request).topics
        for result in response.partitions:
            if result.error_code in _UNSHOWN:
                return None
            check(result)
            offsets[result.partition_index] = result.offset
    return offsets


def _by_leader(leaders: Mapping[int, int]) -> dict[int, list[int]]:
    indexes: dict[int, list[int]] = {}
    for index, leader in leaders.items():
        indexes.setdefault(leader, []).append(index)
    return indexes


def _has_keys(
    admin: Any,
    name: str,
    leaders: Mapping[int, int],
    spans: Mapping[int, Span],
) -> bool | None:
    """Return whether one of the newest records of some partitions has a key."""
    sampled: list[bool] = []
    for index in sorted(spans)[:: max(1, len(spans) // _SAMPLED_PARTITIONS)]:
        response = send_to(admin, leaders[index], _fetch(name, index, spans[index]))
        keyed = _keyed(response)
        if keyed is None or any(keyed):
            return None if keyed is None else True
        sampled += keyed
    return False if sampled or not spans else None


def _keyed(response: Any) -> list[bool] | None:
    """Return whether each record of an answer to a fetch has a key; None if some cannot be read."""
    keyed: list[bool] = []
    for result in (result for topic in response.responses for result in topic.partitions):
        if result.error_code == _OFFSET_OUT_OF_RANGE:  # deleted meanwhile
            continue
        if result.error_code in _UNSHOWN:
            return None
        check(result)
        for batch in library.MemoryRecords(bytes(result.records or b"")):
            if getattr(batch, "is_control_batch", False):
                continue
            # A small batch can become a very large one.
            if batch.compression_type and batch.size_in_bytes > _SAMPLE_BYTES:
                return None
            try:
                keyed += [record.key is not None for record in batch]
            except library.errors.UnsupportedCodecError:
                return None
    return keyed


def _fetch(name: str, index: int, span: Span) -> Any:
    start, end = span
    topic = library.FetchRequest.FetchTopic
    place = topic.FetchPartition(
        partition=index,
        fetch_offset=max(start, end - _SAMPLED_RECORDS),
        partition_max_bytes=_SAMPLE_BYTES,
    )
    return library.FetchRequest(
        max_wait_ms=_SAMPLE_WAIT_MS,
        min_bytes=1,
        max_bytes=_SAMPLE_BYTES,
        topics=[topic(topic=name, partitions=[place])],
        max_version=12,  # later ones name topics by id
    )
