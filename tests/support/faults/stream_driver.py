"""A stream from Kafka into a Delta table: its driver, and its state by its files.

The job is tests/support/services/jobs/stream.py. Its driver is a transient service, so that systemd
knows its processes and their exit codes; all that it writes is in one directory which the hosts
share.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.formats.values import property_text
from testinfra.host import Host

from apps.ledger.sink import Row
from tests.support.lab.topology import ROOT
from tests.support.services.spark import get
from tests.support.wait import wait_for

Report = dict[str, Any]

# The pattern spark-* lets a failed test show its journal.
UNIT = "spark-failover-stream"
CHECKPOINT = "checkpoint"
BATCH = 30
"""The most records that a batch takes."""
SECONDS = 60.0
"""Within which a stream goes on after a fault."""
UI_PORT = 4140
LIBRARIES = "/opt/millrace/spark/python/lib"
# RuntimeMaxSec ends it where a test did not.
START = (
    "systemctl reset-failed %s 2> /dev/null;"
    " systemd-run --quiet --unit=%s --uid=spark --gid=spark --working-directory=/"
    " --property=EnvironmentFile=/etc/spark/environment"
    " --property=KillMode=mixed --property=TimeoutStopSec=30 --property=RuntimeMaxSec=900"
    f" --setenv=PYTHONPATH={LIBRARIES}/pyspark.zip:{LIBRARIES}/py4j.zip"
    " /usr/bin/python3 %s/job.py %s"
)


def parsed(text: str) -> list[Report]:
    """The reports of a file, except lines that a driver's death cut off."""
    reports = []
    for line in text.splitlines():
        with suppress(ValueError):
            reports.append(json.loads(line))
    return reports


def newest(listing: str) -> int:
    """The newest batch in a listing of a checkpoint's `commits` or `offsets`, -1 for none."""
    return max((int(name) for name in listing.split() if name.isdigit()), default=-1)


def next_offsets(text: str, topic: str) -> dict[int, int]:
    """Partition to the next offset, as a file of a checkpoint's `offsets` has it.

    Raises:
        ValueError: the topic is not in it.

    """
    for source in parsed(text):
        if isinstance(source, dict) and topic in source:
            return {int(partition): offset for partition, offset in source[topic].items()}
    message = f"nothing of {topic}: {text}"
    raise ValueError(message)


