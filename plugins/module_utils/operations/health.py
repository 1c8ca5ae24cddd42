"""Whether a Kafka cluster is healthy, judged from one snapshot of it.

Pure: `snapshot` turns the admin client's answers into a `Snapshot`, `problems` judges it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Broker:
    """A registered broker; a fenced one is registered but serves nobody (KIP-631)."""

    id: int
    host: str = ""
    port: int = 0
    rack: str | None = None
    fenced: bool = False


@dataclass(frozen=True)
class Replica:
    """A voter or observer of the metadata log.

    `lag` is in records behind the leader; `behind_ms` is the time since the replica last had
    everything, or None if it never had (KIP-836).
    """

    id: int
    lag: int
    behind_ms: int | None


@dataclass(frozen=True)
class Quorum:
    """The KRaft quorum as its leader sees it; leader_id is -1 while there is none."""

    leader_id: int
    leader_epoch: int
    voters: tuple[Replica, ...]
    observers: tuple[Replica, ...] = ()
    high_watermark: int = 0


@dataclass(frozen=True)
class Partition:
    """A partition; leader is -1 while it is offline. `min_isr` as configured for its topic."""

    topic: str
    index: int
    leader: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    min_isr: int = 1

    @property
    def name(self) -> str:
        """Return topic and index as Kafka's tools write them."""
        return f"{self.topic}-{self.index}"

    @property
    def offline(self) -> bool:
        """Tell whether nobody leads it."""
        return self.leader < 0

    @property
    def under_replicated(self) -> bool:
        """Tell whether a replica is not in sync."""
        return len(self.isr) < len(self.replicas)

    @property
    def under_min_isr(self) -> bool:
        """Tell whether acks=all is refused; brokers cap the setting at the number of replicas."""
        return len(self.isr) < min(self.min_isr, len(self.replicas))


@dataclass(frozen=True)
class Snapshot:
    """A cluster at one moment, internal topics included; without quorum it runs on ZooKeeper.

    `reassigning` are partitions on the move, `throttled` topics whose replication is held back;
    both are read for the gate alone.
    """

    cluster_id: str
    brokers: tuple[Broker, ...]
    controller_id: int
    quorum: Quorum | None
    partitions: tuple[Partition, ...] = ()
    unreadable_topics: Mapping[str, int] = field(default_factory=dict)
    reassigning: tuple[str, ...] = ()
    throttled: tuple[str, ...] = ()


@dataclass(frozen=True)
class Expected:
    """What the inventory says; None or empty means any. `max_lag` in records of metadata."""

    brokers: frozenset[int] = frozenset()
    voters: frozenset[int] = frozenset()
    cluster_id: str | None = None
    max_lag: int = 100
    max_behind_ms: int = 5000


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
    return Snapshot(
        cluster_id=str(cluster["cluster_id"]),
        brokers=tuple(
            Broker(
                broker["broker_id"],
                broker["host"],
                broker["port"],
                broker.get("rack"),
                bool(broker.get("is_fenced", False)),
            )
            for broker in sorted(cluster["brokers"], key=lambda broker: int(broker["broker_id"]))
        ),
        controller_id=kraft.leader_id if kraft else cluster["controller_id"],
        quorum=kraft,
        partitions=tuple(
            Partition(
                topic["name"],
                partition["partition_index"],
                partition["leader_id"],
                tuple(partition["replica_nodes"]),
                tuple(partition["isr_nodes"]),
                min_isr.get(topic["name"], 1),
            )
            for topic in sorted(topics, key=lambda topic: str(topic["name"]))
            for partition in sorted(
                topic["partitions"], key=lambda partition: int(partition["partition_index"])
            )
        ),
        unreadable_topics={
            topic["name"]: topic["error_code"] for topic in topics if topic["error_code"]
        },
        reassigning=tuple(sorted(reassigning)),
        throttled=tuple(sorted(throttled)),
    )


def problems(snapshot: Snapshot, expected: Expected) -> list[str]:
    """Say everything that is wrong with the cluster; an empty list means healthy."""
    return [
        *_identity_problems(snapshot, expected),
        *_broker_problems(snapshot, expected),
        *_quorum_problems(snapshot, expected),
        *_partition_problems(snapshot),
    ]


def facts(snapshot: Snapshot) -> dict[str, Any]:
    """Return the snapshot as plain data for a module's result."""
    quorum = snapshot.quorum
    return {
        "cluster_id": snapshot.cluster_id,
        "brokers": [vars(broker) for broker in snapshot.brokers],
        "controller": snapshot.controller_id,
        "leader_epoch": quorum.leader_epoch if quorum else None,
        "voters": [vars(replica) for replica in quorum.voters] if quorum else [],
        "observers": [vars(replica) for replica in quorum.observers] if quorum else [],
        "topics": len({partition.topic for partition in snapshot.partitions}),
        "partitions": len(snapshot.partitions),
        "offline": _names(snapshot, "offline"),
        "under_replicated": _names(snapshot, "under_replicated"),
        "under_min_isr": _names(snapshot, "under_min_isr"),
    }


