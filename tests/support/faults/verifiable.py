"""Kafka's own verifiable producer, consumer and share consumer beside a ledger: a second verdict.

They are Java programs that Kafka's system tests use, and share no code with the ledger: another
client, another way to count. The share consumer (KIP-932) runs where share groups are ready for
production; its group has a second member in a full run, which is killed.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import uuid
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.formats.versions import (
    release_numbers,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import (
    clients,
    configs,
    features,
    groups,
    resource_configs,
)

from tests.support.faults.target import FULL
from tests.support.lab.topology import Topology, write_client_config
from tests.support.wait import scaled, wait_for

TOPIC = "millrace-verifiable"
SHARE_SINCE, SHARE_FEATURE = "4.2", "share.version"
"""The first version whose share groups are ready for production, and their feature."""
DELIVERIES = "group.share.delivery.count.limit"
RATE = 50
END_SECONDS = 180
PACKAGE = "org.apache.kafka.tools"
PRODUCER, CONSUMER, SHARER, KILLED = "producer", "consumer", "share", "killed"
JAVA = ("java", "-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")

Place = tuple[int, int]
"""Partition and offset."""


@dataclass
class ShareVerdict:
    """What the members of the share group saw."""

    limit: int
    """How often the brokers may deliver a record."""
    deliveries: Counter[Place] = field(default_factory=Counter)
    acknowledged: set[Place] = field(default_factory=set)
    unanswered: set[Place] = field(default_factory=set)
    """Places whose acknowledgement failed, or that a member had that was killed."""
    remaining: dict[int, int] | None = None
    """Partition -> records that the group has left, as the brokers count them; None if unknown."""

    def missing(self, acked: Collection[Place]) -> set[Place]:
        """Return the records of the producer that the group has not done.

        Where no answer came to an acknowledgement, the brokers may have taken it: then nothing of
        the partition may be left.
        """
        remaining = self.remaining or {}
        return {
            place
            for place in {*acked} - self.acknowledged
            if place not in self.unanswered or remaining.get(place[0]) != 0
        }

    def wrong(self, acked: Collection[Place]) -> list[str]:
        """Return the violations, one per line."""
        often = {place: count for place, count in self.deliveries.items() if count > self.limit}
        left = {} if self.remaining is None else self.remaining
        return [
            *(
                f"{place} was not acknowledged by the share group, to which it was delivered"
                f" {self.deliveries[place]} times"
                for place in sorted(self.missing(acked))
            ),
            *(f"{place} was delivered {count} times" for place, count in sorted(often.items())),
            *(f"{count} records of {index} are left" for index, count in left.items() if count),
        ]


@dataclass
class Verdict:
    """What the programs saw."""

    acked: dict[Place, str] = field(default_factory=dict)
    """(partition, offset) -> value."""
    read: dict[Place, str] = field(default_factory=dict)
    """(partition, offset) -> value."""
    shared: ShareVerdict | None = None
    """None where there are no share groups."""

    @property
    def wrong(self) -> list[str]:
        """Return the violations, one per line."""
        lost = [place for place, value in self.acked.items() if self.read.get(place) != value]
        counts = Counter(self.read.values())
        twice = [value for value, count in counts.items() if count > 1]
        return [
            *(f"{place} was acknowledged, and is not there" for place in sorted(lost)),
            *(f"{value} lies at {counts[value]} places" for value in sorted(twice)),
            *(self.shared.wrong(self.acked) if self.shared else ()),
        ]


@dataclass
class Programs:
    """The running programs, and the files that they write."""

    topology: Topology
    topic: str
    processes: dict[str, subprocess.Popen[bytes]]
    """Name -> program."""
    folder: Path
    verdict: Verdict = field(default_factory=Verdict)
    ended: bool = False

    def end(self) -> None:
        """Stop the producer, and wait until the consumer has what was acknowledged."""
        if self.ended:
            return
        self.ended = True
        for name, process in self.processes.items():
            assert process.poll() is None, f"the {name} ended by itself: {self.said(name)}"
        if KILLED in self.processes:
            _kill(self.processes[KILLED])
        producer = self.processes[PRODUCER]
        producer.terminate()
        producer.wait(timeout=scaled(END_SECONDS))
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
        if shared := self.verdict.shared:
            # Without its end the verdict names the records.
            with suppress(AssertionError):
                wait_for(
                    lambda: self._share_group_done(shared),
                    seconds=END_SECONDS,
                    what="the share group has done what was acknowledged",
                )

    def _share_group_done(self, shared: ShareVerdict) -> bool:
        shared.deliveries.clear()
        for name in (name for name in self.processes if name in (SHARER, KILLED)):
            events = [*_events(self.folder / f"{name}.jsonl")]
            delivered = [_place(event) for event in events if event["name"] == "record_data"]
            shared.deliveries.update(delivered)
            for event in events:
                if event["name"] == "offsets_acknowledged":
                    places = shared.acknowledged if event["success"] else shared.unanswered
                    places.update(_acknowledged(event))
            if name == KILLED:
                shared.unanswered.update(delivered)
        shared.remaining = _remaining(self.topology, self.topic)
        done = shared.remaining is not None and not any(shared.remaining.values())
        return done and not shared.missing(self.verdict.acked)

    def _past_the_end(self) -> bool:
        """Return whether the consumer has the last acknowledged record of each partition."""
        last = dict(sorted(self.verdict.acked))
        return all(place in self.verdict.read for place in last.items())

    def said(self, name: str) -> str:
        """Return the end of what a program has written to its standard error."""
        return (self.folder / f"{name}.err").read_text()[-2000:]


def _events(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the events that a program has written, but for a line that is being written."""
    complete, _, _ = path.read_text(encoding="utf-8").rpartition("\n")
    return (json.loads(line) for line in complete.splitlines() if line.startswith("{"))


