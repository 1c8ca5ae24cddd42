"""Whether a ZooKeeper ensemble is healthy."""

from __future__ import annotations

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.operations import (
    zookeeper_health as health,
)

ANSWER = """Zookeeper version: 3.9.5, built on 2026-01-01 00:00 UTC
Latency min/avg/max: 0/0.0/0
Received: 1
Connections: 1
Zxid: 0x100000000
Mode: follower
Node count: 5
"""
LEADER, FOLLOWER = health.Member("leader"), health.Member("follower")
ALONE = health.Member("standalone")
SILENT = health.Member(reason="refused")


def test_an_answer_has_a_mode() -> None:
    assert health.parse(ANSWER) == FOLLOWER


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        ("This ZooKeeper instance is not currently serving requests\n", "not currently serving"),
        ("srvr is not executed because it is not in the whitelist.\n", "not in the whitelist"),
        ("", ""),
    ],
)
def test_any_other_answer_is_the_reason(response: str, reason: str) -> None:
    member = health.parse(response)
    assert not member.mode
    assert member.reason
    assert reason in member.reason


@pytest.mark.parametrize(
    "members",
    [{"a": LEADER, "b": FOLLOWER, "c": FOLLOWER}, {"a": ALONE}],
)
def test_a_healthy_ensemble_has_no_problem(members: dict[str, health.Member]) -> None:
    assert health.problems(members) == []


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"a": LEADER, "b": SILENT, "c": FOLLOWER}, [("b", "refused")]),
        ({"a": LEADER, "b": LEADER, "c": FOLLOWER}, [("a", "b")]),
        ({"a": FOLLOWER, "b": FOLLOWER}, [()]),
        ({"a": LEADER, "b": ALONE}, [("b",)]),
        (
            {"a": health.Member(reason="x"), "b": health.Member(reason="y")},
            [("a", "x"), ("b", "y")],
        ),
    ],
)
def test_each_problem_names_its_members(
    members: dict[str, health.Member], expected: list[tuple[str, ...]]
) -> None:
    problems = health.problems(members)
    assert len(problems) == len(expected)
    for text, fragments in zip(problems, expected, strict=True):
        assert all(fragment in text for fragment in fragments), text
