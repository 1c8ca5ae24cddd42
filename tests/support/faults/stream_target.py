"""The target of a stream's faults: Kafka and Spark, a stream on them, and what it is fed.

It is healthy when Kafka and all workers are, and the stream goes on.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import TopicPartition
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.security import (
    ADMIN,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.spark.logins import (
    KAFKA_AUTHORITY,
)
from testinfra.host import Host

from apps.ledger.clients import Clients
from apps.ledger.faults import FAULTS
from apps.ledger.faults import load as load_faults
from apps.ledger.sink import Place, Row
from tests.support.faults.ledger_run import RUNS
from tests.support.faults.services_target import ServicesTarget
from tests.support.faults.stream_driver import BATCH, CHECKPOINT, SECONDS, Stream
from tests.support.faults.target import REQUEST_MS
from tests.support.lab.change import Plays
from tests.support.lab.topology import Topology
from tests.support.services.spark import master_state
from tests.support.wait import wait_for

PARTITIONS = 3
START_SECONDS = 90.0
"""Within which a driver begins its first batch."""


class SparkTarget(ServicesTarget):
    """Kafka and Spark, with a load of Spark's."""

    def workers_missing(self) -> int:
        """How many workers serve no master."""
        states = [master_state(self.topology, at) for at in self.topology.group("spark_masters")]
        serving = max(int(state.get("aliveworkers", 0)) for state in states)
        return len(self.topology.group("spark_workers")) - serving

    def missing(self) -> list[str]:
        count = self.workers_missing()
        return [*super().missing(), *([f"{count} Spark workers"] if count else [])]


@dataclass(kw_only=True)
class Streams(SparkTarget):
    """A stream into a Delta table, which reports each of its steps."""

    stream: Stream
    producer: Any
    fed: list[Place] = field(default_factory=list)
    """Where each record lies that was acknowledged."""
    over: bool = False
    """Whether the stream cannot continue, as the fault intends."""

    def start(self) -> int:
        """Start the stream, and wait for its first batch; how many reports there were before."""
        since = len(self.stream.reports())
        self.stream.start(CHECKPOINT)
        self.feed(1)
        self.stream.wait(since, seconds=START_SECONDS, step="begun")
        return since

    def feed(self, batches: int = 4) -> None:
        """Produce numbered records, and wait for their acknowledgements."""
        numbers = range(len(self.fed), len(self.fed) + batches * BATCH)
        sent = [
            self.producer.send(self.topic, str(number).encode(), partition=number % PARTITIONS)
            for number in numbers
        ]
        for future in sent:
            metadata = future.get(timeout=SECONDS)
            self.fed.append(Place(metadata.topic, metadata.partition, metadata.offset))

    def flows(self, batches: int = 2) -> str:
        """Wait until so many more batches are in the table; returns the application."""
        since = len(self.stream.reports())
        self.feed(batches)

        def enough() -> str | None:
            steps = [
                report for report in self.stream.reports()[since:] if report["step"] == "written"
            ]
            return steps[-1]["app"] if len(steps) >= batches else None

        return wait_for(enough, seconds=SECONDS, what=f"{batches} more batches")

    def drain(self) -> None:
        """Wait until everything that was fed is processed, then stop the stream."""
        ends = {place.partition: place.offset + 1 for place in self.fed}
        wait_for(
            lambda: self.stream.processed() == ends, seconds=SECONDS, what=f"the stream at {ends}"
        )
        self.stream.stop()

    def expire(self, before: dict[int, int]) -> None:
        """Delete the records of each partition that lie before an offset."""
        offsets = {TopicPartition(self.topic, number): offset for number, offset in before.items()}
        with clients.admin(self.topology.connection) as admin:
            admin.delete_records(offsets)

    def rows(self) -> list[Row]:
        """All of the table, the stream being stopped."""
        if not self.over:
            self.drain()
        return self.stream.rows()

    def wait_for_acks(self, count: int = 2, seconds: float = SECONDS) -> None:
        """Start the stream again if a fault has ended it."""
        if not self.over and not self.stream.active:
            self.start()
            self.flows(count)

    def forget(self, app: str) -> None:
        """Remove what executors of an application left at the workers."""
        for where in self.topology.group("spark_workers"):
            self.hosts[where].run("rm -rf /var/lib/spark/work/%s", app)

    def clean(self) -> None:
        """End the stream and remove every trace of it."""
        apps = {report["app"] for report in self.stream.reports()}
        self.stream.remove()
        for app in apps:
            self.forget(app)

    def delete_topic(self) -> None:
        with clients.admin(self.topology.connection) as admin:
            admin.delete_topics([self.topic])


@contextmanager
def streaming(topology: Topology, hosts: dict[str, Host], plays: Plays) -> Iterator[Streams]:
    """A stream that runs during the block, its driver on a master's host."""
    driver = topology.group("spark_masters")[0]
    topic = f"millrace-streams-{uuid.uuid4().hex[:8]}"
    stream = Stream(
        hosts[driver],
        topology.addresses[driver],
        topology.spark_token,
        f"{topology.cluster.spark[driver].shared_dir}/failover-stream",
        topology.cluster.brokers[0].clients.user_config(ADMIN, KAFKA_AUTHORITY)
        or topology.cluster.brokers[0].clients.config,
        topic,
    )
    load_clients = Clients(topology.connection)
    folder = RUNS / topology.name
    folder.mkdir(parents=True, exist_ok=True)
    load_clients.create_topic(topic, partitions=PARTITIONS, replication=3, min_isr=2)
    with ExitStack() as after:
        producer = load_clients.producer(request_timeout_ms=REQUEST_MS)
        target = Streams(
            topology, hosts, plays, folder, topic=topic, stream=stream, producer=producer
        )
        if (folder / FAULTS).exists():
            target.earlier = load_faults(folder).faults
        after.callback(target.delete_topic)
        after.callback(producer.close, timeout=5)
        after.callback(target.clean)
        after.callback(target.heal)
        stream.prepare()
        target.start()
        target.flows()
        yield target
