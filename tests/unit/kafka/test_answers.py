"""Error codes in Kafka's answers: which of them may pass, and what is said of the others."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.answers import (
    UNKNOWN_TOPIC,
    refusal,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import errors

DENIED = 31


def part(code: int, message: str | None = None) -> Any:
    """Return a part of an answer."""
    return SimpleNamespace(error_code=code, error_message=message)


def test_an_error_without_a_message_has_its_name_and_description() -> None:
    assert refusal(part(0)) == ""
    assert refusal(part(DENIED)).startswith("ClusterAuthorizationFailedError: ")
    assert refusal(SimpleNamespace(error_code=DENIED)) == refusal(part(DENIED))


def test_a_code_may_pass_for_some_requests_alone() -> None:
    with pytest.raises(errors.UnknownTopicOrPartitionError):
        refusal(part(UNKNOWN_TOPIC))
    assert refusal(part(UNKNOWN_TOPIC, "gone"), lasting=[UNKNOWN_TOPIC]) == "gone"


@pytest.mark.parametrize(
    ("end", "text"),
    [
        ("needs DESCRIBE permission.", "this client lacks the permission DESCRIBE on the cluster"),
        ("is not authorized.", "this client lacks the permission on the cluster"),  # before 4.0
    ],
)
def test_a_refusal_does_not_show_the_inside_of_a_broker(end: str, text: str) -> None:
    request = "processor=3, session=org.apache.kafka.network.Session@1a, buffer=null, envelope=None"
    assert refusal(part(DENIED, f"Request Request({request}) {end}")) == text
