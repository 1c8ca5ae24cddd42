"""Records of a partition, read with the credentials of a user: a bounded number of them.

`apps.console.worker` does it, in a process with limits.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients, library
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.connection import Connection

from .codecs import CodecError
from .schemas import Decode, SchemaError, has_schema, schema_id

SECONDS = 8.0
REQUEST_MS = 4000
SHOWN_BYTES = 4096
"""Of a key, a value or a header; what is longer is cut off."""
SIGNED_OUT = 401
"""Status of an answer after which the user has to sign in again."""
_HEADERS = 20
_POLL_MS = 250


class RecordsError(Exception):
    """The records cannot be read; the text is for the user, `status` that of HTTP."""

    def __init__(self, message: str, status: int) -> None:
        """Take the text and the status."""
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Request:
    """Which records of a partition."""

    topic: str
    partition: int
    offset: int | None
    """From which on; its last ones if None."""
    count: int
    """How many."""
    size: int


@dataclass(frozen=True)
class Fetched:
    """Records of a partition, with its first and its next offset."""

    first: int
    end: int
    records: list[Any]
    problem: str = ""
    """Why there are not more of them."""

    def described(self) -> dict[str, Any]:
        """Return them as plain data; nothing is decoded."""
        return {
            "first": self.first,
            "end": self.end,
            "records": [_shown(record) for record in self.records],
            "problem": self.problem,
        }


def fetch(connection: Connection, request: Request) -> Fetched:
    """Return records of a partition.

    Raises:
        RecordsError: the user may not read them, there is no such partition, or no broker answers.

    """
    deadline = time.monotonic() + SECONDS
    place = library.TopicPartition(request.topic, request.partition)
    try:
        consumer = clients.consumer(
            connection,
            enable_auto_commit=False,
            isolation_level="read_committed",
            request_timeout_ms=REQUEST_MS,
            bootstrap_timeout_ms=REQUEST_MS,
            max_partition_fetch_bytes=max(1, request.size),
            fetch_max_bytes=max(1, request.size),
        )
    except library.errors.KafkaError as error:
        raise _refused(error, request) from error
    try:
        partitions = consumer.partitions_for_topic(request.topic) or set()
        if request.partition not in partitions:
            text = f"no partition {request.partition} of topic {request.topic} is there for you"
            raise RecordsError(text, 404)
        consumer.assign([place])
        first = consumer.beginning_offsets([place])[place]
        end = consumer.end_offsets([place])[place]
        start = end - request.count if request.offset is None else request.offset
        start = min(max(start, first), end)
        consumer.seek(place, start)
        records: list[Any] = []
        problem = ""
        if start < end:
            problem = _poll(consumer, request, end, deadline, records)
    except library.errors.KafkaError as error:
        raise _refused(error, request) from error
    finally:
        consumer.close(autocommit=False)
    return Fetched(first, end, records, problem)


def _poll(
    consumer: Any,
    request: Request,
    end: int,
    deadline: float,
    records: list[Any],
) -> str:
    """Append the records; return why those that follow cannot be read, else nothing."""
    (place,) = consumer.assignment()
    size = 0
    while time.monotonic() < deadline:
        try:
            polled = consumer.poll(timeout_ms=_POLL_MS, max_records=request.count)
        except _damaged() as error:
            offset = consumer.position(place)
            return f"Records from offset {offset} on cannot be shown: {_reason(error)}."
        for record in (record for batch in polled.values() for record in batch):
            size += _size(record)
            if len(records) >= request.count or record.offset >= end:
                return ""
            if size > request.size and records:
                return ""
            records.append(record)
        if len(records) >= request.count or consumer.position(place) >= end:
            break
    return ""


def _damaged() -> tuple[type[Exception], ...]:
    """Return what is raised for a batch that cannot be read."""
    errors = library.errors
    return (
        CodecError,
        MemoryError,
        ValueError,
        LookupError,
        errors.CorruptRecordError,
        errors.UnsupportedCodecError,
    )


def _reason(error: Exception) -> str:
    if isinstance(error, CodecError):
        return str(error)
    if isinstance(error, MemoryError):
        return "they need more memory than reading them may use"
    return f"their batch is damaged ({type(error).__name__})"


def _size(record: Any) -> int:
    values = [record.key, record.value, *(value for header in record.headers for value in header)]
    return sum(len(value or b"") for value in values)


def _refused(error: Exception, request: Request) -> RecordsError:
    if isinstance(error, library.errors.TopicAuthorizationFailedError):
        return RecordsError(f"you may not read topic {request.topic}", 403)
    if isinstance(error, library.errors.SaslAuthenticationFailedError):
        return RecordsError("Kafka no longer accepts your password: sign in again", SIGNED_OUT)
    return RecordsError(f"Kafka does not answer: {type(error).__name__}", 503)


def _shown(record: Any) -> dict[str, Any]:
    headers = [(name[:SHOWN_BYTES], text(value)) for name, value in record.headers[:_HEADERS]]
    return {
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": text(record.key),
        "value": text(record.value),
        "headers": headers,
    }


def text(value: bytes | None, decode: Decode | None = None) -> Mapping[str, Any] | None:
    """Return a key or value as it can be shown: `text`, or `hex` of what is not text.

    `size` is that of all of it. `schema` is the id of a schema in a registry, where it begins with
    one as Confluent's serializers write it; `undecoded` says why it could not be decoded with it,
    `cut` that this is only its beginning.
    """
    if value is None:
        return None
    shown: dict[str, Any] = {"size": len(value)}
    if has_schema(value):
        shown["schema"] = schema_id(value)
    if decode and "schema" in shown:
        try:
            decoded = decode(value)
            if len(decoded) > SHOWN_BYTES:
                shown["cut"] = True
            return {**shown, "text": decoded[:SHOWN_BYTES]}
        except SchemaError as error:
            shown["undecoded"] = str(error)
    beginning = value[:SHOWN_BYTES]
    if len(beginning) < len(value):
        shown["cut"] = True
    try:
        # A character may be cut in the middle at the end.
        written = beginning.decode("utf-8", "ignore" if len(beginning) < len(value) else "strict")
    except UnicodeDecodeError:
        return {**shown, "hex": beginning.hex(" ")}
    if all(sign.isprintable() or sign in "\t\r\n" for sign in written):
        return {**shown, "text": written}
    return {**shown, "hex": beginning.hex(" ")}
