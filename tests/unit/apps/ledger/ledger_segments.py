"""Segments as a broker writes them, for tests that read its disk."""

from __future__ import annotations

import struct
from collections.abc import Iterable

from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import (
    MemoryRecordsBuilder,
    calc_crc32c,
)

from apps.ledger.history import Read

GZIP = 1
_CONTROL = 0x20
_CRC_AT, _ATTRIBUTES_AT = 17, 21


def batch(first: int, values: Iterable[str], *, codec: int = 0, control: bool = False) -> bytes:
    """A batch as it lies in a segment: a broker gives it its base offset, outside the checksum."""
    builder = MemoryRecordsBuilder(2, codec, 1_000_000)
    for value in values:
        builder.append(None, struct.pack(">hh", 0, 1) if control else None, value.encode())
    builder.close()
    data = bytearray(builder.buffer())
    struct.pack_into(">q", data, 0, first)
    if control:
        struct.pack_into(">h", data, _ATTRIBUTES_AT, _CONTROL)
        struct.pack_into(">I", data, _CRC_AT, calc_crc32c(memoryview(data)[_ATTRIBUTES_AT:]))
    return bytes(data)


def segment(reads: Iterable[Read]) -> bytes:
    return b"".join(batch(read.offset, [read.value]) for read in reads)
