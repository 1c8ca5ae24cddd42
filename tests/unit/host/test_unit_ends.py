"""What is recorded of ends that nobody asked for, and how much of it is kept."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host import unit_ends
from ansible_collections.millrace.streaming.plugins.modules import host_processes
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster import files
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.crashes import (
    CRASH_REPORTS,
    RECORDED_ENDS,
)

from tests.unit.in_process import call_module


class Crashes:
    """The directory of a product, and the script of its units."""

    def __init__(self, place: Path) -> None:
        self.root, self.place = place / "crash", place / "crash/kafka"
        self.place.mkdir(parents=True)
        limits = {"ends": RECORDED_ENDS, "reports": CRASH_REPORTS}
        self.script = place / "unit-end"
        self.script.write_text(files.render("unit-end.sh.j2", directory=str(self.place), **limits))

    def end(self, result: str, code: str = "killed", status: str = "KILL") -> None:
        """Let a unit end, with what systemd says of that."""
        variables = {"SERVICE_RESULT": result, "EXIT_CODE": code, "EXIT_STATUS": status}
        command = ["/bin/sh", str(self.script), "kafka"]
        done = subprocess.run(
            command, env={**os.environ, **variables}, capture_output=True, text=True, check=True
        )
        assert done.stderr == ""

    def report(self, name: str, at: float) -> Path:
        """Leave a file, written at a time."""
        path = self.place / name
        path.touch()
        os.utime(path, (at, at))
        return path

    def left(self) -> set[str]:
        return {path.name for path in self.place.iterdir()}


@pytest.fixture
def crashes(tmp_path: Path) -> Crashes:
    return Crashes(tmp_path)


def test_only_an_end_that_nobody_asked_for_is_recorded(crashes: Crashes) -> None:
    crashes.end("success", "exited", "143")
    assert crashes.left() == set()
    crashes.end("oom-kill")
    crashes.end("core-dump", "dumped", "ABRT")
    first, second = unit_ends.ends(0, crashes.root)
    assert (first.unit, first.result) == ("kafka", "oom-kill")
    assert (second.code, second.status) == ("dumped", "ABRT")
    assert unit_ends.ends(second.time + 1, crashes.root) == []


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (("oom-kill", "killed", "KILL"), "memory"),
        (("signal", "killed", "SEGV"), "SEGV"),
        (("core-dump", "dumped", "ABRT"), "ABRT"),
        (("exit-code", "exited", "3"), "heap"),
        (("exit-code", "exited", "1"), "status 1"),
        (("timeout", "killed", "KILL"), "in time"),
    ],
)
def test_the_reason_is_in_the_sentence(
    crashes: Crashes, end: tuple[str, str, str], reason: str
) -> None:
    crashes.end(*end)
    (ended,) = unit_ends.ends(0, crashes.root)
    assert reason in str(ended)


def test_what_crashes_leave_is_limited(crashes: Crashes) -> None:
    """Also of executors, whose worker lives on: its end, or that of a driver, removes the rest."""
    reports = [crashes.report(f"hs_err_pid{n}.log", 1000 + n) for n in range(CRASH_REPORTS + 5)]
    for _ in range(RECORDED_ENDS + 3):
        crashes.end("signal")
    newest = {path.name for path in reports[-CRASH_REPORTS:]}
    assert crashes.left() == {*newest, "kafka.ends"}
    assert len(unit_ends.ends(0, crashes.root)) == RECORDED_ENDS


def test_a_record_that_was_cut_is_no_end(crashes: Crashes) -> None:
    (crashes.place / "kafka.ends").write_text("17\nnothing here of it\n1700000000 signal killed\n")
    assert unit_ends.ends(0, crashes.root) == []


def test_health_names_ends_and_reports_of_the_time(crashes: Crashes) -> None:
    options = {"directory": str(crashes.root), "proc": str(crashes.root)}
    assert call_module(host_processes, options)["lines"] == []
    crashes.end("signal", "killed", "SEGV")
    crashes.end("signal", "killed", "ABRT")
    crashes.report("hs_err_pid1.log", 1000)
    dump = crashes.place / "heap.hprof"
    dump.touch()
    result = call_module(host_processes, options)
    assert result["changed"] is False
    ended, reported = result["lines"]
    assert "ABRT" in ended
    assert "2" in ended
    assert str(dump) in reported
    assert call_module(host_processes, {**options, "since": 0})["lines"] == []


def test_an_account_ends_no_check_by_what_it_leaves(crashes: Crashes) -> None:
    """Hostile records are skipped, the others are read."""
    crashes.end("signal", "killed", "SEGV")
    hostile = "\u00b2 signal killed KILL\n99999999999999999999 signal killed KILL\n9 \x1b[2J a b\n"
    (crashes.place / "other.ends").write_text(hostile)
    (crashes.place / ".kafka.ends").write_text("1700000000 signal killed KILL\n")
    (crashes.place / "dangling.ends").symlink_to("nowhere")
    (crashes.place / "endless.ends").symlink_to("/dev/zero")
    os.mkfifo(crashes.place / "fifo.ends")
    options = {"directory": str(crashes.root), "proc": str(crashes.root), "since": 1e6}
    (line,) = call_module(host_processes, options)["lines"]
    assert "SEGV" in line


def test_a_report_that_goes_meanwhile_is_left_out(
    crashes: Crashes, monkeypatch: pytest.MonkeyPatch
) -> None:
    remaining, gone = (
        crashes.report("hs_err_pid1.log", 1000),
        crashes.report("hs_err_pid2.log", 1000),
    )
    real = Path.lstat

    def lstat(path: Path) -> os.stat_result:
        if path == gone:
            gone.unlink(missing_ok=True)
        return real(path)

    monkeypatch.setattr(Path, "lstat", lstat)
    assert unit_ends.reports(0, crashes.root) == [str(remaining)]
