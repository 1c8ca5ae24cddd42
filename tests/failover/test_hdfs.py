"""HDFS under a stream from Kafka: DataNodes and the NameNode are killed, and no record is lost."""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from testinfra.host import Host

from tests.support.clients import guide
from tests.support.clients.sender import Sender
from tests.support.faults.target import skip_unless_full
from tests.support.lab.change import Plays
from tests.support.lab.topology import ROOT, Topology
from tests.support.services.spark import DRIVER
from tests.support.wait import wait_for

PAGE = ROOT / "docs/operate/hdfs.md"
JOB = "archive"
CLIENT = f"/etc/spark/job-{JOB}-kafka.properties"


@dataclass(frozen=True)
class Archive:
    """A topic that records are sent to all the time, and the job that keeps them in HDFS."""

    topic: str
    output: str
    master: Host
    sender: Sender
    job: dict[str, Any]

    def batches(self) -> int:
        """How many micro-batches are done, by the newest commit; 0 if it cannot be read."""
        listing = "runuser -u spark -- hdfs dfs -ls %s"
        lines = self.master.run(listing, f"{self.output}.checkpoint/commits").stdout.splitlines()
        names = [line.rpartition("/")[2] for line in lines]
        return max((int(name) + 1 for name in names if name.isdigit()), default=0)

    def goes_on(self) -> None:
        """Wait until two more micro-batches are done."""
        goal = wait_for(self.batches, seconds=240, what="a commit that can be read") + 2
        wait_for(lambda: self.batches() >= goal, seconds=240, what="two more micro-batches")

    def compare(self) -> str:
        """What the comparison with the topic prints; empty unless they are equal."""
        done = self.master.run(
            DRIVER + f" export PYTHONPATH=$PYTHONPATH:/opt/millrace/jobs/{JOB};"
            " export PYSPARK_SUBMIT_ARGS='--conf spark.cores.max=1 pyspark-shell';"
            " timeout 240 runuser -u spark -- python3 -m archive --compare"
            " --client-config %s --topics %s --output %s",
            CLIENT,
            self.topic,
            self.output,
        )
        return "" if done.rc else str(done.stdout)


@pytest.fixture(scope="module")
def archive(
    topology: Topology, hosts: dict[str, Host], plays: Plays, admin: Any
) -> Iterator[Archive]:
    if not topology.group("hdfs_namenode"):
        pytest.skip("no HDFS here")
    skip_unless_full()
    topic = f"archive-{uuid.uuid4().hex[:8]}"
    url = next(iter(topology.cluster.hdfs.values())).url
    output = f"{url}/user/spark/{topic}"
    job: dict[str, Any] = {
        "name": JOB,
        "source": str(ROOT / "spark/archive.py"),
        "arguments": [
            f"--client-config={CLIENT}",
            f"--topics={topic}",
            f"--output={output}",
            f"--checkpoint={output}.checkpoint",
            "--trigger-seconds=2",
        ],
        "checkpoint": f"{output}.checkpoint",
        "cores": 1,
        "kafka_user": JOB,
        "grants": [{"topic": topic, "operations": ["read"]}],
        "topics": [topic],
    }
    admin.create_topics(
        {topic: {"num_partitions": 3, "replication_factor": len(topology.brokers)}},
        wait_for_metadata=True,
    )
    master = hosts[topology.group("spark_masters")[0]]
    sender = Sender(topology, topic)
    try:
        plays.succeed("jobs", "-e", json.dumps({"spark_jobs": [job]}))
        yield Archive(topic, output, master, sender, job)
    finally:
        sender.stop()
        plays.run("jobs", "-e", json.dumps({"spark_jobs": [{**job, "state": "absent"}]}))
        removed = "runuser -u hdfs -- hdfs dfs -rm -r -f -skipTrash %s %s.checkpoint"
        master.run(removed, output, output)
        admin.delete_topics([topic])


def healthy(plays: Plays, *arguments: str) -> None:
    """Wait until all of the cluster is."""
    wait_for(lambda: plays.run("health", *arguments)[0] == 0, seconds=240, what="a healthy cluster")


def kill(host: Host, unit: str) -> None:
    before = host.check_output("systemctl show --property=MainPID --value %s", unit)
    host.check_output("systemctl kill --signal=KILL %s", unit)
    wait_for(
        lambda: host.check_output("systemctl show --property=MainPID --value %s", unit) != before,
        seconds=10,
        what=f"the death of {unit}",
    )


def test_a_stream_survives_a_datanode_and_the_namenode(
    topology: Topology, hosts: dict[str, Host], plays: Plays, archive: Archive
) -> None:
    """In one run of the driver: clients wait, and write to the DataNodes that are left."""
    archive.goes_on()
    faults = [
        (topology.group("hdfs_datanodes")[-1], "hdfs-datanode"),
        (topology.group("hdfs_namenode")[0], "hdfs-namenode"),
    ]
    for host, unit in faults:
        kill(hosts[host], unit)
        archive.goes_on()
        healthy(plays)
        hosts[host].check_output("systemctl reset-failed %s", unit)
    shown = archive.master.check_output(
        "systemctl show --property=ActiveState,NRestarts spark-job-%s", JOB
    )
    assert dict(line.split("=", 1) for line in shown.splitlines()) == {
        "ActiveState": "active",
        "NRestarts": "0",
    }


def test_each_record_is_in_the_files_once(archive: Archive) -> None:
    """Over all faults; the stream may still be behind when the last record is sent."""
    archive.sender.stop()
    equal = wait_for(archive.compare, seconds=600, what="files that are equal to their topic")
    assert f"{archive.sender.acknowledged} records" in equal
    assert archive.sender.acknowledged > 1000


def test_health_reads_when_the_stream_last_committed(plays: Plays, archive: Archive) -> None:
    archive.sender.stop()  # else there is always a block whose last copy is being written

    def with_limit(late_after: int) -> tuple[str, str]:
        job = {**archive.job, "late_after": late_after}
        return "-e", json.dumps({"spark_jobs": [job]})

    healthy(plays, *with_limit(86400))
    code, printed = plays.run("health", *with_limit(1))
    assert code
    assert f"spark-job-{JOB}" in printed
    archive.master.check_output("systemctl stop spark-job-%s", JOB)


def test_a_backup_of_the_namenode_is_restored(
    topology: Topology, hosts: dict[str, Host], plays: Plays, archive: Archive, tmp_path: Path
) -> None:
    """site.yml refuses to format the empty directories of a NameNode that has lost its data."""
    name = topology.group("hdfs_namenode")[0]
    host, path = hosts[name], topology.cluster.hdfs[name].name_dirs[0]
    [checkpoint] = [
        line for line in guide.commands("Backup and restore", PAGE) if "saveNamespace" in line
    ]
    host.check_output(checkpoint)
    plays.succeed("hdfs_backup", "-e", f"path={tmp_path}")
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert {file.name.partition("_")[0] for file in files} == {"VERSION", "fsimage"}

    units = "hdfs-namenode hdfs-secondarynamenode"
    host.check_output(f"systemctl stop {units} && mv {path} {path}.lost")
    assert "hdfs-namenode-empty" in plays.refuse("site")
    host.check_output(f"install --directory --mode 750 {path} {path}/current")
    for file in files:
        content = base64.b64encode(file.read_bytes()).decode()
        place = f"{path}/current/{file.name}"
        host.check_output("echo %s | base64 --decode > %s", content, place)
    host.check_output(f"chown -R hdfs:hdfs {path}")
    plays.succeed("site")
    healthy(plays)
    assert archive.compare()
    host.check_output(f"rm -r {path}.lost")
