"""Groups of consumers: their states, what they have committed, and the ends of what they read.

The admin client's own methods ask one broker after the other and end at the first that does not
answer, or at the first group with an error. Here every broker is asked at once, with a limit, and
what one of them does not say is a problem among the answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..host.network import connect
from . import clients, library, messages
from .connection import Connection

REQUEST_MS = 5000
"""How long a broker may take for one answer."""
BATCH = 200
"""How many groups one request is about."""
SHARE, CLASSIC, CONSUMER = "share", "classic", "consumer"
_UNKNOWN_TOPIC, _NO_LEADER, _GROUP_NOT_FOUND = 3, 5, 69
_LATEST = -1

Place = tuple[str, int]
"""Topic and partition."""


@dataclass(frozen=True)
class Group:
    """A group of consumers."""

    name: str
    state: str
    """In Kafka's words."""
    type: str = CLASSIC
    """In Kafka's words, in lower case."""
    members: int | None = None
    """None where they are not known."""
    committed: Mapping[Place, int] | None = None
    """The next offset that it would read of each partition; of share groups the start offset."""
    lags: Mapping[Place, int] = field(default_factory=dict)
    """The records of each partition that are left, where brokers count them: of share groups."""


@dataclass(frozen=True)
class Reading:
    """The groups of a cluster and the ends of the partitions of which they have read."""

    groups: Mapping[str, Group] = field(default_factory=dict)
    ends: Mapping[Place, int] = field(default_factory=dict)
    skipped: int = 0
    """How many groups were left out because there are too many."""
    problems: tuple[str, ...] = ()
    """With these what is missing may exist nevertheless; without any it does not."""

    def lags(self, name: str) -> dict[Place, int]:
        """Return partition -> records that a group has not read, of those whose end is there.

        Consumers of a share group may acknowledge records in any order, so that its start offset
        does not say how many are left: brokers count them (KIP-1226).
        """
        group = self.groups[name]
        return {
            place: group.lags.get(place, max(0, self.ends[place] - offset))
            for place, offset in (group.committed or {}).items()
            if place in self.ends
        }


@dataclass(frozen=True)
class _Listed:
    coordinator: int
    state: str
    type: str


