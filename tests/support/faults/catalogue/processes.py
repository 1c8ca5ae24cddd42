"""Faults of processes, of too few of them, and of records."""

from __future__ import annotations

import time

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import (
    TopicPartition,
    errors,
)

from tests.support.faults.catalogue.entry import (
    CLIENT_MS,
    KILL,
    begin,
    fault,
    refuses,
    restarted,
    start,
    stop,
    wait_for_gate_refusal,
)
from tests.support.faults.target import SIDE, Record, Target
from tests.support.wait import wait_for

PAUSE = "systemctl kill --signal=STOP kafka"
GO_ON = "systemctl kill --signal=CONT kafka"
TOO_LARGE = 2_000_000
NEVER = "millrace-faults-majority"


@fault(1, "kill -9 of a partition's leader")
def leader_killed(target: Target, record: Record) -> None:
    """Another one leads once its session has ended at the latest, and systemd restarts it."""
    node = target.led_by()
    where = begin(target, record, node)
    before = target.pid(where)
    # Of the ledger's gap. Where it is the active controller too, a successor is elected first, and
    # gives every broker a new session.
    election = target.election_seconds(node) if node == target.controller() else 0
    limit = 1.1 * target.session_seconds(node) + 1 + election
    target.sh(where, KILL)
    after = target.elected(node)
    record.limited(limit)
    pid = restarted(target, where, before)
    record.proof = f"process {before} is gone, {pid} came; {after} leads after {node}"


@fault(2, "clean stop of a leader")
def leader_stopped(target: Target, record: Record) -> None:
    """Leadership moves before it ends; what it leaves needs no recovery."""
    node = target.led_by()
    where = begin(target, record, node)
    stop(target, where)
    after = target.elected(node)
    record.limited(1)
    for data in target.topology.cluster.kafka[where].data_dirs:
        target.sh(where, "test -f %s/.kafka_cleanshutdown", data)
    assert not target.pid(where)
    record.proof = f"no process; {after} leads after {node}; every log directory closed cleanly"


@fault(3, "five restarts of the current leader", long=True)
def leader_restarted_five_times(target: Target, record: Record) -> None:
    """Alternately clean and hard, each as soon as all replicas are in sync again."""
    chased: list[str] = []
    for command in ("systemctl restart kafka", KILL) * 2 + ("systemctl restart kafka",):
        node = target.led_by()
        where = begin(target, record, node)
        before = target.pid(where)
        target.sh(where, command)
        restarted(target, where, before)
        chased.append(where)
        wait_for(lambda: not target.missing(), seconds=90, what="every replica")
    record.proof = f"bounced {', '.join(chased)}"


@fault(4, "a leader hangs longer than its session (SIGSTOP)", on="any")
def leader_paused(target: Target, record: Record) -> None:
    """It is fenced; when it continues, it must not acknowledge as if it were the leader."""
    node = target.led_by()
    where = begin(target, record, node)
    paused = time.monotonic()
    target.sh(where, PAUSE)
    after = target.elected(node)
    record.recovered(paused)
    target.fenced(node)
    shrunk = target.partition(without=node)
    assert shrunk
    assert node not in shrunk.isr
    target.wait_for_acks()
    target.sh(where, GO_ON)
    record.proof = f"fenced; {after} leads after {node}, in sync {shrunk.isr}"


@fault(5, "kill -9 of the active controller")
def controller_killed(target: Target, record: Record) -> None:
    """Another one leads soon, and producers notice nothing."""
    node, epoch = target.controller(), target.epoch()
    where = begin(target, record, node)
    before, killed = target.pid(where), time.monotonic()
    target.sh(where, KILL)
    wait_for(lambda: target.epoch() > epoch, seconds=30, what=f"an epoch after {epoch}")
    record.recovered(killed, 5.0)
    target.wait_for_acks()
    pid = restarted(target, where, before)
    record.proof = f"process {before} is gone, {pid} came; epoch {epoch} became {target.epoch()}"


@fault(6, "the active controller hangs (SIGSTOP)")
def controller_paused(target: Target, record: Record) -> None:
    """The others elect; when it goes on it has to follow."""
    node, epoch = target.controller(), target.epoch()
    where = begin(target, record, node)
    paused = time.monotonic()
    target.sh(where, PAUSE)
    wait_for(lambda: target.epoch() > epoch, seconds=60, what=f"an epoch after {epoch}")
    record.recovered(paused)
    successor, later = target.controller(), target.epoch()
    assert successor != node
    target.sh(where, GO_ON)
    wait_for(lambda: not target.missing(), seconds=60, what="it follows")
    assert target.controller() == successor, "it took the quorum back"
    assert target.epoch() == later, "it forced an election"
    record.proof = f"{successor} leads epoch {later} after {node} in {epoch}, and still does"


@fault(7, "one of three controllers is down", on="dedicated")
def one_controller_down(target: Target, record: Record) -> None:
    """Metadata can be changed, and no second controller may be touched."""
    node = min(target.topology.voters - {target.controller()})
    where = begin(target, record, node)
    stop(target, where)
    with_topic(target, "millrace-faults-minority")

    wait_for_gate_refusal(
        target, min(target.topology.voters - {node}), "quorum-majority", without=node
    )
    record.proof = f"{where} is stopped; a topic came and went; the gate names the quorum"


