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
                {"id": number, "state": one, "worker_id": worker, **(why if one == FAILED else {})}
                for number, one in enumerate(tasks)
            ],
        }
    }


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(answer(RUNNING, RUNNING, RUNNING), [], id="running"),
        pytest.param(answer(PAUSED, PAUSED), [], id="paused"),
        pytest.param(answer(STOPPED), [], id="stopped-has-no-task"),
        pytest.param(answer(RUNNING), [("orders", "no task")], id="nothing-to-do"),
        pytest.param(
            answer(RUNNING, RUNNING, FAILED),
            [("task 1", "orders", WORKERS[0], 'relation "planes" does not exist')],
            id="failed-task",
        ),
        pytest.param(answer(FAILED), [("connector orders", WORKERS[0])], id="failed-connector"),
        pytest.param(answer(RUNNING, UNASSIGNED), [("task 0", "no worker")], id="unassigned"),
        pytest.param(answer(RUNNING, RESTARTING), [("task 0", "restarted")], id="restarting"),
        pytest.param(
            answer(RUNNING, RUNNING, worker="old:8083"),
            [("old:8083", "inventory")],
            id="foreign-worker",
        ),
    ],
)
def test_each_problem_is_named(given: dict[str, Any], expected: list[tuple[str, ...]]) -> None:
    found = connect_health.problems({}, WORKERS, connect_health.connectors({"orders": given}))
    assert len(found) == len(expected), found
    for text, parts in zip(found, expected, strict=True):
        assert all(part in text for part in parts), text


def test_a_worker_that_is_not_ready_is_named_with_its_reason() -> None:
    (text,) = connect_health.problems({WORKERS[1]: "Connection refused"}, WORKERS, {})
    assert WORKERS[1] in text
    assert "Connection refused" in text


def test_what_is_no_worker_is_refused() -> None:
    with pytest.raises(LookupError):
        connect_health.connectors({"orders": {}})
