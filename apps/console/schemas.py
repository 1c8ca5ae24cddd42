"""Values of records as their schemas in the registry say; bounded, whatever a record contains."""

from __future__ import annotations

import io
import json
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import avro.io
import avro.name
import avro.schema
from ansible_collections.millrace.streaming.plugins.module_utils.host.registry_rest import (
    CONFLUENT,
    Registry,
)
from ansible_collections.millrace.streaming.plugins.module_utils.host.rest import RestError

AVRO, JSON, PROTOBUF = "AVRO", "JSON", "PROTOBUF"
HEADER_BYTES = 5
"""Before a value: zero, and the id of its schema."""
MOST_SCHEMAS = 200
MOST_TEXT = 1_000_000
"""Of a schema, and of all together that it refers to."""
MOST_KEPT = 4_000_000
"""Of the sizes of all that are kept."""
PROTOBUF_WEIGHT = 20
"""Of a byte of a schema: types of Protobuf need more memory."""
MOST_REFERENCES = 50
"""Of a schema, together with those of the schemas that it refers to."""
MOST_SIGNS = 20_000
"""Of the text of a value."""
MOST_PARTS = 20_000
"""Of a value in Avro: a few bytes may claim that there are billions."""
MOST_REASON = 200
"""Of the text of an error."""
REQUEST_SECONDS = 3.0
Decode = Callable[[bytes], str]
"""Returns the text of a value, or raises SchemaError."""
Read = Callable[[bytes], object]
"""Returns a value without its header, or raises any error: SchemaError where its schema has one."""


class SchemaError(Exception):
    """A value cannot be decoded; the text says why."""


class SchemaRegistry(Registry):
    """A registry of which no answer is large."""

    largest = MOST_TEXT

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> SchemaRegistry | None:
        """Return the registry of the settings, None if there is none.

        Raises:
            OSError: the certificate of its CA cannot be read.

        """
        if not settings:
            return None
        return cls(settings["instances"], settings.get("authority", ""), settings.get("login", ""))


@dataclass(frozen=True)
class Schema:
    """A schema: its weight, with all that it refers to, and what reads a value."""

    size: int
    read: Read

    def text(self, data: bytes) -> str:
        """Return the beginning of a value without its header as JSON for people.

        Raises:
            SchemaError: it is not a value of this schema, or this cannot be understood.

        """
        try:
            beginning = _beginning(self.read(data))
        except SchemaError:
            raise
        except MemoryError as error:
            message = "decoding it needs more memory than it may use"
            raise SchemaError(message) from error
        except Exception as error:  # any bytes may be in a record
            message = f"it is no value of its schema ({_reason(error)})"
            raise SchemaError(message) from error
        return "".join(map(_visible, beginning))


