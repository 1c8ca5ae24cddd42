"""Clusters for the tests of the availability gate: a healthy one, and changes to it."""

from __future__ import annotations

import dataclasses
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.kafka.snapshot import (
    Broker,
    Partition,
    Quorum,
    Replica,
    Snapshot,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations.gate import (
    Blocker,
    Expected,
    Node,
    Policy,
    stop_blockers,
)

ALL = frozenset({1, 2, 3})
STRICT = Policy()
LOOSE = Policy(strict=False)


def voters(*behind: int | None, leader: int = 1) -> Quorum:
    """Voters 1, 2, ...; one never had all metadata where `behind` is None."""
    replicas = (Replica(i, 0 if ms == 0 else 7, ms) for i, ms in enumerate(behind, start=1))
    return Quorum(leader, 5, tuple(replicas))


def partition(
    topic: str = "t",
    index: int = 0,
    *,
    replicas: tuple[int, ...] = (1, 2, 3),
    isr: tuple[int, ...] | None = None,
    min_isr: int = 2,
    offline: bool = False,
    failed: tuple[int, ...] = (),
) -> Partition:
    """Return a partition; its replicas on brokers of `failed` are in a failed directory."""
    isr = tuple(broker for broker in replicas if broker not in failed) if isr is None else isr
    leader = -1 if offline or not isr else isr[0]
    return Partition(topic, index, leader, replicas, isr, min_isr, failed)


HEALTHY = Snapshot(
    cluster_id="C",
    brokers=(Broker(1), Broker(2), Broker(3)),
    controller_id=1,
    quorum=voters(0, 0, 400),
    partitions=(partition(), partition("__consumer_offsets", 7), partition("one", min_isr=1)),
)
BROKERS = HEALTHY.brokers
ZOOKEEPER = dataclasses.replace(HEALTHY, quorum=None, controller_id=2)
EXPECTED = Expected(brokers=ALL, voters=ALL, cluster_id="C")


def state(**changes: Any) -> Snapshot:
    return dataclasses.replace(HEALTHY, **changes)


def predicates(blockers: list[Blocker]) -> list[str]:
    return [blocker.predicate for blocker in blockers]


def named(blockers: list[Blocker]) -> dict[str, tuple[str, ...]]:
    return {blocker.predicate: blocker.partitions for blocker in blockers if blocker.partitions}


def stop(
    snapshot: Snapshot,
    node: int = 2,
    *,
    policy: Policy = STRICT,
    expected: Expected = EXPECTED,
    **changes: Any,
) -> list[Blocker]:
    stopped = Node(node, **{"broker": True, "controller": True, **changes})
    return stop_blockers(snapshot, stopped, expected, policy)
