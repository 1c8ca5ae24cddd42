"""A client's side of a cluster: clients, topics and a group that go when a test ends."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients, library
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.clients import read_to_ends

from tests.support.lab.topology import Topology
from tests.support.wait import scaled, wait_for

SECONDS = 30
"""Within which a client gets its answer."""
REPLICAS = 3
GONE = ("OK", "GroupIdNotFoundError")


@dataclass(frozen=True)
class Client:
    """What a test makes through it is closed or deleted when the test ends, the last one first."""

    admin: Any
    topology: Topology
    group: str
    stack: ExitStack

    def topic(
        self,
        partitions: int = 1,
        config: Mapping[str, str] | None = None,
        replicas: list[int] | None = None,
    ) -> str:
        """Make a topic with three replicas, or with one partition on the brokers `replicas`."""
        name = f"millrace-delivery-{uuid.uuid4().hex[:8]}"
        shape: dict[str, Any] = {"num_partitions": partitions, "replication_factor": REPLICAS}
        if replicas:
            shape = {"assignments": {0: replicas}}
        self.admin.create_topics({name: {**shape, "configs": config or {}}}, wait_for_metadata=True)
        self.stack.callback(self.admin.delete_topics, [name])
        return name

    def producer(self, **config: Any) -> Any:
        producer = clients.producer(self.topology.connection, **config)
        self.stack.callback(producer.close, timeout=5)
        return producer

    def consumer(self, **config: Any) -> Any:
        """A consumer that commits nothing when the test closes it."""
        consumer = clients.consumer(self.topology.connection, **config)
        self.stack.callback(consumer.close, autocommit=False)
        return consumer

    def reader(self, topic: str, **config: Any) -> tuple[Any, Any]:
        """A consumer of the group that took partition 0 without joining, and that partition."""
        partition = library.TopicPartition(topic, 0)
        consumer = self.consumer(group_id=self.group, **{"enable_auto_commit": False, **config})
        consumer.assign([partition])
        return consumer, partition

    def write(self, topic: str, values: Iterable[bytes]) -> list[int]:
        """Write to partition 0, each value acknowledged before the next; returns the offsets."""
        producer = self.producer(acks="all")
        return [
            producer.send(topic, value, partition=0).get(timeout=SECONDS).offset for value in values
        ]

    def read(self, topic: str, partitions: int = 1, start: int = 0, **config: Any) -> list[Any]:
        """The records of each partition from `start`, or its log's start, to its end as of now."""
        numbered = [library.TopicPartition(topic, number) for number in range(partitions)]
        with closing(clients.consumer(self.topology.connection, **config)) as consumer:
            consumer.assign(numbered)
            for partition, first in consumer.beginning_offsets(numbered).items():
                consumer.seek(partition, max(start, first))
            return drain(consumer)

    def values(self, topic: str, **config: Any) -> list[bytes]:
        return [record.value for record in self.read(topic, **config)]

    def configure(self, topic: str, config: Mapping[str, str]) -> None:
        """Change a topic's settings."""
        self._alter([_resource("TOPIC", topic, dict(config))])

    @contextmanager
    def broker_settings(self, settings: Mapping[str, str]) -> Iterator[None]:
        """Set dynamic settings on every broker while the block runs (KIP-226)."""
        before = {node: self._dynamic(node) for node in self.topology.brokers}
        self._set({node: dict(settings) for node in before})
        try:
            yield
        finally:
            delete = (library.AlterConfigOp.DELETE, None)
            self._set(
                {
                    node: {key: former.get(key, delete) for key in settings}
                    for node, former in before.items()
                }
            )

    def setting(self, key: str) -> str:
        """The value that is in force on the first broker."""
        node = str(min(self.topology.brokers))
        described = self.admin.describe_configs(
            [_resource("BROKER", node, [key])], config_filter="all"
        )
        return str(described["broker"][node][key]["value"])

    def _dynamic(self, node: int) -> dict[str, str]:
        """A broker's dynamic settings."""
        described = self.admin.describe_configs([_resource("BROKER", str(node))])["broker"][
            str(node)
        ]
        return {key: entry["value"] for key, entry in described.items()}

    def _set(self, settings: Mapping[int, dict[str, Any]]) -> None:
        self._alter([_resource("BROKER", str(node), config) for node, config in settings.items()])

    def _alter(self, resources: list[Any]) -> None:
        # Kafka 3.9 does not describe the rates of throttles, yet takes them.
        response = self.admin.alter_configs(resources, raise_on_unknown=False)
        results = [result for kind in response.values() for result in kind.values()]
        assert results == ["OK"] * len(resources), response


def _resource(kind: str, *words: Any) -> Any:
    return library.ConfigResource(library.ConfigResourceType[kind], *words)


@contextmanager
def client_of(admin: Any, topology: Topology) -> Iterator[Client]:
    """A client with a group of its own."""
    with ExitStack() as stack:
        group = f"millrace-delivery-{uuid.uuid4().hex[:8]}"
        stack.callback(forget, admin, group)
        yield Client(admin, topology, group, stack)


def forget(admin: Any, group: str) -> None:
    """Delete a group without members; the first deletion waits for a coordinator."""

    def gone() -> bool:
        try:
            return admin.delete_groups([group])[group] in GONE
        except library.errors.KafkaError:
            return False

    wait_for(gone, seconds=SECONDS, what=f"no {group}")


def drain(consumer: Any) -> list[Any]:
    """What a consumer reads from its positions to the ends as of now, partition by partition."""
    records = read_to_ends(consumer, time.monotonic() + scaled(SECONDS))
    # Stable: within a partition it is the order in which they came.
    return sorted(records, key=lambda record: record.partition)
