"""Topics as code, and moves of their replicas, on any cluster with a login of the administrator."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients
from testinfra.host import Host

from tests.support.clients.operator import INVENTORY, Operator
from tests.support.faults.target import FULL, PART_OF_FULL
from tests.support.lab.topology import Topology
from tests.support.recap import changed
from tests.support.wait import wait_for_none

pytestmark = pytest.mark.skipif(not FULL, reason=PART_OF_FULL)
TOPIC, UNEVEN = "as-code.events", "as-code.uneven"
RECORDS, SIZE = 40, 50_000


@pytest.fixture
def operator(topology: Topology, hosts: dict[str, Host], tmp_path: Path) -> Operator:
    return Operator(topology, hosts, tmp_path)


@pytest.fixture
def removed(admin: Any) -> Iterator[None]:
    """Topics of these tests are deleted afterwards, however they end."""
    yield
    remaining = [name for name in admin.list_topics() if name in (TOPIC, UNEVEN)]
    if remaining:
        admin.delete_topics(remaining)
    wait_for_none(
        lambda: [name for name in remaining if name in admin.list_topics()],
        seconds=30,
        what="topics of the test",
    )


def run(operator: Operator, playbook: str, *options: str) -> str:
    words = " ".join(options)
    return operator.run(f"ansible-playbook -i {INVENTORY} playbooks/{playbook}.yml {words}")


@pytest.mark.usefixtures("removed")
def test_a_topic_is_as_its_entry_says_after_each_run(operator: Operator, admin: Any) -> None:
    def apply(entry: Mapping[str, Any], *options: str) -> str:
        variables = operator.folder / "topics.json"
        variables.write_text(json.dumps({"kafka_topics": [entry]}))
        return run(operator, "topics", f"-e @{variables}", *options)

    entry = {"name": TOPIC, "partitions": 2, "config": {"retention.ms": 3600000}}
    assert changed(apply(entry, "--check")) == 1
    assert TOPIC not in admin.list_topics()
    assert changed(apply(entry)) == 1
    assert changed(apply(entry)) == 0
    assert changed(apply({**entry, "partitions": 3, "config": {}})) == 1
    [described] = admin.describe_topics([TOPIC])
    assert len(described["partitions"]) == 3
    assert changed(apply({"name": TOPIC, "state": "absent"})) == 1
    assert TOPIC not in admin.list_topics()


@pytest.mark.usefixtures("removed")
def test_replicas_are_spread_and_no_throttle_stays(
    operator: Operator, topology: Topology, admin: Any
) -> None:
    brokers = sorted(broker["broker_id"] for broker in admin.describe_cluster()["brokers"])
    if len(brokers) < 3:
        pytest.skip("fewer than 3 brokers")
    crowded = dict.fromkeys(range(6), brokers[:2])
    admin.create_topics({UNEVEN: {"assignments": crowded}}, wait_for_metadata=True)
    with closing(clients.producer(topology.connection, acks="all")) as producer:
        for number in range(RECORDS):
            producer.send(UNEVEN, b"x" * SIZE, partition=number % len(crowded))
        producer.flush(30)
    assert changed(run(operator, "rebalance", f"-e topic={UNEVEN}", "--check")) == 1
    assert changed(run(operator, "rebalance", f"-e topic={UNEVEN}")) == 1
    assert changed(run(operator, "rebalance", f"-e topic={UNEVEN}")) == 0
    [described] = admin.describe_topics([UNEVEN])
    holders = {node for partition in described["partitions"] for node in partition["replica_nodes"]}
    assert set(brokers) <= holders, "the third broker has its share"
    leaders = [partition["leader_id"] for partition in described["partitions"]]
    assert max(map(leaders.count, brokers)) - min(map(leaders.count, brokers)) <= 1
    with closing(
        clients.consumer(topology.connection, auto_offset_reset="earliest", group_id=None)
    ) as consumer:
        consumer.subscribe([UNEVEN])
        read = 0
        while read < RECORDS:
            batch = consumer.poll(timeout_ms=30_000)
            assert batch, f"only {read} of {RECORDS} records"
            read += sum(map(len, batch.values()))
