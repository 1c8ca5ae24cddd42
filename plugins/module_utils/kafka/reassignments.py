"""Moving replicas: reassignments (KIP-455), their throttles (KIP-73), disks, brokers that leave."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import configs, library, messages, resource_configs
from .answers import UNKNOWN_TOPIC, UnsupportedError, check, refusal
from .requests import TIMEOUT_MS, batches, send, send_to, send_to_controller
from .snapshot import THROTTLES

Name = tuple[str, int]
"""Topic and index of a partition."""
BATCH = 1000
"""How many partitions one request is about; each becomes a record of the metadata log."""
LEADER_REPLICAS, FOLLOWER_REPLICAS = THROTTLES
RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
CORDONED = "cordoned.log.dirs"
MARK = "2147483647:2147483647"
"""An entry among a topic's throttled replicas that says whose reassignment this is.

It is of a partition that no topic has, on a broker that no cluster has, so it throttles nothing.
In the cluster itself it outlives the host and the control node that have started the move.
"""
_BROKER = 4  # resource type
_STORAGE_ERROR, _REPLICA_NOT_AVAILABLE = 56, 9
_NO_REASSIGNMENT, _ELECTION_NOT_NEEDED = 85, 84
_BROKER_NOT_REGISTERED = 102  # BROKER_ID_NOT_REGISTERED
_NO_BYTES = -1


@dataclass(frozen=True)
class Reassignment:
    """A partition that is being reassigned."""

    target: tuple[int, ...]
    """Its replicas afterwards, in their order of preference."""
    adding: tuple[int, ...]
    removing: tuple[int, ...]

    @property
    def former(self) -> tuple[int, ...]:
        """The replicas that a cancellation leaves, in the order that Kafka then gives them."""
        kept = tuple(broker for broker in self.target if broker not in self.adding)
        return kept + self.removing


@dataclass(frozen=True)
class LogDir:
    """A log directory of a broker."""

    path: str
    failed: bool = False
    """Whether the broker has taken it out of use after an error."""
    total: int | None = None
    """Bytes of its file system; None before Kafka 3.3 (KIP-827)."""
    usable: int | None = None
    """Bytes of it that are free for Kafka."""
    cordoned: bool = False
    """Whether it gets no new replicas (KIP-1066)."""
    sizes: Mapping[Name, int] = field(default_factory=dict)
    """Bytes of each replica there."""
    future: Mapping[Name, int] = field(default_factory=dict)
    """Bytes of those that are being moved there from another directory of the broker."""


@dataclass(frozen=True)
class Throttles:
    """What throttles replication now, by dynamic configuration."""

    topics: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Topic -> key of THROTTLES -> throttled replicas."""
    rate: Mapping[str, str] = field(default_factory=dict)
    """Key of RATES -> bytes/s, of all brokers."""
    rates: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    """Broker -> key of RATES -> bytes/s that was set for it alone."""

    def marks(self, name: Name, reassignment: Reassignment) -> bool:
        """Return whether Millrace has started this reassignment."""
        topic, index = name
        entries = set(self.topics.get(topic, {}).get(FOLLOWER_REPLICAS, "").split(","))
        return entries.issuperset({MARK, *(f"{index}:{broker}" for broker in reassignment.adding)})


def ongoing(admin: Any) -> dict[Name, Reassignment]:
    """Return the partitions that are being reassigned.

    Raises:
        RefusedError: Kafka refuses to show them.

    """
    request = library.ListPartitionReassignmentsRequest(timeout_ms=TIMEOUT_MS, topics=None)
    response = send_to_controller(admin, request)
    check(response)
    return {
        (topic.name, part.partition_index): Reassignment(
            target=tuple(
                broker for broker in part.replicas if broker not in part.removing_replicas
            ),
            adding=tuple(part.adding_replicas),
            removing=tuple(part.removing_replicas),
        )
        for topic in response.topics
        for part in topic.partitions
    }


def alter(admin: Any, targets: Mapping[Name, Sequence[int] | None]) -> dict[Name, str]:
    """Start reassignments, or cancel those of None; return partition -> why Kafka refuses.

    A partition that is not being reassigned, or is not there any more, is no refusal of a
    cancellation.

    Raises:
        RefusedError: Kafka refuses all.
        LookupError: an answer lacks a partition.

    """
    reasons: dict[Name, str] = {}
    message = library.AlterPartitionReassignmentsRequest
    topic_type = message.ReassignableTopic
    for batch in batches(sorted(targets), BATCH):
        request = message(
            timeout_ms=TIMEOUT_MS,
            topics=[
                topic_type(
                    name=topic,
                    partitions=[
                        topic_type.ReassignablePartition(
                            partition_index=index, replicas=_listed(targets[topic, index])
                        )
                        for index in indexes
                    ],
                )
                for topic, indexes in _by_topic(batch).items()
            ],
        )
        response = send_to_controller(admin, request)
        check(response)
        for topic in response.responses:
            for part in topic.partitions:
                name = (topic.name, part.partition_index)
                passed = (_NO_REASSIGNMENT, UNKNOWN_TOPIC) if targets[name] is None else ()
                code = part.error_code
                reasons[name] = "" if code in passed else refusal(part, lasting=(UNKNOWN_TOPIC,))
        _complete(batch, reasons)
    return {name: reason for name, reason in reasons.items() if reason}


