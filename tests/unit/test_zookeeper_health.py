from __future__ import annotations

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.zookeeper_health import (
    Member,
    parse,
    problems,
)

ANSWER = """Zookeeper version: 3.9.5, built on 2026-01-01 00:00 UTC
Latency min/avg/max: 0/0.0/0
Received: 1
Connections: 1
Zxid: 0x100000000
Mode: follower
Node count: 5
"""
LEADER, FOLLOWER = Member("leader"), Member("follower")


def test_an_answer_has_a_mode() -> None:
    assert parse(ANSWER) == FOLLOWER


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("This ZooKeeper instance is not currently serving requests\n", "not currently serving"),
        ("srvr is not executed because it is not in the whitelist.\n", "not in the whitelist"),
        ("", "an empty answer"),
    ],
)
def test_any_other_answer_is_the_reason(answer: str, reason: str) -> None:
    member = parse(answer)
    assert not member.mode
    assert reason in member.reason


@pytest.mark.parametrize(
    "members",
    [{"a": LEADER, "b": FOLLOWER, "c": FOLLOWER}, {"a": Member("standalone")}],
)
def test_a_whole_ensemble_has_no_problem(members: dict[str, Member]) -> None:
    assert problems(members) == []


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        (
            {"a": LEADER, "b": Member(reason="refused"), "c": FOLLOWER},
            ["b does not serve: refused"],
        ),
        ({"a": LEADER, "b": LEADER, "c": FOLLOWER}, ["a and b both lead"]),
        ({"a": FOLLOWER, "b": FOLLOWER}, ["no member leads"]),
        ({"a": LEADER, "b": Member("standalone")}, ["b runs alone, outside the ensemble"]),
        ({"a": Member(reason="x"), "b": Member(reason="y")}, ["a does not serve", "b does not"]),
    ],
)
def test_what_is_wrong_is_said(members: dict[str, Member], expected: list[str]) -> None:
    found = problems(members)
    assert len(found) == len(expected)
    assert all(part in text for part, text in zip(expected, found, strict=True))
