"""The module that checks the schema registry, against instances that are played."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any, ClassVar

import pytest

from tests.unit.host.served import served
from tests.unit.module_runner import run_module

NOBODY = "127.0.0.1:1"


class Instance(BaseHTTPRequestHandler):
    """Has subjects, and answers its health check with a status and a body."""

    status: ClassVar[int]
    body: ClassVar[str]

    def do_GET(self) -> None:
        is_check = self.path == "/health/ready"
        self.send_response(self.status if is_check else 200)
        self.end_headers()
        self.wfile.write(self.body.encode() if is_check else b'["planes-value"]')

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def instance() -> Iterator[str]:
    """An instance that is ready."""
    Instance.status, Instance.body = 200, json.dumps({"status": "UP", "checks": []})
    with served(Instance) as address:
        yield address


def run(instance: str, *neighbours: str, **options: Any) -> dict[str, Any]:
    options_of_host = {
        "instances": [instance, *neighbours],
        "own": instance,
        "management_port": instance.partition(":")[2],
    }
    return run_module("schema_registry_health", {**options_of_host, **options})


def test_an_instance_that_is_ready_is_healthy(instance: str) -> None:
    result = run(instance)
    assert not result.get("failed")
    assert (result["instances"], result["subjects"]) == ([instance], ["planes-value"])


def test_another_instance_counts_unless_it_is_left_out(instance: str) -> None:
    assert NOBODY in run(instance, NOBODY)["msg"]
    assert not run(instance, NOBODY, others=False).get("failed")
    assert not run(instance, NOBODY, fail=False).get("failed")


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (503, json.dumps({"checks": [{"name": "Storage", "status": "DOWN"}]}), "Storage"),
        (404, "no page", "404"),
        (200, "no JSON", "health check"),
        (404, "[" * 100000, "404"),
        (200, "[" * 100000, "health check"),
        (503, json.dumps({"checks": [], "more": "x" * 2**21}), "503"),
        (200, json.dumps({"status": "UP", "checks": [], "more": "x" * 2**21}), "health check"),
    ],
)
def test_an_instance_that_is_not_ready_is_not_healthy(
    instance: str, status: int, body: str, message: str
) -> None:
    Instance.status, Instance.body = status, body
    result = run(instance)
    assert result["failed"]
    assert message in result["msg"]


def test_an_instance_leaves_if_others_answer(instance: str) -> None:
    own = {"own": NOBODY, "leaving": "before"}
    assert run(instance, NOBODY, **own)["instances"] == [instance]
    alone = run(instance, leaving="before", fail=False)
    assert "is the only instance" in alone["problems"][0]
    assert NOBODY in run(instance, NOBODY, leaving="before")["msg"]
    # It does not run any more, and the others do.
    assert not run(instance, NOBODY, own=NOBODY, leaving="after", management_port=1).get("failed")
