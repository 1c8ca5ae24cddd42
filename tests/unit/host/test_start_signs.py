"""What shows that a starting process makes progress."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host import start_signs
from ansible_collections.millrace.streaming.plugins.module_utils.host.start_signs import (
    LEAST_BYTES,
    kinds,
)
from ansible_collections.millrace.streaming.plugins.module_utils.host.unit import State

from tests.support.wait import wait_for

RETRY = (
    "[2026-11-28 01:00:0{n},123] WARN [RaftManager id=1] Connection to node {n} (k{n}/10.0.0.{n}:"
    "9093) could not be established after {n} ms (org.apache.kafka.clients.NetworkClient)"
)
SEGMENT = (
    "[2026-11-28 01:00:0{n},123] INFO [LogLoader partition=orders-1, dir=/data] Recovering "
    "unflushed segment {n}00. {n}/9 recovered for orders-1. (kafka.log.LogLoader)"
)
LOADED = (
    "[2026-11-28 01:00:0{n},123] INFO Completed load of Log(dir=/data/orders-{n}) in {n}ms "
    "({n}/90 completed in /data) (kafka.log.LogManager)"
)


@pytest.mark.parametrize("line", [SEGMENT, LOADED])
def test_each_segment_that_is_recovered_is_progress(line: str) -> None:
    recovered = [line.format(n=number) for number in range(1, 9)]
    assert len(kinds(recovered)) == 8
    assert kinds(recovered) == kinds([*recovered, recovered[0].replace(":00:", ":05:")])


def test_a_line_that_is_repeated_is_none() -> None:
    assert len(kinds(RETRY.format(n=number) for number in range(1, 9))) == 1
    assert len(kinds([RETRY.format(n=1), "[2026-11-28 01:00:01,123] INFO starting"])) == 2


class Logging:
    """A unit whose process is this machine's."""

    def __init__(self, state: State, *lines: str) -> None:
        self._state, self._lines = state, lines

    def state(self) -> State:
        return self._state

    def logged(self, invocation: str, lines: int) -> list[str]:
        assert invocation == "f00"
        return [*self._lines][-lines:]


def test_the_last_recovered_segment_is_shown_with_what_was_read() -> None:
    unit: Any = Logging(
        State("active", "running", pid=os.getpid(), invocation="f00"),
        SEGMENT.format(n=4),
        RETRY.format(n=5),
    )
    found = start_signs.read(unit)
    assert "4/9 recovered for orders-1" in found.text
    assert f"{found.read / 2**20:.0f} MiB" in found.text
    assert found.read > LEAST_BYTES, "this process has read its modules"
    assert found.seconds > 0


def test_what_comes_before_a_process_is_not_its_start() -> None:
    unit: Any = Logging(State("activating", "start-pre", pid=0, invocation="f00"))
    assert start_signs.read(unit).preparing


def test_a_process_that_is_gone_has_no_signs() -> None:
    unit: Any = Logging(State("active", "running", pid=2**22 + 1, invocation="f00"))
    found = start_signs.read(unit)
    assert (found.read, found.seconds, found.lines) == (0, 0, ())


PROGRAM = """
import sys
for _ in sys.stdin:
    with open(sys.argv[1], "rb", buffering=0) as file:
        while file.read(1 << 16):
            pass
"""


def test_data_that_a_process_reads_is_counted(tmp_path: Path) -> None:
    """Also what lies in memory already, as after a kill of the process alone."""
    data = tmp_path / "segment"
    data.write_bytes(b"x" * 4 * LEAST_BYTES)
    with subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-c", PROGRAM, str(data)], stdin=subprocess.PIPE, text=True
    ) as child:
        assert child.stdin
        process = Path(f"/proc/{child.pid}")
        before = start_signs.data_read(process)
        child.stdin.write("\n")
        child.stdin.flush()
        wait_for(
            lambda: start_signs.data_read(process) >= before + 4 * LEAST_BYTES,
            seconds=20,
            what="the data",
        )
        child.stdin.close()


@pytest.mark.parametrize(
    ("line", "fatal"),
    [
        ("ERROR [KafkaServer id=1] Fatal error during KafkaServer startup.", True),
        ("ERROR Exiting Kafka due to fatal exception (kafka.Kafka$)", True),
        ("ERROR Encountered fatal fault: Error starting broker", True),
        ("FATAL ", True),
        ("ERROR Encountered non-fatal fault: something", False),
        ("ERROR Connection to node 1 could not be established", False),
    ],
)
def test_what_a_process_says_of_its_end_is_known(line: str, fatal: bool) -> None:
    state = State("active", "running", pid=1, invocation="f00")
    unit: Any = Logging(state, line)
    assert bool(start_signs.fatal_lines(unit, state)) is fatal