def _quorum(answer: Mapping[str, Any]) -> Quorum:
    log = answer["topics"][0]["partitions"][0]
    states = [*log["current_voters"], *log["observers"]]
    leader = next((s for s in states if s["replica_id"] == log["leader_id"]), None)
    end = leader["log_end_offset"] if leader else log["high_watermark"]
    # The leader stamps itself with its own present, so no clock of another host takes part.
    now = leader.get("last_caught_up_timestamp", -1) if leader else -1

    def replica(state: Mapping[str, Any]) -> Replica:
        caught_up = state.get("last_caught_up_timestamp", -1)
        behind = max(0, now - caught_up) if min(caught_up, now) >= 0 else None
        return Replica(state["replica_id"], max(0, end - state["log_end_offset"]), behind)

    # A node that was formatted anew has a new directory id; the leader lists its former one for
    # five minutes more (KIP-853). A voter, else the last one to fetch, is the node as it is.
    voters = {state["replica_id"] for state in log["current_voters"]}
    by_fetch = sorted(log["observers"], key=lambda state: state.get("last_fetch_timestamp", -1))
    observers = {s["replica_id"]: s for s in by_fetch if s["replica_id"] not in voters}
    return Quorum(
        leader_id=log["leader_id"],
        leader_epoch=log["leader_epoch"],
        voters=_sorted(map(replica, log["current_voters"])),
        observers=_sorted(map(replica, observers.values())),
        high_watermark=log["high_watermark"],
    )


def _sorted(replicas: Iterable[Replica]) -> tuple[Replica, ...]:
    return tuple(sorted(replicas, key=lambda replica: replica.id))


def _identity_problems(snapshot: Snapshot, expected: Expected) -> list[str]:
    if expected.cluster_id in (None, snapshot.cluster_id):
        return []
    return [
        f"this is cluster {snapshot.cluster_id}, the inventory says {expected.cluster_id}: "
        "correct the bootstrap addresses or the inventory"
    ]


def _broker_problems(snapshot: Snapshot, expected: Expected) -> list[str]:
    found: list[str] = []
    fenced = {broker.id for broker in snapshot.brokers if broker.fenced}
    registered = {broker.id for broker in snapshot.brokers}
    if fenced:
        found.append(
            f"broker {_listed(fenced)} is registered but fenced: it is stopped, cut off or has "
            "not caught up with the metadata; see its journal"
        )
    if expected.brokers and (absent := expected.brokers - registered):
        found.append(f"broker {_listed(absent)} is not registered: see its journal")
    if expected.brokers and (strange := registered - expected.brokers):
        found.append(
            f"broker {_listed(strange)} is registered but not expected: add it to the inventory, "
            "or unregister it"
        )
    return found


def _quorum_problems(snapshot: Snapshot, expected: Expected) -> list[str]:
    quorum = snapshot.quorum
    if quorum is None:
        return ["the cluster has no KRaft quorum, controllers were expected"] * bool(
            expected.voters
        )
    if quorum.leader_id < 0:
        return ["the controllers have no leader: a majority of them must run and reach each other"]
    found: list[str] = []
    voters = {voter.id for voter in quorum.voters}
    if expected.voters and (absent := expected.voters - voters):
        found.append(f"controller {_listed(absent)} is not a voter of the quorum")
    if expected.voters and (strange := voters - expected.voters):
        found.append(f"controller {_listed(strange)} is a voter of the quorum but not expected")
    for what, replicas in (("controller", quorum.voters), ("broker", quorum.observers)):
        found.extend(
            f"{what} {replica.id} {text}"
            for replica in replicas
            if what == "controller" or replica.id in expected.brokers
            if (text := _behind(replica, expected))
        )
    return found


def _behind(replica: Replica, expected: Expected) -> str | None:
    if replica.lag > expected.max_lag:
        return (
            f"is {replica.lag} records behind the controllers' leader, allowed {expected.max_lag}"
        )
    if replica.behind_ms is not None and replica.behind_ms > expected.max_behind_ms:
        return (
            f"last had all metadata {replica.behind_ms} ms ago, allowed {expected.max_behind_ms} ms"
        )
    if replica.behind_ms is None and replica.lag > 0:
        return f"never had all metadata yet, {replica.lag} records are missing"
    return None


def _partition_problems(snapshot: Snapshot) -> list[str]:
    found = [
        f"topic {name} cannot be described: Kafka's error code {code}"
        for name, code in sorted(snapshot.unreadable_topics.items())
    ]
    lacking = {
        replica
        for partition in snapshot.partitions
        for replica in set(partition.replicas) - set(partition.isr)
    }
    for kind, text in (
        ("offline", "have no leader (offline)"),
        ("under_min_isr", "are below min.insync.replicas (acks=all is refused)"),
        ("under_replicated", f"are under-replicated (not in sync: broker {_listed(lacking)})"),
    ):
        names = _names(snapshot, kind)
        if names:
            found.append(
                f"{len(names)} of {len(snapshot.partitions)} partitions {text}: {_few(names)}"
            )
    return found


def _names(snapshot: Snapshot, kind: str) -> list[str]:
    return [partition.name for partition in snapshot.partitions if getattr(partition, kind)]


def _few(names: Sequence[str]) -> str:
    more = f", and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more


def _listed(ids: Iterable[int]) -> str:
    return ", ".join(str(number) for number in sorted(ids))
