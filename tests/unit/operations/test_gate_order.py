"""The order in which nodes are restarted."""

from __future__ import annotations

import dataclasses

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.snapshot import (
    Broker,
    Snapshot,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations.gate import (
    Node,
    must_wait_for_others,
    order,
)

from tests.unit.operations.gate_cases import BROKERS, HEALTHY, ZOOKEEPER, state

NODES = [
    Node(5, broker=True, controller=False, rack="b"),
    Node(6, broker=True, controller=False, rack="a"),
    Node(4, broker=True, controller=False, rack="b"),
    Node(1, broker=False, controller=True, rack="b"),
    Node(2, broker=False, controller=True, rack="a"),
    Node(3, broker=False, controller=True, rack="a"),
]


def unready(*ids: int) -> list[Node]:
    return [dataclasses.replace(node, ready=node.id not in ids) for node in NODES]


@pytest.mark.parametrize(
    ("nodes", "active", "upgrade", "rollback"),
    [
        (NODES, 1, [2, 3, 1, 6, 4, 5], [6, 4, 5, 2, 3, 1]),
        (NODES, 3, [1, 2, 3, 6, 4, 5], [6, 4, 5, 1, 2, 3]),
        (NODES, -1, [1, 2, 3, 6, 4, 5], [6, 4, 5, 1, 2, 3]),
        (unready(5), 1, [5, 2, 3, 1, 6, 4], [5, 6, 4, 2, 3, 1]),
        (unready(3, 5), 2, [3, 5, 1, 2, 6, 4], [5, 3, 6, 4, 1, 2]),
        (unready(6), -1, [6, 1, 2, 3, 4, 5], [6, 4, 5, 1, 2, 3]),
        (unready(1), 1, [1, 2, 3, 6, 4, 5], [1, 6, 4, 5, 2, 3]),
    ],
)
def test_order(nodes: list[Node], active: int, upgrade: list[int], rollback: list[int]) -> None:
    assert order(nodes, active, on_zookeeper=False) == upgrade
    assert order(nodes, active, on_zookeeper=False, reverse_roles=True) == rollback


def test_combined_nodes_count_as_controllers() -> None:
    combined = [Node(i, broker=True, controller=True, rack="cab"[i - 1]) for i in (3, 2, 1)]
    extra = Node(0, broker=True, controller=False)
    assert order([extra, *combined], 2, on_zookeeper=False) == [1, 3, 2, 0]


def test_order_on_zookeeper_ends_with_the_controller() -> None:
    brokers = [Node(i, broker=True, controller=False, rack="ba"[i % 2]) for i in range(4)]
    for reverse in (False, True):
        assert order(brokers, 1, on_zookeeper=True, reverse_roles=reverse) == [3, 0, 2, 1]
    one_unready = [dataclasses.replace(node, ready=node.id != 0) for node in brokers]
    assert order(one_unready, 1, on_zookeeper=True) == [0, 3, 2, 1]


@pytest.mark.parametrize(
    ("snapshot", "node", "remaining", "expected"),
    [
        (HEALTHY, 1, {2, 3}, True),
        (HEALTHY, 1, {1, 3}, True),
        (HEALTHY, 1, {1}, False),
        (HEALTHY, 1, set(), False),
        (state(brokers=(*BROKERS, Broker(7))), 1, {1, 7}, False),
        (state(brokers=(Broker(7), Broker(8))), 1, {2}, True),
        (HEALTHY, 2, {1, 3}, False),
        (state(controller_id=-1), 1, {2, 3}, False),
        (ZOOKEEPER, 2, {1, 2}, True),
        (ZOOKEEPER, 2, {2}, False),
        (ZOOKEEPER, 1, {2, 3}, False),
    ],
)
def test_the_active_controller_waits_for_the_others(
    snapshot: Snapshot, node: int, remaining: set[int], expected: bool
) -> None:
    assert must_wait_for_others(node, remaining, snapshot) is expected
