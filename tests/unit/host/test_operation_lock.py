"""The record of an operation on a host, which is the lock of the cluster."""

from __future__ import annotations

import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host import operation_file


def record(name: str, state: str = operation_file.RUNNING, **fields: object) -> dict[str, Any]:
    return {"id": name, "state": state, **fields}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "millrace/operation.json"


def takes(path: Path, name: str, over: str = "") -> bool:
    """Take the lock as the module does; tell whether it was taken."""
    former = operation_file.take(path, record(name), over=over)
    held = operation_file.holder(former, name)
    return not held or held["id"] == over


def test_the_first_one_takes_the_lock_and_others_see_who_has_it(path: Path) -> None:
    assert takes(path, "first")
    former = operation_file.take(path, record("second"))
    assert operation_file.holder(former, "second")["id"] == "first"
    assert operation_file.read(path)["id"] == "first"


def test_an_operation_may_take_its_own_lock_again(path: Path) -> None:
    assert takes(path, "first")
    assert takes(path, "first")


@pytest.mark.parametrize("state", [operation_file.FINISHED, operation_file.STOPPED])
def test_an_operation_that_has_ended_leaves_the_lock_and_its_record(path: Path, state: str) -> None:
    assert takes(path, "first")
    operation_file.end(path, record("first", state, left=["k3"]))
    former = operation_file.take(path, record("second"))
    assert (former["id"], former["left"]) == ("first", ["k3"])
    assert operation_file.holder(former, "second") == {}
    assert operation_file.read(path)["id"] == "second"


def test_the_lock_of_a_holder_that_is_known_to_be_dead_is_taken_over(path: Path) -> None:
    assert takes(path, "dead")
    assert not takes(path, "second", over="somebody else")
    assert takes(path, "second", over="dead")
    assert operation_file.read(path)["id"] == "second"
    assert not takes(path, "third", over="dead"), "somebody else was faster"


def test_a_holder_that_was_silent_for_too_long_does_not_write_over_its_successor(
    path: Path,
) -> None:
    takes(path, "dead")
    takes(path, "second", over="dead")
    operation_file.update(path, record("dead", left=["k2"]))
    assert operation_file.read(path)["id"] == "second"
    operation_file.update(path, record("second", left=["k3"]))
    assert operation_file.read(path)["left"] == ["k3"]


def silent(path: Path, seconds: float) -> None:
    """Let the record be that old."""
    os.utime(path, (time.time() - seconds,) * 2)


def test_who_has_the_lock_writes_over_what_a_dead_operation_left_on_a_node(path: Path) -> None:
    """Only some hosts hold the lock; on the others a record is what somebody wrote last."""
    operation_file.write(path, record("dead"))
    silent(path, operation_file.QUIET_SECONDS + 60)
    operation_file.end(path, record("second", operation_file.STOPPED))
    assert operation_file.read(path)["id"] == "dead", "it may never have had the lock"
    operation_file.update(path, record("second"))
    assert operation_file.read(path)["id"] == "second"


@pytest.mark.parametrize("state", [operation_file.FINISHED, operation_file.STOPPED])
def test_the_end_of_an_operation_leaves_the_record_of_an_earlier_one(
    path: Path, state: str
) -> None:
    """A refused run never had the lock, and what an upgrade left to do is of more use."""
    operation_file.end(path, record("refused", operation_file.STOPPED))
    assert not path.exists()
    operation_file.write(path, record("earlier", state, left=["k3"]))
    operation_file.end(path, record("refused", operation_file.STOPPED))
    assert operation_file.read(path)["left"] == ["k3"]


def test_a_host_that_reboots_may_be_silent_for_as_long_as_its_operation_said(path: Path) -> None:
    operation_file.write(path, record("first", quiet_seconds=900))
    silent(path, 800)
    operation_file.update(path, record("second"))
    assert operation_file.read(path)["id"] == "first"


def test_of_many_at_once_one_takes_the_lock(path: Path) -> None:
    names = [f"operation-{number}" for number in range(16)]
    with ThreadPoolExecutor(len(names)) as pool:
        taken = dict(zip(names, pool.map(lambda name: takes(path, name), names), strict=True))
    (winner,) = (name for name, won in taken.items() if won)
    assert operation_file.read(path)["id"] == winner


