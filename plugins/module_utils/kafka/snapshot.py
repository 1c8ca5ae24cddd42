"""A cluster at one moment: brokers, quorum and partitions, from the admin client's answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from . import library

MIN_ISR = "min.insync.replicas"
THROTTLES = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
_ID = attrgetter("id")
_NEVER = -1  # Kafka's own for a time that is not known


@dataclass(frozen=True)
class Broker:
    """A registered broker."""

    id: int
    host: str = ""
    port: int = 0
    rack: str | None = None
    fenced: bool = False
    """Whether it is registered but does not serve clients (KIP-631)."""


@dataclass(frozen=True)
class Replica:
    """A voter or observer of the metadata log."""

    id: int
    lag: int
    """Records behind the leader."""
    behind_ms: int | None
    """Time since it last had everything, or None if it never had (KIP-836)."""


@dataclass(frozen=True)
class Quorum:
    """The KRaft quorum as its leader sees it."""

    leader_id: int
    """-1 while there is none."""
    leader_epoch: int
    voters: tuple[Replica, ...]
    observers: tuple[Replica, ...] = ()
    high_watermark: int = 0


@dataclass(frozen=True)
class Partition:
    """A partition of a topic."""

    topic: str
    index: int
    leader: int
    """-1 while it is offline."""
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    min_isr: int
    """As configured for its topic."""
    offline_replicas: tuple[int, ...] = ()
    """Those on brokers that are not there, or in directories that failed (KIP-112)."""

    @property
    def name(self) -> str:
        """Return topic and index as Kafka's tools write them."""
        return f"{self.topic}-{self.index}"

    @property
    def offline(self) -> bool:
        """Return whether it has no leader."""
        return self.leader < 0

    @property
    def under_replicated(self) -> bool:
        """Return whether a replica is not in sync."""
        return len(self.isr) < len(self.replicas)

    @property
    def under_min_isr(self) -> bool:
        """Return whether acks=all is refused; brokers cap the setting at the number of replicas."""
        return len(self.isr) < min(self.min_isr, len(self.replicas))


@dataclass(frozen=True)
class Snapshot:
    """A cluster at one moment, internal topics included."""

    cluster_id: str
    brokers: tuple[Broker, ...]
    controller_id: int
    quorum: Quorum | None
    """Without one it runs on ZooKeeper."""
    partitions: tuple[Partition, ...] = ()
    unreadable_topics: Mapping[str, int] = field(default_factory=dict)
    reassigning: tuple[str, ...] = ()
    """Partitions that are being reassigned; read for the gate alone."""
    throttled: tuple[str, ...] = ()
    """Topics whose replication is throttled; read for the gate alone."""

    @property
    def with_failed_directory(self) -> frozenset[int]:
        """The brokers that serve, but not some replica, since its directory has failed.

        A directory stays failed until its broker is restarted, also when it is repaired.
        """
        serving = frozenset(broker.id for broker in self.brokers if not broker.fenced)
        offline = {broker for partition in self.partitions for broker in partition.offline_replicas}
        return serving & offline


def cluster_id(admin: Any) -> str:
    """Return the id of the cluster."""
    return str(admin.describe_cluster()["cluster_id"])


def read(admin: Any, *, gate: bool = False) -> Snapshot:
    """Return the cluster as it is now; with `gate` all that decides whether a node may stop.

    Raises:
        LookupError: the settings of a topic are not shown to this client.

    """
    topics = admin.describe_topics()
    names = [topic["name"] for topic in topics] if gate else shrunk_topics(topics)
    settings = topic_settings(admin, names)
    hidden = sorted(name for name in names if gate and MIN_ISR not in settings.get(name, {}))
    if hidden:  # or deleted just now: the next snapshot will tell
        text = f"the settings of {', '.join(hidden[:5])} are not shown: check this client's ACLs"
        raise LookupError(text)
    moves = admin.list_partition_reassignments() if gate else {}
    return snapshot(
        admin.describe_cluster(),
        topics,
        described_quorum(admin),
        # A topic that was deleted meanwhile has no settings.
        {name: int(keys[MIN_ISR]) for name, keys in settings.items() if MIN_ISR in keys},
        reassigning=[f"{move.topic}-{move.partition}" for move in moves],
        throttled=[name for name, keys in settings.items() if any(map(keys.get, THROTTLES))],
    )


def described_quorum(admin: Any) -> Mapping[str, Any] | None:
    """Return DescribeQuorum's answer, None where the cluster has no KRaft quorum."""
    without = (library.errors.IncompatibleBrokerVersion, library.errors.UnsupportedVersionError)
    try:
        quorum: Mapping[str, Any] = admin.describe_metadata_quorum()
    except without:
        return None
    return quorum


