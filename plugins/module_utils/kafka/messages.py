"""Messages of Kafka's protocol that kafka-python does not have."""

from __future__ import annotations

import functools
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from . import library

_Field = dict[str, Any]


def _field(name: str, kind: str, *fields: _Field, nullable: bool = False, since: int = 0) -> _Field:
    """Return a field as Kafka's message files write it; `fields` are those of a struct.

    `since` is the first version of the message that has it.
    """
    optional: _Field = {"fields": list(fields)} if fields else {}
    optional |= {"nullableVersions": "0+", "default": "null"} if nullable else {}
    optional |= {"ignorable": True, "default": -1} if since else {}
    return {"name": name, "type": kind, "versions": f"{since}+", **optional}


def _assignment(name: str) -> _Field:
    topic = (_field("TopicId", "uuid"), _field("TopicName", "string"))
    partitions = _field("Partitions", "[]int32")
    return _field(
        name, "Assignment", _field("TopicPartitions", "[]TopicPartitions", *topic, partitions)
    )


_MEMBER = (
    _field("MemberId", "string"),
    _field("InstanceId", "string", nullable=True),
    _field("RackId", "string", nullable=True),
    _field("MemberEpoch", "int32"),
    _field("ClientId", "string"),
    _field("ClientHost", "string"),
    _field("SubscribedTopicNames", "[]string"),
    _field("SubscribedTopicRegex", "string", nullable=True),
    _assignment("Assignment"),
    _assignment("TargetAssignment"),
)
_SHARE_MEMBER = (
    _field("MemberId", "string"),
    _field("RackId", "string", nullable=True),
    _field("MemberEpoch", "int32"),
    _field("ClientId", "string"),
    _field("ClientHost", "string"),
    _field("SubscribedTopicNames", "[]string"),
    _assignment("Assignment"),
)
_ERROR = (_field("ErrorCode", "int16"), _field("ErrorMessage", "string", nullable=True))
_SHARE_OFFSETS = (
    _field("PartitionIndex", "int32"),
    _field("StartOffset", "int64"),
    _field("LeaderEpoch", "int32"),
    _field("Lag", "int64", since=1),
    *_ERROR,
)


def describe_consumer_groups(names: Sequence[str]) -> Any:
    """Return the request about groups of the consumer protocol (ConsumerGroupDescribe, KIP-848)."""
    request, _ = _consumer_group_describe()
    return request(group_ids=list(names), include_authorized_operations=False)


def describe_share_groups(names: Sequence[str]) -> Any:
    """Return the request about share groups (ShareGroupDescribe, KIP-932).

    Version 0, of Kafka 4.0, was an early one that no later broker has.
    """
    request, _ = _share_group_describe()
    return request(group_ids=list(names), include_authorized_operations=False, min_version=1)


def describe_share_group_offsets(names: Sequence[str]) -> Any:
    """Return the request about offsets of share groups, of all topics that each has read.

    This is DescribeShareGroupOffsets (KIP-932), from version 1 on with the lag (KIP-1226).
    """
    request, _ = _describe_share_group_offsets()
    group = request.DescribeShareGroupOffsetsRequestGroup
    return request(groups=[group(group_id=name, topics=None) for name in names])


@functools.cache
def _consumer_group_describe() -> tuple[Any, Any]:
    """Return the classes of request and answer; kafka-python itself keeps none for the answer."""
    return _describe_messages("ConsumerGroupDescribe", 69, "0", _MEMBER)


@functools.cache
def _share_group_describe() -> tuple[Any, Any]:
    return _describe_messages("ShareGroupDescribe", 77, "0-1", _SHARE_MEMBER)


def _describe_messages(
    name: str, key: int, versions: str, member: Sequence[_Field]
) -> tuple[Any, Any]:
    request = (_field("GroupIds", "[]string"), _field("IncludeAuthorizedOperations", "bool"))
    group = (
        *_ERROR,
        _field("GroupId", "string"),
        _field("GroupState", "string"),
        _field("GroupEpoch", "int32"),
        _field("AssignmentEpoch", "int32"),
        _field("AssignorName", "string"),
        _field("Members", "[]Member", *member),
        _field("AuthorizedOperations", "int32"),
    )
    response = (_field("ThrottleTimeMs", "int32"), _field("Groups", "[]DescribedGroup", *group))
    return _messages(name, key, versions, request, response)


@functools.cache
def _describe_share_group_offsets() -> tuple[Any, Any]:
    name = "DescribeShareGroupOffsets"
    topic = (_field("TopicName", "string"), _field("Partitions", "[]int32"))
    topics = _field("Topics", f"[]{name}RequestTopic", *topic, nullable=True)
    group = (_field("GroupId", "string"), topics)
    partitions = _field("Partitions", f"[]{name}ResponsePartition", *_SHARE_OFFSETS)
    read_topic = (_field("TopicName", "string"), _field("TopicId", "uuid"), partitions)
    read_topics = _field("Topics", f"[]{name}ResponseTopic", *read_topic)
    read_group = (_field("GroupId", "string"), read_topics, *_ERROR)
    request = (_field("Groups", f"[]{name}RequestGroup", *group),)
    response = (
        _field("ThrottleTimeMs", "int32"),
        _field("Groups", f"[]{name}ResponseGroup", *read_group),
    )
    return _messages(name, 90, "0-1", request, response)


def unregister_broker(broker: int) -> Any:
    """Return the request that removes a broker's registration (UnregisterBroker, KIP-500)."""
    request, _ = _unregister_broker()
    return request(broker_id=broker)


@functools.cache
def _unregister_broker() -> tuple[Any, Any]:
    """Return the classes of request and answer."""
    response = (
        _field("ThrottleTimeMs", "int32"),
        _field("ErrorCode", "int16"),
        _field("ErrorMessage", "string", nullable=True),
    )
    return _messages("UnregisterBroker", 64, "0", (_field("BrokerId", "int32"),), response)


def remove_raft_voter(node_id: int, directory: uuid.UUID) -> Any:
    """Return the request that takes a controller out of its quorum (RemoveRaftVoter, KIP-853)."""
    request, _ = _remove_raft_voter()
    return request(cluster_id=None, voter_id=node_id, voter_directory_id=directory)


@functools.cache
def _remove_raft_voter() -> tuple[Any, Any]:
    """Return the classes of request and answer."""
    request = (
        _field("ClusterId", "string", nullable=True),
        _field("VoterId", "int32"),
        _field("VoterDirectoryId", "uuid"),
    )
    response = (_field("ThrottleTimeMs", "int32"), *_ERROR)
    return _messages("RemoveRaftVoter", 81, "0", request, response)


def _messages(
    name: str, key: int, versions: str, request: Sequence[_Field], response: Sequence[_Field]
) -> tuple[Any, Any]:
    """Return the classes of a request and its answer."""
    return (
        _message("request", name, key, versions, request),
        _message("response", name, key, versions, response),
    )


def _message(kind: str, name: str, key: int, versions: str, fields: Sequence[_Field]) -> Any:
    schema: Mapping[str, Any] = {
        "apiKey": key,
        "type": kind,
        "name": f"{name}{kind.capitalize()}",
        "validVersions": versions,
        "flexibleVersions": "0+",
        "fields": list(fields),
    }
    base = library.ApiMessage
    # It reads a file of its own by the name of the class, which the schema then replaces.
    file_of = f"DescribeGroups{kind.capitalize()}"
    attributes = {"json_patch": classmethod(lambda _cls, _json: schema), "__module__": __name__}
    message = type(base)(file_of, (base,), attributes)
    message.__name__ = schema["name"]
    return message
