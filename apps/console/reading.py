"""Records that users ask for, read by processes with limits: a few at a time of one user."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.kafka.connection import Connection

from .records import RecordsError, Request

WORKER = "apps.console.worker"
MOST = 4
"""Processes at the same time."""
MOST_OF_USER = 2
MOST_OF_NETWORK = 3
FETCH_SECONDS = 20.0
"""After which a process is ended that has not read the records from Kafka."""
DECODE_SECONDS = 8.0
"""After which it is ended while it decodes them."""
_MOST_ANSWER = 32_000_000
"""Bytes of a line."""
NOT_DECODED = "it was not decoded, since decoding one before it had to be ended"


class Reading:
    """The processes that run; `registry` is that of the settings, `worker` what Python runs."""

    def __init__(self, registry: Mapping[str, Any], worker: str = WORKER) -> None:
        """Begin without any."""
        self._registry, self._worker = registry, worker
        self._running: Counter[tuple[str, str]] = Counter()
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def place(self, user: str, network: str) -> Iterator[None]:
        """Hold a place for one process of a user.

        Raises:
            RecordsError: there are too many, of the user, of the network, or of all.

        """
        places = {("", ""): MOST, ("user", user): MOST_OF_USER}
        places["network", network] = MOST_OF_NETWORK
        with self._lock:
            full = [place[0] for place, most in places.items() if self._running[place] >= most]
            if full:
                readers = {"user": "You are", "network": "Others at your address are"}
                reader = readers.get(full[-1], "Others are")
                message = f"{reader} reading records already: try again in some seconds."
                raise RecordsError(message, 429)
            self._running.update(places.keys())
        try:
            yield
        finally:
            with self._lock:
                self._running.subtract(places.keys())
                self._running = +self._running

    def read(self, connection: Connection, request: Request) -> dict[str, Any]:
        """Return records as plain data; what could not be decoded has the reason.

        Raises:
            RecordsError: they cannot be read.

        """
        message = {
            "bootstrap": connection.bootstrap,
            "properties": dict(connection.properties),
            "records": vars(request),
            "registry": dict(self._registry),
        }
        # The libraries that a setting names are on this process's path alone.
        path = os.pathsep.join(filter(None, sys.path))
        with subprocess.Popen(  # no part of it is of a request
            [sys.executable, "-m", self._worker],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": path},
        ) as process:
            try:
                if process.stdin:
                    with contextlib.suppress(BrokenPipeError), process.stdin as stdin:
                        stdin.write(json.dumps(message).encode())
                return _answer(process)
            finally:
                process.kill()


class _Deadline:
    """Ends a process at the end of a time; then `passed` is true."""

    def __init__(self, process: subprocess.Popen[bytes], seconds: float) -> None:
        self.seconds, self.passed = seconds, False
        self._process = process
        self._timer = threading.Timer(seconds, self._end)

    def __enter__(self) -> _Deadline:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def _end(self) -> None:
        self.passed = True
        self._process.kill()

    @property
    def reason(self) -> str:
        """Return why the process has ended before it was done."""
        if self.passed:
            return f"took more than {self.seconds:.0f} s"
        return "has ended its process, as too much memory does"


def _answer(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    with _Deadline(process, FETCH_SECONDS) as deadline:
        reply = _line(process)
    if reply is None:
        message = f"These records cannot be shown: reading them {deadline.reason}."
        raise RecordsError(message, 422)
    if "error" in reply:
        raise RecordsError(reply["error"], reply["status"])
    waiting = [
        content
        for record in reply["records"]
        for content in (record["key"], record["value"])
        if content and "schema" in content
    ]
    with _Deadline(process, DECODE_SECONDS) as deadline:
        while waiting and (decoded := _line(process)) is not None:
            content = waiting.pop(0)
            content.clear()
            content.update(decoded)
    reason = f"decoding it {deadline.reason}"
    for content in waiting:
        content["undecoded"], reason = reason, NOT_DECODED
    return reply


def _line(process: subprocess.Popen[bytes]) -> dict[str, Any] | None:
    """Return the next line of a process, None if it has ended."""
    if process.stdout is None:
        return None
    try:
        line: dict[str, Any] = json.loads(process.stdout.readline(_MOST_ANSWER))
    except ValueError:
        return None
    return line
