"""Kafka's own VerifiableProducer and VerifiableConsumer beside a ledger: a second verdict.

They are Java programs that Kafka's system tests use, and share no code with the ledger: another
client, another way to count.
"""

from __future__ import annotations

import functools
import json
import subprocess
import tempfile
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients

from tests.support.lab.topology import Topology, write_client_config
from tests.support.wait import scaled, wait_for

TOPIC = "millrace-verifiable"
RATE = 50
END_SECONDS = 180
PACKAGE = "org.apache.kafka.tools"
JAVA = ("java", "-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")

Place = tuple[int, int]


@dataclass
class Verdict:
    """What the two programs saw."""

    acked: dict[Place, str] = field(default_factory=dict)
    """(partition, offset) -> value."""
    read: dict[Place, str] = field(default_factory=dict)
    """(partition, offset) -> value."""

    @property
    def wrong(self) -> list[str]:
        """Return the violations, one per line."""
        lost = [place for place, value in self.acked.items() if self.read.get(place) != value]
        counts = Counter(self.read.values())
        twice = [value for value, count in counts.items() if count > 1]
        return [f"{place} was acknowledged, and is not there" for place in sorted(lost)] + [
            f"{value} lies at {counts[value]} places" for value in sorted(twice)
        ]


@dataclass
class Programs:
    """The running programs, and the files that they write."""

    producer: subprocess.Popen[bytes]
    consumer: subprocess.Popen[bytes]
    folder: Path
    verdict: Verdict = field(default_factory=Verdict)
    ended: bool = False

    def end(self) -> None:
        """Stop the producer, and wait until the consumer has what was acknowledged."""
        if self.ended:
            return
        self.ended = True
        for name, process in (("producer", self.producer), ("consumer", self.consumer)):
            assert process.poll() is None, f"the {name} ended by itself: {self.said(name)}"
        self.producer.terminate()
        self.producer.wait(timeout=scaled(END_SECONDS))
        self.verdict.acked = _places(self.folder / "producer.jsonl", "producer_send_success")

        def complete() -> bool:
            self.verdict.read = _places(self.folder / "consumer.jsonl", "record_data")
            return self.verdict.acked.keys() <= self.verdict.read.keys()

        # Once it has read past a record, that one does not come any more.
        wait_for(
            lambda: complete() or self._past_the_end(),
            seconds=END_SECONDS,
            what="the VerifiableConsumer reads to the end",
        )

    def _past_the_end(self) -> bool:
        """Return whether the consumer has the last acknowledged record of each partition."""
        last = dict(sorted(self.verdict.acked))
        return all(place in self.verdict.read for place in last.items())

    def said(self, name: str) -> str:
        """Return the end of what a program has written to its standard error."""
        return (self.folder / f"{name}.err").read_text()[-2000:]


def _places(path: Path, name: str) -> dict[Place, str]:
    """Return where the events of a name have which value, but for a line that is being written."""
    complete, _, _ = path.read_text(encoding="utf-8").rpartition("\n")
    events = (json.loads(line) for line in complete.splitlines() if line.startswith("{"))
    return {
        (int(event["partition"]), int(event["offset"])): str(event["value"])
        for event in events
        if event["name"] == name
    }


@contextmanager
def verifiable(topology: Topology, folder: Path) -> Iterator[Programs]:
    """Run the programs during the block; afterwards `verdict` says what they saw."""
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        _unpack(topology, home)
        config = write_client_config(topology.connection, folder / "verifiable.properties")
        stack.callback(config.unlink)
        topic = f"{TOPIC}-{uuid.uuid4().hex[:8]}"
        with clients.admin(topology.connection) as admin:
            admin.create_topics({topic: _shape(topology)}, wait_for_metadata=True)
        stack.callback(_delete, topology, topic)
        start = functools.partial(_start, topology, home, config, folder, f"--topic={topic}")
        consumer = start("Consumer", f"--group-id={topic}", "--verbose")
        stack.callback(_kill, consumer)
        producer = start("Producer", f"--throughput={RATE}", "--acks=-1")
        stack.callback(_kill, producer)
        wait_for(
            lambda: _places(folder / "consumer.jsonl", "record_data"),
            seconds=END_SECONDS,
            what="records of the VerifiableProducer",
        )
        programs = Programs(producer, consumer, folder)
        yield programs
        programs.end()


def _shape(topology: Topology) -> dict[str, Any]:
    replicas = min(3, len(topology.brokers))
    config = {"min.insync.replicas": str(max(1, replicas - 1))}
    return {"num_partitions": 3, "replication_factor": replicas, "configs": config}


def _unpack(topology: Topology, home: Path) -> None:
    """Unpack the distribution of the cluster, whose programs these are."""
    tarball = topology.cluster.brokers[0].distribution.tarball
    subprocess.run(["tar", "-xf", tarball, "-C", home, "./libs"], check=True)


def _start(
    topology: Topology, home: Path, config: Path, folder: Path, topic: str, kind: str, *words: str
) -> subprocess.Popen[bytes]:
    name = kind.lower()
    with (folder / f"{name}.jsonl").open("wb") as out, (folder / f"{name}.err").open("wb") as err:
        return subprocess.Popen(
            [
                # Without this they would outlive the process that reads their output.
                "setpriv",
                "--pdeathsig=KILL",
                *JAVA,
                "-cp",
                f"{home}/libs/*",
                f"{PACKAGE}.Verifiable{kind}",
                topic,
                "--bootstrap-server",
                ",".join(topology.connection.bootstrap),
                f"--{name}.config",
                str(config),
                *words,
            ],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
        )


def _kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def _delete(topology: Topology, topic: str) -> None:
    with clients.admin(topology.connection) as admin:
        admin.delete_topics([topic])


def agrees(programs: Programs) -> None:
    """Kafka's own programs found nothing wrong either, and saw enough to say so."""
    assert programs.verdict.wrong == []
    assert len(programs.verdict.acked) > RATE
