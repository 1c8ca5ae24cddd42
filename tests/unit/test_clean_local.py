"""What killed processes of Spark leave is removed, and nothing that a running one may use."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.lab.topology import ROOT
from tests.support.wait import wait_for

LONG_AGO = time.time() - 30 * 24 * 3600


@pytest.fixture(scope="module")
def program() -> ModuleType:
    """The program as it is on a host."""
    path = ROOT / "roles/spark/files/clean_local.py"
    spec = importlib.util.spec_from_file_location("clean_local", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["clean_local"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def local(tmp_path: Path) -> Path:
    """The directory on a host: a worker with an application, and two jobs."""
    for name in (
        "spark/spark-1/executor-1/blockmgr-1",
        "spark/spark-1/executor-1/blockmgr-2",
        "spark-job-flights/blockmgr-3",
        "spark-job-flights/spark-3/userFiles",
        "spark-job-other/blockmgr-4",
    ):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "block").write_text("x", encoding="utf-8")
    return tmp_path


def age(*paths: Path) -> None:
    for path in paths:
        os.utime(path, (LONG_AGO, LONG_AGO))


def names(paths: Iterator[Path], local: Path) -> set[str]:
    return {str(path.relative_to(local)) for path in paths}


def test_a_driver_that_was_killed_leaves_nothing(program: ModuleType, local: Path) -> None:
    old = [local / "spark-job-flights/blockmgr-3", local / "spark-job-flights/spark-3"]
    age(*old)
    successor = program.Process(time.time() - 7200, frozenset([str(local / "spark-job-flights")]))
    removable = names(program.leftovers(local, [successor], time.time()), local)
    assert removable == {"spark-job-flights/blockmgr-3", "spark-job-flights/spark-3"}


def test_a_driver_that_runs_for_a_month_keeps_its_blocks(program: ModuleType, local: Path) -> None:
    age(local / "spark-job-flights/blockmgr-3", local / "spark-job-other/blockmgr-4")
    running = program.Process(LONG_AGO - 5, frozenset([str(local / "spark-job-flights")]))
    removable = names(program.leftovers(local, [running], time.time()), local)
    assert removable == {"spark-job-other/blockmgr-4"}


def test_blocks_of_a_killed_executor_of_a_stream(program: ModuleType, local: Path) -> None:
    shared = local / "spark/spark-1/executor-1"
    age(shared / "blockmgr-1", local / "spark/spark-1")
    worker = program.Process(LONG_AGO - 5, frozenset([str(local / "spark")]))
    executor = program.Process(LONG_AGO + 60, executor=frozenset([str(shared)]))
    removable = names(program.leftovers(local, [worker, executor], time.time()), local)
    assert removable == {"spark/spark-1/executor-1/blockmgr-1"}


def test_a_process_that_started_before_units_had_directories(
    program: ModuleType, local: Path
) -> None:
    age(*local.glob("*/*"))
    running = program.Process(LONG_AGO - 5, frozenset([str(local)]))
    removable = names(program.leftovers(local, [running], time.time()), local)
    assert not any(name.startswith("spark-job") for name in removable)


def test_what_is_new_stays_without_any_process(program: ModuleType, local: Path) -> None:
    assert names(program.leftovers(local, [], time.time()), local) == set()


def test_links_are_not_followed(
    program: ModuleType, local: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    victim = tmp_path_factory.mktemp("victim")
    (victim / "spark-9").mkdir()
    age(victim / "spark-9")
    (local / "spark-job-link").symlink_to(victim)
    assert names(program.leftovers(local, [], time.time()), local) == set()


def test_what_is_no_directory_of_executors_does_not_end_the_rest(
    program: ModuleType, local: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A file with the name of one, and a link to what another account may have."""
    victim = tmp_path_factory.mktemp("victim")
    (victim / "executor-1/precious").mkdir(parents=True)
    age(victim / "executor-1/precious")
    (local / "spark/spark-2").mkdir()
    (local / "spark/spark-2/executor-1").touch()
    (local / "spark/spark-3").symlink_to(victim)
    (local / "spark/spark-4").mkdir()
    (local / "spark/spark-4/executor-1").symlink_to(victim / "executor-1")
    remaining = local / "spark/spark-1/executor-1/blockmgr-1"
    age(remaining)
    assert names(program.leftovers(local, [], time.time()), local) == {
        str(remaining.relative_to(local))
    }


def test_a_directory_that_cannot_be_read_does_not_end_the_rest(
    program: ModuleType, local: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remaining = local / "spark-job-flights/blockmgr-3"
    age(remaining)
    real = Path.iterdir

    def iterdir(path: Path) -> Iterator[Path]:
        if path == local / "spark/spark-1/executor-1":
            raise PermissionError(path)
        return real(path)

    monkeypatch.setattr(Path, "iterdir", iterdir)
    assert remaining in [*program.leftovers(local, [], time.time())]


def test_a_real_process_and_its_predecessor(program: ModuleType, local: Path) -> None:
    """The program reads what runs from /proc, and removes what only a predecessor had made."""
    flights = local / "spark-job-flights"
    age(*flights.iterdir(), local / "spark-job-other/blockmgr-4")
    environment = {**os.environ, "SPARK_LOCAL_DIRS": str(flights)}
    with subprocess.Popen(["/bin/cat"], env=environment, stdin=subprocess.PIPE) as process:
        named = frozenset([str(flights)])
        wait_for(
            lambda: [process for process in program.processes() if process.local == named] or None,
            seconds=10,
            what="the process in /proc",
        )
        (running,) = (process for process in program.processes() if process.local == named)
        assert abs(running.started - time.time()) < 60
        own_blocks = flights / "blockmgr-of-this-process"
        own_blocks.mkdir()
        program.main([str(local), "0"])
        process.terminate()
    assert [path.name for path in flights.iterdir()] == [own_blocks.name]
    assert not (local / "spark-job-other/blockmgr-4").exists()