def log_dirs(admin: Any, brokers: Iterable[int]) -> dict[int, tuple[LogDir, ...]]:
    """Return broker -> its log directories with the sizes of their replicas; each one is asked.

    Raises:
        RefusedError: Kafka refuses to show them.
        KafkaError: a broker does not answer now.

    """
    return {broker: _log_dirs_of(admin, broker) for broker in sorted(brokers)}


def _log_dirs_of(admin: Any, broker: int) -> tuple[LogDir, ...]:
    response = send_to(admin, broker, library.DescribeLogDirsRequest(topics=None))
    check(response)
    directories = []
    for result in response.results:
        if result.error_code == _STORAGE_ERROR:
            directories.append(LogDir(result.log_dir, failed=True))
            continue
        check(result)
        sizes: dict[Name, int] = {}
        future: dict[Name, int] = {}
        for topic in result.topics:
            for part in topic.partitions:
                kind = future if part.is_future_key else sizes
                kind[topic.name, part.partition_index] = part.partition_size
        directories.append(
            LogDir(
                path=result.log_dir,
                total=_bytes(result.total_bytes),
                usable=_bytes(result.usable_bytes),
                cordoned=bool(result.is_cordoned),
                sizes=sizes,
                future=future,
            )
        )
    return tuple(sorted(directories, key=lambda directory: directory.path))


def _bytes(number: int | None) -> int | None:
    return None if number in (None, _NO_BYTES) else number


def move_between_disks(admin: Any, broker: int, paths: Mapping[Name, str]) -> dict[Name, str]:
    """Move replicas to other directories of a broker; return partition -> why it refuses.

    A replica that the broker does not have yet is put there when it gets it (KIP-113).

    Raises:
        LookupError: an answer lacks a partition.

    """
    reasons: dict[Name, str] = {}
    directory_type = library.AlterReplicaLogDirsRequest.AlterReplicaLogDir
    for batch in batches(sorted(paths), BATCH):
        by_path: dict[str, list[Name]] = defaultdict(list)
        for name in batch:
            by_path[paths[name]].append(name)
        request = library.AlterReplicaLogDirsRequest(
            dirs=[
                directory_type(
                    path=path,
                    topics=[
                        directory_type.AlterReplicaLogDirTopic(name=topic, partitions=indexes)
                        for topic, indexes in _by_topic(names).items()
                    ],
                )
                for path, names in by_path.items()
            ]
        )
        for topic in send_to(admin, broker, request).results:
            for part in topic.partitions:
                # Of a replica that the broker does not have yet it keeps the directory all the same.
                kept = part.error_code == _REPLICA_NOT_AVAILABLE
                reasons[topic.topic_name, part.partition_index] = (
                    "" if kept else refusal(part, lasting=(UNKNOWN_TOPIC,))
                )
        _complete(batch, reasons)
    return {name: reason for name, reason in reasons.items() if reason}


def throttles(admin: Any, topics: Iterable[str], brokers: Iterable[int]) -> Throttles:
    """Return what throttles replication of these topics, and on those of these brokers that answer.

    One that has just died counts as serving for some seconds more.

    Raises:
        RefusedError: Kafka refuses to show the configuration of a topic.

    """
    listed: dict[str, Mapping[str, str]] = {}
    for result in resource_configs.describe(admin, resource_configs.TOPIC, topics, THROTTLES):
        if result.error_code == UNKNOWN_TOPIC:
            continue
        check(result)
        own_keys = resource_configs.dynamic(resource_configs.TOPIC, result)
        if values := {key: text for key, text in own_keys.items() if text}:
            listed[result.resource_name] = values
    (default,) = resource_configs.describe(admin, _BROKER, [""], RATES)
    check(default)
    rates: dict[int, Mapping[str, str]] = {}
    for broker in sorted(brokers):
        try:
            settings = configs.read(admin, broker, list(RATES))
        except (library.errors.KafkaError, OSError):  # the latter in its TLS handshake
            continue
        entries = {
            key: setting.entry for key, setting in settings.items() if setting.entry is not None
        }
        if entries:
            rates[broker] = entries
    return Throttles(
        listed,
        {entry.name: entry.value for entry in default.configs if entry.value is not None},
        rates,
    )


