"""Whether a Kafka cluster is healthy, judged from one snapshot of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.kafka.snapshot import (
    Replica,
    Snapshot,
)


@dataclass(frozen=True)
class Expected:
    """What the inventory says; None or empty means any. `max_lag` in records of metadata."""

    brokers: frozenset[int] = frozenset()
    voters: frozenset[int] = frozenset()
    cluster_id: str | None = None
    max_lag: int = 100
    max_behind_ms: int = 5000


def problems(snapshot: Snapshot, expected: Expected) -> list[str]:
    """Return every problem of the cluster; an empty list means healthy."""
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
    if expected.brokers and (unexpected := registered - expected.brokers):
        found.append(
            f"broker {_listed(unexpected)} is registered but not expected: add it to the "
            "inventory, or unregister it"
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
    if expected.voters and (unexpected := voters - expected.voters):
        found.append(f"controller {_listed(unexpected)} is a voter of the quorum but not expected")
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
    out_of_sync = {
        replica
        for partition in snapshot.partitions
        for replica in set(partition.replicas) - set(partition.isr)
    }
    for kind, text in (
        ("offline", "have no leader (offline)"),
        ("under_min_isr", "are below min.insync.replicas (acks=all is refused)"),
        ("under_replicated", f"are under-replicated (not in sync: broker {_listed(out_of_sync)})"),
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
