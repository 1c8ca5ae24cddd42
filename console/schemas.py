"""Values of records as their schemas in the registry say; bounded, whatever a record contains."""

from __future__ import annotations

import io
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import avro.io
import avro.schema
from ansible_collections.millrace.streaming.plugins.module_utils.host.registry_rest import (
    CONFLUENT,
    Registry,
)
from ansible_collections.millrace.streaming.plugins.module_utils.host.rest import RestError

AVRO, JSON = "AVRO", "JSON"
HEADER_BYTES = 5
"""Before a value: zero, and the id of its schema."""
MOST_SCHEMAS = 200
MOST_SIGNS = 20_000
"""Of the text of a value."""
MOST_PARTS = 20_000
"""Of a value in Avro: a few bytes may claim that there are billions."""
REQUEST_SECONDS = 3.0
Decode = Callable[[bytes], str]
"""Returns the text of a value, or raises SchemaError."""


class SchemaError(Exception):
    """A value cannot be decoded; the text says why."""


class SchemaRegistry(Registry):
    """A registry of which no answer is large."""

    largest = 1_000_000


@dataclass(frozen=True)
class Schema:
    """A schema; `parsed` is that of Avro."""

    kind: str
    parsed: avro.schema.Schema | None = None

    def text(self, data: bytes) -> str:
        """Return the beginning of a value without its header as JSON for people.

        Raises:
            SchemaError: it is not a value of this schema.

        """
        try:
            value = _avro(self.parsed, data) if self.parsed else json.loads(data)
            found = _beginning(value)
        except Exception as error:  # noqa: BLE001, RUF100 - any bytes may be in a record
            message = f"it is no value of its schema ({type(error).__name__})"
            raise SchemaError(message) from error
        return "".join(map(_visible, found))


class Schemas:
    """The schemas that were asked for, by their ids: a schema never changes."""

    def __init__(self, registry: Registry | None) -> None:
        """Keep where they are, None where there is no registry."""
        self._registry = registry
        self._found: OrderedDict[int, Schema] = OrderedDict()
        self._lock = threading.Lock()

    def decoder(self, deadline: float) -> Decode:
        """Return what decodes the values of one answer, until a deadline."""
        failed: dict[int, SchemaError] = {}

        def decode(value: bytes) -> str:
            number = schema_id(value)
            if number in failed:
                raise failed[number]
            if time.monotonic() >= deadline:
                message = "there was no time left to decode it"
                raise SchemaError(message)
            try:
                schema = self._schema(number)
            except SchemaError as error:
                failed[number] = error
                raise
            return schema.text(value[HEADER_BYTES:])

        return decode

    def _schema(self, number: int) -> Schema:
        with self._lock:
            found = self._found.get(number)
        if found is None:
            found = _parsed(self._asked(number))
            with self._lock:
                self._found[number] = found
                while len(self._found) > MOST_SCHEMAS:
                    self._found.popitem(last=False)
        return found

    def _asked(self, number: int) -> Mapping[str, Any]:
        registry = self._registry
        if registry is None:
            message = "there is no schema registry"
            raise SchemaError(message)
        path = f"{CONFLUENT}/schemas/ids/{number}"

        def ask(instance: str) -> bytes:
            return registry.ask(instance, "GET", path, timeout=REQUEST_SECONDS)

        try:
            found = json.loads(registry.first(ask))
        except (RestError, ValueError) as error:
            message = f"its schema cannot be read: {error}"
            raise SchemaError(message) from error
        if not isinstance(found, dict):
            message = "its schema cannot be read"
            raise SchemaError(message)
        return found


def has_schema(value: bytes) -> bool:
    """Return whether a value begins as Confluent's serializers write it, with a schema's id."""
    return len(value) >= HEADER_BYTES and value[0] == 0


def schema_id(value: bytes) -> int:
    """Return the id of the schema that a value begins with."""
    return int.from_bytes(value[1:HEADER_BYTES], "big")


def _parsed(found: Mapping[str, Any]) -> Schema:
    kind = str(found.get("schemaType") or AVRO)
    if kind not in {AVRO, JSON}:
        message = f"{kind} is not decoded here"
        raise SchemaError(message)
    if found.get("references") and kind == AVRO:
        message = "a schema that refers to others is not decoded here"
        raise SchemaError(message)
    if kind == JSON:
        return Schema(kind)
    try:
        return Schema(kind, avro.schema.parse(str(found["schema"])))
    except Exception as error:  # noqa: BLE001, RUF100 - avro raises many kinds
        message = f"its schema cannot be understood ({type(error).__name__})"
        raise SchemaError(message) from error


class _Reader(avro.io.DatumReader):
    """Reads a bounded number of parts."""

    parts = 0

    def read_data(self, *given: Any) -> Any:  # noqa: ANN401 - of any schema
        self.parts += 1
        if self.parts > MOST_PARTS:
            raise ValueError
        return super().read_data(*given)


def _avro(schema: avro.schema.Schema, data: bytes) -> object:
    stream = io.BytesIO(data)
    found: object = _Reader(schema).read(avro.io.BinaryDecoder(stream))
    # Other data may begin as if it had a schema.
    if stream.tell() != len(data):
        raise ValueError
    return found


def _beginning(value: object) -> str:
    """Return a value as JSON, up to `MOST_SIGNS`: names of fields alone may make it very long."""
    encoder = json.JSONEncoder(indent=1, ensure_ascii=False, default=_plain)
    found, length = [], 0
    for part in encoder.iterencode(value):
        found.append(part[:MOST_SIGNS])
        length += len(part)
        if length >= MOST_SIGNS:
            break
    return "".join(found)[:MOST_SIGNS]


def _plain(value: object) -> str:
    return value.hex(" ") if isinstance(value, bytes) else str(value)


def _visible(sign: str) -> str:
    return sign if sign.isprintable() or sign == "\n" else f"\\u{ord(sign):04x}"
