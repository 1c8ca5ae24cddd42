"""The job of docs/develop/images.md: frames are judged once, through a crash, or refused with a reason."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients
from testinfra.host import Host

from flights.kafka_log import Reader, Record
from images.frames import GOOD, encode
from images.surfaces import surfaces
from millrace_job import REASON, SOURCE_OFFSET, SOURCE_PARTITION
from tests.support.clients import guide
from tests.support.faults.target import FULL, PART_OF_FULL
from tests.support.lab.change import Plays
from tests.support.lab.topology import ROOT, Topology
from tests.support.refusal import ANSIBLE
from tests.support.wait import scaled, wait_for

pytestmark = pytest.mark.skipif(not FULL, reason=PART_OF_FULL)

FRAMES, RESULTS, LETTERS = TOPICS = ("images.frames", "images.results", "images.dead-letter")
# Several micro-batches, and incomplete frames are refused soon.
MORE = ["--max-offsets-per-trigger=60", "--timeout-seconds=10"]
PARTITIONS = 4
"""Of the topic of frames, as the page makes it."""
LARGE = 4_000_000
"""From here on the program sends a reference."""


@dataclass
class Job:
    """The job of the page on a cluster, and what its reader has on the control node."""

    plays: Plays
    topology: Topology
    host: Host
    folder: Path
    """In place of build/, where files of this checkout may be, and of the inventory."""
    store: str
    """On the hosts."""

    def put(self, command: str) -> str:
        """Put what is here in place of what the page names."""
        if match := re.search(r"clients\.yml -e user=(\w+)$", command):
            command += f" -e path={self.folder}/build/clients/{match[1]}"
        inventory = self.topology.inventory if "ansible-playbook" in command else self.folder
        command = command.replace("inventories/<yours>", str(inventory))
        command = command.replace("ansible-playbook", ANSIBLE, 1)
        command = command.replace("build/python/bin/python ", f"{sys.executable} ")
        command = command.replace(" python ", f" {sys.executable} ")
        command = command.replace("/srv/frames", f"{self.folder}/store")
        return re.sub(r"(?<![\w/])build/", f"{self.folder}/build/", command)

    def run(self, command: str, *arguments: str) -> str:
        """What a command of the page prints; it has to succeed."""
        words = [self.put(command), *arguments]
        done = subprocess.run(
            ["/bin/sh", "-c", f'{words[0]} "$@"', "sh", *arguments],
            cwd=ROOT,
            env=self.plays.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=scaled(900),
            check=False,
        )
        assert done.returncode == 0, f"{words}\n{done.stdout[-6000:]}{done.stderr[-6000:]}"
        return done.stdout

    def read(self, topic: str) -> list[Record]:
        with closing(Reader(topic, self.topology.connection)) as reader:
            return list(reader.read(time.monotonic() + scaled(60)))

    def results(self) -> dict[str, set[bytes]]:
        """The different results of each frame."""
        results = defaultdict(set)
        for record in self.read(RESULTS):
            results[record.key.decode()].add(record.value)
        return results

    def show(self, property: str) -> str:
        unit = "spark-job-images"
        return self.host.check_output("systemctl show --value -p %s %s", property, unit)

    def send(self, *records: tuple[str, bytes | None, dict[str, str]], partition: int = 0) -> None:
        """Send records to one partition."""
        with closing(clients.producer(self.topology.connection, acks="all")) as producer:
            for key, value, headers in records:
                pairs = [(name, text.encode()) for name, text in headers.items()]
                producer.send(FRAMES, value, key=key.encode(), headers=pairs, partition=partition)
            producer.flush()


@pytest.fixture(scope="module")
def job(
    topology: Topology,
    hosts: dict[str, Host],
    plays: Plays,
    admin: Any,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Job]:
    """The job of the page, deployed; what is left of it is removed, whatever happens."""
    if not topology.group("spark_masters"):
        pytest.skip("no Spark here")
    master = topology.group("spark_masters")[0]
    shared = topology.cluster.spark[master].shared_dir
    folder = tmp_path_factory.mktemp("images")
    job = Job(plays, topology, hosts[master], folder, f"{shared}/images/frames")
    [text] = guide.blocks("Deploy", "yaml", guide.IMAGES)
    text = text.replace("{{ inventory_dir }}", str(folder)).replace("/srv/frames", job.store)
    variables = yaml.safe_load(text.replace("/srv/spark", shared))
    variables["spark_jobs"][0]["arguments"] += MORE
    extra_vars = ("-e", json.dumps(variables))
    (folder / "store").mkdir()
    try:
        for command in guide.commands("Deploy", guide.IMAGES):
            if "topics.py" in command:
                job.run(
                    "ansible-playbook -i inventories/<yours> playbooks/clients.yml -e user=admin"
                )
            job.run(command, *(extra_vars if command.startswith("ansible-playbook") else ()))
        yield job
    finally:
        removed = {"spark_jobs": [{**variables["spark_jobs"][0], "state": "absent"}]}
        code, output = plays.run("jobs", "-e", json.dumps(removed))
        admin.delete_topics([name for name in TOPICS if name in admin.list_topics()])
        hosts[master].run("rm -rf %s", f"{shared}/images")
    assert code == 0, output[-6000:]


@pytest.fixture(scope="module")
def labels(job: Job) -> dict[str, str]:
    """The frames of the page with their labels, the driver having been killed among them."""
    *make, send, report = guide.commands("Send frames", guide.IMAGES)
    for command in make:
        job.run(command)
    build = job.folder / "build/frames"
    # This machine does not share the directory: its large frames are brought there before.
    (job.folder / "large").mkdir()
    for path in build.glob("*.pgm"):
        if path.stat().st_size > LARGE:
            shutil.copy(path, job.folder / "large")
    copy = f"src={job.folder}/large/ dest={job.store}/ mode=0644 directory_mode=0755"
    job.host.ansible("copy", copy, check=False, become=True)  # type: ignore[call-arg]  # testinfra's types do not know `become`
    printed = job.run(send)
    assert re.search(r"[1-9]\d* references", printed), printed
    wait_for(job.results, seconds=180, what="a result")
    job.host.check_output("systemctl kill --signal=KILL spark-job-images")
    with (build / "labels.csv").open(newline="") as file:
        labels = dict(csv.reader(file))
    assert len(job.results()) < len(labels), "the driver was killed when all was done"
    assert "throughput" in job.run(f"{report} --timeout 300")
    return labels


def test_every_frame_has_one_result_although_the_driver_was_killed(
    job: Job, labels: dict[str, str]
) -> None:
    assert int(job.show("NRestarts")) >= 1
    results = job.results()
    assert {*results} == {*labels}
    assert {name: values for name, values in results.items() if len(values) != 1} == {}
    assert job.read(LETTERS) == []
    predictions = {name: json.loads(next(iter(values))) for name, values in results.items()}
    right = sum(predictions[name]["label"] == label for name, label in labels.items())
    assert right > 0.8 * len(labels)
    assert {prediction["model"] for prediction in predictions.values()} == {
        predictions[next(iter(labels))]["model"]
    }


def test_frames_that_come_again_change_nothing(job: Job, labels: dict[str, str]) -> None:
    before = {name: values for name, values in job.results().items() if name in labels}
    *_, send, _ = guide.commands("Send frames", guide.IMAGES)
    job.run(send, "--chunk", "500000")
    wait_for_the_end(job)
    after = {name: values for name, values in job.results().items() if name in labels}
    assert after == before
    assert job.read(LETTERS) == []


def wait_for_the_end(job: Job) -> None:
    """Wait until a frame that is sent now to each partition has its result."""
    number = os.urandom(4).hex()
    [picture] = surfaces(1, 128, seed=int(number, 16))[0]
    data = encode(picture)
    names = {f"last-{number}-{partition}": partition for partition in range(PARTITIONS)}
    for name, partition in names.items():
        job.send((name, data, headers(data, index="0", count="1")), partition=partition)
    wait_for(lambda: names.keys() <= job.results().keys(), seconds=180, what="the last results")
    results = job.results()
    labels = {json.loads(next(iter(results[name])))["label"] for name in names}
    assert labels <= {GOOD, "defect"}


def headers(data: bytes, **fields: str) -> dict[str, str]:
    return {"sha256": hashlib.sha256(data).hexdigest(), "shape": "128x128", **fields}


@pytest.mark.usefixtures("labels")
def test_what_is_refused_is_in_the_dead_letters_with_the_reason(job: Job) -> None:
    [picture] = surfaces(1, 128, seed=9)[0]
    data, single_chunk = encode(picture), {"index": "0", "count": "1"}
    chunks = [{"index": str(index), "count": "2"} for index in range(2)]
    sent = [
        ("incomplete", data[:99], headers(data, **chunks[0])),
        ("damaged", data[:99], headers(data, **chunks[0])),
        ("damaged", data[100:], headers(data, **chunks[1])),
        ("shape", data, {**headers(data, **single_chunk), "shape": "64x256"}),
        ("no-picture", b"GIF89a", headers(b"GIF89a", **single_chunk)),
        ("missing", None, headers(data, reference="no-such.pgm")),
        ("outside", None, headers(data, reference="../model.json")),
        ("absolute", None, headers(data, reference="/etc/shadow")),
        ("bare", data, {}),
    ]
    job.send(*sent)
    expected = {
        "damaged": "wrong checksum",
        "shape": "wrong shape",
        "no-picture": "not decodable",
        "missing": "unknown reference",
        "outside": "reference outside the root",
        "absolute": "reference outside the root",
        "bare": "no checksum",
        "incomplete": "incomplete: 1 of 2 chunks",
    }

    def letters() -> list[Record] | None:
        # An incomplete frame is refused when a later record comes into its partition.
        job.send(("bare", data, {}))
        records = job.read(LETTERS)
        return records if {record.key.decode() for record in records} == {*expected} else None

    records = wait_for(letters, seconds=180, what="all dead letters")
    assert {record.key.decode(): record.headers[REASON].decode() for record in records} == expected
    once = {
        (record.headers[SOURCE_PARTITION], record.headers[SOURCE_OFFSET]): record
        for record in records
    }
    back: list[tuple[str, bytes | None]] = [
        (record.key.decode(), record.value) for record in once.values()
    ]
    assert sorted(back.count(frame[:2]) for frame in sent[:-1]) == [1] * len(sent[:-1])
    wait_for_the_end(job)
    assert job.results().keys().isdisjoint(expected)
