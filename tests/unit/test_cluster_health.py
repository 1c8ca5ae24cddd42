from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils import cluster_health
from ansible_collections.millrace.streaming.plugins.module_utils.cluster_health import (
    Broker,
    Expected,
    Partition,
    Quorum,
    Replica,
    Snapshot,
    problems,
)

from tests.unit.module_runner import run_module

ALL = frozenset({1, 2, 3})
HEALTHY = Snapshot(
    cluster_id="C",
    brokers=(Broker(1), Broker(2), Broker(3)),
    controller_id=1,
    quorum=Quorum(1, 5, tuple(Replica(i, 0, 0) for i in (1, 2, 3))),
    partitions=(
        Partition("t", 0, 1, (1, 2, 3), (1, 2, 3), 2),
        Partition("__consumer_offsets", 0, 2, (2, 3, 1), (1, 2, 3), 2),
    ),
)
EXPECTED = Expected(brokers=ALL, voters=ALL, cluster_id="C")


def quorum(*voters: Replica, leader: int = 1, observers: tuple[Replica, ...] = ()) -> Quorum:
    return Quorum(leader, 5, voters, observers)


def partition(
    topic: str = "t",
    index: int = 0,
    leader: int = 1,
    isr: tuple[int, ...] = (1, 2, 3),
    replicas: tuple[int, ...] = (1, 2, 3),
    min_isr: int = 2,
) -> Partition:
    return Partition(topic, index, leader, replicas, isr, min_isr)


def test_a_healthy_cluster_has_no_problems() -> None:
    assert problems(HEALTHY, EXPECTED) == []
    assert problems(HEALTHY, Expected()) == []


FINE = (Replica(1, 0, 0), Replica(2, 0, 400))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"cluster_id": "X"}, ["this is cluster X, the inventory says C"]),
        ({"brokers": (Broker(1), Broker(3))}, ["broker 2 is not registered"]),
        (
            {"brokers": (*HEALTHY.brokers, Broker(9))},
            ["broker 9 is registered but not expected"],
        ),
        (
            {"brokers": (Broker(1), Broker(2, fenced=True), Broker(3))},
            ["broker 2 is registered but fenced"],
        ),
        ({"quorum": None}, ["no KRaft quorum"]),
        ({"quorum": quorum(*FINE, Replica(3, 0, 0), leader=-1)}, ["no leader"]),
        ({"quorum": quorum(*FINE)}, ["controller 3 is not a voter"]),
        (
            {"quorum": quorum(*FINE, Replica(3, 0, 0), Replica(4, 0, 0))},
            ["controller 4 is a voter of the quorum but not expected"],
        ),
        ({"quorum": quorum(*FINE, Replica(3, 101, 0))}, ["controller 3 is 101 records behind"]),
        ({"quorum": quorum(*FINE, Replica(3, 1, 5001))}, ["controller 3 last had all metadata"]),
        ({"quorum": quorum(*FINE, Replica(3, 4, None))}, ["controller 3 never had all metadata"]),
        (
            {"quorum": quorum(*FINE, Replica(3, 0, None), observers=(Replica(2, 500, 0),))},
            ["broker 2 is 500 records behind"],
        ),
        (
            {"quorum": quorum(*FINE, Replica(3, 0, None), observers=(Replica(99, 500, 0),))},
            [],
        ),
        ({"unreadable_topics": {"t": 29}}, ["topic t cannot be described: Kafka's error code 29"]),
    ],
)
def test_problems_of_nodes(changes: Any, expected: Any) -> None:
    found = problems(dataclasses.replace(HEALTHY, **changes), EXPECTED)
    assert len(found) == len(expected), found
    for text, part in zip(found, expected, strict=True):
        assert part in text


@pytest.mark.parametrize(
    ("part", "kinds"),
    [
        (partition(), ()),
        (partition(isr=(1, 2)), ("under_replicated",)),
        (partition(isr=(1,)), ("under_replicated", "under_min_isr")),
        (partition(isr=(1,), leader=-1), ("under_replicated", "under_min_isr", "offline")),
        (partition(replicas=(1,), isr=(1,), min_isr=2), ()),
        (partition(replicas=(1,), isr=(), leader=-1), tuple(cluster_health.facts(HEALTHY))[-3:]),
        (partition(topic="__transaction_state", isr=(1, 2), min_isr=3), None),
    ],
)
def test_kinds_of_partitions(part: Any, kinds: Any) -> None:
    facts = cluster_health.facts(dataclasses.replace(HEALTHY, partitions=(part,)))
    named = {k for k in ("offline", "under_replicated", "under_min_isr") if facts[k]}
    assert named == set(kinds if kinds is not None else ("under_replicated", "under_min_isr"))


def test_partition_problems_name_a_few_and_the_brokers_that_lack() -> None:
    many = tuple(partition(index=i, isr=(1, 2) if i % 2 else (1,)) for i in range(8))
    found = problems(dataclasses.replace(HEALTHY, partitions=many), EXPECTED)
    assert found[0].startswith("4 of 8 partitions are below min.insync.replicas")
    assert found[1] == (
        "8 of 8 partitions are under-replicated (not in sync: broker 2, 3): "
        "t-0, t-1, t-2, t-3, t-4, and 3 more"
    )


def test_without_controllers_a_zookeeper_cluster_is_judged_by_the_rest() -> None:
    assert problems(dataclasses.replace(HEALTHY, quorum=None), Expected(brokers=ALL)) == []


def test_module_names_the_missing_client(tmp_path: Path) -> None:
    result = run_module("kafka_health", {"bootstrap": ["a:1"], "library": str(tmp_path)})
    assert "no wheel kafka_python*.whl" in result["msg"]


def test_module_gives_a_verdict_on_a_cluster_that_does_not_run(tmp_path: Path) -> None:
    package = tmp_path / "kafka"
    package.mkdir()
    (package / "__init__.py").write_text("class KafkaAdminClient: ...\n")
    (package / "errors.py").write_text(
        "class KafkaError(Exception): ...\n"
        "IncompatibleBrokerVersion = UnsupportedVersionError = KafkaError\n"
    )
    (package / "net").mkdir()
    (package / "net" / "compat.py").write_text("class KafkaNetClient: ...\n")
    args = {"bootstrap": ["127.0.0.1:1"], "library": str(tmp_path), "wait": 0.3}
    result = run_module("kafka_health", args)
    assert result["failed"]
    assert "127.0.0.1:1: Connection refused" in result["problems"][0]
    assert run_module("kafka_health", {**args, "fail": False})["healthy"] is False