def topic_settings(admin: Any, topics: list[str]) -> dict[str, dict[str, str]]:
    """Return topic -> key -> value, of the keys that matter here and are shown to this client."""
    if not topics:
        return {}
    keys = dict.fromkeys((MIN_ISR, *THROTTLES))
    described = admin.describe_configs(
        [library.ConfigResource(library.ConfigResourceType.TOPIC, name, keys) for name in topics],
        config_filter="all",
    )
    return {
        name: {key: setting["value"] for key, setting in settings.items()}
        for name, settings in described["topic"].items()
    }


def shrunk_topics(topics: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the topics whose min.insync.replicas matters: those with a replica out of sync.

    A partition with all replicas in sync has at least min(min.insync.replicas, replicas) of them.
    """
    return sorted(
        topic["name"]
        for topic in topics
        if any(
            len(partition["isr_nodes"]) < len(partition["replica_nodes"])
            for partition in topic["partitions"]
        )
    )


def snapshot(
    cluster: Mapping[str, Any],
    topics: Iterable[Mapping[str, Any]],
    quorum: Mapping[str, Any] | None,
    min_isr: Mapping[str, int],
    *,
    reassigning: Iterable[str] = (),
    throttled: Iterable[str] = (),
) -> Snapshot:
    """Build a snapshot from DescribeCluster, Metadata and DescribeQuorum as the client gives them.

    For `problems` alone `min_isr` needs only the topics of `shrunk_topics`.
    """
    topics = list(topics)
    kraft = _quorum(quorum) if quorum is not None else None
    brokers = (
        Broker(
            broker["broker_id"],
            broker["host"],
            broker["port"],
            broker.get("rack"),
            bool(broker.get("is_fenced")),
        )
        for broker in cluster["brokers"]
    )
    partitions = (
        Partition(
            topic["name"],
            partition["partition_index"],
            partition["leader_id"],
            tuple(partition["replica_nodes"]),
            tuple(partition["isr_nodes"]),
            min_isr.get(topic["name"], 1),
            tuple(partition.get("offline_replicas") or ()),
        )
        for topic in topics
        for partition in topic["partitions"]
    )
    return Snapshot(
        cluster_id=str(cluster["cluster_id"]),
        brokers=tuple(sorted(brokers, key=_ID)),
        controller_id=kraft.leader_id if kraft else cluster["controller_id"],
        quorum=kraft,
        partitions=tuple(sorted(partitions, key=attrgetter("topic", "index"))),
        unreadable_topics={
            topic["name"]: topic["error_code"] for topic in topics if topic["error_code"]
        },
        reassigning=tuple(sorted(reassigning)),
        throttled=tuple(sorted(throttled)),
    )


def _time(state: Mapping[str, Any], name: str) -> int:
    """Return a timestamp of a replica, which an old broker does not give."""
    return int(state.get(name, _NEVER))


def _quorum(description: Mapping[str, Any]) -> Quorum:
    [topic] = description["topics"]
    [log] = topic["partitions"]
    states = [*log["current_voters"], *log["observers"]]
    leader = next((state for state in states if state["replica_id"] == log["leader_id"]), None)
    end = leader["log_end_offset"] if leader else log["high_watermark"]
    # The leader's own entry has its current time, so clocks of other hosts do not matter.
    now = _time(leader or {}, "last_caught_up_timestamp")

    def replica(state: Mapping[str, Any]) -> Replica:
        caught_up = _time(state, "last_caught_up_timestamp")
        behind = None if _NEVER in (caught_up, now) else max(0, now - caught_up)
        return Replica(state["replica_id"], max(0, end - state["log_end_offset"]), behind)

    # A node that was formatted anew has a new directory id; the leader lists its former one for
    # five minutes more (KIP-853). A voter, else the last one to fetch, is the node as it is.
    voters = {state["replica_id"] for state in log["current_voters"]}
    by_fetch = sorted(log["observers"], key=lambda state: _time(state, "last_fetch_timestamp"))
    observers = {
        state["replica_id"]: state for state in by_fetch if state["replica_id"] not in voters
    }
    return Quorum(
        leader_id=log["leader_id"],
        leader_epoch=log["leader_epoch"],
        voters=tuple(sorted(map(replica, log["current_voters"]), key=_ID)),
        observers=tuple(sorted(map(replica, observers.values()), key=_ID)),
        high_watermark=log["high_watermark"],
    )
