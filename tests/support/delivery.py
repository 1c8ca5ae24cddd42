"""A client's side of a cluster: clients, topics and a group that go when a test ends."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition  # type: ignore[import-untyped] # no types
from kafka.admin import AlterConfigOp, ConfigResource, ConfigResourceType  # type: ignore[import-untyped] # no types
from kafka.errors import KafkaError  # type: ignore[import-untyped] # no types

from tests.support.wait import wait_for

SECONDS = 30
"""Within which a client gets its answer."""
REPLICAS = 3
GONE = ("OK", "GroupIdNotFoundError")


@dataclass(frozen=True)
class Client:
    """What a test makes through it is closed or deleted when the test ends, the last one first."""

    admin: KafkaAdminClient
    brokers: dict[int, str]
    group: str
    stack: ExitStack

    @property
    def bootstrap(self) -> list[str]:
        return list(self.brokers.values())

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

    def producer(self, **config: Any) -> KafkaProducer:
        producer = KafkaProducer(bootstrap_servers=self.bootstrap, **config)
        self.stack.callback(producer.close, timeout=5)
        return producer

    def consumer(self, **config: Any) -> KafkaConsumer:
        """A consumer that commits nothing when the test closes it."""
        consumer = KafkaConsumer(bootstrap_servers=self.bootstrap, **config)
        self.stack.callback(consumer.close, autocommit=False)
        return consumer

    def reader(self, topic: str, **config: Any) -> tuple[KafkaConsumer, TopicPartition]:
        """A consumer of the group that has taken partition 0 without joining."""
        place = TopicPartition(topic, 0)
        consumer = self.consumer(group_id=self.group, **{"enable_auto_commit": False, **config})
        consumer.assign([place])
        return consumer, place

    def write(self, topic: str, values: Iterable[bytes]) -> list[int]:
        """Write to partition 0, each value acknowledged before the next; returns the offsets."""
        producer = self.producer(acks="all")
        return [
            producer.send(topic, value, partition=0).get(timeout=SECONDS).offset for value in values
        ]

    def read(self, topic: str, partitions: int = 1, start: int = 0, **config: Any) -> list[Any]:
        """The records of each partition from `start`, or its log's start, to its end as of now."""
        places = [TopicPartition(topic, number) for number in range(partitions)]
        with closing(KafkaConsumer(bootstrap_servers=self.bootstrap, **config)) as consumer:
            consumer.assign(places)
            for place, first in consumer.beginning_offsets(places).items():
                consumer.seek(place, max(start, first))
            return drain(consumer)

    def values(self, topic: str, **config: Any) -> list[bytes]:
        return [record.value for record in self.read(topic, **config)]

    def configure(self, topic: str, config: Mapping[str, str]) -> None:
        """Change a topic's settings."""
        self._alter([ConfigResource(ConfigResourceType.TOPIC, topic, dict(config))])

    @contextmanager
    def broker_settings(self, settings: Mapping[str, str]) -> Iterator[None]:
        """Tell every broker other settings while the block runs (KIP-226)."""
        before = {node: self._told(node) for node in self.brokers}
        self._tell({node: dict(settings) for node in self.brokers})
        try:
            yield
        finally:
            delete = (AlterConfigOp.DELETE, None)
            self._tell(
                {
                    node: {key: told.get(key, delete) for key in settings}
                    for node, told in before.items()
                }
            )

    def setting(self, key: str) -> str:
        """What the first broker follows."""
        node = str(min(self.brokers))
        resource = ConfigResource(ConfigResourceType.BROKER, node, [key])
        answer = self.admin.describe_configs([resource], config_filter="all")
        return str(answer["broker"][node][key]["value"])

    def _told(self, node: int) -> dict[str, str]:
        """What this broker was told before us, beside its file."""
        resource = ConfigResource(ConfigResourceType.BROKER, str(node))
        found = self.admin.describe_configs([resource])["broker"][str(node)]
        return {key: one["value"] for key, one in found.items()}

    def _tell(self, settings: Mapping[int, dict[str, Any]]) -> None:
        self._alter(
            [
                ConfigResource(ConfigResourceType.BROKER, str(node), config)
                for node, config in settings.items()
            ]
        )

    def _alter(self, resources: list[ConfigResource]) -> None:
        # Kafka 3.9 does not describe the rates of throttles, yet takes them.
        answer = self.admin.alter_configs(resources, raise_on_unknown=False)
        results = [result for kind in answer.values() for result in kind.values()]
        assert results == ["OK"] * len(resources), answer


@contextmanager
def client_of(admin: KafkaAdminClient, brokers: dict[int, str]) -> Iterator[Client]:
    """A client with a group of its own."""
    with ExitStack() as stack:
        group = f"millrace-delivery-{uuid.uuid4().hex[:8]}"
        stack.callback(forget, admin, group)
        yield Client(admin, brokers, group, stack)


def forget(admin: KafkaAdminClient, group: str) -> None:
    """Delete a group that nobody is a member of; the first one waits for a coordinator."""

    def gone() -> bool:
        try:
            return admin.delete_groups([group])[group] in GONE
        except KafkaError:
            return False

    wait_for(gone, seconds=SECONDS, what=f"no {group}")


def drain(consumer: KafkaConsumer) -> list[Any]:
    """What a consumer reads from its positions to the ends as of now, partition by partition."""
    ends = consumer.end_offsets(list(consumer.assignment()))
    found: list[Any] = []

    def at_end() -> bool:
        for records in consumer.poll(timeout_ms=200).values():
            found.extend(records)
        return all((consumer.position(place) or 0) >= end for place, end in ends.items())

    wait_for(at_end, seconds=SECONDS, what=f"everything before {ends}")
    # Stable: within a partition it is the order in which they came.
    return sorted(found, key=lambda record: record.partition)
