"""Faults of the network between nodes, and between clients and nodes."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterable

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients

from tests.support.faults.catalogue.entry import (
    CLIENT_MS,
    begin,
    fault,
    refuses,
    wait_for_gate_refusal,
)
from tests.support.faults.target import DROP_ANSWERS_TO, Record, Target, answered
from tests.support.wait import wait_for

DROP = "ip route replace blackhole %s"
SLOW = "tc qdisc add dev eth0 root tbf rate 1mbit burst 16kb latency 400ms"
FLOOD, CHUNK = 16_000_000, 500_000
"""Bytes that two followers cannot fetch over such a link within `replica.lag.time.max.ms`."""
LAG_SECONDS = 90
UNANSWERED = 500
"""Records: more than one partition gets while the ledger's producer waits for an answer."""


@fault(10, "a leader is isolated from all other nodes")
def leader_isolated(target: Target, record: Record) -> None:
    """An isolated leader must not acknowledge; the others elect a new one."""
    node = target.led_by(topic=target.side_topic)
    where = begin(target, record, node)
    peers = [name for name in target.kafka_hosts if name != where]
    cut(target, where, peers)
    after = target.elected(node, topic=target.side_topic)
    target.fenced(node)
    # One attempt, and nobody else is asked who leads.
    producer = clients.producer(
        target.topology.connection.at(target.topology.brokers[node]),
        kafka_client=clients.pinned,
        acks="all",
        retries=0,
        enable_idempotence=False,
        request_timeout_ms=CLIENT_MS,
        delivery_timeout_ms=2 * CLIENT_MS,
    )
    try:
        sent = producer.send(target.side_topic, b"alone", partition=0)
        assert answered(lambda: sent.get(3 * CLIENT_MS / 1000)) is None, "acknowledged alone"
    finally:
        producer.close(timeout=1)
    target.wait_for_acks()
    record.proof = f"{len(peers)} peers cut off; fenced; {after} leads after {node}"


@fault(11, "a leader is isolated from the other brokers only", on="dedicated", long=True)
def leader_without_followers(target: Target, record: Record) -> None:
    """It keeps its session and leads without followers, and must not acknowledge acks=all."""
    node = target.led_by(topic=target.side_topic)
    where = begin(target, record, node)
    record.least_acks = 20
    cut(
        target,
        where,
        [name for name in target.topology.group("kafka_brokers") if name != where],
    )
    send(target, node, 1)  # a follower that lacks no record does not lag
    in_sync_alone(target, node)
    refuses(target, node)
    record.proof = f"{node} leads and is in sync alone; a record was refused"


def send(target: Target, node: int, size: int) -> None:
    """Have a leader take so many bytes for the side topic, whether or not others follow."""
    producer = clients.producer(
        target.topology.connection.at(target.topology.brokers[node]), acks=1
    )
    try:
        for begin_at in range(0, size, CHUNK):
            data = os.urandom(min(CHUNK, size - begin_at))
            producer.send(target.side_topic, data, partition=0)
        producer.flush(timeout=LAG_SECONDS)
    finally:
        producer.close(timeout=1)


def in_sync_alone(target: Target, node: int) -> None:
    """Wait until a leader has given all followers of the side topic up, and leads still."""
    wait_for(
        lambda: (
            (partition := target.partition(topic=target.side_topic)) and partition.isr == (node,)
        ),
        seconds=LAG_SECONDS,
        what=f"{node} is in sync alone",
    )
    assert target.led_by(topic=target.side_topic) == node


@fault(12, "a leader is isolated from the controllers only", on="dedicated")
def leader_without_controllers(target: Target, record: Record) -> None:
    """Its session ends, and leadership moves although its followers reach it."""
    node = target.led_by()
    where = begin(target, record, node)
    controllers = [name for name in target.topology.group("kafka_controllers") if name != where]
    since = time.monotonic()
    cut(target, where, controllers)
    after = target.elected(node)
    record.recovered(since)
    target.fenced(node)
    target.wait_for_acks()
    record.proof = f"cut from {', '.join(controllers)}; fenced; {after} leads after {node}"


@fault(14, "the active controller is isolated from the other controllers", on="dedicated")
def quorum_split(target: Target, record: Record) -> None:
    """The other two elect a leader, it steps down, and the epoch stays bounded (KIP-996)."""
    node, epoch = target.controller(), target.epoch()
    where = begin(target, record, node)
    peers = [name for name in target.topology.group("kafka_controllers") if name != where]
    since = time.monotonic()
    cut(target, where, peers)
    wait_for(
        lambda: target.epoch() > epoch and target.controller() != node,
        seconds=60,
        what=f"a leader after {node}",
    )
    record.recovered(since)
    target.wait_for_acks()
    after = target.epoch()
    assert after <= epoch + 5, f"the epoch ran from {epoch} to {after}"
    record.proof = f"{target.controller()} leads epoch {after} after {node} in {epoch}"


@fault(15, "a leader's responses to clients are dropped")
def clients_cut(target: Target, record: Record) -> None:
    """It stays leader; records whose acknowledgement was lost are sent again, and stored once."""
    node = target.led_by()
    where = begin(target, record, node)
    record.least_acks = 20
    address, port = target.topology.brokers[node].rsplit(":", 1)
    target.sh(where, DROP_ANSWERS_TO, own_address(address), port)
    with pytest.raises(TimeoutError):
        socket.create_connection((address, int(port)), timeout=CLIENT_MS / 1000).close()
    wait_for(
        lambda: (now := target.status)["invoked"] - now["acked"] >= UNANSWERED,
        seconds=60,
        what=f"{UNANSWERED} records without an answer",
    )
    assert target.led_by(without=node) == node
    record.proof = f"no connection to {where}, {UNANSWERED} records unanswered; {node} leads still"


def own_address(towards: str) -> str:
    """The address of this machine that a host sees."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((towards, 9))
        return str(probe.getsockname()[0])


@fault(17, "a leader's link is slow (1 Mbit/s)", on="dedicated", long=True)
def slow_link(target: Target, record: Record) -> None:
    """Followers that cannot keep up leave the ISR, and the gate refuses to stop the leader."""
    node = target.led_by(topic=target.side_topic)
    where = begin(target, record, node)
    record.least_acks = 20
    target.sh(where, SLOW)
    send(target, node, FLOOD)
    in_sync_alone(target, node)
    wait_for_gate_refusal(target, node, "last-in-sync")
    record.proof = f"{FLOOD} bytes at 1 Mbit/s: {node} is in sync alone, and the gate keeps it"


def cut(target: Target, where: str, hosts: Iterable[str]) -> None:
    """Let no packet pass between a host and others, in either direction."""
    peers = list(hosts)
    for name in peers:
        target.sh(name, DROP, target.topology.addresses[where])
    target.sh(
        where,
        "; ".join([DROP] * len(peers)),
        *(target.topology.addresses[name] for name in peers),
    )
