"""What a Kafka cluster holds, as plain data for a report."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from ..kafka import contents
from ..kafka.client import Cluster
from ..kafka.snapshot import Snapshot
from . import health
from .gate import Expected


def read(
    cluster: Cluster, brokers: Iterable[int], voters: Iterable[int], cluster_id: str = ""
) -> dict[str, Any]:
    """Return what the cluster holds, and what is wrong by the nodes that it should have.

    Raises:
        UnavailableError: no broker answers.

    """
    expected = Expected(frozenset(brokers), frozenset(voters), cluster_id or None)
    snapshot, details = cluster.ask(contents.read)
    problems = health.problems(snapshot, expected)
    if details["quorum_error"]:  # without its answer, what is known of it is wrong
        problems = [f"the quorum does not answer: {details['quorum_error']}"]
    return {
        "error": "",
        "cluster_id": snapshot.cluster_id,
        "controller": snapshot.controller_id,
        "brokers": [vars(broker) for broker in snapshot.brokers],
        "expected": sorted(expected.brokers),
        "topics": topics_of(snapshot),
        "quorum": quorum_of(snapshot),
        "problems": problems,
        **details,
    }


def topics_of(snapshot: Snapshot) -> list[list[Any]]:
    """Return the topics of a snapshot, short: there may be tens of thousands of partitions."""
    partitions: dict[str, list[list[Any]]] = defaultdict(list)
    min_isr: dict[str, int] = {}
    for partition in snapshot.partitions:
        partitions[partition.topic].append(
            [partition.leader, list(partition.replicas), list(partition.isr)]
        )
        min_isr[partition.topic] = partition.min_isr
    return [[name, rows, min_isr[name]] for name, rows in partitions.items()]


def quorum_of(snapshot: Snapshot) -> dict[str, Any] | None:
    """Return the quorum of a snapshot, None where there is none."""
    quorum = snapshot.quorum
    if quorum is None:
        return None
    return {
        "leader": quorum.leader_id,
        "epoch": quorum.leader_epoch,
        "voters": [vars(voter) for voter in quorum.voters],
        "observers": [vars(observer) for observer in quorum.observers],
    }
