"""Jobs as docs/develop/jobs.md describes them: the template is deployed, updated and removed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients
from testinfra.host import Host

from flights.kafka_log import Reader
from millrace_job import LATE, REASON, SOURCE_OFFSET, SOURCE_PARTITION
from tests.support.clients import guide
from tests.support.faults.target import skip_unless_full
from tests.support.lab.change import Plays
from tests.support.lab.topology import ROOT, Topology
from tests.support.recap import changed
from tests.support.services.idle import application_of
from tests.support.wait import scaled, wait_for

CLICK = {"user": "ada", "page": "/", "at": "2026-01-05T10:30:00Z"}
KEY = "/|2026-01-05T10:00:00Z"
REQUIREMENTS = """tabulate==0.9.0 \\
    --hash=sha256:024ca478df22e9340661486f85298cff5f6dcdba14f3813e8830015b9ed1948f
"""
BROKEN = "raise SystemExit('no such report')\n"


@dataclass
class Deployed:
    """The job of the page on a cluster, with a copy of the template that tests may change."""

    plays: Plays
    topology: Topology
    host: Host
    package: Path
    description: dict[str, Any]

    @property
    def unit(self) -> str:
        return f"spark-job-{self.description['name']}"

    def jobs(self, *descriptions: dict[str, Any], only: str = "") -> tuple[int, str]:
        """Run jobs.yml with the job, or with what is given instead."""
        variables = {"spark_jobs": list(descriptions) or [self.description]}
        named = ["-e", f"job={only}"] if only else []
        return self.plays.run("jobs", "-e", json.dumps(variables), *named)

    def show(self, property: str) -> str:
        return self.host.check_output("systemctl show --value -p %s %s", property, self.unit)

    def send(self, values: Sequence[str]) -> None:
        with closing(clients.producer(self.topology.connection, acks="all")) as producer:
            for value in values:
                producer.send("clicks", value.encode())
            producer.flush()

    def read(self, topic: str) -> list[Any]:
        with closing(Reader(topic, self.topology.connection)) as reader:
            return list(reader.read(time.monotonic() + scaled(30)))

    def wait_for_clicks(self, count: int) -> None:
        """Wait until the newest result is that number."""
        wait_for(
            lambda: count in self.counts()[-1:], seconds=120, what=f"{count} clicks in the result"
        )

    def counts(self) -> list[int]:
        """All results of the page and hour, in the order in which they were written."""
        values = [
            record.value for record in self.read("clicks.hourly") if record.key.decode() == KEY
        ]
        return [json.loads(value)["clicks"] for value in values]


@pytest.fixture(scope="module")
def job(
    topology: Topology,
    hosts: dict[str, Host],
    plays: Plays,
    admin: Any,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Deployed]:
    """The job of the page, deployed; what is left of it is removed, whatever happens."""
    if not topology.group("spark_masters"):
        pytest.skip("no Spark here")
    master = topology.group("spark_masters")[0]
    package = tmp_path_factory.mktemp("jobs")
    shutil.copytree(ROOT / "spark/template", package, dirs_exist_ok=True)
    [text] = guide.blocks("A new job", "yaml", guide.JOBS)
    text = text.replace("{{ inventory_dir }}/.jobs", str(package))
    shared = topology.cluster.spark[master].shared_dir
    [description] = yaml.safe_load(text.replace("/srv/spark", shared))["spark_jobs"]
    job = Deployed(plays, topology, hosts[master], package, description)
    replicas = min(3, len(topology.brokers))
    layout = {"num_partitions": 2, "replication_factor": replicas}
    admin.create_topics(dict.fromkeys(description["topics"], layout), wait_for_metadata=True)
    try:
        yield job
    finally:
        code, output = job.jobs({**description, "state": "absent"})
        admin.delete_topics(description["topics"])
        hosts[master].run("rm -rf %s", f"{shared}/{description['name']}")
    assert code == 0, output[-6000:]
    assert hosts[master].run("systemctl cat %s", job.unit).rc != 0
    command = "ls -d /etc/spark/*clicks* /opt/millrace/jobs/clicks* /opt/millrace/python-packages-*"
    assert hosts[master].run(command).stdout == ""


def test_the_job_of_the_page_counts_and_keeps_what_it_refuses(job: Deployed) -> None:
    job.send([json.dumps(CLICK), "click", json.dumps(CLICK)])
    code, output = job.jobs()
    assert code == 0, output[-6000:]
    job.wait_for_clicks(2)
    letters = wait_for(lambda: job.read("clicks.dead-letter"), seconds=60, what="the dead letter")
    assert {record.value for record in letters} == {b"click"}
    assert all(REASON in record.headers for record in letters)


def test_a_second_run_changes_and_restarts_nothing(job: Deployed) -> None:
    before = job.show("MainPID")
    code, output = job.jobs()
    assert code == 0, output[-6000:]
    assert changed(output) == 0, output[-6000:]
    assert job.show("MainPID") == before


def test_a_stream_without_records_costs_little(
    job: Deployed, hosts: dict[str, Host], facts: dict[str, Any]
) -> None:
    """Its driver and its executors together."""
    skip_unless_full()
    name = job.description["name"]
    application = application_of(job.topology, hosts, job.unit, name)
    facts.setdefault("idle", {})[name] = application.wait_until_cheap()


def test_an_update_continues_from_the_checkpoint(job: Deployed) -> None:
    """The former driver ends between two micro-batches, and no click is counted twice.

    The new version needs a package that Python does not have.
    """
    before = job.show("MainPID")
    (job.package / "requirements.txt").write_text(REQUIREMENTS)
    job.description["requirements"] = str(job.package / "requirements.txt")
    with (job.package / "clicks/__init__.py").open("a") as file:
        file.write("import tabulate\n")
    code, output = job.jobs(only="clicks")
    assert code == 0, output[-6000:]
    assert job.show("MainPID") not in {before, "0"}
    assert job.show("NRestarts") == "0"
    job.send([json.dumps(CLICK)])
    job.wait_for_clicks(3)
    assert job.counts() == sorted(set(job.counts()))


def test_an_update_that_does_not_work_is_taken_back(job: Deployed) -> None:
    """The former program runs on, and says how many clicks there are."""
    skip_unless_full()
    program = job.package / "clicks/stream.py"
    former = program.read_text()
    program.write_text(former.replace('default="clicks"', 'default="not-granted"'))
    try:
        code, output = job.jobs()
        assert code != 0
        assert "TopicAuthorizationException" in output
    finally:
        program.write_text(former)
    job.send([json.dumps(CLICK)])
    job.wait_for_clicks(4)
    code, output = job.jobs()
    assert code == 0, output[-6000:]
    assert changed(output) == 0, output[-6000:]


def test_a_new_version_reads_the_history_and_is_compared(job: Deployed, admin: Any) -> None:
    """By the commands of the page; a difference is named."""
    skip_unless_full()
    text = guide.blocks("A new version for all of the history", "yaml", guide.JOBS)[0]
    text = text.replace("{{ inventory_dir }}/.jobs-2", str(job.package))
    shared = job.topology.cluster.spark[job.topology.group("spark_masters")[0]].shared_dir
    new = yaml.safe_load(text.replace("/srv/spark", shared))["spark_jobs"][1]
    new["requirements"] = job.description["requirements"]
    topics = sorted({*new["topics"]} - {*job.description["topics"]})
    layout = {"num_partitions": 1, "replication_factor": min(3, len(job.topology.brokers))}
    admin.create_topics(dict.fromkeys(topics, layout), wait_for_metadata=True)
    clients_yml, compare = guide.commands("A new version for all of the history", guide.JOBS)
    directory = job.package / "admin"
    try:
        code, output = job.jobs(job.description, new)
        assert code == 0, output[-6000:]
        assert "-e user=admin" in clients_yml
        job.plays.succeed("clients", "-e", "user=admin", "-e", f"path={directory}")
        command = compare.replace("build/clients/admin", str(directory))
        command = command.replace(" python ", f" {sys.executable} ")

        def compared() -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                ["/bin/sh", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False
            )

        done = compared()
        assert done.returncode == 0, done.stdout + done.stderr
        with closing(clients.producer(job.topology.connection, acks="all")) as producer:
            value = json.dumps({"clicks": 99}).encode()
            producer.send("clicks-2.hourly", value, key=KEY.encode())
            producer.flush()
        command += " --timeout 5"
        done = compared()
        assert done.returncode == 1, done.stdout + done.stderr
        assert KEY in done.stdout
        assert "99" in done.stdout
    finally:
        job.jobs(job.description, {**new, "state": "absent"})
        admin.delete_topics(topics)
        job.host.run("rm -rf %s", f"{shared}/clicks-2")


def test_a_click_that_comes_too_late_is_kept_with_the_reason(job: Deployed) -> None:
    """Each click is counted or kept, and none is both; the new hour closes the former one."""
    skip_unless_full()
    before = job.counts()[-1]
    job.send([json.dumps({**CLICK, "at": "2026-01-05T13:00:00Z"})])
    sent = 0

    def kept() -> set[tuple[bytes, bytes]]:
        letters = [record.headers for record in job.read("clicks.dead-letter")]
        late = [headers for headers in letters if headers[REASON] == LATE.encode()]
        return {(headers[SOURCE_PARTITION], headers[SOURCE_OFFSET]) for headers in late}

    def sent_and_kept() -> bool:
        nonlocal sent
        job.send([json.dumps(CLICK)])
        sent += 1
        return bool(kept())

    wait_for(sent_and_kept, seconds=120, what="a late click in the dead letters")
    wait_for(
        lambda: job.counts()[-1] - before + len(kept()) == sent,
        seconds=120,
        what="each click in the result or in the dead letters",
    )


def test_a_job_that_fails_says_why(job: Deployed) -> None:
    skip_unless_full()
    report = job.package / "report.py"
    report.write_text(BROKEN)
    report_job = {"name": "report", "source": str(report), "schedule": "once"}
    code, output = job.jobs(job.description, report_job, only="report")
    assert code != 0
    assert "no such report" in output
    code, output = job.plays.run(
        "health", "-e", json.dumps({"spark_jobs": [job.description, report_job]})
    )
    assert code != 0
    assert "report" in output
    report.write_text("")
    code, output = job.jobs(job.description, report_job, only="report")
    assert code == 0, output[-6000:]
    code, output = job.jobs()  # which removes the report
    assert code == 0, output[-6000:]
    assert job.host.run("systemctl cat spark-job-report").rc != 0
