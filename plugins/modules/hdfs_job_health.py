#!/usr/bin/python
"""Ansible module: whether jobs on Spark with checkpoints in HDFS are late."""

from __future__ import annotations

import json
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError

from ..module_utils.host import rest
from ..module_utils.operations import health_check, job_health

DOCUMENTATION = r"""
module: hdfs_job_health
short_description: Whether the jobs of spark_jobs with checkpoints in HDFS are late
extends_documentation_fragment: [millrace.streaming.health, millrace.streaming.check_mode]
description:
  - Queries the NameNode on its own host, by WebHDFS, for the time at which C(commits) in the checkpoint
    of each job that runs all the time was last changed. With C(late_after) a job may not be late. Whether it
    runs is what M(millrace.streaming.spark_job_health) checks.
"""

REQUEST_SECONDS = 5
NOT_FOUND = 404

Ask = Callable[[str, str], Mapping[str, Any]]


def asker(namenode: str, user: str) -> Ask:
    """Return what asks the NameNode at `host:port` as a user: for a path and an operation."""
    opener = rest.opener()

    def ask(path: str, operation: str) -> Mapping[str, Any]:
        query = urllib.parse.urlencode({"op": operation, "user.name": user})
        url = f"http://{namenode}/webhdfs/v1{urllib.parse.quote(path)}?{query}"
        try:
            with opener.open(url, timeout=REQUEST_SECONDS) as response:
                status: Mapping[str, Any] = json.load(response)
                return status
        except HTTPError as error:
            if error.code != NOT_FOUND:
                raise
            return {}

    return ask


def commit_age(ask: Ask, checkpoint: str) -> float | None:
    """Return how long ago a micro-batch was committed, or its query began; None before that.

    Raises:
        OSError, HTTPException: the NameNode does not answer, or is in standby.
        ValueError, LookupError, TypeError: it answers as none does.

    """
    newest = max(_commits(ask, checkpoint), default=None)
    return None if newest is None else max(0.0, time.time() - newest)


def _commits(ask: Ask, checkpoint: str) -> Iterator[float]:
    """Yield when the commits of a checkpoint, or of those in it, were written.

    A query makes their directory when it begins.
    """
    listed = ask(checkpoint, "LISTSTATUS")
    children = listed["FileStatuses"]["FileStatus"] if listed else ()
    folders = [child["pathSuffix"] for child in children if child["type"] == "DIRECTORY"]
    for name in [""] if "commits" in folders else [f"/{folder}" for folder in folders]:
        status = ask(f"{checkpoint}{name}/commits", "GETFILESTATUS")
        if status:
            yield status["FileStatus"]["modificationTime"] / 1000


def main() -> None:
    """Run the module."""
    module = health_check.module(
        {
            "namenode": {"type": "str", "required": True},
            "user": {"type": "str", "required": True},
            "jobs": {"type": "dict", "required": True},
        }
    )
    jobs, namenode = module.params["jobs"], module.params["namenode"]
    ask = asker(namenode, module.params["user"])

    def check() -> tuple[dict[str, Any], list[str]]:
        try:
            ages = {name: commit_age(ask, job["checkpoint"]) for name, job in jobs.items()}
        except (OSError, HTTPException, ValueError, LookupError, TypeError) as error:
            why = f"{error}; see journalctl -u hdfs-namenode"
            return {}, [f"the NameNode at {namenode} of its host does not answer: {why}"]
        limits = {name: job["late_after"] for name, job in jobs.items()}
        wrong = job_health.late_streams(ages, limits)
        shown = {
            name: {"checkpoint_age": None if age is None else round(age), "late": name in wrong}
            for name, age in ages.items()
        }
        return {"jobs": shown}, list(wrong.values())

    health_check.run(module, "jobs are late", check)


if __name__ == "__main__":
    main()
