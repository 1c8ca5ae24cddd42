#!/usr/bin/python
"""Ansible module: whether the jobs on Spark are healthy."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..module_utils.host.unit import Unit
from ..module_utils.operations import health_check, job_health
from ..module_utils.operations.job_health import FoundJob

DOCUMENTATION = r"""
module: spark_job_health
short_description: Whether the jobs of spark_jobs are healthy
extends_documentation_fragment: [millrace.streaming.health, millrace.streaming.check_mode]
description:
  - Asks systemd on the host with the drivers about each job of the inventory, and reads the times
    of the newest files in C(commits) of its checkpoint. A service must run, a timer too, and no
    last run may have failed. With C(late_after) a job may not be late.
"""

COMMITS = ("commits/*", "*/commits/*")
"""Of one query, or of several below one directory."""


def commit_age(checkpoint: str) -> float | None:
    """Return how long ago a micro-batch of a checkpoint was committed, None if there is none."""
    times = []
    for pattern in COMMITS:
        for path in Path(checkpoint).glob(pattern):
            # A stream removes old ones meanwhile.
            with contextlib.suppress(OSError):
                if not path.name.startswith("."):
                    times.append(path.stat().st_mtime)
    return max(0.0, time.time() - max(times)) if times else None


def since_last(moments: Iterable[float]) -> float | None:
    """Return the seconds since the last of some moments of the monotonic clock, 0 for none."""
    last = max(moments)
    return time.clock_gettime(time.CLOCK_MONOTONIC) - last if last else None


def found(job: Mapping[str, Any]) -> FoundJob:
    """Return a job as it is now."""
    service = Unit(f"{job['unit']}.service").state()
    timer = Unit(job["timer"]).state() if job["timer"] else None
    age = commit_age(job["checkpoint"])
    if job["continuous"]:
        since = since_last([service.active_at]) if age is None else age
    else:
        since = since_last([service.inactive_at, timer.active_at]) if timer else None
    return FoundJob(
        job["name"],
        service,
        timer,
        continuous=job["continuous"],
        late_after=job["late_after"],
        age=age,
        since=since,
    )


def main() -> None:
    """Run the module."""
    job = {
        "name": {"type": "str", "required": True},
        "unit": {"type": "str", "required": True},
        "timer": {"type": "str", "default": ""},
        "continuous": {"type": "bool", "required": True},
        "late_after": {"type": "float", "default": 0},
        "checkpoint": {"type": "str", "default": ""},
    }
    module = health_check.module(
        {
            "jobs": {"type": "list", "elements": "dict", "required": True, "options": job},
        }
    )

    def check() -> tuple[dict[str, Any], list[str]]:
        jobs = [found(job) for job in module.params["jobs"]]
        return job_health.facts(jobs), job_health.problems(jobs)

    try:
        health_check.run(module, "jobs are not healthy", check)
    except OSError as error:
        module.fail_json(msg=str(error))


if __name__ == "__main__":
    main()
