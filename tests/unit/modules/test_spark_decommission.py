"""A worker gets the signal only if it handles it, and has the time of its executors."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, ClassVar

import pytest
from ansible_collections.millrace.streaming.plugins.modules import spark_decommission as module

from tests.unit.host.served import served
from tests.unit.module_runner import run_module
from tests.unit.operations.test_leaving import EXECUTOR

PROGRAM = """
import signal
signal.signal(signal.SIGPWR, lambda *_: print("decommissioned", flush=True))
print("ready", flush=True)
while True:
    signal.pause()
"""


class Worker(BaseHTTPRequestHandler):
    """Answers with the executors that it has left, one fewer each time."""

    left: ClassVar[int]

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"executors": [EXECUTOR] * max(0, Worker.left)}).encode())
        Worker.left -= 1

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def worker() -> Iterator[str]:
    Worker.left = 2
    with served(Worker) as address:
        yield address


@pytest.fixture
def process(request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[str]]:
    """The process of the worker, which handles the signal, or not."""
    program = PROGRAM.replace(
        "signal.signal(", "(" if request.param == "deaf" else "signal.signal("
    )
    words = [sys.executable, "-c", program]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout
        assert running.stdout.readline() == "ready\n"
        yield running
        running.kill()


def run(address: str, pid: int, *, check: bool = False, **options: Any) -> dict[str, Any]:
    state = f"type('S', (), {{'pid': {pid}}})()"
    patch = f"module.Unit.state = lambda _: {state}; module.POLL_SECONDS = 0.05"
    given = {"worker": address, "enabled": True, **options}
    return run_module("spark_decommission", given, check=check, patch=patch)


@pytest.mark.parametrize("process", ["handles"], indirect=True)
def test_a_worker_gives_away_what_it_has(worker: str, process: subprocess.Popen[str]) -> None:
    result = run(worker, process.pid, wait=30)
    assert (result["changed"], result["executors"]) == (True, [])
    assert process.stdout
    assert process.stdout.readline() == "decommissioned\n"


@pytest.mark.parametrize("process", ["handles"], indirect=True)
def test_executors_that_do_not_end_are_named(worker: str, process: subprocess.Popen[str]) -> None:
    result = run(worker, process.pid)
    assert result["failed"]
    assert "3 of flights (app-1)" in result["msg"]


@pytest.mark.parametrize("process", ["handles"], indirect=True)
def test_check_mode_sends_no_signal(worker: str, process: subprocess.Popen[str]) -> None:
    result = run(worker, process.pid, check=True)
    assert (result["changed"], result["problems"]) == (True, [])
    assert len(result["executors"]) == 2
    process.kill()
    assert process.stdout
    assert process.stdout.read() == ""


@pytest.mark.parametrize("process", ["deaf"], indirect=True)
def test_a_worker_that_would_die_of_the_signal_does_not_get_it(
    worker: str, process: subprocess.Popen[str]
) -> None:
    result = run(worker, process.pid)
    assert result["failed"]
    assert "rolling_restart.yml" in result["msg"]
    assert run(worker, process.pid, check=True)["problems"] == [result["msg"]]
    assert process.poll() is None


def test_a_worker_that_is_stopped_or_does_not_give_away_is_left_alone(worker: str) -> None:
    assert run(worker, 0)["changed"] is False
    assert run(worker, 1, enabled=False)["changed"] is False


def test_signals_that_are_handled_are_read_as_the_kernel_writes_them() -> None:
    assert module.catches("SigCgt:\t0000000020000000\n", signal.SIGPWR)
    assert not module.catches("SigIgn:\t0000000020000000\nSigCgt:\t0\n", signal.SIGPWR)
    status = Path("/proc/self/status").read_text()
    assert module.catches(status, signal.SIGINT)
