"""Whether jobs on Spark are healthy, and what the module spark_job_health finds on a host."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host.unit import State
from ansible_collections.millrace.streaming.plugins.module_utils.operations import job_health
from ansible_collections.millrace.streaming.plugins.module_utils.operations.job_health import (
    FoundJob,
)
from ansible_collections.millrace.streaming.plugins.modules import spark_job_health

from tests.unit.modules.fake_systemd import install

RUNNING = State("active", "running", file_state="enabled")
WAITING = State("inactive", file_state="disabled")
FAILED = State("failed", result="exit-code", file_state="disabled")
STREAM = FoundJob("clicks", RUNNING, age=30, since=30)
REPORT = FoundJob("report", WAITING, RUNNING, continuous=False, since=3600)


@pytest.mark.parametrize(
    "job",
    [
        STREAM,
        replace(STREAM, late_after=60),
        replace(STREAM, age=None, since=None, late_after=60),
        REPORT,
        replace(REPORT, service=State("activating", "start", file_state="disabled")),
        replace(REPORT, late_after=7200),
        FoundJob("by-hand", WAITING, continuous=False, late_after=1),
    ],
)
def test_a_healthy_job_has_no_problem(job: FoundJob) -> None:
    assert job_health.problems([job]) == []


@pytest.mark.parametrize(
    ("job", "fragments"),
    [
        (replace(STREAM, service=State("failed", file_state="enabled")), ("clicks", "failed")),
        (replace(STREAM, service=State("inactive", file_state="enabled")), ("inactive",)),
        (
            replace(STREAM, service=State("activating", "auto-restart", file_state="enabled")),
            ("again",),
        ),
        (replace(STREAM, service=State()), ("not deployed", "jobs.yml")),
        (replace(STREAM, late_after=20), ("micro-batch", "30 s", "20 s")),
        (replace(REPORT, timer=WAITING), ("timer",)),
        (replace(REPORT, service=FAILED), ("report", "exit-code", "spark-job-report")),
        (replace(REPORT, late_after=1800), ("no run", "3600 s")),
        (FoundJob("by-hand", FAILED, continuous=False), ("by-hand", "exit-code")),
    ],
)
def test_a_job_has_one_problem(job: FoundJob, fragments: tuple[str, ...]) -> None:
    (problem,) = job_health.problems([job])
    assert [fragment for fragment in fragments if fragment not in problem] == []


def test_the_age_of_a_checkpoint_is_shown() -> None:
    shown = job_health.facts([STREAM, replace(REPORT, late_after=1)])["jobs"]
    assert shown["clicks"]["checkpoint_age"] == STREAM.age
    assert (shown["clicks"]["late"], shown["report"]["late"]) == (False, True)


def commit(checkpoint: Path, name: str, seconds_ago: float) -> None:
    """Make a file as a micro-batch does."""
    path = checkpoint / "commits" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    os.utime(path, (time.time() - seconds_ago,) * 2)


def test_the_newest_commit_of_all_queries_counts(tmp_path: Path) -> None:
    assert spark_job_health.commit_age(str(tmp_path / "none")) is None
    commit(tmp_path / "windows", "0", 500)
    commit(tmp_path / "windows", "1", 300)
    commit(tmp_path / "dead-letter", "0", 400)
    age = spark_job_health.commit_age(str(tmp_path))
    assert age == pytest.approx(300, abs=10)
    commit(tmp_path, "7", 100)
    # What Hadoop writes beside it says nothing of a commit.
    commit(tmp_path, ".8.crc", 0)
    assert spark_job_health.commit_age(str(tmp_path)) == pytest.approx(100, abs=10)


def test_a_job_is_found_by_its_units(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    systemd = install(tmp_path / "systemd", monkeypatch)
    systemd.set("spark-job-a.service", "running", "enabled")
    job = {
        "name": "a",
        "unit": "spark-job-a",
        "timer": "",
        "continuous": True,
        "late_after": 60,
        "checkpoint": str(tmp_path),
    }
    commit(tmp_path, "0", 100)
    state = spark_job_health.found(job)
    assert state.service.running
    assert state.is_late
    systemd.set("spark-job-a.timer", "running")
    state = spark_job_health.found({**job, "timer": "spark-job-a.timer", "continuous": False})
    assert state.timer is not None
    assert state.timer.running
    assert not state.is_late
