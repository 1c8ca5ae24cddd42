"""The module hdfs_job_health: which jobs are late by their commits in HDFS."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import pytest

from tests.unit.in_process import call_module
from tests.unit.webhdfs import namenode


def asked(address: str, jobs: Mapping[str, tuple[str, int]]) -> dict[str, Any]:
    limits = {
        name: {"checkpoint": path, "late_after": limit} for name, (path, limit) in jobs.items()
    }
    params = {"namenode": address, "user": "hdfs", "jobs": limits, "fail": False}
    return call_module("hdfs_job_health", params)


def test_a_job_is_late_by_its_newest_commit() -> None:
    now = time.time()
    folders = {
        "/jobs/one/commits": now - 500,
        "/jobs/two/a/commits": now - 500,
        "/jobs/two/b b/commits": now - 20,
        "/jobs/two/files": now,
    }
    jobs = {"one": ("/jobs/one", 60), "two": ("/jobs/two", 60), "new": ("/jobs/new", 60)}
    with namenode(folders) as (address, users):
        result = asked(address, jobs)
        patient = asked(address, {"one": ("/jobs/one", 0), "two": ("/jobs/two", 600)})
    assert users == {"hdfs"}
    assert {name: job["late"] for name, job in result["jobs"].items()} == {
        "one": True,
        "two": False,
        "new": False,
    }
    (problem,) = result["problems"]
    assert "spark-job-one" in problem
    assert result["jobs"]["two"]["checkpoint_age"] == pytest.approx(20, abs=10)
    assert result["jobs"]["new"]["checkpoint_age"] is None
    assert patient["healthy"]


def test_a_namenode_that_does_not_answer_is_a_problem() -> None:
    with namenode({}) as (address, _):
        pass
    result = asked(address, {"one": ("/jobs/one", 60)})
    (problem,) = result["problems"]
    assert address in problem
    assert asked(address, {})["healthy"], "without jobs nobody is asked"
