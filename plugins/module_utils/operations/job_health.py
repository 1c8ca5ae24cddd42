"""Whether the jobs on Spark are healthy, by what systemd and their checkpoints show.

Pure: `problems` and `facts` judge what the module has found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..host.unit import State

_NO_COMMIT = "committed no micro-batch"


@dataclass(frozen=True)
class FoundJob:
    """A job as it is now: its service, its timer if it has one, and what is expected of it.

    `continuous` says whether it runs all the time. `late_after` are the seconds after which it is
    late, 0 for never; `age` are those since the last commit of a micro-batch in its checkpoint,
    None without any, `since` those since it last made progress: by that commit or its start, or by
    the end of a run or the start of its timer.
    """

    name: str
    service: State
    timer: State | None = None
    continuous: bool = True
    late_after: float = 0
    age: float | None = None
    since: float | None = None

    @property
    def is_late(self) -> bool:
        """Whether it should have made progress by now."""
        return bool(self.late_after and self.since is not None and self.since > self.late_after)


def problems(jobs: Iterable[FoundJob]) -> list[str]:
    """Return everything that is wrong: jobs that failed, do not run, or are late."""
    return [text for job in jobs for text in _of_job(job)]


def _of_job(job: FoundJob) -> list[str]:
    journal = _journal(job.name)
    service = job.service
    if not service.file_state:
        return [f"job {job.name} is not deployed: run jobs.yml"]
    if job.timer is not None and not job.timer.running:
        return [f"job {job.name} has no running timer: run jobs.yml"]
    if job.continuous and not service.running:
        state = "starts again and again" if service.active == "activating" else service.active
        return [f"job {job.name} {'is ' if state == service.active else ''}{state}: {journal}"]
    if service.active == "failed":
        return [f"the last run of job {job.name} failed ({service.result}): {journal}"]
    if not job.is_late:
        return []
    missing = _NO_COMMIT if job.continuous else "ended no run"
    return [_late(job.name, missing, job.since or 0, job.late_after)]


def _late(name: str, missing: str, since: float, longest: float) -> str:
    return (
        f"job {name} has {missing} for {since:.0f} s, at most {longest:.0f} s are expected: "
        f"{_journal(name)}"
    )


def _journal(name: str) -> str:
    return f"see its journal (spark-job-{name})"


def late_streams(ages: Mapping[str, float | None], limits: Mapping[str, float]) -> dict[str, str]:
    """Return job -> what is wrong, of those whose last commit is older than their limit.

    Both are seconds by job; a limit of 0 is none, and an age of None is no commit.
    """
    return {
        name: _late(name, _NO_COMMIT, age, limits[name])
        for name, age in ages.items()
        if age is not None and limits[name] and age > limits[name]
    }


def facts(jobs: Iterable[FoundJob]) -> dict[str, Any]:
    """Return what there is, as plain data: the state of each job."""
    return {
        "jobs": {
            job.name: {
                "state": job.service.active,
                "restarts": job.service.restarts,
                "late": job.is_late,
                "checkpoint_age": None if job.age is None else round(job.age),
            }
            for job in jobs
        }
    }
