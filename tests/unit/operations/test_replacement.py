"""A node with a new machine or disk: what forbids it, what it copies, and no throttle stays."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import reassignments
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.reassignments import (
    MARK,
    Name,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.snapshot import (
    Broker,
    Partition,
    Snapshot,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations import (
    mover,
    replacement,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations.mover import MoverError
from ansible_collections.millrace.streaming.plugins.module_utils.operations.replacement import (
    Node,
    Refill,
)

from tests.unit.operations.gate_cases import EXPECTED, partition, state, voters
from tests.unit.operations.moving_cluster import SIZE, KilledError, MovingCluster

DEAD = Node(3, "k3", broker=True, controller=True, running=False, empty=("/d1",))
BROKERS = (Broker(1), Broker(2), Broker(3, fenced=True))
WITHOUT = (partition("t", 0, isr=(1, 2)), partition("t", 1, isr=(2, 1)))
"""Partitions while broker 3 is gone."""


def gone(**changes: Any) -> Snapshot:
    settings = {"brokers": BROKERS, "partitions": WITHOUT, "quorum": voters(0, 0, 60_000)}
    quorum = dataclasses.replace({**settings, **changes}["quorum"], high_watermark=9)
    return state(**{**settings, **changes, "quorum": quorum})


def problems(snapshot: Snapshot, node: Node = DEAD, **more: Any) -> str:
    return "\n".join(replacement.problems(snapshot, node, EXPECTED, **more))


def test_a_dead_node_may_be_replaced() -> None:
    assert problems(gone()) == ""
    assert problems(gone(brokers=BROKERS[:2])) == "", "it is not even registered"


def test_a_former_machine_that_lives_refuses_it() -> None:
    alive = gone(brokers=(Broker(1), Broker(2), Broker(3)))
    assert "broker 3 is registered and serves, while Kafka does not run on k3" in problems(alive)
    voting = gone(quorum=voters(0, 0, 400))
    assert "controller 3 takes part in the quorum" in problems(voting)
    running = replace(DEAD, running=True)
    assert problems(alive, running) == "", "an interrupted run goes on"


@pytest.mark.parametrize("isr", [(3,), ()])
def test_a_last_copy_is_never_given_up(isr: tuple[int, ...]) -> None:
    """With eligible leader replicas nobody may be in sync at all (KIP-966)."""
    lost = partition("orders", 4, isr=isr, offline=True)
    text = problems(gone(partitions=(*WITHOUT, lost)))
    assert "1 partitions are offline (orders-4)" in text
    assert "site.yml --limit k3" in text


def test_an_offline_partition_of_another_broker_is_that_ones_matter() -> None:
    other = partition("orders", 4, replicas=(2, 3), isr=(2,), offline=True)
    assert "orders-4" not in problems(gone(partitions=(*WITHOUT, other)))


def test_a_second_node_that_is_missing_refuses_it() -> None:
    brokers = (Broker(1), Broker(2, fenced=True), Broker(3, fenced=True))
    assert "2" in problems(gone(brokers=brokers))
    assert problems(gone(brokers=(Broker(1), Broker(3, fenced=True)))) != ""


def test_all_problems_are_named_at_once() -> None:
    lost = partition("orders", 4, isr=(3,), offline=True)
    snapshot = gone(
        brokers=(Broker(1), Broker(2, fenced=True), Broker(3, fenced=True)),
        partitions=(*WITHOUT, lost),
        quorum=voters(0, 60_000, 60_000),
    )
    reasons = replacement.problems(snapshot, DEAD, EXPECTED, [("t", 0)])
    assert len(reasons) == 5
    text = "\n".join(reasons)
    assert "no majority without controller 3" in text
    assert "1 partitions are being reassigned (t-0)" in text


def test_a_quorum_without_a_leader_refuses_a_controller() -> None:
    assert "no leader" in problems(gone(quorum=voters(60_000, 0, 60_000, leader=-1)))


def test_the_plan_says_what_is_copied_and_what_becomes_of_the_vote() -> None:
    sizes = {1: {("t", 0): 10**9}, 2: {("t", 1): 2 * 10**9}}
    plan = replacement.make_plan(gone(), DEAD, sizes)
    assert (plan.missing, plan.bytes, plan.problems) == ((("t", 0), ("t", 1)), 3 * 10**9, ())
    assert plan.lines == (
        "k3: empty, to be formatted for node 3: /d1",
        "controller 3: its vote goes from its former disk to its new one, and 2 of 3 voters carry "
        "the quorum until then",
        "broker 3: copies 2 of its 2 replicas, at most 3.0 GB, below 10.0 MB/s, about 5 min",
        "t: 2 partitions, 3.0 GB",
    )
    assert plan.as_data()["partitions"] == ["t-0", "t-1"]


def test_the_rate_is_above_what_producers_write() -> None:
    rates = {("t", 0): 30e6, ("t", 1): 20e6, ("elsewhere", 0): 10e9}
    assert replacement.make_plan(gone(), DEAD, {}, rates=rates).rate == 75_000_000
    low = replacement.make_plan(gone(), DEAD, {}, rates=rates, rate=10**6)
    assert "a rate of 1000000 bytes/s is too little" in low.problems[0]
    assert "Set at least 75000000" in low.problems[0]
    assert replacement.make_plan(gone(), DEAD, {}, rates=rates, rate=10**8).rate == 10**8


def test_other_replicas_that_are_missing_are_shown() -> None:
    snapshot = gone(partitions=(*WITHOUT, partition("u", 5, isr=(1, 3))))
    lines = replacement.make_plan(snapshot, DEAD, {}).lines
    assert lines[-1] == "under-replicated for another reason: u-5"


def test_nothing_is_to_be_copied_where_all_is_in_sync() -> None:
    whole = state(partitions=(partition("t", 0),))
    running = replace(DEAD, running=True, empty=())
    plan = replacement.make_plan(whole, running, {})
    assert plan.lines == (
        "controller 3: it keeps its vote",
        "broker 3: all of its 1 replicas are in sync, nothing is copied",
    )


@dataclass
class ReplacedCluster(MovingCluster):
    """Its broker 3 is new: it copies `speed` bytes of each replica with each tick."""

    behind: set[Name] = field(default_factory=set)

    def snapshot(self) -> Snapshot:
        return replace(
            super().snapshot(), brokers=(Broker(1), Broker(2), Broker(3, fenced=3 in self.down))
        )

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        for name in sorted(self.behind if 3 not in self.down else ()):
            self._check_throttled(name)
            size = self.copied.get((3, name), 0) + self.speed
            self.copied[3, name] = min(SIZE, size)
            if self.copied[3, name] == SIZE:
                self.behind.discard(name)
                self.partitions[name] = replace(self.partitions[name], isr=(1, 2, 3))

    def _check_throttled(self, name: Name) -> None:
        keys = self.topics.get(name[0], {})
        followers = keys.get(reassignments.FOLLOWER_REPLICAS, "").split(",")
        leaders = keys.get(reassignments.LEADER_REPLICAS, "").split(",")
        entries = {f"{name[1]}:{broker}" for broker in (1, 2)}
        if self.rate is None or f"{name[1]}:3" not in followers or not entries <= set(leaders):
            self.unthrottled.add(name)

    def sizes(self, brokers: Iterable[int]) -> dict[int, dict[Name, int]]:
        leaders = dict.fromkeys(self.partitions, SIZE)
        own = {name: size for (_, name), size in self.copied.items()}
        return {broker: own if broker == 3 else leaders for broker in brokers}


def cluster(**options: Any) -> ReplacedCluster:
    names = [("t", 0), ("t", 1), ("u", 0)]
    parts = {
        name: Partition(*name, leader=1, replicas=(3, 1, 2), isr=(1, 2), min_isr=2)
        for name in names
    }
    return ReplacedCluster(parts, behind=set(names), **options)


def begin(replicas: ReplacedCluster) -> str:
    return replacement.throttle(replicas, replicas.snapshot(), 3, 1000)


def refill(replicas: ReplacedCluster, **options: Any) -> Refill:
    return Refill(replicas, 3, 1000, sleep=replicas.sleep, clock=replicas.clock, **options)


def check_clean(replicas: ReplacedCluster) -> None:
    assert (replicas.topics, replicas.rate, replicas.behind) == ({}, None, set())
    assert all(part.leader == 3 for part in replicas.partitions.values()), "preferred ones lead"
    assert not replicas.unthrottled


def test_only_what_is_copied_is_throttled_and_it_bears_the_mark() -> None:
    replicas = cluster()
    replicas.partitions["v", 0] = partition("v", 0)
    assert begin(replicas) == ""
    assert set(replicas.topics) == {"t", "u"}
    followers = replicas.topics["t"][reassignments.FOLLOWER_REPLICAS].split(",")
    assert followers == ["0:3", "1:3", MARK]
    leaders = replicas.topics["t"][reassignments.LEADER_REPLICAS].split(",")
    assert sorted(leaders) == ["0:1", "0:2", "1:1", "1:2"]


def test_rates_of_single_brokers_do_not_override_it() -> None:
    replicas = cluster(broker_rates={1: 300})
    assert begin(replicas) == ""
    assert replicas.broker_rates == {}


def test_nothing_is_throttled_without_a_copy() -> None:
    replicas = cluster()
    replicas.partitions = {("v", 0): partition("v", 0)}
    assert begin(replicas) == ""
    assert replicas.log == []


def test_the_broker_gets_its_replicas_and_no_throttle_stays() -> None:
    replicas = cluster(speed=10)
    begin(replicas)
    shown: list[str] = []
    progress = refill(replicas, report=lambda item: shown.append(replacement.line(item))).run()
    assert (progress.done, progress.partitions, progress.bytes) == (True, 3, 3 * SIZE)
    check_clean(replicas)
    assert shown[0].startswith("0 of 3 replicas are in sync, 0 kB of 0 kB, about 0 s left")
    assert shown[-1] == "3 of 3 replicas are in sync, 0 kB"


def test_slices_know_from_each_other() -> None:
    replicas, carried, slices = cluster(speed=5), dict[str, Any](), 0
    begin(replicas)
    progress = mover.Progress()
    while not progress.done:
        work = refill(replicas, carried=carried)
        progress = work.run(until=replicas.now + 3)
        carried, slices = work.carried, slices + 1
    assert slices > 3
    check_clean(replicas)


def run_all(replicas: ReplacedCluster) -> None:
    begin(replicas)
    refill(replicas).run()


@pytest.mark.parametrize("kills", range(9))
def test_killed_at_any_change_and_run_again_it_gets_there(kills: int) -> None:
    replicas = cluster(kill_at=kills)
    try:
        run_all(replicas)
    except KilledError:
        replicas.kill_at = None
        run_all(replicas)
    check_clean(replicas)


@pytest.mark.parametrize("kills", range(9))
def test_killed_at_any_change_whoever_moves_replicas_next_cleans_up(kills: int) -> None:
    replicas = cluster(kill_at=kills)
    try:
        run_all(replicas)
    except KilledError:
        replicas.kill_at = None
        while replicas.behind:
            replicas.unthrottled.clear()  # killed before a throttle was complete
            replicas.sleep(1)
        current = mover.situation(replicas, replicas.snapshot())
        mover.clean_up(
            replicas,
            replicas.snapshot(),
            current.throttles,
            sleep=replicas.sleep,
            clock=replicas.clock,
        )
    assert (replicas.topics, replicas.rate) == ({}, None)


def test_it_waits_for_the_broker_and_gives_up_without_progress() -> None:
    replicas = cluster(down={3})
    begin(replicas)
    progress = refill(replicas).step()
    assert "broker 3 does not serve yet" in replacement.line(progress)
    with pytest.raises(MoverError, match="broker 3 made no progress for 10 min") as error:
        refill(replicas).run()
    assert "No throttle is left" in str(error.value)
    assert (replicas.topics, replicas.rate) == ({}, None)


def test_a_replica_that_falls_out_of_sync_again_does_not_hide_the_bytes_that_are_copied() -> None:
    times = iter(range(0, 2400, 400))
    work = Refill(cluster(), 3, 1000, clock=lambda: next(times))
    for copied in (100, 200, 300):
        work._check_stall(mover.Progress(partitions_done=9 - copied // 100, bytes_done=copied))
    work._check_stall(mover.Progress(partitions_done=8, bytes_done=300))
    with pytest.raises(MoverError, match="no progress"):
        work._check_stall(mover.Progress(partitions_done=7, bytes_done=299))


def test_throttles_of_others_are_left_alone() -> None:
    replicas = cluster()
    replicas.topics = {"t": {reassignments.LEADER_REPLICAS: "0:1"}}
    assert replacement.release(replicas, replicas.snapshot()) == []
    assert set(replicas.topics) == {"t"}
