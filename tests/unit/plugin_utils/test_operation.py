"""The record of the operation that a run of Ansible does, and who counts as dead."""

from __future__ import annotations

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from ansible import context
from ansible.module_utils.common.collections import ImmutableDict
from ansible_collections.millrace.streaming.plugins.module_utils.host.operation_file import (
    FINISHED,
    QUIET_SECONDS,
    RUNNING,
    STOPPED,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils import operation

from tests.unit.cluster import small

NO_PROCESS = 2**22 + 1


def test_a_run_has_one_record(local_tmp: Path) -> None:
    first = operation.current("rolling_restart")
    assert (first["what"], first["state"], first["plan"]) == ("rolling_restart", RUNNING, [])
    assert operation.current("something else") == first
    operation.save({**first, "plan": ["k1"], "left": ["k1"]})
    assert operation.current("")["left"] == ["k1"]


def test_tasks_of_many_hosts_begin_the_same_operation(local_tmp: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        operations = list(pool.map(operation.current, ["rolling_restart"] * 8))
    assert len({begun["id"] for begun in operations}) == 1


@pytest.mark.parametrize(
    ("state", "remaining", "reason", "ends"),
    [
        (FINISHED, [], "", FINISHED),
        (RUNNING, ["k2"], "k2: broken", STOPPED),
        (RUNNING, ["k2"], "", STOPPED),
        # Every node is done, and the cluster does not become healthy.
        (RUNNING, [], "", STOPPED),
    ],
)
def test_an_operation_is_finished_only_if_its_last_step_was_done(
    local_tmp: Path, state: str, remaining: list[str], reason: str, ends: str
) -> None:
    progress = {"state": state, "left": remaining, "reason": reason, "node": "k1"}
    record = {**operation.current("x"), **progress}
    ended = operation.ended(record)
    assert (ended["state"], ended["node"], ended["left"]) == (ends, "", remaining)
    assert reason in ended["reason"]
    assert bool(ended["reason"]) is (ends == STOPPED)
    assert record["state"] == state


@pytest.mark.parametrize(
    ("cluster", "hosts"),
    [
        (small.kafka(2, 3), ["c1", "c2", "c3"]),
        (small.kafka(1, 1), ["c1"]),
        (small.kafka(5, 0), ["b1", "b2", "b3"]),
        (small.kafka(2, 0), ["b1", "b2"]),
    ],
)
def test_controllers_hold_the_lock_or_else_a_few_brokers(cluster: Any, hosts: list[str]) -> None:
    assert operation.lock_hosts(cluster) == hosts


@pytest.mark.parametrize(
    ("age", "quiet", "dead"),
    [
        (QUIET_SECONDS - 1, None, False),
        (QUIET_SECONDS + 1, None, True),
        # Its record asks for a longer silence.
        (QUIET_SECONDS + 1, 900, False),
        (901, 900, True),
    ],
)
def test_a_holder_on_another_machine_is_dead_when_it_is_silent_for_too_long(
    age: float, quiet: float | None, dead: bool
) -> None:
    last = {"machine": "another", "pid": os.getpid(), "quiet_seconds": quiet, "age": age}
    assert operation.is_dead(last, all_read=True) is dead
    assert not operation.is_dead(last, all_read=False), "it may be at work on another host"


@pytest.mark.parametrize("age", [0, QUIET_SECONDS + 1])
def test_a_holder_on_this_machine_is_dead_when_its_process_is_gone(
    local_tmp: Path, age: float
) -> None:
    current = operation.current("x")
    assert not operation.is_dead({**current, "age": age}, all_read=True)
    assert operation.is_dead({**current, "pid": NO_PROCESS, "age": age}, all_read=False)


@pytest.mark.parametrize(("started", "dead"), [("same", False), ("other", True), ("", False)])
def test_a_holder_is_dead_when_its_number_is_that_of_another_process(
    local_tmp: Path, started: str, dead: bool
) -> None:
    """A record of before has no time; its process counts as alive."""
    current = operation.current("x")
    assert current["process_started"]
    times = {"same": current["process_started"], "other": str(int(current["process_started"]) - 1)}
    record = {**current, "process_started": times.get(started, ""), "age": QUIET_SECONDS + 1}
    assert operation.is_dead(record, all_read=True) is dead


def test_the_start_of_a_process_is_read_whatever_its_name_is(tmp_path: Path) -> None:
    program = tmp_path / "a) R 1 (b"
    program.symlink_to("/bin/sleep")
    process = subprocess.Popen([program, "60"])
    try:
        began, current = (int(operation._start_of(pid)) for pid in (process.pid, os.getpid()))
        assert began > current
        assert operation._start_of(NO_PROCESS) == ""
    finally:
        process.kill()
        process.wait()


def test_a_description_says_who_does_what_and_how_far_it_is(local_tmp: Path) -> None:
    record = {**operation.current("rolling_upgrade"), "done": ["k1"], "left": ["k2", "k3"]}
    text = operation.describe(record)
    for fragment in ("rolling_upgrade", record["who"], record["started"], "k1", "k2, k3"):
        assert fragment in text
    assert operation.describe({})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"inventory": ("inventories/a", "b.yml"), "subset": "k1:&x"}, ["-i inventories/a", "k1"]),
        ({"inventory": None, "subset": None}, []),
    ],
)
def test_the_command_that_goes_on_has_the_inventory_and_limit_of_this_run(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], words: list[str]
) -> None:
    monkeypatch.setattr(context, "CLIARGS", ImmutableDict(options))
    command = operation.resume_command("rolling_restart")
    assert command.startswith("ansible-playbook")
    assert command.endswith("playbooks/rolling_restart.yml")
    assert all(word in command for word in words)