def test_a_record_has_its_age(path: Path) -> None:
    operation_file.write(path, record("first"))
    assert operation_file.read(path)["age"] < 60
    silent(path, 300)
    assert operation_file.read(path)["age"] == pytest.approx(300, abs=60)
    silent(path, -300)
    assert operation_file.read(path)["age"] == 0, "a clock that was set back"


def test_everybody_may_read_who_does_what(path: Path) -> None:
    operation_file.write(path, record("first", who="me"))
    assert path.stat().st_mode & 0o777 == 0o644
    assert json.loads(path.read_text())["who"] == "me"


@pytest.mark.parametrize("text", ["", "{", "[]", "3"])
def test_what_is_no_record_holds_no_lock(path: Path, text: str) -> None:
    path.parent.mkdir()
    path.write_text(text)
    assert operation_file.read(path) == {}
    assert takes(path, "first")


def test_without_a_file_nobody_has_the_lock(path: Path) -> None:
    assert operation_file.read(path) == {}
    assert operation_file.holder({}, "first") == {}


def test_a_holder_writes_its_record_anew_but_not_over_another_ones(path: Path) -> None:
    assert operation_file.update(path, record("first", node="k1"))
    assert operation_file.update(path, record("first", node="k2"))
    assert operation_file.read(path)["node"] == "k2"
    assert not operation_file.update(path, record("second"))
    assert operation_file.read(path)["id"] == "first"


def test_the_record_of_a_dead_one_ends_where_it_has_worked_without_the_lock(path: Path) -> None:
    """Else whoever comes after its successor, which need not work here, is refused."""
    operation_file.update(path, {**record("dead", left=["k2"]), "quiet_seconds": 3600})
    assert operation_file.close(path, "another")["id"] == "dead"
    assert not operation_file.update(path, record("third"))
    assert operation_file.close(path, "dead")["state"] == operation_file.RUNNING
    ended = operation_file.read(path)
    assert (ended["state"], ended["left"]) == (operation_file.STOPPED, ["k2"])
    assert operation_file.update(path, record("third"))


def test_the_record_of_a_dead_one_is_replaced_where_it_has_worked_without_the_lock(
    path: Path,
) -> None:
    operation_file.update(path, record("dead"))
    second = {**record("second"), "took_over": "dead"}
    assert operation_file.update(path, second)
    assert not operation_file.update(path, {**record("third"), "took_over": "dead"})


@pytest.mark.parametrize(
    ("quiet", "age", "replaced"), [(None, 119, False), (None, 122, True), (5, 7, True)]
)
def test_the_record_of_a_silent_one_is_replaced(
    path: Path, quiet: int | None, age: int, replaced: bool
) -> None:
    operation_file.update(path, record("dead") | ({"quiet_seconds": quiet} if quiet else {}))
    written = time.time() - age
    os.utime(path, (written, written))
    assert operation_file.update(path, record("second")) is replaced
    assert operation_file.read(path)["id"] == ("second" if replaced else "dead")


@pytest.mark.parametrize(
    ("lock_record", "silent"),
    [
        ({"age": 120.0}, False),
        ({"age": 120.1}, True),
        ({"age": 5.0, "quiet_seconds": 5}, False),
        ({"age": 5.1, "quiet_seconds": 5}, True),
        ({"quiet_seconds": 0.5}, False),  # just written
    ],
)
def test_a_record_is_silent_after_its_time_only(lock_record: dict[str, Any], silent: bool) -> None:
    assert operation_file.is_silent(lock_record) is silent


def test_the_directory_of_the_record_is_made_and_open_to_readers(tmp_path: Path) -> None:
    path = tmp_path / "not/there/operation.json"
    assert operation_file.update(path, record("first"))
    assert path.parent.stat().st_mode & 0o055 == 0o055
    assert path.stat().st_mode & 0o044 == 0o044


def test_an_operation_that_has_begun_since_a_run_looked_stops_it(path: Path) -> None:
    operation_file.refuse_begun_since(path, [])
    operation_file.take(path, record("dead", what="rolling_restart"))
    operation_file.refuse_begun_since(path, ["own", "dead"])
    operation_file.refuse_begun_since(path, None)
    assert takes(path, "roll", over="dead")
    with pytest.raises(operation_file.LockedError, match="the lock of the cluster"):
        operation_file.refuse_begun_since(path, ["own", "dead"])
    silent(path, operation_file.QUIET_SECONDS + 10)
    operation_file.refuse_begun_since(path, ["own", "dead"])
    operation_file.write(path, record("roll", operation_file.FINISHED))
    operation_file.refuse_begun_since(path, [])
