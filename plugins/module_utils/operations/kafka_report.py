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
    found, more = cluster.ask(contents.read)
    problems = health.problems(found, expected)
    if more["quorum_error"]:  # without its answer, what is known of it is wrong
        problems = [f"the quorum does not answer: {more['quorum_error']}"]
    return {
        "error": "",
        "cluster_id": found.cluster_id,
        "controller": found.controller_id,
        "brokers": [vars(broker) for broker in found.brokers],
        "expected": sorted(expected.brokers),
        "topics": topics_of(found),
        "quorum": quorum_of(found),
        "problems": problems,
        **more,
    }


def topics_of(found: Snapshot) -> list[list[Any]]:
    """Return the topics of a snapshot, short: there may be tens of thousands of partitions."""
    partitions: dict[str, list[list[Any]]] = defaultdict(list)
    min_isr: dict[str, int] = {}
    for one in found.partitions:
        partitions[one.topic].append([one.leader, list(one.replicas), list(one.isr)])
        min_isr[one.topic] = one.min_isr
    return [[name, every, min_isr[name]] for name, every in partitions.items()]


def quorum_of(found: Snapshot) -> dict[str, Any] | None:
    """Return the quorum of a snapshot, None where there is none."""
    quorum = found.quorum
    if quorum is None:
        return None
    return {
        "leader": quorum.leader_id,
        "epoch": quorum.leader_epoch,
        "voters": [vars(one) for one in quorum.voters],
        "observers": [vars(one) for one in quorum.observers],
    }
