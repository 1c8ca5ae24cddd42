"""The REST client of Kafka Connect: which worker is asked, and what a refusal says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host.connect_rest import Rest
from ansible_collections.millrace.streaming.plugins.module_utils.host.rest import RestError

from tests.unit.host.served import served

NOBODY = "127.0.0.1:1"


class Answers(BaseHTTPRequestHandler):
    """Refuses what is at /refused or /starting, and answers everything else with what it got."""

    def do_PUT(self) -> None:
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status = {"/refused": 409, "/starting": 503}.get(self.path, 200)
        self._answer(status, {"message": "busy", "sent": sent})

    def do_DELETE(self) -> None:
        self.send_response(204)
        self.end_headers()

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<html>")

    def _answer(self, status: int, body: object) -> None:
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def worker() -> Iterator[str]:
    with served(Answers) as address:
        yield address


def test_a_worker_that_does_not_answer_is_skipped(worker: str) -> None:
    assert Rest([NOBODY, worker]).call("PUT", "/x", {"a": 1})["sent"] == {"a": 1}


def test_a_worker_that_is_starting_is_skipped(worker: str) -> None:
    """Unless all are: the group is asked again later."""
    with pytest.raises(RestError, match=f"{worker}: busy.*{NOBODY}") as refusal:
        Rest([worker, NOBODY]).call("PUT", "/starting", {})
    assert refusal.value.status == 503


def test_an_empty_answer_is_none(worker: str) -> None:
    assert Rest([worker]).call("DELETE", "/x") is None


def test_a_refusal_is_that_of_the_group(worker: str) -> None:
    """No other worker is asked: it would refuse it too, or do it a second time."""
    with pytest.raises(RestError, match="busy") as refusal:
        Rest([worker, NOBODY]).call("PUT", "/refused", {})
    assert refusal.value.status == 409


def test_workers_that_do_not_answer_are_named() -> None:
    with pytest.raises(RestError, match=NOBODY) as refusal:
        Rest([NOBODY]).call("GET", "/")
    assert refusal.value.status == 0


def test_what_is_no_worker_is_named(worker: str) -> None:
    with pytest.raises(RestError, match="no worker of Kafka Connect"):
        Rest([worker]).call("GET", "/")
