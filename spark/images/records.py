"""What a record is, why one is refused, and how records become frames again: no Kafka, no files.

A record has the frame's id as key and these headers, as text: `sha256` of the whole frame, `shape`
(rows x columns, such as 64x128), and `index` and `count` of its chunk, from 0, or `reference`, a
path below the root of the store, without a value.
"""

import base64
import hashlib
import json
import struct
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Self

import pandas as pd
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from millrace_job import HEADERS, REASON

MAX_CHUNKS: Final = 1000
WAITING_BYTES: Final = 64 << 20
"""How many bytes of frames that are not complete a partition keeps, at most."""
RECORD: Final = (
    f"key binary, value binary, headers {HEADERS}, partition int, offset bigint, at bigint, "
    "sha256 string, shape string, reference string, reason string, number int, total int"
)
"""A record as `parse` returns it; `at` is its time in milliseconds."""
FRAME: Final = (
    f"records array<struct<{RECORD.replace(' ', ':').replace(',:', ',')}>>, reason string"
)
"""Records that belong together, in the order of their chunks, or those that are refused."""
STATE: Final = "waiting binary, finished binary, clock bigint"
"""Of a partition: the records of frames that are not complete, and the frames that are.

Python has no arrays in a state (Spark 4.2): records are JSON.
"""
_FINISHED: Final = struct.Struct(">16sq")


def parse(raw: DataFrame) -> DataFrame:
    """Return Kafka's records with the columns of `RECORD`; `reason` is null for a good one.

    Reasons, the first that applies: "no frame id", "no checksum", "no shape", "no index and count",
    "no value".
    """

    def header(name: str) -> Column:
        headers = F.filter("headers", lambda entry: entry["key"] == name)
        return F.try_validate_utf8(F.get(headers, F.lit(0))["value"].cast("string"))

    parsed = raw.select(
        "key",
        "value",
        "headers",
        "partition",
        "offset",
        F.unix_millis("timestamp").alias("at"),
        *(header(name).alias(name) for name in ("sha256", "shape")),
        header("index").try_cast("int").alias("number"),
        header("count").try_cast("int").alias("total"),
        header("reference").alias("reference"),
    )
    number, total = F.col("number"), F.col("total")
    is_chunk = (number >= 0) & (number < total) & (total <= MAX_CHUNKS)
    reason = (
        F.when(F.coalesce(F.length("key"), F.lit(0)) == 0, "no frame id")
        .when(~F.coalesce(F.col("sha256").rlike("^[0-9a-f]{64}$"), F.lit(False)), "no checksum")
        .when(~F.coalesce(F.col("shape").rlike("^[0-9]+x[0-9]+$"), F.lit(False)), "no shape")
        .when(F.col("reference").isNotNull(), None)
        .when(~F.coalesce(is_chunk, F.lit(False)), "no index and count")
        .when(F.col("value").isNull(), "no value")
    )
    places = {name: F.coalesce(name, F.lit(-1)) for name in ("number", "total")}
    columns = [column.split()[0] for column in RECORD.split(", ")]
    return parsed.withColumn(REASON, reason).withColumns(places).select(*columns)


class Record(NamedTuple):
    """The columns of `RECORD`."""

    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]] | None
    partition: int
    offset: int
    at: int
    sha256: str | None
    shape: str | None
    reference: str | None
    reason: str | None
    number: int
    total: int

    @property
    def frame(self) -> bytes:
        """What the chunks of one frame have in common; a frame cut in another way is another."""
        identifiers = (self.key, self.sha256, self.shape, self.total)
        return hashlib.sha256(repr(identifiers).encode()).digest()[:16]

    @classmethod
    def of_row(cls, values: Sequence[Any]) -> Self:
        """Return a row of `parse`, as pandas has it."""
        key, value, headers, partition, offset, at, *texts, number, total = values
        pairs = (
            headers if headers is None else [(header["key"], header["value"]) for header in headers]
        )
        sha256, shape, reference, reason = (None if pd.isna(text) else text for text in texts)
        place = int(partition), int(offset), int(at)
        chunk = int(number), int(total)
        return cls(key, value, pairs, *place, sha256, shape, reference, reason, *chunk)

    def row(self) -> dict[str, Any]:
        """Return it as a part of a row of `FRAME`."""
        headers = [{"key": key, "value": value} for key, value in self.headers or ()]
        return {**self._asdict(), "headers": headers}

    def to_json(self) -> list[Any]:
        """Return it as a part of the state."""
        headers = [(key, _text(value)) for key, value in self.headers or ()]
        return [_text(self.key), _text(self.value), headers, *self[3:]]

    @classmethod
    def from_json(cls, given: Sequence[Any]) -> Self:
        """Return what `to_json` returned."""
        key, value, headers, *remaining = given
        pairs = [(name, _bytes(text)) for name, text in headers]
        return cls(_bytes(key), _bytes(value), pairs, *remaining)


