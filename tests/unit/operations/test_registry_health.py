"""Whether the schema registry is healthy, by what its instances answer."""

from __future__ import annotations

from ansible_collections.millrace.streaming.plugins.module_utils.operations.registry_health import (
    not_ready,
    problems,
)

BOTH = {"r1:8081": ["a", "b"], "r2:8081": ["b", "a"]}


def test_two_instances_with_the_same_subjects_are_healthy() -> None:
    assert problems("r1:8081", [], {}, BOTH) == []


def test_a_check_that_is_down_is_named() -> None:
    checks = [{"name": "Storage", "status": "DOWN"}, {"name": "Database", "status": "UP"}]
    down = not_ready({"status": "DOWN", "checks": checks})
    (problem,) = problems("r1:8081", down, {}, BOTH)
    assert "Storage" in problem
    assert "Database" not in problem


def test_an_instance_that_does_not_answer_is_named_once() -> None:
    (problem,) = problems("r1:8081", None, {"r1:8081": "Connection refused"}, {})
    assert "r1:8081" in problem
    assert "Connection refused" in problem


def test_an_instance_that_lacks_subjects_is_named() -> None:
    (problem,) = problems("r1:8081", [], {}, {"r1:8081": ["a", "b"], "r2:8081": ["a"]})
    assert "r2:8081 does not have b" in problem
    (problem,) = problems("r1:8081", [], {}, {"r1:8081": ["a"], "r2:8081": ["a", "b"]})
    assert "r1:8081 does not have b" in problem
