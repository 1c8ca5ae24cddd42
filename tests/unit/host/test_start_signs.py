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
from ansible_collections.millrace.streaming.plugins.plugin_utils.operations.roll import (
    StartProgress,
)

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
    signs = start_signs.read(unit)
    assert "4/9 recovered for orders-1" in signs.text
    assert f"{signs.read / 2**20:.0f} MiB" in signs.text
    assert signs.read > LEAST_BYTES, "this process has read its modules"
    assert signs.seconds > 0


def test_what_comes_before_a_process_is_not_its_start() -> None:
    unit: Any = Logging(State("activating", "start-pre", pid=0, invocation="f00"))
    assert start_signs.read(unit).preparing


def test_a_process_that_is_gone_has_no_signs() -> None:
    unit: Any = Logging(State("active", "running", pid=2**22 + 1, invocation="f00"))
    signs = start_signs.read(unit)
    assert (signs.read, signs.seconds, signs.lines) == (0, 0, ())


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
    with subprocess.Popen(
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


def process(directory: Path, *, reads: int = 0, blocks: int = 0, ticks: tuple[int, int]) -> Path:
    """Write what the kernel shows of a process with a hostile name."""
    directory_of_process = directory / "7"
    directory_of_process.mkdir()
    (directory_of_process / "io").write_text(f"rchar: {reads}\nwchar: 9\nread_bytes: {blocks}\n")
    fields = ["S", *("1" * 10), *map(str, ticks), *("5" * 8)]
    (directory_of_process / "stat").write_text(
        f"7 (a) b 1 2 ({' '.join('9' * 20)}) {' '.join(fields)}\n"
    )
    return directory_of_process


def test_a_process_is_measured_as_the_kernel_shows_it(tmp_path: Path) -> None:
    directory_of_process = process(tmp_path, reads=3000, blocks=4096, ticks=(150, 50))
    assert start_signs.data_read(directory_of_process) == 7096
    assert start_signs.processor_seconds(directory_of_process) == 2
    assert start_signs.processor_seconds(directory_of_process, ticks=1000) == pytest.approx(0.2)


def test_what_is_read_by_maps_of_files_counts_too(tmp_path: Path) -> None:
    """Index files are mapped into memory."""
    state = State("active", "running", pid=7, invocation="f00")
    unit: Any = Logging(state, RETRY.format(n=1), "[2026-11-28 01:00:01,123] INFO last words")
    process(tmp_path, blocks=5 * 2**20, ticks=(100, 0))
    signs = start_signs.read(unit, tmp_path)
    assert (signs.read, signs.seconds, len(signs.lines)) == (5 * 2**20, 1, 2)
    for text in ("5 MiB", "1 s", "last words"):
        assert text in signs.text
    assert "2026-11-28" not in signs.text
    assert not signs.preparing


def test_a_unit_that_never_ran_logs_nothing(tmp_path: Path) -> None:
    state = State("active", "running", pid=7)
    unit: Any = Logging(state, SEGMENT.format(n=1))
    process(tmp_path, blocks=2**20, ticks=(0, 0))
    signs = start_signs.read(unit, tmp_path)
    assert signs.lines == ()
    assert "1 MiB" in signs.text
    assert start_signs.fatal_lines(unit, state) == []


def test_signs_are_compared_by_what_the_control_node_gets() -> None:
    signs = start_signs.Signs(5, 1.5, (3, 4), "text", preparing=True)
    assert signs.as_data() == {"read": 5, "lines": [3, 4], "preparing": True}
    assert start_signs.Signs().as_data() == {"read": 0, "lines": [], "preparing": False}


def test_a_unit_that_is_prepared_has_read_nothing(tmp_path: Path) -> None:
    process(tmp_path, blocks=2**20, ticks=(0, 0))
    unit: Any = Logging(State("activating", "start-pre", pid=7, invocation="f00"), "a", "b")
    signs = start_signs.read(unit, tmp_path)
    assert (signs.read, signs.seconds, signs.lines, signs.preparing) == (0, 0, (), True)


def test_recovery_is_told_rather_than_what_is_logged_beside_it() -> None:
    lines = [LOADED.format(n=3), SEGMENT.format(n=4), RETRY.format(n=5)]
    assert "4/9 recovered" in start_signs.describe(lines, 0, 0)
    assert "Connection to node 5" in start_signs.describe(lines[2:], 0, 0)
    assert start_signs.describe([], 2**21, 3).startswith("2 MiB")


def test_a_line_without_a_time_has_a_kind() -> None:
    assert len(kinds(["a 1", "a 2", "b", "[x] INFO b"])) == 2
    assert kinds(["b", "a"]) == kinds(["a", "b", "a"]), "their order says nothing"


@pytest.mark.parametrize(("read", "is_progress"), [(200_000, False), (300_000, True)])
def test_what_is_read_to_connect_again_and_again_is_no_progress(
    read: int, *, is_progress: bool
) -> None:
    before = start_signs.Signs(read=5 * 2**20).as_data()
    progress = StartProgress()
    progress.advance(before)
    assert progress.advance({**before, "read": before["read"] + read}) is is_progress
