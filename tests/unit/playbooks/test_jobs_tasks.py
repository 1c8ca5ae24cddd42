"""jobs.yml: what it removes, and that a job finds its user and its login when it starts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.desired import of_job
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.spark.jobs import Job

from tests.support.lab.topology import ROOT
from tests.unit.cluster.small import spark

SERVICE = "millrace.streaming.service"
PLAYS: list[dict[str, Any]] = yaml.safe_load((ROOT / "playbooks/jobs.yml").read_text())


def tasks() -> list[dict[str, Any]]:
    return [task for play in PLAYS for task in play.get("tasks", ())]


def position(text: str) -> int:
    """The place of the first task with a text."""
    return next(number for number, task in enumerate(tasks()) if text in str(task))


def test_a_job_starts_after_its_user_and_its_login_were_made() -> None:
    made = [position(text) for text in ("kafka_users", "logins", "spark_jobs_wanted")]
    assert made == sorted(made)


def test_nothing_is_removed_before_the_hosts_were_inspected() -> None:
    assert position("tasks_from': 'inspect") < position("'former_jobs'")


def test_modules_stay_until_the_jobs_work_without_them() -> None:
    """A job that does not work gets its previous files back, and may need them."""
    assert position("spark_jobs_wanted") < position("jobs_modules")


def test_the_units_that_it_finds_are_those_of_the_inventorys_jobs(tmp_path: Path) -> None:
    (find,) = [task["ansible.builtin.find"] for task in tasks() if "X-Millrace" in str(task)]
    (tmp_path / "a.py").touch()
    source = str(tmp_path / "a.py")
    job = {"name": "a", "source": source, "schedule": "daily"}
    host = spark(["m1"], {}, spark_jobs=[job]).spark["m1"]
    # Ansible compares the beginning of each line.
    marked = re.compile(f"^(?:{find['contains']})", re.M)
    names = {
        Path(path).name
        for listed_job in (host.drivers.jobs[0], Job("other", "a", source))
        for path, entry in of_job(host, listed_job)["files"].items()
        if Path(path).parent == Path(find["paths"]) and marked.search(entry.get("content", ""))
    }
    assert names == {"spark-job-a.service", "spark-job-a.timer"}
    patterns = [
        re.sub(r"{{.*?}}", ".*", pattern).replace(".service", r"\.service")
        for pattern in find["patterns"]
    ]
    assert all(any(re.fullmatch(pattern, name) for pattern in patterns) for name in names)
