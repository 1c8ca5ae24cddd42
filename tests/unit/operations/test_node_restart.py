"""The restart of one node: what it waits for, what it does, and where it ends."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host.unit import State
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import canary
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.snapshot import (
    Broker,
    Quorum,
    Replica,
    Snapshot,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations import node_restart
from ansible_collections.millrace.streaming.plugins.module_utils.operations.gate import (
    CAUGHT_UP_MS,
    Policy,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations.node_restart import (
    CLEAN_SHUTDOWN,
    PHASES,
    UNIT_SECONDS,
    AbandonedError,
    Node,
    Progress,
    StartFailedError,
    not_ready_reasons,
)

from tests.unit.module_runner import HANGS_SECONDS
from tests.unit.operations.gate_cases import partition, state
from tests.unit.operations.restart_rig import (
    BROKER,
    COMBINED,
    CONTROLLER,
    FAILED,
    HEALTHY,
    KILLED,
    RUNNING,
    STARTED_AGAIN,
    STARTING,
    STARTS_AGAIN,
    STOPPED,
    STOPPING,
    Rig,
    cluster,
    install,
)

WITHOUT_A_SPARE = dataclasses.replace(
    HEALTHY, partitions=(partition("lonely", replicas=(2,), min_isr=1),)
)


# When a restarted node is ready


@pytest.mark.parametrize("node", [COMBINED, BROKER, CONTROLLER])
def test_a_node_that_is_back_is_ready(node: Node) -> None:
    assert not_ready_reasons(HEALTHY, node) == []
    assert not_ready_reasons(cluster(behind_ms=CAUGHT_UP_MS), node) == []


@pytest.mark.parametrize(
    ("node", "snapshot", "name"),
    [
        (BROKER, cluster(fenced=True), "fenced"),
        (BROKER, cluster(registered=False), "registered"),
        (BROKER, cluster(isr=(1, 3)), "t-0"),
        (COMBINED, cluster(isr=(1, 3)), "t-0"),
        (COMBINED, cluster(behind_ms=CAUGHT_UP_MS + 1), "7 records"),
        (CONTROLLER, cluster(behind_ms=None), "7 records"),
        (CONTROLLER, cluster(leader=-1), "leader"),
        (dataclasses.replace(CONTROLLER, id=9), HEALTHY, "voter"),
    ],
)
def test_what_a_node_still_lacks_is_named(node: Node, snapshot: Snapshot, name: str) -> None:
    (reason,) = not_ready_reasons(snapshot, node)
    assert name in reason


@pytest.mark.parametrize(
    ("node", "snapshot"),
    [
        (CONTROLLER, cluster(isr=(1, 3), fenced=True)),  # a controller holds no partitions
        (BROKER, cluster(behind_ms=60000)),  # only voters have to catch up
        (CONTROLLER, cluster(behind_ms=None, leader=2)),  # the leader is behind nobody
        (COMBINED, dataclasses.replace(HEALTHY, quorum=None)),
    ],
)
def test_what_is_of_another_role_does_not_count(node: Node, snapshot: Snapshot) -> None:
    assert not_ready_reasons(snapshot, node) == []


# The restart


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rig:
    return install(tmp_path, monkeypatch)


def test_a_node_is_stopped_started_and_proved(rig: Rig) -> None:
    progress = rig.run()
    assert (progress.phase, progress.waiting, progress.degraded) == ("done", [], [])
    assert rig.unit.calls == ["stop", "start"]
    assert [connection.bootstrap for connection in rig.cluster.round_trips] == [("k2:9092",)]
    assert tuple(progress.seconds) == PHASES[:-1]
    assert sum(progress.seconds.values()) == pytest.approx(rig.now)
    assert progress.as_data()["phase"] == "done"


@pytest.mark.parametrize(
    ("snapshot", "closed", "reason"),
    [
        (cluster(isr=(1, 2)), set(), "t-0"),
        (cluster(leader=-1), set(), "leader"),
        (None, set(), "k1:9092"),
        # The cluster believes in a node that just died until its session ends.
        (HEALTHY, {"k3:9092"}, "k3:9092"),
    ],
)
def test_a_node_that_is_needed_is_left_alone(
    rig: Rig, snapshot: Snapshot | None, closed: set[str], reason: str
) -> None:
    rig.cluster.snapshots, rig.closed = [snapshot], closed
    progress = rig.run()
    assert (progress.phase, progress.non_retriable) == ("gate", False)
    assert reason in "\n".join(progress.waiting)
    assert rig.now == pytest.approx(5, abs=0.2)
    assert rig.unit.calls == []


def test_the_gate_opens_when_the_cluster_can_spare_the_node(rig: Rig) -> None:
    rig.cluster.snapshots = [None, cluster(isr=(1, 2)), HEALTHY]
    assert rig.run().phase == "done"


def test_what_no_waiting_ends_is_not_waited_for(rig: Rig) -> None:
    rig.cluster.snapshots = [WITHOUT_A_SPARE]
    progress = rig.run()
    assert (progress.phase, progress.non_retriable) == ("gate", True)
    assert "lonely-0" in "\n".join(progress.waiting)
    assert rig.now == 0


@pytest.mark.parametrize(
    "snapshot",
    [
        dataclasses.replace(HEALTHY, reassigning=("orders-0",)),
        dataclasses.replace(HEALTHY, throttled=("orders",)),
    ],
    ids=["reassigning", "throttled"],
)
def test_the_gate_asks_for_what_is_read_for_it_alone(rig: Rig, snapshot: Snapshot) -> None:
    rig.cluster.snapshots = [snapshot]
    progress = rig.run()
    assert (progress.phase, rig.unit.calls) == ("gate", [])
    assert "orders" in "; ".join(progress.waiting)


def test_an_allowed_outage_opens_the_gate(rig: Rig) -> None:
    rig.cluster.snapshots = [WITHOUT_A_SPARE]
    progress = Progress("gate", 5)
    rig.restart(policy=Policy(allow_outage=frozenset({"lonely"}))).advance(progress)
    assert progress.phase == "done"


@pytest.mark.parametrize("states", [[STOPPED], [FAILED]])
def test_a_node_that_is_down_is_only_started(rig: Rig, states: list[State]) -> None:
    """Whatever state the cluster is in: starting a node can only help."""
    rig.unit.states = states
    rig.mark.unlink()
    (rig.data / CLEAN_SHUTDOWN).unlink()
    rig.cluster.snapshots = [cluster(registered=False, isr=(1, 3)), *[HEALTHY] * 2]
    progress = rig.run()
    assert (progress.phase, progress.degraded) == ("done", [])
    assert rig.unit.calls == ["start"]


def test_a_node_that_systemd_starts_again_and_again_is_stopped_first(rig: Rig) -> None:
    rig.unit.states = [STARTS_AGAIN]
    rig.unit.after_stop = (STOPPED,)
    assert rig.run().phase == "done"
    assert rig.unit.calls == ["stop", "start"]


def test_a_node_that_serves_nobody_needs_only_the_others(rig: Rig) -> None:
    rig.cluster.snapshots = [cluster(fenced=True, isr=(1, 3), behind_ms=None)]
    assert rig.run(until="stop").phase == "stop"
    rig.cluster.snapshots = [
        dataclasses.replace(cluster(fenced=True, isr=(1, 3)), brokers=(Broker(1), Broker(2)))
    ]
    assert rig.run(until="stop").phase == "gate"


FAILED_DIRECTORY = dataclasses.replace(
    HEALTHY, partitions=(partition(failed=(2,)), partition("u", replicas=(1, 3), min_isr=1))
)


def test_missing_replicas_of_a_failed_directory_do_not_speak_against_its_own_restart(
    rig: Rig,
) -> None:
    rig.cluster.snapshots = [FAILED_DIRECTORY]
    assert rig.run(until="start").phase == "start"
    assert rig.unit.calls == ["stop"]


def test_missing_replicas_of_a_failed_directory_speak_against_other_restarts(rig: Rig) -> None:
    rig.cluster.snapshots = [dataclasses.replace(HEALTHY, partitions=(partition(failed=(3,)),))]
    progress = rig.run()
    assert progress.phase == "gate"
    assert "broker 3" in str(progress.waiting)
    both = dataclasses.replace(
        HEALTHY, partitions=(partition(failed=(2,)), partition("u", isr=(1, 2)))
    )
    rig.cluster.snapshots = [both]
    assert "broker 3" in str(rig.run().waiting)


def test_the_active_controller_with_a_failed_directory_waits_for_nobody(rig: Rig) -> None:
    leading = dataclasses.replace(FAILED_DIRECTORY, controller_id=2)
    rig.cluster.snapshots = [leading]
    assert not rig.restart().must_be_last({1, 2, 3})
    rig.cluster.snapshots = [dataclasses.replace(HEALTHY, controller_id=2)]
    assert rig.restart().must_be_last({1, 2, 3})


def test_nobody_restarts_into_a_directory_that_cannot_be_written(rig: Rig) -> None:
    rig.cluster.snapshots = [FAILED_DIRECTORY]
    rig.data.chmod(0o500)
    progress = rig.run()
    assert progress.phase == "gate"
    assert str(rig.data) in str(progress.waiting)
    rig.data.chmod(0o700)
    assert rig.run(until="start").phase == "start"


def test_a_failed_directory_is_left_without_a_mark_of_a_clean_shutdown(
    rig: Rig, tmp_path: Path
) -> None:
    failed = tmp_path / "failed"
    failed.mkdir()
    for snapshot, degraded in ((FAILED_DIRECTORY, False), (HEALTHY, True)):
        rig.unit.states, rig.cluster.snapshots = [RUNNING], [snapshot]
        restart = rig.restart()
        restart.node = dataclasses.replace(restart.node, data_dirs=(str(rig.data), str(failed)))
        progress = Progress("gate", rig.now + 5)
        restart.advance(progress, "start")
        assert progress.phase == "start"
        assert bool(progress.degraded) is degraded


def test_a_failed_directory_is_remembered_while_a_stop_goes_on_in_the_next_slice(
    rig: Rig, tmp_path: Path
) -> None:
    rig.unit.after_stop = (*[STOPPING] * 40, STOPPED)
    rig.cluster.snapshots = [FAILED_DIRECTORY]
    failed = tmp_path / "failed"
    failed.mkdir()
    restart = rig.restart()
    restart.node = dataclasses.replace(restart.node, data_dirs=(str(rig.data), str(failed)))
    first = Progress("gate", rig.now + 2)
    restart.advance(first, "start")
    assert first.phase == "stop"
    remembered = first.as_data()["had_failed_directory"]
    for had, degraded in ((remembered, False), (False, True)):
        again = rig.restart()
        again.node = restart.node
        second = Progress("stop", rig.now + 5, had_failed_directory=had)
        again.advance(second, "start")
        assert second.phase == "start"
        assert bool(second.degraded) is degraded


def test_a_node_that_somebody_else_restarts_meanwhile_is_done(rig: Rig) -> None:
    rig.cluster.snapshots = [cluster(isr=(1, 2))]
    rig.unmarked_at = 2
    progress = rig.run()
    assert (progress.phase, rig.unit.calls) == ("done", [])
    assert rig.now == pytest.approx(2, abs=0.2)


def test_a_node_without_a_mark_is_restarted_only_where_that_is_forced(rig: Rig) -> None:
    rig.mark.unlink()
    assert (rig.run().phase, rig.unit.calls) == ("done", [])
    assert rig.run(until="stop", forced=True).phase == "stop"
    assert rig.unit.calls == []
    assert rig.run(until="start", forced=True).phase == "start"
    assert rig.unit.calls == ["stop"]


def test_nothing_is_stopped_for_an_ansible_that_is_gone(rig: Rig) -> None:
    rig.abandoned = True
    with pytest.raises(AbandonedError):
        rig.run()
    assert rig.unit.calls == []


def test_a_stop_that_takes_long_goes_on_in_the_next_slice(rig: Rig) -> None:
    rig.unit.after_stop = (*[STOPPING] * 40, KILLED)
    first = rig.run(seconds=2)
    assert first.phase == "stop"
    assert first.waiting
    second = rig.run("stop", until="start")
    assert second.phase == "start"
    assert rig.unit.calls == ["stop"]
    assert second.degraded, "systemd killed it"


def test_a_broker_that_did_not_stop_cleanly_is_named_with_its_directory(rig: Rig) -> None:
    (rig.data / CLEAN_SHUTDOWN).unlink()
    (reason,) = rig.run(node=BROKER).degraded
    assert str(rig.data) in reason
    assert rig.run(node=CONTROLLER).degraded == []


@pytest.mark.parametrize(
    "after_start", [(FAILED,), (STARTING, STARTS_AGAIN), (RUNNING, STOPPED), (STARTED_AGAIN,)]
)
def test_a_process_that_ends_by_itself_has_failed_to_start(
    rig: Rig, after_start: tuple[State, ...]
) -> None:
    rig.unit.after_start, rig.closed = after_start, {"k2:9093"}
    with pytest.raises(StartFailedError, match="no such class"):
        rig.run()


def test_a_unit_that_systemd_refuses_has_failed_to_start(rig: Rig) -> None:
    rig.unit.refuses = "bad unit file"
    with pytest.raises(StartFailedError, match="bad unit file"):
        rig.run()


def test_a_start_waits_for_every_port_and_goes_on_in_the_next_slice(rig: Rig) -> None:
    rig.closed = {"k2:9093"}
    first = rig.run()
    assert first.phase == "start"
    assert "9093" in "\n".join(first.waiting)
    rig.closed = set()
    assert rig.run("start").phase == "done"
    assert rig.unit.calls == ["stop", "start"]


def test_systemd_is_asked_less_often_than_ports_while_a_node_starts(rig: Rig) -> None:
    """Each time costs what a JVM needs, which starts on the same processors."""
    rig.closed = {"k2:9093"}
    rig.run("start")
    assert rig.now > UNIT_SECONDS
    assert rig.unit.asked <= rig.now / UNIT_SECONDS + 1


def test_a_process_that_ends_as_it_has_started_has_failed_to_start(rig: Rig) -> None:
    rig.closed = {"k2:9093"}
    rig.unit.after_start = (STARTING, RUNNING, STOPPED)
    with pytest.raises(StartFailedError):
        rig.run()


def test_a_broker_that_somebody_else_stops_may_stop_uncleanly_too(rig: Rig) -> None:
    """It shuts down as the gate is asked; the logs of what it left are recovered all the same."""
    rig.unit.states = [STOPPING, STOPPING, STOPPED]
    (rig.data / CLEAN_SHUTDOWN).unlink()
    progress = rig.run()
    assert progress.phase == "done"
    assert str(rig.data) in "\n".join(progress.degraded)


def test_a_process_that_ended_between_two_slices_has_failed_to_start(rig: Rig) -> None:
    rig.unit.states = [STOPPED]
    with pytest.raises(StartFailedError):
        rig.run("start")


def test_a_node_is_ready_when_it_is_seen_so_twice(rig: Rig) -> None:
    rig.cluster.snapshots = [HEALTHY, cluster(isr=(1, 3))]
    progress = rig.run("ready")
    assert progress.phase == "ready"
    assert "t-0" in "\n".join(progress.waiting)
    rig.cluster.snapshots = [HEALTHY, cluster(isr=(1, 3)), HEALTHY]
    assert rig.run("ready").phase == "done"


@pytest.mark.parametrize("ended", [FAILED, STOPPED])
def test_a_process_that_ends_while_it_catches_up_has_failed_to_start(
    rig: Rig, ended: State
) -> None:
    rig.cluster.snapshots = [cluster(isr=(1, 3))]
    rig.unit.states = [RUNNING, RUNNING, ended]
    with pytest.raises(StartFailedError, match="no such class"):
        rig.run("ready")


def test_a_quorum_that_node_0_leads_has_a_leader() -> None:
    voters = (Replica(0, 0, 0), Replica(2, 0, 0))
    assert not_ready_reasons(state(quorum=Quorum(0, 5, voters)), CONTROLLER) == []


def test_a_broker_that_goes_with_others_does_not_wait_for_them(rig: Rig) -> None:
    away = cluster(isr=(1, 2, 3))
    brokers = (*away.brokers[:2], dataclasses.replace(away.brokers[2], fenced=True))
    partitions = (
        partition("t", replicas=(1, 2)),
        partition("u", replicas=(1, 3), isr=(1,), min_isr=1),
        partition(canary.TOPIC, replicas=(2, 3), isr=(2,), min_isr=1),
    )
    snapshot = dataclasses.replace(away, brokers=brokers, partitions=partitions)
    policy = Policy(allow_outage=frozenset("*"))
    restart = rig.restart(BROKER, policy)
    assert restart.blockers(snapshot)
    assert dataclasses.replace(restart, others=frozenset({3})).blockers(snapshot) == []


def test_the_canary_waits_until_the_broker_leads_its_partition(rig: Rig) -> None:
    rig.cluster.led = None
    progress = rig.run("canary")
    assert progress.phase == "canary"
    assert canary.TOPIC in "\n".join(progress.waiting)
    assert rig.cluster.round_trips == []
    rig.cluster.led = 0
    assert rig.run("canary").phase == "done"
    assert rig.cluster.asked == (2, [1, 2, 3], COMBINED.replication)


def test_a_broker_that_takes_no_record_is_not_done(rig: Rig) -> None:
    rig.cluster.refuses_records = True
    progress = rig.run("canary")
    assert progress.phase == "canary"
    assert progress.waiting


def test_a_dedicated_controller_has_no_canary(rig: Rig) -> None:
    assert rig.run(node=CONTROLLER).phase == "done"
    assert rig.cluster.round_trips == []


# Whose output nobody reads any more

PROGRAM = f"import sys; from {node_restart.__name__} import abandoned; sys.exit(abandoned())"


@pytest.mark.parametrize("end", ["read", "closed", "open"])
def test_an_ansible_that_is_gone_shows_by_the_pipe_to_it(end: str) -> None:
    reads, writes = os.pipe()
    if end == "read":
        os.close(reads)
    try:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdin=subprocess.DEVNULL,
            stdout=writes,
            stderr=subprocess.DEVNULL,
            preexec_fn=(lambda: os.close(1)) if end == "closed" else None,
            timeout=HANGS_SECONDS,
            check=False,
        )
    finally:
        os.close(writes)
        if end != "read":
            os.close(reads)
    assert done.returncode == (end == "read")


# The active controller goes last

LEADS = cluster(leader=2)


@pytest.mark.parametrize(
    ("snapshot", "state", "remaining", "expected"),
    [
        (LEADS, RUNNING, {1, 2, 3}, True),
        (LEADS, RUNNING, {2}, False),
        (LEADS, RUNNING, set(), False),
        # Brokers alone do not have to go before it.
        (LEADS, RUNNING, {2, 7}, False),
        (HEALTHY, RUNNING, {1, 2, 3}, False),
        # One that is down or serves nobody is repaired first.
        (LEADS, STOPPED, {1, 2, 3}, False),
        (cluster(leader=2, fenced=True), RUNNING, {1, 2, 3}, False),
        (None, RUNNING, {1, 2, 3}, False),
    ],
)
def test_the_active_controller_leaves_other_controllers_to_go_first(
    rig: Rig, snapshot: Snapshot | None, state: State, remaining: set[int], expected: bool
) -> None:
    rig.cluster.snapshots, rig.unit.states = [snapshot], [state]
    assert rig.restart().must_be_last(remaining) is expected
    rig.mark.unlink()
    assert rig.restart().must_be_last(remaining) is False, "it is not restarted at all"
