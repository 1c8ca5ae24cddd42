"""The REST client of the schema registry: which instance is asked, and what a refusal says."""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host.registry_rest import (
    Registry,
)
from ansible_collections.millrace.streaming.plugins.module_utils.host.rest import RestError

from tests.unit.host.served import served

NOBODY = "127.0.0.1:1"
LOGIN = "reader:a:word"


class Answers(BaseHTTPRequestHandler):
    """Refuses what is at /4.. or /5.. with that status, and answers everything else."""

    def do_GET(self) -> None:
        status = int(self.path[1:]) if self.path[1:].isdecimal() else 200
        credentials = self.headers.get("Authorization", "").removeprefix("Basic ")
        answers = {
            200: {"login": base64.b64decode(credentials).decode()},
            409: {"message": "Incompatible\n schema", "error_code": 409},
            422: {"title": "no Avro", "detail": "a schema must be Avro"},
            498: {"message": "x" * 2**20},
        }
        self.send_response(status)
        self.end_headers()
        body = "[" * 50000 if status == 499 else json.dumps(answers.get(status, []))
        with contextlib.suppress(ConnectionError):  # who asks need not read all of it
            self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def instance() -> Iterator[str]:
    with served(Answers) as address:
        yield address


def test_an_instance_that_does_not_answer_is_skipped(instance: str) -> None:
    assert Registry([NOBODY, instance], login=LOGIN).call("GET", "/x") == {"login": LOGIN}


@pytest.mark.parametrize("status", [498, 499])
def test_a_refusal_that_is_made_to_do_harm_is_its_status(instance: str, status: int) -> None:
    """It is too long, or nested too deeply."""
    with pytest.raises(RestError, match=f"HTTP {status}") as raised:
        Registry([instance]).call("GET", f"/{status}")
    assert raised.value.status == status


def test_an_instance_that_does_not_answer_is_asked_once(instance: str) -> None:
    registry = Registry([NOBODY, instance])
    instances_asked: list[str] = []

    def ask(address: str) -> bytes:
        instances_asked.append(address)
        return registry.ask(address, "GET", "/x")

    registry.first(ask)
    registry.first(ask)
    assert instances_asked == [NOBODY, instance, instance]


def test_an_instance_that_fails_is_not_the_last_one_asked(instance: str) -> None:
    with pytest.raises(RestError, match=f"{instance}: .*{NOBODY}") as refusal:
        Registry([instance, NOBODY]).call("GET", "/500")
    assert refusal.value.status == 500


@pytest.mark.parametrize(
    ("status", "text"), [(409, "Incompatible schema"), (422, "must be Avro"), (401, "401")]
)
def test_a_refusal_is_that_of_the_registry(instance: str, status: int, text: str) -> None:
    with pytest.raises(RestError, match=text) as refusal:
        Registry([instance, NOBODY]).call("GET", f"/{status}")
    assert refusal.value.status == status
    assert NOBODY not in str(refusal.value)
