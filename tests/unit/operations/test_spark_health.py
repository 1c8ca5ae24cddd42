"""Whether a Spark cluster is healthy, and what the module spark_health says of it."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.operations import spark_health
from ansible_collections.millrace.streaming.plugins.module_utils.operations.spark_health import (
    Master,
)

from tests.unit.host.served import served
from tests.unit.module_runner import run_module

WORKERS = (("s2", "ALIVE"), ("s3", "ALIVE"))
ALIVE = Master("s1:8080", "ALIVE", workers=WORKERS)
STANDBY = Master("s2:8080", "STANDBY")
SILENT = Master("s2:8080", reason="Connection refused")


@pytest.mark.parametrize(
    ("masters", "expected"),
    [
        pytest.param([ALIVE], [], id="one-master"),
        pytest.param([STANDBY, ALIVE], [], id="a-standby"),
        pytest.param([ALIVE, SILENT], [("s2:8080", "Connection refused")], id="no-answer"),
        pytest.param(
            [ALIVE, Master("s2:8080", "ALIVE")], [("s1:8080", "s2:8080")], id="two-leaders"
        ),
        pytest.param(
            [STANDBY, Master("s1:8080", "RECOVERING", workers=WORKERS)],
            [("s2:8080 STANDBY", "s1:8080 RECOVERING")],
            id="no-leader",
        ),
        pytest.param(
            [Master("s1:8080", "ALIVE", workers=(("s2", "DEAD"), ("s9", "ALIVE")))],
            [("worker s2", "DEAD", "s1:8080"), ("worker s3", "s1:8080"), ("worker s9", "s1:8080")],
            id="workers",
        ),
        # The master keeps the dead entry of a worker that was restarted.
        pytest.param(
            [Master("s1:8080", "ALIVE", workers=(*WORKERS, ("s2", "DEAD")))],
            [],
            id="a-restarted-worker",
        ),
    ],
)
def test_each_problem_names_where_it_is(
    masters: list[Master], expected: list[tuple[str, ...]]
) -> None:
    problems = spark_health.problems(masters, ["s2", "s3"])
    assert len(problems) == len(expected), problems
    for text, fragments in zip(problems, expected, strict=True):
        assert all(fragment in text for fragment in fragments), text


def test_facts_name_the_leader_and_its_workers() -> None:
    assert spark_health.facts([STANDBY, ALIVE]) == {
        "active": "s1:8080",
        "standby": ["s2:8080"],
        "workers": ["s2", "s3"],
        "nodes": [],
        "applications": [],
    }
    assert spark_health.facts([ALIVE, ALIVE])["active"] == ""


def test_workers_and_applications_are_described() -> None:
    worker = {"host": "s2", "state": "ALIVE", "cores": 4, "coresused": 1, "memoryused": 512}
    application = {"id": "app-1", "name": "flights", "cores": 1, "user": "spark"}
    response = {"status": "ALIVE", "workers": [worker], "activeapps": [application]}
    facts = spark_health.facts([spark_health.master("s1:8080", response)])
    assert facts["nodes"] == [
        {"host": "s2", "state": "ALIVE", "cores": 4, "cores_used": 1, "memory_used": 512}
    ]
    assert facts["applications"] == [{"id": "app-1", "name": "flights", "cores": 1}]


def serving(*answers: str, token: str = "") -> AbstractContextManager[str]:
    """Serve on this machine: each answer once, the last one ever after; perhaps by a token."""
    remaining = list(answers)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            allowed = self.headers.get("Authorization") == f"Bearer {token}"
            self.send_response(200 if allowed or not token else 403)
            self.end_headers()
            self.wfile.write((remaining.pop(0) if len(remaining) > 1 else remaining[0]).encode())

        def log_message(self, *_: Any) -> None: ...

    return served(Handler)


def answer(status: str, *workers: str) -> str:
    return json.dumps(
        {"status": status, "workers": [{"host": host, "state": "ALIVE"} for host in workers]}
    )


def test_module_waits_for_the_workers() -> None:
    with serving(answer("STANDBY"), answer("ALIVE"), answer("ALIVE", "w1", "w2")) as address:
        args = {"masters": [address], "workers": ["w1", "w2"]}
        result = run_module("spark_health", {**args, "wait": 10}, check=True)
    assert (result["healthy"], result["active"]) == (True, address)
    assert result["workers"] == ["w1", "w2"]
    assert not result["changed"]


@pytest.mark.parametrize(("token", "healthy"), [("right", True), ("wrong", False), ("", False)])
def test_module_asks_with_the_token(token: str, healthy: bool) -> None:
    with serving(answer("ALIVE", "w1"), token="right") as address:
        args = {"masters": [address], "workers": ["w1"], "token": token, "fail": False}
        result = run_module("spark_health", args)
    assert result["healthy"] == healthy
    assert healthy or "refuses the token" in str(result)


def test_module_misses_a_catalog() -> None:
    with serving(answer("ALIVE", "w1")) as address:
        args = {"masters": [address], "workers": ["w1"], "fail": False}
        assert run_module("spark_health", {**args, "metastores": [address]})["healthy"]
        result = run_module("spark_health", {**args, "metastores": ["127.0.0.1:1"]})
    assert not result["healthy"]
    assert "127.0.0.1:1" in str(result)


def test_module_says_what_is_wrong() -> None:
    with serving("<html>") as address:
        args = {"masters": ["127.0.0.1:1", address], "workers": ["w1"], "wait": 0.3}
        result = run_module("spark_health", args)
        assert result["failed"]
        assert address in result["msg"]
        assert "127.0.0.1:1" in result["msg"]
        assert run_module("spark_health", {**args, "fail": False})["healthy"] is False
