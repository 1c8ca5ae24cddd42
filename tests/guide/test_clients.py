"""Client access: the guide's commands, as a user of a broker's host types them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
import testinfra
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import (
    clients as kafka_clients,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.connection import Connection
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import TopicPartition
from testinfra.host import Host

from tests.support.clients import guide
from tests.support.clients import guide_steps as clients
from tests.support.lab.topology import ROOT, Topology
from tests.support.wait import scaled, wait_for

# Ahead of the console's records by more than the clocks of the machines differ.
LATER_MS = 60_000


@dataclass
class Example:
    """The guide's example with a topic and a group of its own."""

    host: Host
    version: str
    connection: Connection
    name: str
    time: str = ""

    def put(self, text: str) -> str:
        """Put the own names, and the cluster's security, in place of the guide's."""
        addresses = f'bootstrap_servers="{clients.BOOTSTRAP}"'
        text = text.replace(addresses, f"**{self.connection.settings()!r}")
        text = text.replace(clients.TIME, self.time or clients.TIME)
        return text.replace(clients.TOPIC, self.name).replace(clients.GROUP, self.name)

    def run(self, *names: str) -> str:
        """Run steps of the guide in one login shell and return what they print."""
        commands = clients.steps()
        script = "\n".join(
            self.put(clients.as_of(self.version, command))
            for name in names
            for command in commands[name]
        )
        done = self.host.run("bash -lc %s", f"set -eu -o pipefail\n{script}")
        output = f"{script}\n{done.stdout}{done.stderr}"
        assert done.rc == 0, output
        assert "deprecated" not in output.lower(), output
        return str(done.stdout)

    def log(self) -> dict[int, list[tuple[int, str]]]:
        """Return partition -> timestamp and value of every record, in the order of offsets."""
        with closing(kafka_clients.consumer(self.connection, enable_auto_commit=False)) as consumer:
            consumer.seek_to_beginning(*assign(consumer, self.name))
            return drain(consumer)

    def read(self) -> list[str]:
        """Return the values that the group still has to read; nothing is committed."""
        return self._as_group(commit=False)

    def read_and_commit(self) -> list[str]:
        """Read them as its members do, so that the group is at the end."""
        return self._as_group(commit=True)

    def _as_group(self, *, commit: bool) -> list[str]:
        # The console consumer may end before it has a position, so a commit, in an empty partition.
        consumer = kafka_clients.consumer(
            self.connection,
            group_id=self.name,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
        )
        with closing(consumer):
            assign(consumer, self.name)
            by_partition = drain(consumer)
            if commit:
                consumer.commit()
        return sorted(value for records in by_partition.values() for _, value in records)


def assign(consumer: Any, topic: str) -> list[Any]:
    """Take all partitions; a group's positions are what it committed."""
    numbers = wait_for(
        lambda: consumer.partitions_for_topic(topic), seconds=30, what=f"partitions of {topic}"
    )
    partitions = [TopicPartition(topic, number) for number in sorted(numbers)]
    consumer.assign(partitions)
    return partitions


def drain(consumer: Any) -> dict[int, list[tuple[int, str]]]:
    """Read from the positions to the ends."""
    by_partition: dict[int, list[tuple[int, str]]] = {
        assigned.partition: [] for assigned in consumer.assignment()
    }
    for record in kafka_clients.read_to_ends(consumer, time.monotonic() + scaled(30)):
        by_partition[record.partition].append((record.timestamp, record.value.decode()))
    return by_partition


@pytest.fixture
def example(topology: Topology, admin: Any) -> Iterator[Example]:
    """A broker's host, reached as root only where its client properties lead to a secret."""
    os.chdir(ROOT)
    node = topology.cluster.brokers[0]
    host = testinfra.get_host(
        f"ansible://{node.name}?ansible_inventory={topology.inventory}",
        sudo=node.has_secrets or "ssl.keystore.location" in node.clients.config,
    )
    name = f"millrace-probe-{uuid.uuid4().hex[:8]}"
    yield Example(host, node.version, topology.connection, name)
    if name in {group["group_id"] for group in admin.list_groups()}:
        admin.delete_groups([name])
    if name in admin.list_topics():
        admin.delete_topics([name])


def send_later(example: Example, timestamp: int) -> list[str]:
    """Write a record with this timestamp to each partition."""
    with closing(kafka_clients.producer(example.connection, acks="all")) as producer:
        for number in range(3):
            value = f"later-{number}".encode()
            sent = producer.send(example.name, value, partition=number, timestamp_ms=timestamp)
            sent.get(timeout=30)
    return [f"later-{number}" for number in range(3)]


@pytest.mark.usefixtures("hosts")  # whose journals are shown when it fails
def test_commands_of_the_guide_do_what_it_says(example: Example) -> None:
    written = ["1", "2", "3", "4", "5"]
    assert example.run("create", "produce", "consume").splitlines()[-5:] == written
    assert example.read() == [], "the console consumer left the group at the end"
    assert [len(example.log()), *sorted(map(len, example.log().values()))] == [3, 0, 0, 5]

    newest = max(at for records in example.log().values() for at, _ in records)
    later = send_later(example, newest + LATER_MS)
    assert example.read() == later
    assert example.name in example.run("show")
    assert example.read() == later, "a dry run moves nothing"

    example.run("earliest")
    assert example.read() == sorted(written + later)
    example.run("latest")
    assert example.read() == []

    (snippet,) = guide.blocks(clients.SECTION, "python")
    program = example.put(snippet)  # as input: a command line would show a password
    subprocess.run([sys.executable, "-"], input=program, text=True, check=True, timeout=60)
    assert example.read_and_commit() == ["paid"]

    log = example.log()
    example.run("shift")
    assert example.read() == sorted(records[-1][1] for records in log.values())

    since = newest + LATER_MS // 2
    example.time = f"{datetime.fromtimestamp(since / 1000, UTC):%Y-%m-%dT%H:%M:%S}.000"
    example.run("datetime")
    expected = []
    for records in log.values():
        first = next(place for place, (at, _) in enumerate(records) if at >= since)
        expected += [value for _, value in records[first:]]
    assert example.read() == sorted(expected)
    assert not set(written) & set(expected), "records before the time stay unread"
