"""Whether Kafka Connect is healthy, by what its workers answer."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.operations import connect_health
from ansible_collections.millrace.streaming.plugins.module_utils.operations.connect_health import (
    FAILED,
    PAUSED,
    RESTARTING,
    RUNNING,
    STOPPED,
    UNASSIGNED,
)

WORKERS = ("k2:8083", "k3:8083")
TRACE = """org.apache.kafka.connect.errors.ConnectException: Exiting WorkerSinkTask
\tat org.apache.kafka.connect.runtime.WorkerSinkTask.deliverMessages(WorkerSinkTask.java:636)
Caused by: org.postgresql.util.PSQLException: ERROR: relation "planes" does not exist
\t... 10 more"""


def answer(state: str, *tasks: str, worker: str = WORKERS[0]) -> dict[str, Any]:
    """What a worker answers of a connector in a state and of its tasks."""
    why = {"trace": TRACE}
    return {
        "status": {
            "connector": {"state": state, "worker_id": worker, **(why if state == FAILED else {})},
            "tasks": [
                {
                    "id": number,
                    "state": task_state,
                    "worker_id": worker,
                    **(why if task_state == FAILED else {}),
                }
                for number, task_state in enumerate(tasks)
            ],
        }
    }


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param(answer(RUNNING, RUNNING, RUNNING), [], id="running"),
        pytest.param(answer(PAUSED, PAUSED), [], id="paused"),
        pytest.param(answer(STOPPED), [], id="stopped-has-no-task"),
        pytest.param(answer(RUNNING), [], id="nothing-to-do"),
        pytest.param(
            answer(RUNNING, RUNNING, FAILED),
            [("task 1", "orders", WORKERS[0], 'relation "planes" does not exist')],
            id="failed-task",
        ),
        pytest.param(answer(FAILED), [("connector orders", WORKERS[0])], id="failed-connector"),
        pytest.param(answer(RUNNING, UNASSIGNED), [("task 0", "not assigned")], id="unassigned"),
        pytest.param(answer(RUNNING, RESTARTING), [("task 0", "restarted")], id="restarting"),
        pytest.param(
            answer(RUNNING, RUNNING, worker="old:8083"),
            [("old:8083", "inventory")],
            id="foreign-worker",
        ),
    ],
)
def test_each_problem_is_named(status: dict[str, Any], expected: list[tuple[str, ...]]) -> None:
    problems = connect_health.problems({}, WORKERS, connect_health.connectors({"orders": status}))
    assert len(problems) == len(expected), problems
    for text, fragments in zip(problems, expected, strict=True):
        assert all(fragment in text for fragment in fragments), text


def test_a_failure_from_before_the_restarts_is_no_reason_against_them() -> None:
    """And one that came with a restart is."""
    read = connect_health.connectors
    before = read({"orders": answer(RUNNING, FAILED, RUNNING), "planes": answer(FAILED)})
    failures = connect_health.failed(before)
    assert connect_health.problems({}, WORKERS, before, known_failures=failures) == []
    after = read({"orders": answer(RUNNING, FAILED, FAILED), "planes": answer(FAILED)})
    (text,) = connect_health.problems({}, WORKERS, after, known_failures=failures)
    assert "task 1 of connector orders" in text


def test_a_known_failure_that_is_not_assigned_any_more_is_a_problem() -> None:
    """Its worker has ended, and the group has not given it to another one yet."""
    failures = connect_health.failed(connect_health.connectors({"orders": answer(RUNNING, FAILED)}))
    after = connect_health.connectors({"orders": answer(RUNNING, UNASSIGNED)})
    assert connect_health.problems({}, WORKERS, after, known_failures=failures)


def test_a_worker_that_is_not_ready_is_named_with_its_reason() -> None:
    (text,) = connect_health.problems({WORKERS[1]: "Connection refused"}, WORKERS, {})
    assert WORKERS[1] in text
    assert "Connection refused" in text


def test_a_connector_that_no_worker_has_started_is_named() -> None:
    read_connectors = connect_health.connectors({"orders": answer(RUNNING, RUNNING)})
    (text,) = connect_health.problems({}, WORKERS, read_connectors, ["orders", "planes"])
    assert "planes" in text


def test_a_connector_that_has_nothing_to_do_is_named_apart() -> None:
    statuses = {"a": answer(RUNNING), "b": answer(RUNNING, RUNNING), "c": answer(STOPPED)}
    assert connect_health.without_tasks(connect_health.connectors(statuses)) == ["a"]


@pytest.mark.parametrize(
    ("status", "state", "expected"),
    [
        pytest.param(answer(RUNNING, RUNNING), RUNNING, [], id="running"),
        pytest.param(answer(RUNNING, PAUSED), RUNNING, ["task 0"], id="task-still-paused"),
        pytest.param(answer(PAUSED, PAUSED), RUNNING, ["connector", "task 0"], id="paused"),
        pytest.param(answer(STOPPED, RUNNING), STOPPED, ["task 0"], id="task-still-runs"),
        pytest.param(answer(STOPPED), STOPPED, [], id="stopped"),
        pytest.param(answer(PAUSED, FAILED), PAUSED, [], id="failed-before-the-pause"),
        pytest.param(answer(RUNNING, FAILED), RUNNING, ["task 0"], id="failed"),
        pytest.param(answer(UNASSIGNED), RUNNING, ["connector"], id="unassigned"),
    ],
)
def test_connectors_and_tasks_have_the_state_that_is_wanted(
    status: dict[str, Any], state: str, expected: list[str]
) -> None:
    (connector,) = connect_health.connectors({"orders": status}).values()
    differences = connect_health.differences("orders", connector, state)
    assert [
        text.startswith(beginning) for text, beginning in zip(differences, expected, strict=True)
    ] == [True for _ in expected]


def test_what_is_no_worker_is_refused() -> None:
    with pytest.raises(LookupError):
        connect_health.connectors({"orders": {}})