class Schemas:
    """The schemas that were asked for, by their ids: a schema never changes."""

    def __init__(
        self,
        registry: Registry | None,
        limit: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """Keep where they are, None where there is no registry, and what limits one value."""
        self._registry, self._limit = registry, limit
        self._found: OrderedDict[int, Schema] = OrderedDict()

    def decoder(self, deadline: float) -> Decode:
        """Return what decodes the values of one answer, until a deadline."""
        failed: dict[int, SchemaError] = {}

        def decode(value: bytes) -> str:
            number = schema_id(value)
            if number in failed:
                raise failed[number]
            _refuse_after(deadline)
            try:
                schema = self._schema(number, deadline)
            except SchemaError as error:
                failed[number] = error
                raise
            with self._limit():
                return schema.text(value[HEADER_BYTES:])

        return decode

    def _schema(self, number: int, deadline: float) -> Schema:
        schema = self._found.get(number)
        if schema is None:
            schema = _parsed(self._with_references(f"schemas/ids/{number}", deadline))
            self._found[number] = schema
            while len(self._found) > MOST_SCHEMAS or self._size > MOST_KEPT:
                self._found.popitem(last=False)
        return schema

    @property
    def _size(self) -> int:
        return sum(schema.size for schema in self._found.values())

    def _with_references(self, path: str, deadline: float) -> list[Mapping[str, Any]]:
        """Return a schema, and before it all that it refers to, each after its own references.

        Of several with one name only one is returned: that which a schema itself refers to, rather
        than its references, and else the first.
        """
        entries: dict[str, Mapping[str, Any]] = {}
        paths: dict[str, str] = {}
        ordered: list[Mapping[str, Any]] = []

        def add(name: str, path: str) -> None:
            if path in entries:
                return
            _refuse_after(deadline)
            entries[path] = self._asked(path)
            if len(entries) > MOST_REFERENCES + 1 or sum(map(_size, entries.values())) > MOST_TEXT:
                message = "its schema refers to too much"
                raise SchemaError(message)
            references = _references(entries[path])
            for reference in references:
                paths.setdefault(*reference)
            for imported, _ in references:
                add(imported, paths[imported])
            ordered.append({**entries[path], "name": name})

        add(path, path)
        return ordered

    def _asked(self, path: str) -> Mapping[str, Any]:
        registry = self._registry
        if registry is None:
            message = "there is no schema registry"
            raise SchemaError(message)

        def ask(instance: str) -> bytes:
            return registry.ask(instance, "GET", f"{CONFLUENT}/{path}", timeout=REQUEST_SECONDS)

        try:
            entry = json.loads(registry.first(ask))
        except (RestError, ValueError) as error:
            message = f"its schema cannot be read: {error}"
            raise SchemaError(message) from error
        if not isinstance(entry, dict):
            message = "its schema cannot be read"
            raise SchemaError(message)
        return entry


def has_schema(value: bytes) -> bool:
    """Return whether a value begins as Confluent's serializers write it, with a schema's id."""
    return len(value) >= HEADER_BYTES and value[0] == 0


def schema_id(value: bytes) -> int:
    """Return the id of the schema that a value begins with."""
    return int.from_bytes(value[1:HEADER_BYTES], "big")


def _refuse_after(deadline: float) -> None:
    if time.monotonic() >= deadline:
        message = "there was no time left to decode it"
        raise SchemaError(message)


def _references(entry: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return names and paths of what a schema refers to; JSON is decoded without it."""
    if _kind(entry) == JSON:
        return []
    try:
        return [
            (
                str(imported["name"]),
                f"subjects/{quote(imported['subject'], safe='')}/versions/{imported['version']:d}",
            )
            for imported in entry.get("references") or ()
        ]
    except (LookupError, TypeError, ValueError) as error:
        message = "a reference of its schema cannot be read"
        raise SchemaError(message) from error


def _kind(entry: Mapping[str, Any]) -> str:
    return str(entry.get("schemaType") or AVRO)


def _size(entry: Mapping[str, Any]) -> int:
    return len(str(entry.get("schema")))


def _parsed(entries: Sequence[Mapping[str, Any]]) -> Schema:
    """Return a schema, the last one, that refers to those before it."""
    kind = _kind(entries[-1])
    if kind not in _PARSERS:
        return _unusable(f"it is {kind[:MOST_REASON]}, which is not decoded here")
    try:
        return _PARSERS[kind](entries)
    except Exception as error:  # the libraries raise many kinds
        return _unusable(f"its schema, in {kind}, cannot be understood ({_reason(error)})")


def _unusable(reason: str) -> Schema:
    """Return a schema of which no value can be read."""

    def read(_: bytes) -> object:
        raise SchemaError(reason)

    return Schema(len(reason), read)


def _reason(error: Exception) -> str:
    name, text = type(error).__name__, "".join(map(_visible, str(error)[:MOST_REASON]))
    return f"{name}: {text}" if text else name


class _Reader(avro.io.DatumReader):
    """Reads a bounded number of parts."""

    parts = 0

    def read_data(self, *arguments: Any) -> Any:
        self.parts += 1
        if self.parts > MOST_PARTS:
            raise ValueError
        return super().read_data(*arguments)


def _avro(entries: Sequence[Mapping[str, Any]]) -> Schema:
    names = avro.name.Names()
    parsed = [avro.schema.make_avsc_object(json.loads(entry["schema"]), names) for entry in entries]

    def read(data: bytes) -> object:
        stream = io.BytesIO(data)
        value: object = _Reader(parsed[-1]).read(avro.io.BinaryDecoder(stream))
        # Other data may begin as if it had a schema.
        if stream.tell() != len(data):
            raise ValueError
        return value

    return Schema(sum(map(_size, entries)), read)


def _json(entries: Sequence[Mapping[str, Any]]) -> Schema:
    return Schema(sum(map(_size, entries)), json.loads)


def _protobuf(entries: Sequence[Mapping[str, Any]]) -> Schema:
    # It needs more time and memory to be imported than all else together.
    from . import protobuf_schemas

    sources = [protobuf_schemas.Source(entry["name"], entry["schema"]) for entry in entries]
    types = protobuf_schemas.Types(sources)
    return Schema(PROTOBUF_WEIGHT * types.size, types.decode)


_PARSERS = {AVRO: _avro, JSON: _json, PROTOBUF: _protobuf}
"""What parses a schema, the last one, with those that it refers to."""


def _beginning(value: object) -> str:
    """Return a value as JSON, up to `MOST_SIGNS`: names of fields alone may make it very long."""
    encoder = json.JSONEncoder(indent=1, ensure_ascii=False, default=_plain)
    pieces, length = [], 0
    for piece in encoder.iterencode(value):
        pieces.append(piece[:MOST_SIGNS])
        length += len(piece)
        if length >= MOST_SIGNS:
            break
    return "".join(pieces)[:MOST_SIGNS]


def _plain(value: object) -> str:
    return value.hex(" ") if isinstance(value, bytes) else str(value)


def _visible(sign: str) -> str:
    return sign if sign.isprintable() or sign == "\n" else f"\\u{ord(sign):04x}"
