"""Configuration of topics, groups and subscriptions: what Kafka is asked, what its answers mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import (
    library,
    resource_configs,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.answers import (
    RefusedError,
    UnsupportedError,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import errors
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.resource_configs import (
    CLIENT_METRICS,
    GROUP,
    TOPIC,
)

from tests.unit.kafka.answering_admin import AnsweringAdmin, response

DESCRIBED = response(library.DescribeConfigsRequest)
ALTERED = response(library.IncrementalAlterConfigsRequest)
LISTED = response(library.ListConfigResourcesRequest)
UNKNOWN_TOPIC, CONTROLLER_MOVED, DENIED, INVALID_CONFIG, INVALID_REQUEST = 3, 41, 30, 40, 42
SOURCES = {TOPIC: 1, CLIENT_METRICS: 7, GROUP: 8}


def listed(resources: list[tuple[str, int]], code: int = 0) -> Any:
    """Return the answer to ListConfigResources."""
    resource = LISTED.ConfigResource
    return LISTED(
        error_code=code,
        config_resources=[
            resource(resource_name=name, resource_type=kind) for name, kind in resources
        ],
    )


def test_resources_of_a_kind_are_listed() -> None:
    admin = AnsweringAdmin({"ListConfigResourcesRequest": [listed([("b", 32), ("a", 32)])]})
    assert resource_configs.names(admin, GROUP) == ["a", "b"]
    (request,) = admin.requests
    assert request.resource_types == [32]
    assert request.encode(version=1)


def test_subscriptions_are_listed_by_the_version_without_types_too() -> None:
    resource = LISTED.ConfigResource
    subscriptions = LISTED(config_resources=[resource(resource_name="m", version=0)])
    admin = AnsweringAdmin({"ListConfigResourcesRequest": [subscriptions]})
    assert resource_configs.names(admin, CLIENT_METRICS) == ["m"]
    assert admin.requests[0].encode(version=0)


@pytest.mark.parametrize("kind", [GROUP, CLIENT_METRICS])
def test_what_a_version_cannot_list_is_not_taken_for_nothing(kind: int) -> None:
    admin = AnsweringAdmin({"ListConfigResourcesRequest": [errors.IncompatibleBrokerVersion("x")]})
    assert resource_configs.names(admin, kind) is None


def test_a_list_that_is_not_shown_is_a_refusal() -> None:
    admin = AnsweringAdmin({"ListConfigResourcesRequest": [listed([], code=31)]})
    with pytest.raises(RefusedError, match="ClusterAuthorizationFailed"):
        resource_configs.names(admin, GROUP)


def described(codes: Mapping[str, int] | None = None, message: str | None = None) -> Any:
    """Return a function that answers to DescribeConfigs: an own key and one that is not."""
    result = DESCRIBED.DescribeConfigsResult
    entry = result.DescribeConfigsResourceResult

    def respond(request: Any) -> Any:
        return DESCRIBED(
            results=[
                result(
                    error_code=(codes or {}).get(name, 0),
                    error_message=message,
                    resource_type=kind,
                    resource_name=name,
                    configs=[
                        entry(name="own", value="1", config_source=SOURCES[kind]),
                        entry(name="inherited", value="2", config_source=5),
                        entry(name="of.all", value="3", config_source=3),
                    ],
                )
                for kind, name, _ in request.resources
            ]
        )

    return respond


@pytest.mark.parametrize("kind", [TOPIC, CLIENT_METRICS, GROUP])
def test_dynamic_keys_alone_are_read(kind: int) -> None:
    admin = AnsweringAdmin({"DescribeConfigsRequest": described()})
    names = [f"r{number}" for number in range(260)]
    assert resource_configs.read(admin, kind, names) == {name: {"own": "1"} for name in names}
    assert [len(request.resources) for request in admin.requests] == [250, 10]
    assert all(request.encode(version=4) for request in admin.requests)


def test_a_topic_that_is_not_there_has_no_configuration() -> None:
    admin = AnsweringAdmin({"DescribeConfigsRequest": described({"a": UNKNOWN_TOPIC})})
    assert resource_configs.read(admin, TOPIC, ["a", "b"]) == {"b": {"own": "1"}}


@pytest.mark.parametrize(
    ("kind", "code", "error", "text"),
    [
        (GROUP, INVALID_REQUEST, UnsupportedError, "no configuration of a group"),
        (CLIENT_METRICS, 35, UnsupportedError, "no configuration of a client metrics subscription"),
        (TOPIC, INVALID_REQUEST, RefusedError, "of the topic a: not today"),
        (GROUP, DENIED, RefusedError, "of the group a: not today"),
        (GROUP, CONTROLLER_MOVED, errors.NotControllerError, "not today"),
    ],
)
def test_what_is_not_shown_is_not_taken_for_nothing(
    kind: int, code: int, error: type[Exception], text: str
) -> None:
    admin = AnsweringAdmin({"DescribeConfigsRequest": described({"a": code}, "not today")})
    with pytest.raises(error, match=text):
        resource_configs.read(admin, kind, ["a"])


def test_an_answer_that_lacks_a_resource_is_no_success() -> None:
    respond = DESCRIBED(results=[])
    admin = AnsweringAdmin({"DescribeConfigsRequest": [respond]})
    with pytest.raises(LookupError, match="no answer about a"):
        resource_configs.read(admin, GROUP, ["a"])


def altered(codes: Mapping[str, int]) -> Any:
    """Return a function that answers to IncrementalAlterConfigs."""
    result = ALTERED.AlterConfigsResourceResponse

    def respond(request: Any) -> Any:
        return ALTERED(
            responses=[
                result(error_code=codes.get(name, 0), resource_type=kind, resource_name=name)
                for kind, name, _ in request.resources
            ]
        )

    return respond


def test_keys_are_set_and_deleted_one_by_one() -> None:
    codes = {"b": INVALID_CONFIG, "c": UNKNOWN_TOPIC}
    admin = AnsweringAdmin({"IncrementalAlterConfigsRequest": altered(codes)})
    changes: dict[str, dict[str, str | None]] = {
        "a": {"x": "1", "y": None},
        "b": {"x": "z"},
        "c": {"x": ""},
    }
    refused = resource_configs.alter(admin, TOPIC, changes, validate_only=True)
    assert list(refused) == ["b", "c"]
    assert "InvalidConfig" in refused["b"]
    (request,) = admin.requests
    assert request.validate_only
    assert request.resources[0] == (2, "a", [("x", 0, "1"), ("y", 1, None)])
    assert request.encode(version=1)


def test_an_error_that_may_pass_is_raised() -> None:
    answers = {"IncrementalAlterConfigsRequest": altered({"a": CONTROLLER_MOVED})}
    with pytest.raises(errors.NotControllerError):
        resource_configs.alter(AnsweringAdmin(answers), GROUP, {"a": {}}, validate_only=False)
