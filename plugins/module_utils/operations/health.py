"""Whether a Kafka cluster is healthy, found in one snapshot of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..kafka.snapshot import Replica, Snapshot
from .gate import MAX_LAG, SHOWN, Expected, Policy, cluster_blockers

MAX_BEHIND_MS = 5000
"""Milliseconds since a replica last had all metadata: ten of the records that controllers write
twice a second (KIP-835)."""
# Other blockers forbid stopping a node, but do not make the cluster unhealthy.
_UNHEALTHY = frozenset(
    {
        "wrong-cluster",
        "no-leader",
        "no-quorum",
        "voter-missing",
        "unexpected-voter",
        "not-registered",
        "fenced",
        "unexpected-broker",
        "unreadable",
        "offline",
        "under-min-isr",
        "under-replicated",
    }
)


def problems(
    snapshot: Snapshot, expected: Expected, failed: Mapping[int, Sequence[str]] | None = None
) -> list[str]:
    """Return every problem of the cluster; an empty list means healthy.

    `failed` is broker -> directories that it has taken out of use.
    """
    blockers = cluster_blockers(snapshot, expected, Policy())
    return [
        *directory_problems(snapshot, failed or {}),
        *(str(blocker) for blocker in blockers if blocker.predicate in _UNHEALTHY),
        *_lag_problems(snapshot, expected),
    ]


def directory_problems(snapshot: Snapshot, failed: Mapping[int, Sequence[str]]) -> list[str]:
    """Name each broker with directories out of use, and these as far as they are known."""
    brokers = sorted(snapshot.with_failed_directory | failed.keys())
    return [_failed_directory(snapshot, broker, failed.get(broker, ())) for broker in brokers]


def _failed_directory(snapshot: Snapshot, broker: int, paths: Sequence[str]) -> str:
    missing = sum(broker in partition.offline_replicas for partition in snapshot.partitions)
    named = f"log directory {', '.join(paths)}" if paths else "a log directory"
    return (
        f"broker {broker} has taken {named} out of use after an error, so its {missing} replicas "
        "there are missing. See its journal, repair the disk, then run rolling_restart.yml, which "
        "restarts this broker first. It keeps the directory out of use until then"
    )


def few_replicas(snapshot: Snapshot, factors: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    """Return topics with fewer replicas than they would now be created with: what both are.

    `factors` is topic -> replicas; that of an empty name is for all others. A topic may have been
    created while there were fewer brokers, as internal ones are; or with so few on purpose.
    """
    fewest: dict[str, int] = {}
    for partition in snapshot.partitions:
        fewest[partition.topic] = min(
            len(partition.replicas), fewest.get(partition.topic, len(partition.replicas))
        )
    desired = {topic: factors.get(topic, factors.get("", 0)) for topic in fewest}
    return {
        topic: (count, desired[topic])
        for topic, count in sorted(fewest.items())
        if count < desired[topic]
    }


def few_replicas_line(few: Mapping[str, Sequence[int]]) -> str:
    """Return the topics of `few_replicas` as a line with what to do, empty without any.

    Internal topics, on which all groups and transactions depend, come first.
    """
    names = sorted(few, key=lambda topic: (not topic.startswith("__"), topic))
    if not names:
        return ""
    shown = ", ".join(f"{name} {few[name][0]} of {few[name][1]}" for name in names[:SHOWN])
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return (
        f"topics with fewer replicas than new ones would get: {shown}{more}. If that is not meant: "
        f"rebalance.yml -e topic={names[0]} -e replication={few[names[0]][1]}"
    )


def facts(snapshot: Snapshot) -> dict[str, Any]:
    """Return the snapshot as plain data for a module's result."""
    quorum = snapshot.quorum

    def names(kind: str) -> list[str]:
        return [partition.name for partition in snapshot.partitions if getattr(partition, kind)]

    return {
        "cluster_id": snapshot.cluster_id,
        "brokers": [vars(broker) for broker in snapshot.brokers],
        "controller": snapshot.controller_id,
        "leader_epoch": quorum.leader_epoch if quorum else None,
        "voters": [vars(replica) for replica in quorum.voters] if quorum else [],
        "observers": [vars(replica) for replica in quorum.observers] if quorum else [],
        "failed_directories": sorted(snapshot.with_failed_directory),
        "topics": len({partition.topic for partition in snapshot.partitions}),
        "partitions": len(snapshot.partitions),
        **{kind: names(kind) for kind in ("offline", "under_replicated", "under_min_isr")},
    }


def _lag_problems(snapshot: Snapshot, expected: Expected) -> list[str]:
    """Name controllers and expected brokers that are behind; only the leader knows that."""
    quorum = snapshot.quorum
    if quorum is None or quorum.leader_id < 0:
        return []
    replicas = [("controller", replica) for replica in quorum.voters]
    replicas += [
        ("broker", replica) for replica in quorum.observers if replica.id in expected.brokers
    ]
    return [
        f"{role} {replica.id} {text}" for role, replica in replicas if (text := _behind(replica))
    ]


def _behind(replica: Replica) -> str | None:
    if replica.lag > MAX_LAG:
        return f"is {replica.lag} records behind the controllers' leader, allowed {MAX_LAG}"
    if replica.behind_ms is not None and replica.behind_ms > MAX_BEHIND_MS:
        return f"last had all metadata {replica.behind_ms} ms ago, allowed {MAX_BEHIND_MS} ms"
    if replica.behind_ms is None and replica.lag > 0:
        return f"has never had all metadata; {replica.lag} records are missing"
    return None
