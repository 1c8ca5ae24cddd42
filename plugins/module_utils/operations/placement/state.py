"""Where a cluster's replicas are, how large they are, and what its brokers have room for.

Plain values: the caller reads them (DescribeCluster, DescribeTopics, DescribeLogDirs with the sizes
of KIP-113 and the totals of KIP-827), the planner computes with them. Sizes are bytes, rates bytes
per second.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Disk:
    """A log directory of a broker, and the volume it is on."""

    path: str
    capacity: int | None = None
    """Bytes of the volume; None where the broker does not show it (before KIP-827)."""
    used: int = 0
    """Bytes of the volume in use, replicas and all else."""
    cordoned: bool = False
    """Whether it takes no new replicas (KIP-1066)."""


@dataclass(frozen=True)
class Broker:
    """A broker that is registered, or that replicas name."""

    id: int
    rack: str | None = None
    """`broker.rack` (KIP-36); None where it has none."""
    disks: tuple[Disk, ...] = ()
    """Its log directories; empty where their sizes are not shown, which limits nothing."""
    cordoned: bool = False
    """Whether all its directories take no new replicas (KIP-1066); its replicas stay and lead."""
    present: bool = True
    """Whether it is registered and not fenced."""

    @property
    def receives(self) -> bool:
        """Return whether new replicas may be placed on it."""
        usable = not self.disks or any(not disk.cordoned for disk in self.disks)
        return self.present and not self.cordoned and usable


@dataclass(frozen=True)
class Partition:
    """A partition, with its replicas in order of preference."""

    topic: str
    index: int
    replicas: tuple[int, ...]
    """Ids of brokers; the first one is the preferred leader."""
    leader: int = -1
    """The current leader; -1 while it is offline."""
    size: int = 0
    """Bytes of one replica: those of the leader, or else the largest."""
    rate: float = 0.0
    """Bytes per second that producers write to it."""
    min_isr: int = 1
    """`min.insync.replicas` of its topic, as it is in force."""
    isr: tuple[int, ...] | None = None
    """Replicas in sync; None stands for all."""
    directories: Mapping[int, str] = field(default_factory=dict)
    """Broker -> path of the disk that its replica is on; needed for brokers with several."""

    @property
    def name(self) -> str:
        """Return topic and index as Kafka's tools write them."""
        return f"{self.topic}-{self.index}"

    @property
    def in_sync(self) -> tuple[int, ...]:
        """Return the replicas in sync."""
        return self.replicas if self.isr is None else self.isr


@dataclass(frozen=True)
class State:
    """A cluster at one moment, internal topics included."""

    brokers: tuple[Broker, ...]
    partitions: tuple[Partition, ...]

    @property
    def all_brokers(self) -> tuple[Broker, ...]:
        """Return the brokers by id, with those that only replicas name as absent ones."""
        registered = {broker.id for broker in self.brokers}
        named = {broker for partition in self.partitions for broker in partition.replicas}
        absent = (Broker(broker, present=False) for broker in named - registered)
        return tuple(sorted((*self.brokers, *absent), key=lambda broker: broker.id))
