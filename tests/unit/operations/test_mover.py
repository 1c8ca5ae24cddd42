"""The mover: waves below a throttle, from what the cluster shows, and nothing left behind."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import reassignments
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.reassignments import (
    MARK,
    Reassignment,
    Throttles,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations import mover
from ansible_collections.millrace.streaming.plugins.module_utils.operations.gate import Expected
from ansible_collections.millrace.streaming.plugins.module_utils.operations.mover import (
    Move,
    Mover,
    MoverError,
)

from tests.unit.operations.moving_cluster import SIZE, KilledError, MovingCluster, cluster

EXPECTED = Expected(brokers=frozenset({1, 2, 3, 4}), voters=frozenset({1, 2, 3}))
RATE = 1000


def move(index: int, *replicas: int, topic: str = "t", **more: Any) -> Move:
    return Move((topic, index), replicas, (4,) if 4 in replicas else (), SIZE, **more)


WAVES = [[move(0, 4, 2, 3), move(1, 1, 4, 3)], [move(2, 1, 2, 4)], [move(3, 2, 1, 3)]]


def taken(replicas: MovingCluster, **options: Any) -> Mover:
    settings = {"waves": WAVES, "rate": RATE, "expected": EXPECTED, **options}
    return Mover(replicas, sleep=replicas.sleep, clock=replicas.clock, **settings)


def check_clean(replicas: MovingCluster) -> None:
    assert (replicas.topics, replicas.rate, replicas.moving) == ({}, None, {})


def check_reached(replicas: MovingCluster) -> None:
    for wave in WAVES:
        for item in wave:
            part = replicas.partitions[item.name]
            assert (part.replicas, part.leader) == (item.replicas, item.replicas[0])
    check_clean(replicas)
    assert not replicas.unthrottled
    assert not replicas.below_min_isr


def test_all_waves_are_moved_below_the_throttle_one_after_the_other() -> None:
    replicas = cluster()
    progress = taken(replicas).run()
    assert (progress.done, progress.partitions, progress.bytes) == (True, 4, 3 * SIZE)
    check_reached(replicas)
    assert replicas.log[:3] == [f"rate {RATE}", "throttle t", "start"]
    assert replicas.log.count("start") == 3
    assert replicas.log[-3:] == ["elect", "unthrottle t", "rate None"]


@pytest.mark.parametrize("kills", range(12))
def test_killed_at_any_change_and_run_again_it_gets_there(kills: int) -> None:
    replicas = cluster(kill_at=kills)
    finished = False
    with pytest.raises(KilledError):
        finished = taken(replicas).run().done
    if finished:
        return
    replicas.kill_at = None
    replicas.sleep(1)
    state = mover.situation(replicas, replicas.snapshot())
    assert not state.foreign, "what a mover has started has its mark"
    taken(replicas).run()
    check_reached(replicas)


@pytest.mark.parametrize("kills", range(12))
def test_killed_at_any_change_and_cancelled_nothing_stays(kills: int) -> None:
    replicas = cluster(kill_at=kills)
    with pytest.raises(KilledError):
        taken(replicas).run()
    replicas.kill_at = None
    state = mover.situation(replicas, replicas.snapshot())
    refused = mover.cancel(replicas, state.own, sleep=replicas.sleep, clock=replicas.clock)
    assert refused == {}
    assert mover.remove_throttles(replicas, state.throttles) == []
    check_clean(replicas)
    assert all(len(part.replicas) == 3 for part in replicas.partitions.values())


@pytest.mark.parametrize("kills", range(12))
def test_killed_and_ended_by_kafka_the_next_run_cleans_up(kills: int) -> None:
    replicas = cluster(kill_at=kills)
    with pytest.raises(KilledError):
        taken(replicas).run()
    replicas.kill_at = None
    while replicas.moving:
        replicas.sleep(1)
    state = mover.situation(replicas, replicas.snapshot())
    left, notes = mover.clean_up(
        replicas,
        replicas.snapshot(),
        state.throttles,
        sleep=replicas.sleep,
        clock=replicas.clock,
    )
    assert (left, notes) == (kills > 0, [])
    check_clean(replicas)
    if kills > 1:  # it was throttled at least
        assert all(part.leader == part.replicas[0] for part in replicas.partitions.values())


def test_slices_know_from_each_other_since_when_they_wait() -> None:
    replicas, carried, slices = cluster(speed=10), dict[str, Any](), 0
    progress = mover.Progress()
    while not progress.done:
        work = taken(replicas, carried=carried)
        progress = work.run(until=replicas.now + 3)
        carried, slices = work.carried, slices + 1
    assert slices > 3
    check_reached(replicas)


def test_a_wave_waits_until_the_cluster_is_healthy_and_gives_up_in_the_end() -> None:
    replicas = cluster()
    replicas.down = {3}
    progress = taken(replicas).step()
    assert "broker 3" in " ".join(progress.waiting)
    assert replicas.log == []
    with pytest.raises(MoverError, match="not healthy for 10 min"):
        taken(replicas).run()
    assert "start" not in replicas.log
    check_clean(replicas)


def test_a_broker_that_leaves_need_not_serve() -> None:
    replicas = cluster()
    replicas.down = {3}
    waves = [[Move(("t", index), (1, 2, 4), (4,), SIZE) for index in range(4)]]
    taken(replicas, waves=waves, leaving=frozenset({3})).run()
    assert all(part.replicas == (1, 2, 4) for part in replicas.partitions.values())
    check_clean(replicas)


def test_a_wave_without_progress_is_put_back_and_its_throttle_removed() -> None:
    replicas = cluster(speed=0)
    with pytest.raises(MoverError, match="made no progress for 10 min"):
        taken(replicas).run()
    check_clean(replicas)
    assert replicas.log[-3:] == ["cancel", "unthrottle t", "rate None"]
    assert {part.replicas for part in replicas.partitions.values()} == {
        (2, 3, 1),  # Kafka does not restore the order
        (1, 3, 2),
        (1, 2, 3),
    }


def test_a_refused_reassignment_stops_it_and_names_the_partition() -> None:
    replicas = cluster(refused={("t", 1): "no such broker"})
    with pytest.raises(MoverError, match="t-1: no such broker"):
        taken(replicas).run()
    check_clean(replicas)


def test_a_topic_that_is_deleted_meanwhile_is_done() -> None:
    replicas = cluster()
    work = taken(replicas)
    work.step()
    for name in list(replicas.partitions):
        del replicas.partitions[name]
    replicas.moving.clear()
    replicas.topics.clear()  # its configuration goes with it
    assert work.run().done
    check_clean(replicas)


def test_throttles_of_a_wave_do_not_stay_for_the_next() -> None:
    replicas = cluster()
    replicas.partitions.update(cluster(topic="u").partitions)
    waves = [[move(0, 4, 2, 3)], [move(0, 4, 2, 3, topic="u")]]
    work = taken(replicas, waves=waves)
    while "throttle u" not in replicas.log:
        work.step()
        replicas.sleep(1)
    assert set(replicas.topics) == {"u"}


def test_disks_are_chosen_before_the_replicas_come() -> None:
    replicas = cluster()
    taken(replicas, waves=[[move(0, 4, 2, 3, directories={4: "/d2"})]]).run()
    assert replicas.log.index("disks of 4: ['/d2']") < replicas.log.index("start")


def test_what_else_is_reassigned_is_not_taken_for_its_own() -> None:
    replicas = cluster()
    replicas.alter({("t", 0): [4, 2, 3]})
    state = mover.situation(replicas, replicas.snapshot())
    assert (set(state.own), set(state.foreign)) == (set(), {("t", 0)})
    # Kafka's own tool throttles the same replicas, without the mark.
    entries = reassignments.throttled_replicas({("t", 0): [1, 2, 3]}, {("t", 0): [4]})["t"]
    plain = {key: text.replace(f",{MARK}", "") for key, text in entries.items()}
    assert not Throttles({"t": plain}).marks(("t", 0), replicas.moving["t", 0])
    assert Throttles({"t": entries}).marks(("t", 0), replicas.moving["t", 0])
    assert not Throttles({"t": entries}).marks(("t", 1), replicas.moving["t", 0])


def test_throttles_of_others_are_left_alone() -> None:
    replicas = cluster()
    replicas.topics = {"t": {reassignments.LEADER_REPLICAS: "0:1"}}
    state = mover.situation(replicas, replicas.snapshot())
    assert mover.remove_throttles(replicas, state.throttles) == []
    assert set(replicas.topics) == {"t"}


def test_rates_of_single_brokers_do_not_override_that_of_the_moves() -> None:
    replicas = cluster(broker_rates={1: 300, 4: 300})
    taken(replicas).run()
    assert replicas.broker_rates == {}
    assert replicas.log[:3] == [f"rate {RATE}", "rate of 1 removed", "rate of 4 removed"]
    check_reached(replicas)


def test_a_reassignment_knows_what_a_cancellation_leaves() -> None:
    assert Reassignment((4, 3, 2), (4,), (1,)).former == (3, 2, 1)


def test_adopted_moves_are_a_wave_that_goes_on() -> None:
    replicas = cluster()
    replicas.alter({("t", 0): [4, 2, 3]})
    wave = mover.adopted(replicas.ongoing(), {("t", 0): SIZE})
    taken(replicas, waves=[wave]).run()
    assert replicas.log.count("start") == 1
    assert replicas.partitions["t", 0].replicas == (4, 2, 3)
    check_clean(replicas)


def test_the_time_is_that_of_the_broker_that_gets_the_most() -> None:
    waves = [[move(0, 4, 2, 3), move(1, 4, 2, 3)], [move(3, 2, 1, 3)]]
    assert mover.seconds_needed(waves, 100) == 2.0


def test_moves_survive_as_plain_data() -> None:
    item = move(0, 4, 2, 3, directories={4: "/d2"})
    assert Move.of(item.as_data()) == item


@pytest.mark.parametrize(
    ("number", "text"), [(900, "1 kB"), (12_400_000, "12.4 MB"), (3 * 10**12, "3.0 TB")]
)
def test_sizes_are_for_readers(number: int, text: str) -> None:
    assert mover.size_text(number) == text
