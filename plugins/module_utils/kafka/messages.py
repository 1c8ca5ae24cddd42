"""Messages of Kafka's protocol that kafka-python does not have."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from . import library

_Field = dict[str, Any]


def _field(name: str, kind: str, *fields: _Field, nullable: bool = False) -> _Field:
    """Return a field as Kafka's message files write it; `fields` are those of a struct."""
    optional: _Field = {"fields": list(fields)} if fields else {}
    optional |= {"nullableVersions": "0+", "default": "null"} if nullable else {}
    return {"name": name, "type": kind, "versions": "0+", **optional}


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
_GROUP = (
    _field("ErrorCode", "int16"),
    _field("ErrorMessage", "string", nullable=True),
    _field("GroupId", "string"),
    _field("GroupState", "string"),
    _field("GroupEpoch", "int32"),
    _field("AssignmentEpoch", "int32"),
    _field("AssignorName", "string"),
    _field("Members", "[]Member", *_MEMBER),
    _field("AuthorizedOperations", "int32"),
)


def describe_consumer_groups(names: Sequence[str]) -> Any:
    """Return the request about groups of the consumer protocol (ConsumerGroupDescribe, KIP-848)."""
    request, _ = _consumer_group_describe()
    return request(group_ids=list(names), include_authorized_operations=False)


@functools.cache
def _consumer_group_describe() -> tuple[Any, Any]:
    """Return the classes of request and answer; kafka-python itself keeps none for the answer."""
    request = (_field("GroupIds", "[]string"), _field("IncludeAuthorizedOperations", "bool"))
    response = (_field("ThrottleTimeMs", "int32"), _field("Groups", "[]DescribedGroup", *_GROUP))
    return _messages("ConsumerGroupDescribe", 69, request, response)


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
    return _messages("UnregisterBroker", 64, (_field("BrokerId", "int32"),), response)


def _messages(
    name: str, key: int, request: Sequence[_Field], response: Sequence[_Field]
) -> tuple[Any, Any]:
    """Return the classes of a request and its answer, by Kafka's name and number of both."""
    return _message(name, "request", key, request), _message(name, "response", key, response)


def _message(name: str, kind: str, key: int, fields: Sequence[_Field]) -> Any:
    schema: Mapping[str, Any] = {
        "apiKey": key,
        "type": kind,
        "name": f"{name}{kind.capitalize()}",
        "validVersions": "0-0",
        "flexibleVersions": "0+",
        "fields": list(fields),
    }
    base = library.ApiMessage
    # It reads a file of its own by the name of the class, which the schema then replaces.
    class_name = f"DescribeGroups{kind.capitalize()}"
    attributes = {"json_patch": classmethod(lambda _cls, _json: schema), "__module__": __name__}
    return type(base)(class_name, (base,), attributes)
