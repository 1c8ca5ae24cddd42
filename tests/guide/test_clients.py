"""Client access: the guide's commands, as a user of a broker's host types them."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
import testinfra
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition  # type: ignore[import-untyped] # no types
from testinfra.host import Host

from tests.support import clients, guide
from tests.support.topology import ROOT, Topology
from tests.support.wait import wait_for

# Ahead of the console's records by more than the clocks of the machines differ.
LATER_MS = 60_000


@dataclass
class Example:
    """The guide's example with a topic and a group of its own."""

    host: Host
    version: str
    brokers: str
    name: str
    time: str = ""

    def put(self, text: str) -> str:
        """Put the own names in place of the guide's."""
        text = text.replace(clients.BOOTSTRAP, self.brokers)
        text = text.replace(clients.TIME, self.time or clients.TIME)
        return text.replace(clients.TOPIC, self.name).replace(clients.GROUP, self.name)

    def run(self, *names: str) -> str:
        """Run steps of the guide in one login shell without rights and return what they print."""
        found = clients.steps()
        script = "\n".join(
            self.put(clients.as_of(self.version, command))
            for name in names
            for command in found[name]
        )
        done = self.host.run("bash -lc %s", f"set -eu -o pipefail\n{script}")
        said = f"{script}\n{done.stdout}{done.stderr}"
        assert done.rc == 0, said
        assert "deprecated" not in said.lower(), said
        return str(done.stdout)

    def log(self) -> dict[int, list[tuple[int, str]]]:
        """Return partition -> timestamp and value of every record, in the order of offsets."""
        consumer = KafkaConsumer(bootstrap_servers=self.brokers, enable_auto_commit=False)
        try:
            partitions = assign(consumer, self.name)
            consumer.seek_to_beginning(*partitions)
            return drain(consumer, partitions)
        finally:
            consumer.close()

    def read(self) -> list[str]:
        """Return the values that the group still has to read; nothing is committed."""
        return self._as_group(commit=False)

    def read_and_commit(self) -> list[str]:
        """Read them as its members do, so that the group is at the end."""
        return self._as_group(commit=True)

    def _as_group(self, *, commit: bool) -> list[str]:
        # The console consumer may end before it has a position, so a commit, in an empty partition.
        consumer = KafkaConsumer(
            bootstrap_servers=self.brokers,
            group_id=self.name,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
        )
        try:
            found = drain(consumer, assign(consumer, self.name))
            if commit:
                consumer.commit()
        finally:
            consumer.close()
        return sorted(value for records in found.values() for _, value in records)


def assign(consumer: KafkaConsumer, topic: str) -> list[TopicPartition]:
    """Take all partitions; a group's positions are what it committed."""
    numbers = wait_for(
        lambda: consumer.partitions_for_topic(topic), seconds=30, what=f"partitions of {topic}"
    )
    partitions = [TopicPartition(topic, number) for number in sorted(numbers)]
    consumer.assign(partitions)
    return partitions


def drain(
    consumer: KafkaConsumer, partitions: list[TopicPartition]
) -> dict[int, list[tuple[int, str]]]:
    """Read from the positions to the ends."""
    ends = consumer.end_offsets(partitions)
    found: dict[int, list[tuple[int, str]]] = {one.partition: [] for one in partitions}

    def at_end() -> bool:
        for one, records in consumer.poll(timeout_ms=200).items():
            found[one.partition] += [(r.timestamp, r.value.decode()) for r in records]
        return all(consumer.position(one) >= ends[one] for one in partitions)

    wait_for(at_end, seconds=30, what=f"the end of {partitions[0].topic}")
    return found


@pytest.fixture
def example(topology: Topology, admin: KafkaAdminClient) -> Iterator[Example]:
    """A broker's host, reached as the user that Ansible logs in as, not as root."""
    os.chdir(ROOT)
    first = topology.group("kafka_brokers")[0]
    host = testinfra.get_host(f"ansible://{first}?ansible_inventory={topology.inventory}")
    brokers = ",".join(topology.brokers.values())
    name = f"millrace-probe-{uuid.uuid4().hex[:8]}"
    yield Example(host, topology.kafka(first)["version"], brokers, name)
    if name in {one["group_id"] for one in admin.list_groups()}:
        admin.delete_groups([name])
    if name in admin.list_topics():
        admin.delete_topics([name])


def send_later(example: Example, timestamp: int) -> list[str]:
    """Write a record with this timestamp to each partition."""
    producer = KafkaProducer(bootstrap_servers=example.brokers, acks="all")
    try:
        for number in range(3):
            value = f"later-{number}".encode()
            sent = producer.send(example.name, value, partition=number, timestamp_ms=timestamp)
            sent.get(timeout=30)
    finally:
        producer.close()
    return [f"later-{number}" for number in range(3)]


@pytest.mark.usefixtures("hosts")  # whose journals are shown when it fails
def test_commands_of_the_guide_do_what_it_says(example: Example) -> None:
    written = ["1", "2", "3", "4", "5"]
    assert example.run("create", "produce", "consume").splitlines()[-5:] == written
    assert example.read() == [], "the console consumer left the group at the end"
    assert [len(example.log()), *sorted(map(len, example.log().values()))] == [3, 0, 0, 5]

    newest = max(time for records in example.log().values() for time, _ in records)
    later = send_later(example, newest + LATER_MS)
    assert example.read() == later
    assert example.name in example.run("show")
    assert example.read() == later, "a dry run moves nothing"

    example.run("earliest")
    assert example.read() == sorted(written + later)
    example.run("latest")
    assert example.read() == []

    (snippet,) = guide.blocks(clients.SECTION, "python")
    subprocess.run([sys.executable, "-c", example.put(snippet)], check=True, timeout=60)  # noqa: S603 - the guide's
    assert example.read_and_commit() == ["paid"]

    log = example.log()
    example.run("shift")
    assert example.read() == sorted(records[-1][1] for records in log.values())

    since = newest + LATER_MS // 2
    example.time = f"{datetime.fromtimestamp(since / 1000, UTC):%Y-%m-%dT%H:%M:%S}.000"
    example.run("datetime")
    expected = []
    for records in log.values():
        first = next(place for place, (time, _) in enumerate(records) if time >= since)
        expected += [value for _, value in records[first:]]
    assert example.read() == sorted(expected)
    assert not set(written) & set(expected), "records before the time stay unread"