class Watched:
    """A cluster whose groups are read again and again, over connections that are kept."""

    def __init__(self, connection: Connection) -> None:
        """Keep how to connect.

        Raises:
            ConnectionDescriptionError: its security is not one that kafka-python has.

        """
        connection.security()
        self._connection = connection
        self._clients: list[Any] = []
        self._admin: Any = None

    def read(self, selected: Callable[[str], bool], most: int) -> Reading:
        """Return the groups that are `selected`, by name, of them the first `most` in that order.

        Raises:
            KafkaError: no broker answers.
            OSError: none can be reached.

        """
        try:
            if self._admin is None:
                self._admin = self._connect()
            return read(self._admin, selected, most)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the connections, also of a client that could not be made."""
        for client in self._clients:
            client.close()
        self._clients, self._admin = [], None

    def _connect(self) -> Any:
        # The client would spend its time on a host that does not answer at all.
        reached, reasons = [], []
        for address in self._connection.bootstrap:
            try:
                connect(address)
            except OSError as error:
                reasons.append(f"{address}: {error}")
            else:
                reached.append(address)
        if not reached:
            raise OSError("; ".join(reasons))

        def client(**config: object) -> Any:
            self._clients.append(clients.rebootstrapping(**config))
            return self._clients[-1]

        return clients.admin(
            self._connection.at(*reached),
            kafka_client=client,
            bootstrap_timeout_ms=REQUEST_MS,
            request_timeout_ms=REQUEST_MS,
        )


def read(admin: Any, selected: Callable[[str], bool], most: int) -> Reading:
    """Return the groups that are `selected`; as `Watched.read`."""
    problems: list[str] = []
    brokers = _answering(admin, problems)
    listed = {
        name: group for name, group in _listed(admin, brokers, problems).items() if selected(name)
    }
    considered = {name: listed[name] for name in sorted(listed)[:most]}
    members = _members(admin, considered, problems)
    committed = _committed(admin, considered, problems)
    shared, counted = _share_offsets(admin, considered, problems)
    committed.update(shared)
    places = {place for offsets in committed.values() for place in offsets}
    ends = _ends(admin, _leaders(admin, brokers, places, problems), problems)
    groups = {
        name: Group(
            name,
            group.state,
            group.type,
            members.get(name),
            committed.get(name),
            counted.get(name, {}),
        )
        for name, group in considered.items()
    }
    return Reading(groups, ends, len(listed) - len(considered), tuple(problems))


def _answering(admin: Any, problems: list[str]) -> list[int]:
    """Return the brokers that answer now: the others are asked nothing in this reading.

    Raises:
        KafkaError: none does.

    """
    cluster = admin._manager.cluster
    node_ids = [broker.node_id for broker in cluster.brokers()]
    silent: list[str] = []
    answers = _ask(admin, {node_id: [_metadata([])] for node_id in node_ids}, silent)
    if not answers:
        raise library.errors.KafkaConnectionError("; ".join(silent) or "there is no broker")
    problems += silent
    registered = {broker.node_id for _, response in answers for broker in response.brokers}
    if new := sorted(registered - {*node_ids}):
        cluster.request_update()
        problems.append(f"brokers {new} are asked from the next reading on")
    return [broker for broker, _ in answers]


def _metadata(topics: Iterable[str]) -> Any:
    names = [library.MetadataRequest.MetadataRequestTopic(name=name) for name in topics]
    return library.MetadataRequest(topics=names, allow_auto_topic_creation=False)


def _listed(admin: Any, brokers: Iterable[int], problems: list[str]) -> dict[str, _Listed]:
    """Return group -> what its coordinator says of it; a broker lists those it coordinates."""
    request = {broker: [library.ListGroupsRequest(min_version=4)] for broker in brokers}
    groups: dict[str, _Listed] = {}
    for broker, response in _ask(admin, request, problems):
        if reason := _reason(response.error_code):
            problems.append(f"broker {broker} does not list its groups: {reason}")
            continue
        for group in response.groups:
            kind = str(getattr(group, "group_type", None) or CLASSIC).lower()
            groups[group.group_id] = _Listed(broker, str(group.group_state), kind)
    return groups


def _members(admin: Any, groups: Mapping[str, _Listed], problems: list[str]) -> dict[str, int]:
    """Return group -> number of members, of those of which that is known."""
    counts = {name: 0 for name, group in groups.items() if group.state in ("Empty", "Dead")}
    request: dict[int, list[Any]] = {}
    for kind, message in _DESCRIBE.items():
        pending = {
            name: group
            for name, group in groups.items()
            if name not in counts and group.type == kind
        }
        for broker, batches in _by_coordinator(pending).items():
            request.setdefault(broker, []).extend(map(message, batches))
    for _, response in _ask(admin, request, problems):
        for group in response.groups:
            if group.error_code not in (0, _GROUP_NOT_FOUND):
                problems.append(
                    f"members of the group {group.group_id}: {_reason(group.error_code)}"
                )
            elif not group.error_code:
                counts[group.group_id] = len(group.members)
    return counts


def _describe(names: Sequence[str]) -> Any:
    return library.DescribeGroupsRequest(groups=names, include_authorized_operations=False)


_DESCRIBE: Mapping[str, Callable[[Sequence[str]], Any]] = {
    CLASSIC: _describe,
    CONSUMER: messages.describe_consumer_groups,
    SHARE: messages.describe_share_groups,
}
"""Type of group -> the request about such groups."""


def _committed(
    admin: Any,
    groups: Mapping[str, _Listed],
    problems: list[str],
) -> dict[str, dict[Place, int]]:
    """Return group -> partition -> committed offset; share groups commit none."""
    one_group = library.OffsetFetchRequest.OffsetFetchRequestGroup
    with_offsets = {name: group for name, group in groups.items() if group.type != SHARE}
    request = {
        broker: [
            library.OffsetFetchRequest(
                groups=[one_group(group_id=name, topics=None) for name in names],
                min_version=8,
                max_version=8,  # later versions have topic ids instead of names
            )
            for names in batches
        ]
        for broker, batches in _by_coordinator(with_offsets).items()
    }
    committed: dict[str, dict[Place, int]] = {}
    for _, response in _ask(admin, request, problems):
        for group in response.groups:
            if group.error_code == _GROUP_NOT_FOUND:  # deleted just now
                continue
            if reason := _reason(group.error_code):
                problems.append(f"offsets of the group {group.group_id}: {reason}")
                continue
            offsets = committed.setdefault(group.group_id, {})
            for topic in group.topics:
                for partition in topic.partitions:
                    if reason := _reason(partition.error_code):
                        place = f"{topic.name}-{partition.partition_index}"
                        problems.append(f"offset of {group.group_id} in {place}: {reason}")
                    elif partition.committed_offset >= 0:
                        offsets[topic.name, partition.partition_index] = partition.committed_offset
    return committed


def _share_offsets(
    admin: Any,
    groups: Mapping[str, _Listed],
    problems: list[str],
) -> tuple[dict[str, dict[Place, int]], dict[str, dict[Place, int]]]:
    """Return share group -> partition -> start offset, and -> records left, where they are counted.

    A partition of which the group has got nothing yet has neither.
    """
    shared = {name: group for name, group in groups.items() if group.type == SHARE}
    request = {
        broker: [messages.describe_share_group_offsets(names) for names in batches]
        for broker, batches in _by_coordinator(shared).items()
    }
    starts: dict[str, dict[Place, int]] = {}
    lags: dict[str, dict[Place, int]] = {}
    for _, response in _ask(admin, request, problems):
        for group in response.groups:
            if group.error_code == _GROUP_NOT_FOUND:  # deleted just now
                continue
            if reason := _reason(group.error_code):
                problems.append(f"offsets of the share group {group.group_id}: {reason}")
                continue
            group_starts = starts.setdefault(group.group_id, {})
            group_lags = lags.setdefault(group.group_id, {})
            for topic in group.topics:
                for partition in topic.partitions:
                    place = topic.topic_name, partition.partition_index
                    if reason := _reason(partition.error_code):
                        text = f"{topic.topic_name}-{partition.partition_index}: {reason}"
                        problems.append(f"offset of {group.group_id} in {text}")
                        continue
                    if partition.start_offset >= 0:
                        group_starts[place] = partition.start_offset
                    if partition.lag is not None and partition.lag >= 0:
                        group_lags[place] = partition.lag
    return starts, lags


def _leaders(
    admin: Any,
    brokers: Sequence[int],
    places: Iterable[Place],
    problems: list[str],
) -> dict[int, dict[str, list[int]]]:
    """Return leader -> topic -> its partitions, of those that are there."""
    requested: dict[str, set[int]] = {}
    for topic, index in places:
        requested.setdefault(topic, set()).add(index)
    answers = _ask_one(admin, brokers, _metadata(requested), problems) if requested else []
    led: dict[int, dict[str, list[int]]] = {}
    for topic in (topic for response in answers for topic in response.topics):
        if topic.error_code not in (0, _UNKNOWN_TOPIC, _NO_LEADER):
            problems.append(f"the topic {topic.name}: {_reason(topic.error_code)}")
        for partition in topic.partitions:
            if partition.partition_index not in requested.get(topic.name, ()):
                continue
            if partition.leader_id < 0:
                problems.append(f"{topic.name}-{partition.partition_index} has no leader")
                continue
            if partition.leader_id not in brokers:  # its limit has been waited for once
                problems.append(
                    f"{topic.name}-{partition.partition_index}: broker {partition.leader_id}"
                )
                continue
            led.setdefault(partition.leader_id, {}).setdefault(topic.name, []).append(
                partition.partition_index
            )
    return led


def _ends(
    admin: Any,
    led: Mapping[int, Mapping[str, Sequence[int]]],
    problems: list[str],
) -> dict[Place, int]:
    """Return partition -> its end, the next offset that a consumer would not get yet."""
    one_topic = library.ListOffsetsRequest.ListOffsetsTopic
    one_partition = one_topic.ListOffsetsPartition
    request = {
        leader: [
            library.ListOffsetsRequest(
                isolation_level=0,
                topics=[
                    one_topic(
                        name=name,
                        partitions=[
                            one_partition(partition_index=index, timestamp=_LATEST)
                            for index in indexes
                        ],
                    )
                    for name, indexes in topics.items()
                ],
            )
        ]
        for leader, topics in led.items()
    }
    ends: dict[Place, int] = {}
    for _, response in _ask(admin, request, problems):
        for topic in response.topics:
            for partition in topic.partitions:
                if reason := _reason(partition.error_code):
                    problems.append(
                        f"the end of {topic.name}-{partition.partition_index}: {reason}"
                    )
                else:
                    ends[topic.name, partition.partition_index] = partition.offset
    return ends


def _by_coordinator(groups: Mapping[str, _Listed]) -> dict[int, list[list[str]]]:
    """Return coordinator -> its groups, in batches."""
    by_broker: dict[int, list[str]] = {}
    for name, group in groups.items():
        by_broker.setdefault(group.coordinator, []).append(name)
    return {
        broker: [names[start : start + BATCH] for start in range(0, len(names), BATCH)]
        for broker, names in by_broker.items()
    }


def _reason(code: int) -> str:
    """Return the name of an error, empty for none."""
    return str(library.errors.for_code(code).__name__) if code else ""


def _ask_one(
    admin: Any,
    brokers: Sequence[int],
    request: Any,
    problems: list[str],
) -> list[Any]:
    """Return the answer of the first broker that gives one, nothing if none does."""
    for broker in brokers:
        if answers := _ask(admin, {broker: [request]}, problems):
            return [response for _, response in answers]
    return []


def _ask(
    admin: Any,
    requests: Mapping[int, Sequence[Any]],
    problems: list[str],
) -> list[tuple[int, Any]]:
    """Return broker and answer of each request that is answered; all brokers are asked at once.

    The requests to a broker follow one another; after one without an answer the rest is not sent.
    """
    manager = admin._manager
    answers: list[tuple[int, Any]] = []

    async def next_of(broker: int, future: Any) -> bool:
        try:
            answers.append((broker, await manager.wait_for(future, REQUEST_MS)))
        except (library.errors.KafkaError, OSError) as error:
            problems.append(f"broker {broker}: {type(error).__name__}: {error}")
            return False
        return True

    def sent(broker: int, request: Any) -> Any:
        try:
            return manager.send(request, node_id=broker)
        except library.errors.KafkaError as error:
            return library.Future().failure(error)

    async def ask() -> None:
        remaining = {broker: list(queue) for broker, queue in requests.items() if queue}
        while remaining:
            futures = {broker: sent(broker, queue.pop(0)) for broker, queue in remaining.items()}
            answered = [
                broker for broker, future in futures.items() if await next_of(broker, future)
            ]
            remaining = {broker: remaining[broker] for broker in answered if remaining[broker]}

    manager.run(ask)
    return answers
