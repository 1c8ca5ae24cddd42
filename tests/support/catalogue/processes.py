"""Faults of processes, of too few of them, and of records."""

from __future__ import annotations

import time

import pytest
from kafka import (  # type: ignore[import-untyped] # no types
    KafkaAdminClient,
    KafkaConsumer,
    KafkaProducer,
    TopicPartition,
)
from kafka.errors import (  # type: ignore[import-untyped] # no types
    KafkaError,
    MessageSizeTooLargeError,
)

from tests.support.catalogue.entry import (
    CLIENT_MS,
    KILL,
    begin,
    fault,
    gate_shuts,
    refuses,
    restarted,
    start,
    stop,
)
from tests.support.faults import SIDE, Record, Site
from tests.support.wait import wait_for

PAUSE = "systemctl kill --signal=STOP kafka"
GO_ON = "systemctl kill --signal=CONT kafka"
TOO_LARGE = 2_000_000
NEVER = "millrace-faults-majority"


@fault(1, "kill -9 of a partition's leader")
def leader_killed(site: Site, record: Record) -> None:
    """Another leads after its session at the latest, and systemd brings it back."""
    node = site.led_by()
    where = begin(site, record, node)
    before = site.pid(where)
    # Of the ledger's gap. Where it is the active controller too, a successor is elected first, and
    # gives every broker a new session.
    election = site.election_seconds(node) if node == site.controller() else 0
    limit = 1.1 * site.session_seconds(node) + 1 + election
    site.sh(where, KILL)
    after = site.elected(node)
    record.limited(limit)
    pid = restarted(site, where, before)
    record.proof = f"process {before} is gone, {pid} came; {after} leads after {node}"


@fault(2, "clean stop of a leader")
def leader_stopped(site: Site, record: Record) -> None:
    """Leadership moves before it ends; what it leaves needs no recovery."""
    node = site.led_by()
    where = begin(site, record, node)
    stop(site, where)
    after = site.elected(node)
    record.limited(1)
    for data in site.topology.kafka(where)["data_dirs"]:
        site.sh(where, "test -f %s/.kafka_cleanshutdown", data)
    assert not site.pid(where)
    record.proof = f"no process; {after} leads after {node}; every log directory closed cleanly"


@fault(3, "five bounces of whoever leads", long=True)
def leader_chased(site: Site, record: Record) -> None:
    """By turns clean and hard, each as soon as all replicas are in sync again."""
    chased: list[str] = []
    for command in ("systemctl restart kafka", KILL) * 2 + ("systemctl restart kafka",):
        node = site.led_by()
        where = begin(site, record, node)
        before = site.pid(where)
        site.sh(where, command)
        restarted(site, where, before)
        chased.append(where)
        wait_for(lambda: not site.lacks(), seconds=90, what="every replica")
    record.proof = f"bounced {', '.join(chased)}"


@fault(4, "a leader hangs longer than its session (SIGSTOP)", on="any")
def leader_paused(site: Site, record: Record) -> None:
    """It is fenced; when it goes on it must not acknowledge as if it led."""
    node = site.led_by()
    where = begin(site, record, node)
    paused = time.monotonic()
    site.sh(where, PAUSE)
    after = site.elected(node)
    record.recovered(paused)
    site.fenced(node)
    shrunk = site.partition(without=node)
    assert shrunk
    assert node not in shrunk.isr
    site.acks_flow()
    site.sh(where, GO_ON)
    record.proof = f"fenced; {after} leads after {node}, in sync {shrunk.isr}"


@fault(5, "kill -9 of the active controller")
def controller_killed(site: Site, record: Record) -> None:
    """Another one leads soon, and nobody who produces notices."""
    node, epoch = site.controller(), site.epoch()
    where = begin(site, record, node)
    before, killed = site.pid(where), time.monotonic()
    site.sh(where, KILL)
    wait_for(lambda: site.epoch() > epoch, seconds=30, what=f"an epoch after {epoch}")
    record.recovered(killed, 5.0)
    site.acks_flow()
    pid = restarted(site, where, before)
    record.proof = f"process {before} is gone, {pid} came; epoch {epoch} became {site.epoch()}"


@fault(6, "the active controller hangs (SIGSTOP)")
def controller_paused(site: Site, record: Record) -> None:
    """The others elect; when it goes on it has to follow."""
    node, epoch = site.controller(), site.epoch()
    where = begin(site, record, node)
    paused = time.monotonic()
    site.sh(where, PAUSE)
    wait_for(lambda: site.epoch() > epoch, seconds=60, what=f"an epoch after {epoch}")
    record.recovered(paused)
    successor, later = site.controller(), site.epoch()
    assert successor != node
    site.sh(where, GO_ON)
    wait_for(lambda: not site.lacks(), seconds=60, what="it follows")
    assert site.controller() == successor, "it took the quorum back"
    assert site.epoch() == later, "it forced an election"
    record.proof = f"{successor} leads epoch {later} after {node} in {epoch}, and still does"


@fault(7, "one of three controllers is down", on="dedicated")
def one_controller_down(site: Site, record: Record) -> None:
    """Metadata can be changed, and no second controller may be touched."""
    node = min(site.topology.voters - {site.controller()})
    where = begin(site, record, node)
    stop(site, where)
    with_topic(site, "millrace-faults-minority")

    gate_shuts(site, min(site.topology.voters - {node}), "quorum-majority", without=node)
    record.proof = f"{where} is stopped; a topic came and went; the gate names the quorum"


