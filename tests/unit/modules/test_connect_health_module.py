"""The module that checks Kafka Connect where a worker is to leave, against a worker that is played."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any, ClassVar

import pytest

from tests.unit.host.served import served
from tests.unit.module_runner import run_module
from tests.unit.operations.test_connect_health import answer

LEAVES = "127.0.0.1:1"


class Worker(BaseHTTPRequestHandler):
    """Is ready, and runs a connector whose task a worker has."""

    task_at: ClassVar[str] = LEAVES

    def do_GET(self) -> None:
        status = answer("RUNNING", "RUNNING", worker=self.task_at)
        answers = {"/health": {}, "/connectors": ["orders"]}
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(answers.get(self.path, {"orders": status})).encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def worker() -> Iterator[str]:
    Worker.task_at = LEAVES
    with served(Worker) as address:
        yield address


def run(*workers: str, **options: Any) -> dict[str, Any]:
    return run_module("connect_health", {"workers": list(workers), "own": LEAVES, **options})


def test_the_last_worker_stays() -> None:
    alone = run(LEAVES, leaving="before", fail=False)
    assert "is the only worker" in alone["problems"][0]
    assert "cannot leave" in run(LEAVES, leaving="before")["msg"]


def test_a_worker_leaves_if_another_is_ready(worker: str) -> None:
    assert run(worker, LEAVES, leaving="before", connectors=False)["workers"] == [worker]
    silent = run("127.0.0.1:2", LEAVES, leaving="before", connectors=False)
    assert "127.0.0.1:2 is not ready" in silent["msg"]


def test_a_worker_has_left_once_others_run_its_tasks(worker: str) -> None:
    assert "has left" in run(worker, LEAVES, leaving="after")["msg"]
    Worker.task_at = worker
    assert not run(worker, LEAVES, leaving="after").get("failed")
