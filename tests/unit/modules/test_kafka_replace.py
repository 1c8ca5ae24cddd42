"""A node takes its place again: what one call of the module does, and what it leaves alone."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.snapshot import (
    Broker,
    Snapshot,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations import rebalance
from ansible_collections.millrace.streaming.plugins.module_utils.operations.options import (
    FailedError,
)
from ansible_collections.millrace.streaming.plugins.modules import kafka_replace as module

from tests.unit.operations.gate_cases import partition, state, voters
from tests.unit.operations.moving_cluster import MovingCluster

NODE = {"id": 3, "host": "b3", "broker": True, "controller": False, "running": False, "empty": []}
ALIVE = (Broker(1), Broker(2), Broker(3))
DEAD = (Broker(1), Broker(2), Broker(3, fenced=True))


class Replicas(MovingCluster):
    """A cluster whose broker 3 becomes fenced after some looks."""

    looks = 0
    brokers_seen: tuple[Broker, ...] = DEAD

    def snapshot(self) -> Snapshot:
        self.looks -= 1
        brokers = ALIVE if self.looks >= 0 else self.brokers_seen
        quorum = replace(voters(0, 0, 0), high_watermark=9)
        parts = tuple(self.partitions[name] for name in sorted(self.partitions))
        return state(brokers=brokers, partitions=parts, quorum=quorum)


@pytest.fixture
def replicas(monkeypatch: pytest.MonkeyPatch) -> Replicas:
    parts = {("t", 0): partition("t", 0, isr=(1, 2))}
    fake = Replicas(parts)
    monkeypatch.setattr(module, "Replicas", lambda _: fake)
    monkeypatch.setattr(module, "POLL_SECONDS", 0.0)
    log_dir = SimpleNamespace(sizes={("t", 0): 10**9})
    monkeypatch.setattr(rebalance, "read_directories", lambda *_: {1: (log_dir,)})
    monkeypatch.setattr(rebalance, "measure", lambda *_: {("t", 0): 40e6})
    return fake


def call(state_: str, *, check: bool = False, **options: Any) -> dict[str, Any]:
    params = {
        "state": state_,
        "node": NODE,
        "expect_brokers": [1, 2, 3],
        "expect_voters": [1, 2, 3],
        "cluster_id": "C",
        "rate": None,
        "measure": 10.0,
        "fence_timeout": 30.0,
        "slice": 0.0,
        "carried": {},
        "stall_timeout": 600.0,
        **options,
    }
    cluster: Any = None
    return module.Replacement(params, cluster, check).run()


def test_the_plan_is_made_and_throttled(replicas: Replicas) -> None:
    result = call("throttled")
    assert (result["changed"], result["plan"]["bytes"], result["rate"]) == (True, 10**9, 60_000_000)
    assert replicas.log == ["rate 60000000", "throttle t"]


@pytest.mark.parametrize("options", [{"check": True}, {"state_": "planned"}])
def test_a_plan_alone_changes_nothing(replicas: Replicas, options: Any) -> None:
    assert call(**{"state_": "throttled", **options})["changed"]
    assert replicas.log == []


def test_one_that_has_just_died_is_waited_for(replicas: Replicas) -> None:
    replicas.looks = 3
    assert call("throttled")["changed"]


def test_one_that_lives_is_refused_with_nothing_changed(
    replicas: Replicas, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody is asked for sizes: one that has just died would not answer."""
    replicas.brokers_seen = ALIVE
    monkeypatch.delattr(rebalance, "read_directories")
    with pytest.raises(FailedError, match="nothing was changed:\n- broker 3 is registered"):
        call("throttled", fence_timeout=-1.0)
    assert replicas.log == []


def test_the_copy_is_followed_to_its_end(replicas: Replicas) -> None:
    call("throttled")
    replicas.brokers_seen = ALIVE
    replicas.partitions["t", 0] = partition("t", 0)
    result = call("refilled", rate=60_000_000)
    assert result["progress"]["done"]
    assert result["lines"] == ["1 of 1 replicas are in sync, 0 kB"]
    assert (replicas.topics, replicas.rate) == ({}, None)


def test_no_progress_fails_and_leaves_no_throttle(replicas: Replicas) -> None:
    call("throttled")
    with pytest.raises(FailedError, match="made no progress"):
        call("refilled", stall_timeout=-1.0)
    assert (replicas.topics, replicas.rate) == ({}, None)


def test_throttles_are_removed_unless_replicas_move(replicas: Replicas) -> None:
    call("throttled")
    replicas.partitions["u", 0] = partition("u", 0, replicas=(1, 2), isr=(1, 2))
    replicas.alter({("u", 0): [2, 3]})
    assert not call("released")["changed"]
    assert replicas.topics
    replicas.moving.clear()
    assert call("released")["changed"]
    assert (replicas.topics, replicas.rate) == ({}, None)