@fault(8, "the majority of the controllers is down", on="dedicated")
def controllers_lost(site: Site, record: Record) -> None:
    """Who produces notices nothing; metadata cannot be changed, and none of it is lost."""
    before = topics(site)
    down = sorted(site.topology.voters)[:2]
    record.node = ", ".join(site.topology.node(node) for node in down)
    for node in down:
        site.sh(site.topology.node(node), KILL + "; systemctl stop kafka")
    site.acks_flow()
    refused = refused_topic(site)
    site.acks_flow()
    for node in down:
        start(site, site.topology.node(node))
    wait_for(lambda: topics(site) >= before, seconds=60, what="all topics")
    record.proof = f"both are stopped; a new topic was refused ({refused}); records were not"


@fault(39, "fewer brokers than min.insync.replicas", on="dedicated")
def too_few_replicas(site: Site, record: Record) -> None:
    """Nothing is acknowledged, and everything can be read."""
    nodes = sorted(site.topology.brokers)[1:]
    record.node, record.least_acks = ", ".join(map(site.topology.node, nodes)), 0
    for node in nodes:
        site.sh(site.topology.node(node), KILL + "; systemctl stop kafka")
    last = min(site.topology.brokers)
    wait_for(
        lambda: (found := site.partition()) and found.isr == (last,),
        seconds=60,
        what=f"{last} is in sync alone",
    )
    site.acks_stop()
    before = site.acked
    refuses(site, last)
    count = readable(site, last)
    assert site.acked == before, "acknowledged below min.insync.replicas"
    record.proof = f"only {last} in sync; a record was refused, {count} were read"


def readable(site: Site, node: int) -> int:
    """Read what one broker gives of the ledger's first partition; how many records."""
    consumer = KafkaConsumer(
        bootstrap_servers=[site.topology.brokers[node]], enable_auto_commit=False
    )
    try:
        place = TopicPartition(site.topic, 0)
        consumer.assign([place])
        consumer.seek_to_beginning(place)
        found = consumer.poll(timeout_ms=10_000, max_records=500)
    finally:
        consumer.close()
    assert found.get(place), "nothing can be read"
    return len(found[place])


@fault(40, "the last in sync is killed", on="dedicated")
def last_in_sync_killed(site: Site, record: Record) -> None:
    """Nobody leads who may lack a record; who left below min.insync.replicas may (ELR, KIP-966)."""
    last = site.led_by()
    early, late = sorted(set(site.topology.brokers) - {last})
    record.node, record.least_acks = site.topology.node(last), 0
    for node in (early, late):
        stop(site, site.topology.node(node))
        out_of_sync(site, node)
    site.sh(record.node, KILL + "; systemctl stop kafka")
    start(site, site.topology.node(early))
    wait_for(
        lambda: (found := site.partition(without=last)) and found.offline,
        seconds=60,
        what="a partition without a leader",
    )
    start(site, site.topology.node(late))
    assert site.elected(last) == late
    site.acks_flow()
    record.proof = f"offline while only {early} was there; {late} leads, {last} still down"


def out_of_sync(site: Site, node: int) -> None:
    wait_for(
        lambda: (found := site.partition(without=node)) and node not in found.isr,
        seconds=30,
        what=f"{node} is out of sync",
    )


@fault(38, "a record that is too large")
def oversize(site: Site, record: Record) -> None:
    """Refused once and for all."""
    record.node = "the client"
    producer = KafkaProducer(
        bootstrap_servers=list(site.topology.brokers.values()),
        acks="all",
        max_request_size=2 * TOO_LARGE,
    )
    started = time.monotonic()
    try:
        producer.send(site.side_topic, b"x" * TOO_LARGE, partition=0).get(30)
    except MessageSizeTooLargeError as error:
        record.proof = f"{type(error).__name__} after {time.monotonic() - started:.1f} s"
    else:
        pytest.fail("it was taken")
    finally:
        producer.close(timeout=1)


def topics(site: Site) -> set[str]:
    found = site.snapshot()
    return {one.topic for one in found.partitions} if found else set()


def create(site: Site, topic: str) -> None:
    """Create a topic, or say why it cannot be."""
    admin = KafkaAdminClient(
        bootstrap_servers=list(site.topology.brokers.values()), request_timeout_ms=CLIENT_MS
    )
    try:
        # What was refused may come when there is a majority again: it must not live on one broker.
        admin.create_topics({topic: SIDE}, timeout_ms=CLIENT_MS)
    finally:
        admin.close()


def refused_topic(site: Site) -> str:
    """Ask for a topic that nobody can create now; why it was refused."""
    try:
        create(site, NEVER)
    except KafkaError as error:
        return type(error).__name__
    pytest.fail("a topic was created without a majority")


def with_topic(site: Site, topic: str) -> None:
    """Create a topic and delete it."""
    create(site, topic)
    wait_for(lambda: topic in topics(site), seconds=30, what=topic)
    with KafkaAdminClient(bootstrap_servers=list(site.topology.brokers.values())) as admin:
        admin.delete_topics([topic])
