"""A partition's log on the brokers' disks."""

from __future__ import annotations

import base64
from dataclasses import dataclass

from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import MemoryRecords
from testinfra.host import Host

from tests.support.lab.topology import Topology

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
"""By the lowest three bits of a batch's attributes (Kafka's message format)."""


@dataclass(frozen=True)
class Batch:
    """A record batch."""

    records: int
    codec: str
    size: int
    """In bytes, with its header of 61."""


def batches(log: bytes) -> list[Batch]:
    """The batches of a log in the message format that Kafka writes since 0.11."""
    return [
        Batch(batch.records_count, CODECS[batch.compression_type], batch.size_in_bytes)
        for batch in MemoryRecords(log)
    ]


@dataclass(frozen=True)
class Disks:
    """The brokers' data directories."""

    topology: Topology
    hosts: dict[str, Host]

    def files(self, topic: str, partition: int = 0) -> dict[str, int]:
        """Broker's host to its number of segments; what Kafka is about to delete does not count."""
        return {
            host: int(self._find(host, topic, partition, "| wc -l"))
            for host in self.topology.group("kafka_brokers")
        }

    def log(self, node: int, topic: str, partition: int = 0) -> bytes:
        """All segments of a replica, one after the other."""
        text = self._find(
            self.topology.node(node), topic, partition, "| sort | xargs cat | base64 --wrap=0"
        )
        return base64.b64decode(text)

    def _find(self, host: str, topic: str, partition: int, then: str) -> str:
        directories = " ".join(
            f"{directory}/{topic}-{partition}"
            for directory in self.topology.cluster.kafka[host].data_dirs
        )
        # One of the directories has the partition.
        command = f"find {directories} -name '*.log' 2>/dev/null {then}"
        return str(self.hosts[host].check_output(command))
