"""Records of one key go to one partition, whoever writes them, and keep their order there."""

from __future__ import annotations

from collections import defaultdict

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.formats.versions import (
    release_numbers,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import murmur2
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.node import (
    CLIENT_PROPERTIES,
)
from testinfra.host import Host

from tests.support.clients.delivery import SECONDS, Client
from tests.support.clients.guide_steps import as_of
from tests.support.lab.topology import Topology

PARTITIONS = 6
JAVA_SIGN = 0x7FFFFFFF
"""What Java's partitioner leaves of a hash (Utils.toPositive)."""
# Kafka's own, clients/src/test/java/org/apache/kafka/common/utils/UtilsTest.java.
JAVA_MURMUR2 = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}


@pytest.mark.parametrize("key", JAVA_MURMUR2)
def test_murmur2_is_that_of_java(key: bytes) -> None:
    assert int.from_bytes(murmur2(key).to_bytes(4), signed=True) == JAVA_MURMUR2[key]


def places(client: Client, topic: str) -> dict[bytes, dict[int, list[bytes]]]:
    """Key to partition to values in the order of offsets."""
    placed: dict[bytes, dict[int, list[bytes]]] = defaultdict(lambda: defaultdict(list))
    for record in client.read(topic, PARTITIONS):
        placed[record.key or b""][record.partition].append(record.value)
    return placed


def test_java_and_python_choose_the_same_partition(
    client: Client, topology: Topology, hosts: dict[str, Host]
) -> None:
    topic = client.topic(PARTITIONS)
    keys = [f"flight-{number}" for number in range(40)]
    first = topology.group("kafka_brokers")[0]
    version = topology.cluster.kafka[first].version
    # KIP-1147 renamed the option.
    option = "--reader-property" if release_numbers(version) >= (4, 2) else "--property"
    command = (
        f"kafka-console-producer.sh --topic {topic} --command-config {CLIENT_PROPERTIES}"
        f" --bootstrap-server {','.join(topology.cluster.kafka[first].clients.bootstrap)}"
        f" {option} parse.key=true {option} key.separator=:"
    )
    hosts[first].check_output(
        "bash -lc %s", f"printf '%s:java\\n' {' '.join(keys)} | {as_of(version, command)}"
    )
    producer = client.producer()
    for sent in [producer.send(topic, b"python", key=key.encode()) for key in keys]:
        sent.get(timeout=SECONDS)

    placed = places(client, topic)
    assert set(placed) == {key.encode() for key in keys}
    for key, partitions in placed.items():
        expected = (JAVA_SIGN & murmur2(key)) % PARTITIONS
        assert partitions == {expected: [b"java", b"python"]}, key
    assert (
        len({partition for partitions in placed.values() for partition in partitions}) == PARTITIONS
    )


def test_a_key_keeps_its_order(client: Client) -> None:
    """Without a key the records of one flight are spread, and only a partition has an order."""
    keyed, keyless = client.topic(PARTITIONS), client.topic(PARTITIONS)
    values = [f"{number:03}".encode() for number in range(100)]
    # Small enough that each partition gets many batches.
    producer = client.producer(batch_size=300)
    sent = [producer.send(keyed, value, key=f"k{int(value) % 5}".encode()) for value in values]
    sent += [producer.send(keyless, value) for value in values]
    for future in sent:
        future.get(timeout=SECONDS)

    placed = places(client, keyed)
    assert len(placed) == 5
    for key, partitions in placed.items():
        (order,) = partitions.values()
        assert order == [value for value in values if f"k{int(value) % 5}".encode() == key]

    spread = places(client, keyless)[b""]
    assert len(spread) > 1
    assert sorted(value for order in spread.values() for value in order) == values
    assert all(order == sorted(order) for order in spread.values())