LIVE = {"id": "x", "state": RUNNING, "what": "roll", "machine": "m", "age": 3.0, "quiet_seconds": 9}
ENDED = {**LIVE, "state": STOPPED}
SILENT = {**LIVE, "age": 99.0}


@pytest.mark.parametrize(
    ("records", "at_work"),
    [
        ({"c1": LIVE, "c2": LIVE, "c3": LIVE}, True),
        ({"c1": SILENT, "c2": SILENT, "c3": SILENT, "b1": LIVE}, True),
        ({"c1": SILENT, "c2": SILENT, "c3": SILENT}, False),
        # It has ended, and one host could not be reached then.
        ({"c1": LIVE, "c2": ENDED, "c3": ENDED}, False),
        ({"c1": LIVE, "c2": {}, "c3": {}}, False),
        # With --limit.
        ({"b1": LIVE}, True),
        ({"b1": {}}, False),
        ({"c1": SILENT}, False),
        ({}, False),
    ],
)
def test_who_works_on_a_cluster_shows_by_the_records_that_were_found(
    local_tmp: Path, records: dict[str, dict[str, Any]], at_work: bool
) -> None:
    message = operation.at_work(small.kafka(2, 3), records)
    assert bool(message) is at_work
    assert ("roll" in message) is at_work


FIVE = small.kafka(1, 5)


def held_by(*lost: str) -> dict[str, dict[str, Any]]:
    """What was found on the hosts of the lock: the record of another operation on some."""
    return {
        host: {"holder": LIVE if host in lost else {}, "previous_operation": LIVE}
        for host in operation.lock_hosts(FIVE)
    }


@pytest.mark.parametrize(("count", "lock"), [(2, "taken"), (3, "held"), (4, "held")])
def test_the_lock_is_taken_with_more_than_half_of_its_hosts(count: int, lock: str) -> None:
    hosts = operation.lock_hosts(FIVE)
    lock_state = operation.lock(FIVE, held_by(*hosts[:count]))
    assert lock_state["lock"] == lock
    records = {host: LIVE if host in hosts[:count] else {} for host in hosts}
    assert bool(operation.at_work(FIVE, records)) is (lock == "held")


def test_a_run_does_not_block_itself(local_tmp: Path) -> None:
    current = {**operation.current("x"), "age": 1.0}
    another, hosts = {**current, "id": "y"}, operation.lock_hosts(FIVE)
    assert operation.at_work(FIVE, dict.fromkeys(hosts, current)) == ""
    assert operation.at_work(FIVE, dict.fromkeys(hosts, another))


def test_a_process_is_asked_for_and_not_touched(
    local_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of another user answers that it is there by refusing."""
    sent: list[tuple[int, int]] = []

    def kill(pid: int, signal: int) -> None:
        sent.append((pid, signal))
        raise PermissionError

    monkeypatch.setattr(os, "kill", kill)
    current = {**operation.current("x"), "pid": 4711, "process_started": "", "age": 9999.0}
    assert not operation.is_dead(current, all_read=True)
    assert sent == [(4711, 0)]
    monkeypatch.setattr(os, "kill", lambda *_: None)
    assert operation.is_dead({**current, "pid": None}, all_read=True), "it says no process"


def test_tasks_that_change_the_record_at_the_same_time_lose_nothing(local_tmp: Path) -> None:
    names = [f"b{number}" for number in range(20)]
    operation.current("x")

    def finish(name: str) -> dict[str, Any]:
        return operation.change(lambda record: {"done": [*record["done"], name]})

    with ThreadPoolExecutor(max_workers=8) as pool:
        answers = list(pool.map(finish, names))
    assert sorted(operation.current("")["done"]) == sorted(names)
    assert all(name in answer["done"] for name, answer in zip(names, answers, strict=True))


def test_a_machine_is_more_than_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cloned machines share it, and so do the containers of one machine."""
    here = operation._machine()
    assert Path("/proc/sys/kernel/random/boot_id").read_text().strip() in here
    monkeypatch.setattr(Path, "readlink", lambda _: Path("pid:[1]"))
    assert operation._machine() != here
