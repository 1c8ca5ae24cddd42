"""Records of a partition, read with the credentials of a user: a bounded number of them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients, library
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.connection import Connection

from .schemas import Decode, SchemaError, Schemas, has_schema, schema_id

SECONDS = 8.0
DECODE_SECONDS = 5.0
REQUEST_MS = 4000
SHOWN_BYTES = 4096
"""Of a key, a value or a header; what is longer is cut off."""
_HEADERS = 20
_POLL_MS = 250


class RecordsError(Exception):
    """The records cannot be read; the text is for the user, `status` that of HTTP."""

    def __init__(self, message: str, status: int) -> None:
        """Take the text and the status."""
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Wanted:
    """Which records: `count` of a partition from `offset` on, its last ones if that is None."""

    topic: str
    partition: int
    offset: int | None
    count: int
    size: int


def read(connection: Connection, wanted: Wanted, schemas: Schemas) -> dict[str, Any]:
    """Return records as plain data, with the first and the next offset of the partition.

    Keys and values that begin with the id of a schema are decoded with it.

    Raises:
        RecordsError: the user may not read them, there is no such partition, or no broker answers.

    """
    deadline = time.monotonic() + SECONDS
    place = library.TopicPartition(wanted.topic, wanted.partition)
    try:
        consumer = clients.consumer(
            connection,
            enable_auto_commit=False,
            isolation_level="read_committed",
            request_timeout_ms=REQUEST_MS,
            bootstrap_timeout_ms=REQUEST_MS,
            max_partition_fetch_bytes=max(1, wanted.size),
            fetch_max_bytes=max(1, wanted.size),
        )
    except library.errors.KafkaError as error:
        raise _refused(error, wanted) from error
    try:
        known = consumer.partitions_for_topic(wanted.topic) or set()
        if wanted.partition not in known:
            text = f"no partition {wanted.partition} of topic {wanted.topic} is there for you"
            raise RecordsError(text, 404)
        consumer.assign([place])
        first = consumer.beginning_offsets([place])[place]
        end = consumer.end_offsets([place])[place]
        start = end - wanted.count if wanted.offset is None else wanted.offset
        start = min(max(start, first), end)
        consumer.seek(place, start)
        found = _poll(consumer, wanted, end, deadline) if start < end else []
    except library.errors.KafkaError as error:
        raise _refused(error, wanted) from error
    finally:
        consumer.close(autocommit=False)
    decode = schemas.decoder(time.monotonic() + DECODE_SECONDS)
    return {"first": first, "end": end, "records": [_shown(one, decode) for one in found]}


def _poll(consumer: Any, wanted: Wanted, end: int, deadline: float) -> list[Any]:  # noqa: ANN401  kafka-python has no types
    found: list[Any] = []
    size = 0
    while time.monotonic() < deadline:
        for records in consumer.poll(timeout_ms=_POLL_MS, max_records=wanted.count).values():
            for record in records:
                size += len(record.key or b"") + len(record.value or b"")
                if len(found) >= wanted.count or record.offset >= end:
                    return found
                if size > wanted.size and found:
                    return found
                found.append(record)
        place = next(iter(consumer.assignment()))
        if len(found) >= wanted.count or consumer.position(place) >= end:
            break
    return found


def _refused(error: Exception, wanted: Wanted) -> RecordsError:
    if isinstance(error, library.errors.TopicAuthorizationFailedError):
        return RecordsError(f"you may not read topic {wanted.topic}", 403)
    if isinstance(error, library.errors.SaslAuthenticationFailedError):
        return RecordsError("Kafka no longer accepts your password: sign in again", 403)
    return RecordsError(f"Kafka does not answer: {type(error).__name__}", 503)


def _shown(record: Any, decode: Decode) -> dict[str, Any]:  # noqa: ANN401  as above
    headers = [(str(name)[:SHOWN_BYTES], text(value)) for name, value in record.headers[:_HEADERS]]
    return {
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": text(record.key, decode),
        "value": text(record.value, decode),
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
    found: dict[str, Any] = {"size": len(value)}
    if decode and has_schema(value):
        found["schema"] = schema_id(value)
        try:
            decoded = decode(value)
            if len(decoded) > SHOWN_BYTES:
                found["cut"] = True
            return {**found, "text": decoded[:SHOWN_BYTES]}
        except SchemaError as error:
            found["undecoded"] = str(error)
    part = value[:SHOWN_BYTES]
    if len(part) < len(value):
        found["cut"] = True
    try:
        # A character may be cut in the middle at the end.
        written = part.decode("utf-8", "ignore" if len(part) < len(value) else "strict")
    except UnicodeDecodeError:
        return {**found, "hex": part.hex(" ")}
    if all(sign.isprintable() or sign in "\t\r\n" for sign in written):
        return {**found, "text": written}
    return {**found, "hex": part.hex(" ")}