def throttled_replicas(
    leaders: Mapping[Name, Iterable[int]], adding: Mapping[Name, Iterable[int]]
) -> dict[str, dict[str, str]]:
    """Return topic -> key of THROTTLES -> value, that throttles moves and marks them as Millrace's.

    `leaders` is partition -> the brokers that may send it, `adding` those that get it.
    """
    entries: dict[str, dict[str, set[Name]]] = {}
    for key, parts in ((LEADER_REPLICAS, leaders), (FOLLOWER_REPLICAS, adding)):
        for (topic, index), brokers in parts.items():
            keys = entries.setdefault(topic, {name: set() for name in THROTTLES})
            keys[key].update((str(index), broker) for broker in brokers)
    return {
        topic: {
            key: ",".join(
                [f"{index}:{broker}" for index, broker in sorted(pairs)]
                + ([MARK] if key == FOLLOWER_REPLICAS else [])
            )
            for key, pairs in keys.items()
        }
        for topic, keys in entries.items()
    }


def throttle_topics(admin: Any, values: Mapping[str, Mapping[str, str] | None]) -> dict[str, str]:
    """Set the throttled replicas of topics, of None remove them; return topic -> why refused.

    A topic that is not there any more is no refusal.
    """
    changes = {
        topic: dict.fromkeys(THROTTLES)
        if keys is None
        else {key: keys.get(key) for key in THROTTLES}
        for topic, keys in values.items()
    }
    reasons = resource_configs.alter(admin, resource_configs.TOPIC, changes, validate_only=False)
    if not reasons:
        return {}
    described = resource_configs.describe(admin, resource_configs.TOPIC, reasons, THROTTLES)
    present = {part.resource_name for part in described if part.error_code != UNKNOWN_TOPIC}
    return {topic: reason for topic, reason in reasons.items() if topic in present}


def throttle_rate(admin: Any, rate: int | None) -> str:
    """Set the bytes/s of throttled replication in and out of each broker; None removes it.

    Returns why Kafka refuses. It is the default of all brokers (KAFKA-10190): where none of their
    replicas is throttled it has no effect, and it can be removed while a broker is down.
    """
    keys = dict.fromkeys(RATES, None if rate is None else str(rate))
    return "".join(resource_configs.alter(admin, _BROKER, {"": keys}, validate_only=False).values())


def remove_rates(admin: Any, broker: int) -> str:
    """Remove the rates that were set for one broker; return why Kafka refuses."""
    keys = dict.fromkeys(RATES)
    return configs.alter(admin, broker, keys, cluster_wide=False, validate_only=False)


def cordon(admin: Any, broker: int, *, cordoned: bool) -> str:
    """Let a broker get no new replicas, or again some; return why Kafka refuses (KIP-1066).

    Raises:
        UnsupportedError: the version of the cluster has no cordons.

    """
    setting = configs.read(admin, broker, [CORDONED]).get(CORDONED)
    if setting is None:
        text = "this version of Kafka cannot cordon log directories (4.3 and later can)"
        raise UnsupportedError(text)
    value = "*" if cordoned else None
    if setting.entry == value:
        return ""
    return configs.alter(admin, broker, {CORDONED: value}, cluster_wide=False, validate_only=False)


def unregister(admin: Any, broker: int) -> str:
    """Remove a broker's registration; return why Kafka refuses, empty also if there was none.

    Kafka itself does not look whether it still has replicas.
    """
    response = send(admin, messages.unregister_broker(broker))
    return "" if response.error_code == _BROKER_NOT_REGISTERED else refusal(response)


def elect_preferred(admin: Any, names: Iterable[Name]) -> dict[Name, str]:
    """Let the preferred replica of partitions lead; return partition -> why not (KIP-460).

    One that leads already, and a partition that is not there any more, are no refusals.

    Raises:
        RefusedError: Kafka refuses all.

    """
    reasons: dict[Name, str] = {}
    message = library.ElectLeadersRequest
    for batch in batches(sorted(names), BATCH):
        request = message(
            election_type=0,
            topic_partitions=[
                message.TopicPartitions(topic=topic, partitions=indexes)
                for topic, indexes in _by_topic(batch).items()
            ],
            timeout_ms=TIMEOUT_MS,
        )
        response = send_to_controller(admin, request)
        check(response)
        for topic in response.replica_election_results:
            for part in topic.partition_result:
                if part.error_code in (0, _ELECTION_NOT_NEEDED, UNKNOWN_TOPIC):
                    continue
                error = library.errors.for_code(part.error_code)
                reason = part.error_message or error.__name__
                reasons[topic.topic, part.partition_id] = str(reason)
    return reasons


def _by_topic(names: Iterable[Name]) -> dict[str, list[int]]:
    indexes: dict[str, list[int]] = {}
    for topic, index in names:
        indexes.setdefault(topic, []).append(index)
    return indexes


def _listed(replicas: Sequence[int] | None) -> list[int] | None:
    return None if replicas is None else list(replicas)


def _complete(names: Iterable[Name], answered: Mapping[Name, object]) -> None:
    if missing := [f"{topic}-{index}" for topic, index in names if (topic, index) not in answered]:
        text = f"no answer about {', '.join(missing[:10])}"
        raise LookupError(text)
