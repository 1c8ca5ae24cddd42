"""One slice of a node's restart on its host, and a node that does not start with its new files."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host import operation_file, restart
from ansible_collections.millrace.streaming.plugins.module_utils.operations.options import (
    FailedError,
)
from ansible_collections.millrace.streaming.plugins.modules import kafka_restart

from tests.unit.in_process import call_module
from tests.unit.module_runner import run_module, unreachable
from tests.unit.operations.restart_rig import (
    FAILED,
    RUNNING,
    STOPPED,
    STOPPING,
    Rig,
    cluster,
    install,
)


class Host:
    """A host with a node, whose previous file is kept."""

    def __init__(self, path: Path, rig: Rig) -> None:
        self.rig, self.previous, self.file = rig, path / "previous.json", path / "server.properties"
        self.file.write_text("new=1\n")
        former = {
            "content": "former=1\n",
            "mode": "0644",
            "owner": path.owner(),
            "group": path.group(),
            "restart": True,
        }
        restart.keep(self.previous, {str(self.file): former})

    def run(self, phase: str = "gate", until: str = "done", **options: Any) -> dict[str, Any]:
        """Do one slice."""
        params = {
            "phase": phase,
            "until": until,
            "slice": 5,
            "forced": False,
            "previous": str(self.previous),
            "start_timed_out": False,
            "had_failed_directory": False,
            "remaining": [],
            "controller_last": False,
            **options,
        }
        module: Any = SimpleNamespace(params=params)
        node_restart = self.rig.restart(forced=params["forced"])
        return kafka_restart.advance(module, node_restart)


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    rig = install(tmp_path, monkeypatch)
    fake = SimpleNamespace(monotonic=lambda: rig.now, sleep=rig.sleep)
    monkeypatch.setattr(kafka_restart, "time", fake)
    return Host(tmp_path, rig)


def test_a_node_that_was_restarted_has_no_former_files(host: Host) -> None:
    result = host.run()
    assert (result["phase"], result["changed"], result["start_failed"]) == ("done", True, "")
    assert host.rig.unit.calls == ["stop", "start"]
    assert not host.previous.exists()


@pytest.mark.parametrize("phase", ["gate", "stop"])
def test_a_slice_that_ends_before_the_stop_has_changed_nothing(host: Host, phase: str) -> None:
    if phase == "gate":
        host.rig.cluster.snapshots = [cluster(isr=(1, 2))]
    result = host.run(until="stop")
    assert (result["phase"], result["changed"]) == (phase, False)
    assert bool(result["waiting"]) is (phase == "gate")
    assert host.previous.exists()


def test_a_node_without_a_mark_that_runs_is_left_alone(host: Host) -> None:
    host.rig.mark.unlink()
    result = host.run()
    assert (result["phase"], result["changed"], host.rig.unit.calls) == ("done", False, [])
    assert not host.previous.exists(), "its process runs on what followed these"
    assert host.run(until="stop", forced=True)["phase"] == "stop"


def test_an_unrelated_start_that_fails_brings_back_nothing(host: Host) -> None:
    """The process works with its files: those of before belong to an earlier change."""
    host.rig.mark.unlink()
    host.rig.unit.after_start = (FAILED,)
    failed = host.run(forced=True)
    assert failed["start_failed"]
    assert (failed["restored"], host.file.read_text()) == ([], "new=1\n")


def test_former_files_stay_for_a_node_that_has_not_started_well(host: Host) -> None:
    host.rig.mark.unlink()
    host.rig.cluster.snapshots = [cluster(fenced=True)]
    host.run(until="stop", forced=True)
    assert host.previous.exists()


def test_a_node_that_somebody_else_restarts_meanwhile_is_not_changed(host: Host) -> None:
    host.rig.cluster.snapshots, host.rig.unmarked_at = [cluster(isr=(1, 2))], 1
    result = host.run()
    assert (result["phase"], result["changed"]) == ("done", False)


def test_the_active_controller_leaves_others_to_go_first_where_that_is_asked(host: Host) -> None:
    host.rig.cluster.snapshots = [cluster(leader=2)]
    deferred = host.run(remaining=[1, 2], controller_last=True)
    assert (deferred["deferred"], deferred["phase"], host.rig.unit.calls) == (True, "gate", [])
    assert deferred["changed"] is False
    assert host.run(remaining=[1, 2])["deferred"] is False


def test_nothing_is_done_for_an_ansible_that_is_gone(host: Host) -> None:
    host.rig.abandoned = True
    result = host.run()
    assert (result["phase"], result["changed"], host.rig.unit.calls) == ("stop", False, [])
    assert result["waiting"]


def test_a_node_that_does_not_start_gets_its_former_files_back(host: Host) -> None:
    host.rig.unit.after_start = (FAILED,)
    failed = host.run()
    assert "no such class" in failed["start_failed"]
    assert (failed["phase"], failed["changed"]) == ("start", True)
    assert failed["restored"] == [str(host.file)]
    assert host.file.read_text() == "former=1\n"
    assert host.rig.unit.calls == ["stop", "start", "stop", "start"]
    assert not host.rig.mark.exists()
    host.rig.unit.states = [RUNNING]
    again = host.run("start")
    assert (again["phase"], again["start_failed"]) == ("done", "")


def test_former_files_that_do_not_start_either_are_left(host: Host) -> None:
    host.rig.unit.after_start = (FAILED,)
    host.run()
    again = host.run("start")
    assert again["start_failed"]
    assert (again["restored"], host.file.read_text()) == ([], "former=1\n")
    assert host.rig.unit.calls == ["stop", "start", "stop", "start"]


def test_a_process_that_lives_is_never_stopped_for_being_slow(host: Host) -> None:
    """Its setting may be right: logs that are recovered, a slow disk."""
    host.rig.closed = {"k2:9093"}
    started = host.run()
    assert (started["phase"], started["signs"]["read"]) == ("start", 5)
    slow = host.run("start", start_timed_out=True)
    assert (slow["start_failed"], slow["restored"]) == ("", [])
    assert "5 MiB read" in slow["waiting"]
    assert host.file.read_text() == "new=1\n"
    assert host.rig.unit.calls == ["stop", "start"]


def test_a_process_that_says_why_it_cannot_start_counts_as_failed(host: Host) -> None:
    host.rig.closed, host.rig.fatal = {"k2:9093"}, ["ERROR Fatal error during startup: no disk"]
    assert host.run()["phase"] == "start"
    assert host.run("start")["start_failed"] == "", "it may end by itself"
    failed = host.run("start", start_timed_out=True)
    assert "no disk" in failed["start_failed"]
    assert failed["restored"] == [str(host.file)]
    host.rig.closed = set()
    assert host.run("start")["phase"] == "done"


def test_without_former_files_a_node_that_does_not_start_is_left_as_it_is(host: Host) -> None:
    host.previous.unlink()
    host.rig.unit.after_start = (FAILED,)
    failed = host.run()
    assert "no such class" in failed["start_failed"]
    assert (failed["phase"], failed["restored"]) == ("start", [])
    assert host.rig.unit.calls == ["stop", "start"]
    assert host.rig.mark.exists()


def test_former_files_that_cannot_be_put_back_are_named_with_the_first_reason(host: Host) -> None:
    host.rig.unit.after_start = (FAILED,)
    host.file.unlink()
    host.file.mkdir()
    (host.file / "x").touch()
    failed = host.run()
    assert "no such class" in failed["start_failed"]
    assert str(host.file) in failed["start_failed"]
    assert failed["restored"] == []


def test_a_process_that_cannot_be_stopped_keeps_its_files_and_the_first_reason(host: Host) -> None:
    host.rig.unit.states, host.rig.unit.refuses_stop = [FAILED], "systemctl stop: timed out"
    failed = host.run("start")
    assert "no such class" in failed["start_failed"]
    assert "timed out" in failed["start_failed"]
    assert (failed["restored"], host.file.read_text()) == ([], "new=1\n")


def test_files_are_put_back_only_when_the_process_has_ended(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[bool, float]] = []
    really = restart.restore

    def restore(*arguments: Any) -> list[str]:
        seen.append((host.rig.unit.state().stopped, host.rig.now))
        return really(*arguments)

    monkeypatch.setattr(restart, "restore", restore)
    host.rig.unit.states = [FAILED]
    host.rig.unit.after_stop = (*[STOPPING] * 5, STOPPED)
    host.run("start")
    assert [stopped for stopped, _ in seen] == [True]
    assert 0.4 < seen[0][1] < 0.7

    # One that does not end has its time, and no more.
    host.file.write_text("new=1\n")
    Host(host.file.parent, host.rig)
    host.rig.unit.states, host.rig.unit.after_stop = [FAILED], (STOPPING,)
    begun = host.rig.now
    host.run("start")
    assert seen[1][0] is False
    assert 30 <= seen[1][1] - begun < 31


@pytest.mark.parametrize(("phase", "goes_on"), [("gate", False), ("stop", True)])
def test_a_lock_that_was_lost_ends_the_restart_only_before_the_stop(
    host: Host, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, phase: str, goes_on: bool
) -> None:
    """A node that is down already is brought back, whoever holds the lock now."""
    record = tmp_path / "operation.json"
    operation_file.write(record, {"id": "other", "state": operation_file.RUNNING})
    params = {"phase": phase, "operation": {"id": "mine"}, "record": str(record)}
    module: Any = SimpleNamespace(params=params, check_mode=False)
    done: list[str] = []
    monkeypatch.setattr(kafka_restart, "restart_of", lambda *_: None)
    monkeypatch.setattr(kafka_restart, "advance", lambda *_: done.append(phase))
    if goes_on:
        kafka_restart.work(module, SimpleNamespace())  # type: ignore[arg-type]  # nothing of it is used
    else:
        with pytest.raises(FailedError, match="another operation"):
            kafka_restart.work(module, SimpleNamespace())  # type: ignore[arg-type]  # nothing of it is used
    assert bool(done) is goes_on
    assert operation_file.read(record)["id"] == "other"


def test_a_node_that_comes_back_from_a_reboot_is_not_started_again(host: Host) -> None:
    assert host.run(until="start", forced=True)["phase"] == "start"
    assert host.rig.unit.states[-1] == STOPPED
    host.rig.unit.states = [RUNNING]
    assert host.run("start")["phase"] == "done"
    assert host.rig.unit.calls == ["stop"]


@pytest.mark.parametrize("had", [False, True])
def test_a_failed_directory_that_an_earlier_slice_saw_is_kept(host: Host, had: bool) -> None:
    assert host.run("stop", "start", had_failed_directory=had)["had_failed_directory"] is had


# The module as Ansible runs it


@pytest.fixture
def options(tmp_path: Path) -> dict[str, Any]:
    return {
        **unreachable(tmp_path),
        "node": {"id": 1},
        "phase": "gate",
        "until": "done",
        "slice": 5,
        "forced": False,
        "start_timed_out": False,
        "remaining": [],
        "controller_last": False,
        "record": str(tmp_path / "operation.json"),
        "operation": {"id": "mine", "state": operation_file.RUNNING},
    }


def test_a_node_that_is_not_described_is_refused(options: dict[str, Any]) -> None:
    result = run_module("kafka_restart", options)
    assert result["failed"]
    assert "broker" in result["msg"]
    assert operation_file.read(Path(options["record"]))["id"] == "mine"


def test_check_mode_does_nothing(options: dict[str, Any]) -> None:
    result = run_module("kafka_restart", {**options, "phase": "stop"}, check=True)
    assert (result["changed"], result["phase"], result["skipped"]) == (False, "stop", True)
    assert not Path(options["record"]).exists()


def test_without_options_it_is_a_whole_restart_that_is_not_forced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: dict[str, Any] = {}

    def advance(module: Any, _: object) -> dict[str, Any]:
        taken.update(module.params)
        return {"changed": False}

    monkeypatch.setattr(kafka_restart, "advance", advance)
    monkeypatch.setattr(kafka_restart, "restart_of", lambda *_: None)
    assert call_module(kafka_restart, unreachable(tmp_path))["failed"], "no node was named"
    assert not taken
    call_module(kafka_restart, {**unreachable(tmp_path), "node": {"id": 1}})
    defaults = {"phase": "gate", "until": "done", "forced": False, "start_timed_out": False}
    assert {**defaults, "remaining": [], "controller_last": False}.items() <= taken.items()