@dataclass(frozen=True)
class Stream:
    """The driver on `host`, which answers at `address` with the `token`, and its `folder`."""

    host: Host
    address: str
    token: str
    folder: str
    kafka: Mapping[str, Any]
    """The client properties of a host."""
    topic: str

    def prepare(self) -> None:
        """Make an empty folder with the job, whatever an earlier run has left."""
        self.remove()
        self.host.check_output("install --directory --owner spark --group spark %s", self.folder)
        job = (ROOT / "tests/support/services/jobs/stream.py").read_text()
        self.host.check_output("printf %%s %s > %s/job.py", job, self.folder)

    def start(self, *checkpoints: str) -> None:
        """Start a driver that tries one checkpoint after the other; without any, see `rows`."""
        request = {
            "folder": self.folder,
            "kafka": {f"kafka.{key}": property_text(value) for key, value in self.kafka.items()},
            "topic": self.topic,
            "rows": BATCH,
            "port": UI_PORT,
            "checkpoints": checkpoints,
        }
        path = f"{self.folder}/asked.json"  # it may hold a password, which a command line shows
        self.host.check_output("install --mode=600 --owner=spark /dev/null %s", path)
        self.host.check_output("printf %%s %s > %s", json.dumps(request), path)
        self.host.check_output(START, UNIT, UNIT, self.folder, path)

    def stop(self) -> None:
        """End the driver as an operator does."""
        self.host.run("systemctl stop %s; systemctl reset-failed %s", UNIT, UNIT)

    def kill(self) -> None:
        """End it with all its processes at once."""
        self.host.check_output("systemctl kill --signal=KILL %s", UNIT)
        wait_for(lambda: not self.active, seconds=10, what="the death of the driver")

    def remove(self) -> None:
        """End it, and forget all that it wrote."""
        self.stop()
        self.host.run("rm -rf %s", self.folder)

    def state(self) -> dict[str, str]:
        """The driver's state by systemd."""
        shown = self.host.check_output(
            "systemctl show --property=ActiveState,Result,ExecMainStatus,MainPID %s", UNIT
        )
        return dict(line.split("=", 1) for line in shown.splitlines())

    @property
    def active(self) -> bool:
        return self.state()["ActiveState"] == "active"

    def reports(self) -> list[Report]:
        """Every step so far, of all drivers."""
        return parsed(self.host.run("cat %s/reports", self.folder).stdout)

    def wait(self, since: int, *, seconds: float = SECONDS, **fields: object) -> Report:
        """Wait for the first report with these fields after the first `since` reports."""

        def fits() -> Report | None:
            for report in self.reports()[since:]:
                if fields.items() <= report.items():
                    return report
            return None

        return wait_for(fits, seconds=seconds, what=f"a report of {fields}")

    @property
    def app(self) -> str:
        """The application that was the last to report."""
        return str(self.reports()[-1]["app"])

    @contextmanager
    def switched(self, name: str) -> Iterator[None]:
        """Let the job be `slow`, or `hold` it, during the block."""
        self.host.check_output("touch %s/%s", self.folder, name)
        try:
            yield
        finally:
            self.host.check_output("rm -f %s/%s", self.folder, name)

    def ask(self, resource: str) -> Any:
        """What Spark's driver reports of its application."""
        url = f"http://{self.address}:{UI_PORT}/api/v1/applications/{self.app}/{resource}"
        return get(url, self.token)

    def executors(self) -> list[dict[str, Any]]:
        """The executors that the driver has."""
        return [executor for executor in self.ask("executors") if executor["id"] != "driver"]

    def failed_tasks(self) -> int:
        """How many tasks the application has lost so far."""
        return sum(job["numFailedTasks"] for job in self.ask("jobs"))

    def newest(self, log: str) -> int:
        """The newest batch in the checkpoint's `commits` or `offsets`, -1 for none."""
        return newest(self.host.run("ls %s/%s/%s", self.folder, CHECKPOINT, log).stdout)

    def processed(self) -> dict[int, int]:
        """Partition to the offset after the last one of a committed batch."""
        batch = self.newest("commits")
        if batch < 0:
            return {}
        path = f"{self.folder}/{CHECKPOINT}/offsets/{batch}"
        return next_offsets(self.host.check_output("cat %s", path), self.topic)

    def cut(self, log: str) -> str:
        """Copy the checkpoint and cut the copy's newest file of `log` short; returns its name."""
        copy = f"{log}-cut"
        self.host.check_output(
            "cd %s && cp -a %s %s && truncate --size=-10 %s",
            self.folder,
            CHECKPOINT,
            copy,
            f"{copy}/{log}/{self.newest(log)}",
        )
        return copy

    def forget_commit(self) -> None:
        """Take the newest file, and its checksum, from the checkpoint's `commits`."""
        path, batch = f"{self.folder}/{CHECKPOINT}/commits", self.newest("commits")
        self.host.check_output("cd %s && rm %s && rm -f %s", path, str(batch), f".{batch}.crc")

    def versions(self) -> int:
        """How often the table was changed."""
        log = f"{self.folder}/table/_delta_log"
        return int(self.host.check_output("ls %s | grep -c 'json$'", log))

    def rows(self) -> list[Row]:
        """All of the table, as a driver without a checkpoint left has read it."""
        path = f"{self.folder}/rows.json"
        if not self.host.run("test -f %s", path).succeeded:
            self.start()
        wait_for(
            lambda: self.host.run("test -f %s", path).succeeded,
            seconds=SECONDS,
            what="the table's rows",
        )
        return [Row(*row) for row in json.loads(self.host.check_output("cat %s", path))]