def _place(event: Mapping[str, Any]) -> Place:
    return int(event["partition"]), int(event["offset"])


def _places(path: Path, name: str) -> dict[Place, str]:
    """Return where the events of a name have which value."""
    return {_place(event): str(event["value"]) for event in _events(path) if event["name"] == name}


def _acknowledged(event: Mapping[str, Any]) -> set[Place]:
    """Return the places that an event of the share consumer is about."""
    return {
        (int(partition["partition"]), int(offset))
        for partition in event["partitions"]
        for offset in partition["offsets"]
    }


def _remaining(topology: Topology, topic: str) -> dict[int, int] | None:
    """Return partition -> records that the share group has left, None if that is not all known."""
    with clients.admin(topology.connection) as admin:
        reading = groups.read(admin, lambda name: name == _share_group(topic), 1)
    if reading.problems or not reading.groups:
        return None
    return {index: lag for (_, index), lag in reading.lags(_share_group(topic)).items()}


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
            limit = _delivery_limit(topology, admin)
        stack.callback(_delete, topology, topic)
        programs = Programs(topology, topic, {}, folder)

        def start(name: str, main: str, option: str, *words: str) -> None:
            words = (f"--topic={topic}", option, str(config), *words)
            programs.processes[name] = _start(topology, home, folder, name, main, *words)
            stack.callback(_kill, programs.processes[name])

        start(CONSUMER, "Consumer", "--consumer.config", f"--group-id={topic}", "--verbose")
        if limit is not None:
            programs.verdict.shared = ShareVerdict(limit)
            stack.enter_context(_from_the_start(topology, _share_group(topic)))
            for name in (SHARER, KILLED) if FULL else (SHARER,):
                group = f"--group-id={_share_group(topic)}"
                start(name, "ShareConsumer", "--command-config", group, "--verbose")
        start(PRODUCER, "Producer", "--producer.config", f"--throughput={RATE}", "--acks=-1")
        wait_for(
            lambda: _places(folder / f"{CONSUMER}.jsonl", "record_data"),
            seconds=END_SECONDS,
            what="records of the VerifiableProducer",
        )
        yield programs
        programs.end()


def _share_group(topic: str) -> str:
    return f"{topic}-shared"


def _delivery_limit(topology: Topology, admin: Any) -> int | None:
    """Return how often a share group gets a record at most, None where there are none."""
    version = topology.cluster.brokers[0].distribution.version
    if release_numbers(version) < release_numbers(SHARE_SINCE):
        return None
    if not features.finalized(admin).get(SHARE_FEATURE):
        return None
    setting = configs.read(admin, min(topology.brokers), [DELIVERIES])[DELIVERIES]
    return int(setting.value or 0)


@contextmanager
def _from_the_start(topology: Topology, group: str) -> Iterator[None]:
    """Let a share group begin with the first record while the block lasts.

    The program's own option for it logs in as nobody.
    """
    key = "share.auto.offset.reset"
    with clients.admin(topology.connection) as admin:
        _configure(admin, group, {key: "earliest"})
    try:
        yield
    finally:
        with clients.admin(topology.connection) as admin:
            _configure(admin, group, {key: None})


def _configure(admin: Any, group: str, config: Mapping[str, str | None]) -> None:
    refused = resource_configs.alter(
        admin, resource_configs.GROUP, {group: config}, validate_only=False
    )
    assert not refused, refused


def _shape(topology: Topology) -> dict[str, Any]:
    replicas = min(3, len(topology.brokers))
    config = {"min.insync.replicas": str(max(1, replicas - 1))}
    return {"num_partitions": 3, "replication_factor": replicas, "configs": config}


def _unpack(topology: Topology, home: Path) -> None:
    """Unpack the distribution of the cluster, whose programs these are."""
    tarball = topology.cluster.brokers[0].distribution.tarball
    subprocess.run(["tar", "-xf", tarball, "-C", home, "./libs"], check=True)


def _start(
    topology: Topology, home: Path, folder: Path, name: str, main: str, *words: str
) -> subprocess.Popen[bytes]:
    with (folder / f"{name}.jsonl").open("wb") as out, (folder / f"{name}.err").open("wb") as err:
        return subprocess.Popen(
            [
                # Without this they would outlive the process that reads their output.
                "setpriv",
                "--pdeathsig=KILL",
                *JAVA,
                "-cp",
                f"{home}/libs/*",
                f"{PACKAGE}.Verifiable{main}",
                "--bootstrap-server",
                ",".join(topology.connection.bootstrap),
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
    if shared := programs.verdict.shared:
        assert shared.acknowledged, "the share group has acknowledged nothing"