@fault(8, "the majority of the controllers is down", on="dedicated")
def controllers_lost(target: Target, record: Record) -> None:
    """Producers are not affected; metadata cannot be changed, and none of it is lost."""
    before = topics(target)
    down = sorted(target.topology.voters)[:2]
    record.node = ", ".join(target.topology.node(node) for node in down)
    for node in down:
        target.sh(target.topology.node(node), KILL + "; systemctl stop kafka")
    target.wait_for_acks()
    refused = refused_topic(target)
    target.wait_for_acks()
    for node in down:
        start(target, target.topology.node(node))
    wait_for(lambda: topics(target) >= before, seconds=60, what="all topics")
    record.proof = f"both are stopped; a new topic was refused ({refused}); records were not"


@fault(39, "fewer brokers than min.insync.replicas", on="dedicated")
def too_few_replicas(target: Target, record: Record) -> None:
    """Nothing is acknowledged, and everything can be read."""
    last = target.replicas()[0]
    nodes = sorted(set(target.topology.brokers) - {last})
    record.node, record.least_acks = ", ".join(map(target.topology.node, nodes)), 0
    for node in nodes:
        target.sh(target.topology.node(node), KILL + "; systemctl stop kafka")
    wait_for(
        lambda: (partition := target.partition()) and partition.isr == (last,),
        seconds=60,
        what=f"{last} is in sync alone",
    )
    target.acks_stop()
    before = target.acked
    refuses(target, last)
    count = readable(target, last)
    assert target.acked == before, "acknowledged below min.insync.replicas"
    record.proof = f"only {last} in sync; a record was refused, {count} were read"


def readable(target: Target, node: int) -> int:
    """Read what one broker gives of the ledger's first partition; how many records."""
    connection = target.topology.connection.at(target.topology.brokers[node])
    consumer = clients.consumer(connection, enable_auto_commit=False)
    try:
        partition = TopicPartition(target.topic, 0)
        consumer.assign([partition])
        consumer.seek_to_beginning(partition)
        records = consumer.poll(timeout_ms=10_000, max_records=500)
    finally:
        consumer.close()
    assert records.get(partition), "nothing can be read"
    return len(records[partition])


@fault(40, "the last in-sync replica is killed", on="dedicated")
def last_in_sync_killed(target: Target, record: Record) -> None:
    """No replica that may lack a record leads; an eligible leader replica may (KIP-966)."""
    last = target.led_by()
    early, late = sorted(set(target.replicas()) - {last})
    record.node, record.least_acks = target.topology.node(last), 0
    for node in (early, late):
        stop(target, target.topology.node(node))
        out_of_sync(target, node)
    target.sh(record.node, KILL + "; systemctl stop kafka")
    start(target, target.topology.node(early))
    wait_for(
        lambda: (partition := target.partition(without=last)) and partition.offline,
        seconds=60,
        what="a partition without a leader",
    )
    start(target, target.topology.node(late))
    assert target.elected(last) == late
    target.wait_for_acks()
    record.proof = f"offline while only {early} was there; {late} leads, {last} still down"


def out_of_sync(target: Target, node: int) -> None:
    wait_for(
        lambda: (partition := target.partition(without=node)) and node not in partition.isr,
        seconds=30,
        what=f"{node} is out of sync",
    )


@fault(38, "a record that is too large")
def oversize(target: Target, record: Record) -> None:
    """Refused once and for all."""
    record.node = "the client"
    producer = clients.producer(
        target.topology.connection, acks="all", max_request_size=2 * TOO_LARGE
    )
    started = time.monotonic()
    try:
        producer.send(target.side_topic, b"x" * TOO_LARGE, partition=0).get(30)
    except errors.MessageSizeTooLargeError as error:
        record.proof = f"{type(error).__name__} after {time.monotonic() - started:.1f} s"
    else:
        pytest.fail("the record was accepted")
    finally:
        producer.close(timeout=1)


def topics(target: Target) -> set[str]:
    snapshot = target.snapshot()
    return {partition.topic for partition in snapshot.partitions} if snapshot else set()


def create(target: Target, topic: str) -> None:
    """Create a topic; raises KafkaError if it cannot be."""
    with clients.admin(target.topology.connection, request_timeout_ms=CLIENT_MS) as admin:
        # What was refused may come when there is a majority again: it must not live on one broker.
        admin.create_topics({topic: SIDE}, timeout_ms=CLIENT_MS)


def refused_topic(target: Target) -> str:
    """Request a topic that cannot be created now; returns why it was refused."""
    try:
        create(target, NEVER)
    except errors.KafkaError as error:
        return type(error).__name__
    pytest.fail("a topic was created without a majority")


def with_topic(target: Target, topic: str) -> None:
    """Create a topic and delete it."""
    create(target, topic)
    wait_for(lambda: topic in topics(target), seconds=30, what=topic)
    with clients.admin(target.topology.connection) as admin:
        admin.delete_topics([topic])
