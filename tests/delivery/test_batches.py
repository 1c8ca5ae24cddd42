"""Batches and codecs, as they lie on the leader's disk."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import (
    codec as codecs,
)

from tests.support.clients.delivery import SECONDS, Client
from tests.support.services.segments import Batch, Disks, batches

RECORDS = 10
LIBRARIES = {"snappy": "python-snappy", "lz4": "lz4", "zstd": "zstandard", "gzip": "", "none": ""}
"""Codec to the package that kafka-python takes it from."""


def written(client: Client, disks: Disks, topic: str) -> list[Batch]:
    (partition,) = client.admin.describe_topics([topic])[0]["partitions"]
    return batches(disks.log(partition["leader_id"], topic))


@pytest.mark.parametrize(
    ("config", "awaited", "least", "most"),
    [
        pytest.param({"linger_ms": 0}, True, RECORDS, RECORDS, id="each-awaited"),
        pytest.param({"linger_ms": 300}, False, 1, 1, id="linger"),
        pytest.param({"linger_ms": 300, "batch_size": 500}, False, 2, RECORDS - 1, id="full"),
    ],
)
def test_a_batch_holds_what_comes_while_it_lingers(
    client: Client,
    disks: Disks,
    config: dict[str, Any],
    awaited: bool,
    least: int,
    most: int,
) -> None:
    topic = client.topic()
    producer = client.producer(**config)
    values = [bytes([number]) * 100 for number in range(RECORDS)]
    sent = []
    for value in values:
        sent.append(producer.send(topic, value, partition=0))
        if awaited:
            sent[-1].get(timeout=SECONDS)
    assert [future.get(timeout=SECONDS).offset for future in sent] == list(range(RECORDS))
    written_batches = written(client, disks, topic)
    assert least <= len(written_batches) <= most, written_batches
    assert sum(batch.records for batch in written_batches) == RECORDS
    assert client.values(topic) == values


@pytest.mark.parametrize("codec", LIBRARIES)
def test_a_codec_is_used_and_undone(client: Client, disks: Disks, codec: str) -> None:
    if codec != "none" and not getattr(codecs, f"has_{codec}")():
        pytest.skip(
            f"no library for {codec} here: add {LIBRARIES[codec]} to requirements/control-node.in"
        )
    topic = client.topic()
    compression = None if codec == "none" else codec
    producer = client.producer(compression_type=compression, linger_ms=100)
    values = [f"{number} ".encode() * 300 for number in range(RECORDS)]
    for sent in [producer.send(topic, value, partition=0) for value in values]:
        sent.get(timeout=SECONDS)
    assert client.values(topic) == values
    written_batches = written(client, disks, topic)
    assert {batch.codec for batch in written_batches} == {codec}
    smaller = sum(batch.size for batch in written_batches) < sum(map(len, values))
    assert smaller == (codec != "none"), written_batches