def _text(value: bytes | None) -> str | None:
    return None if value is None else base64.b64encode(value).decode()


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


Frame = tuple[Sequence[Record], str | None]
"""Records, and the reason if they are refused."""


@dataclass
class _Waiting:
    """A frame of which chunks are missing, and when its newest one came."""

    chunks: dict[int, Record] = field(default_factory=dict)
    since: int = 0


class Reassembly:
    """Makes frames of one partition's records, in whatever micro-batches these come.

    Chunks may come in any order, and several times: all records of a frame are in one partition, as
    they have one key. Time is that of the newest record in the partition, so the result is a
    function of the log alone, and a repeated micro-batch yields the same. A frame is refused when
    no chunk of it has come for `timeout` milliseconds; for as long a finished one is remembered.
    """

    def __init__(self, timeout: int, waiting_bytes: int = WAITING_BYTES) -> None:
        """Begin without records."""
        self._timeout = timeout
        self._limit = waiting_bytes
        self._waiting: OrderedDict[bytes, _Waiting] = OrderedDict()
        self._finished: OrderedDict[bytes, int] = OrderedDict()
        self._bytes = 0
        self._clock = 0

    def restore(self, waiting: bytes, finished: bytes, clock: int) -> None:
        """Go on from what `state` returned."""
        for entry in json.loads(waiting):
            self._keep(Record.from_json(entry))
        self._finished.update(_FINISHED.iter_unpack(finished))
        self._clock = clock

    def state(self) -> tuple[bytes, bytes, int]:
        """Return what a later micro-batch goes on from, by `STATE`."""
        records = [record for frame in self._waiting.values() for record in frame.chunks.values()]
        finished = b"".join(_FINISHED.pack(*item) for item in self._finished.items())
        records.sort(key=lambda record: record.offset)
        waiting = json.dumps([record.to_json() for record in records]).encode()
        return waiting, finished, self._clock

    def take(self, record: Record) -> Iterator[Frame]:
        """Yield what is complete, or refused, with one more record; they come by their offset."""
        self._clock = max(self._clock, record.at)
        yield from self._expire()
        if record.reason is not None or record.reference is not None:
            yield [record], record.reason
            return
        frame = record.frame
        if frame in self._finished:
            return
        incomplete = self._waiting.get(frame)
        if incomplete and (former := incomplete.chunks.get(record.number)):
            if former.value != record.value:
                yield [record], "another chunk has the same index"
            return
        waiting = self._keep(record)
        if len(waiting.chunks) == record.total:
            self._forget(frame)
            self._finished[frame] = self._clock
            yield [waiting.chunks[index] for index in sorted(waiting.chunks)], None
        while self._bytes > self._limit:
            yield self._refuse(next(iter(self._waiting)), "too many frames are incomplete")

    def _keep(self, record: Record) -> _Waiting:
        waiting = self._waiting.setdefault(record.frame, _Waiting())
        waiting.chunks[record.number] = record
        waiting.since = max(waiting.since, record.at)
        self._waiting.move_to_end(record.frame)
        self._bytes += len(record.value or b"")
        return waiting

    def _forget(self, frame: bytes) -> _Waiting:
        waiting = self._waiting.pop(frame)
        self._bytes -= sum(len(chunk.value or b"") for chunk in waiting.chunks.values())
        return waiting

    def _refuse(self, frame: bytes, reason: str) -> Frame:
        chunks = self._forget(frame).chunks
        return [chunks[index] for index in sorted(chunks)], reason

    def _expire(self) -> Iterator[Frame]:
        """Refuse what waits for too long, and forget what was finished long ago."""
        oldest = self._clock - self._timeout
        while self._finished and next(iter(self._finished.values())) < oldest:
            self._finished.popitem(last=False)
        for frame, waiting in list(self._waiting.items()):
            if waiting.since >= oldest:
                break
            count = next(iter(waiting.chunks.values())).total
            yield self._refuse(frame, f"incomplete: {len(waiting.chunks)} of {count} chunks")
