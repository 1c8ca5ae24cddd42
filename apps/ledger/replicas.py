"""What the brokers hold on disk, read without any broker: a cluster cannot vouch for itself.

Whoever healed the cluster fetches the segment files of the ledger's topic from each host, with the
topic kept, into `replicas/<replica>/<topic>-<partition>/*.log` of the ledger's directory.
"""

from __future__ import annotations

import logging
import struct
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import (
    MemoryRecords,
    errors,
)

from apps.ledger.history import Read, Reader

LOG = logging.getLogger(__name__)
MAGIC = 2
"""The format of every batch since Kafka 0.11; it has a checksum over all of its records."""


def readers(folder: Path, topic: str) -> list[Reader]:
    """Return what each replica below a directory holds of a topic; none without a directory.

    Its `ends` are the ends of its own logs, for the partitions that it has.
    """
    replicas = [_reader(path, topic) for path in sorted(folder.glob("*/"))]
    return [reader for reader in replicas if reader.ends]


def held(partition: int, segments: Iterable[bytes]) -> tuple[list[Read], int]:
    """Return a partition's records in the order of its segments, and the end of its log.

    Control records are none of them. Behind a batch that is torn or fails its checksum nothing of
    its segment counts as held: at the end of a log that is a write which the copy cut off, and
    anywhere else the records that are missed then are what is wrong.
    """
    reads: list[Read] = []
    end = 0
    for segment in segments:
        for batch in _batches(segment):
            end = max(end, batch.next_offset)
            if not batch.is_control_batch:
                reads += [Read(partition, record.offset, _text(record.value)) for record in batch]
    return reads, end


def _reader(folder: Path, topic: str) -> Reader:
    reads: list[Read] = []
    ends: dict[int, int] = {}
    for path in sorted(folder.glob(f"{topic}-*/")):
        # Another topic's name may begin with this one, and a deleted or moved log has a suffix.
        number = path.name.removeprefix(f"{topic}-")
        if number.isdigit():
            files = sorted(path.glob("*.log"))
            partition_reads, ends[int(number)] = held(
                int(number), (file.read_bytes() for file in files)
            )
            reads += partition_reads
    return Reader(folder.name, "replica", reads, ends, done=True)


def _batches(segment: bytes) -> Iterator[Any]:
    records, read = MemoryRecords(segment), 0
    try:
        while records.has_next():
            batch = records.next_batch()
            if batch.magic != MAGIC or not batch.validate_crc():
                break
            yield batch
            read += batch.size_in_bytes
    except (errors.CorruptRecordError, struct.error) as error:
        LOG.warning("not a batch: %s", error)
    if read < len(segment):
        LOG.warning("a segment of %d bytes is unreadable from byte %d", len(segment), read)


def _text(value: bytes | None) -> str:
    return sys.intern((value or b"").decode(errors="replace"))
