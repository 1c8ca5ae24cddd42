"""Values with the id of a schema: decoded by it, bounded, and a clear reason where they are not."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import unquote

import avro.io
import avro.schema
import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host.registry_rest import CONFLUENT

from apps.console import records, schemas
from apps.console.schemas import SchemaError, SchemaRegistry, Schemas
from tests.unit.host.served import served

PLANE: dict[str, Any] = {
    "type": "record",
    "name": "Plane",
    "fields": [
        {"name": "tail", "type": "string"},
        {"name": "seats", "type": ["null", "int"]},
        {"name": "seen", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "raw", "type": "bytes"},
    ],
}


def record(name: str, **fields: Any) -> dict[str, Any]:
    shown = [{"name": field, "type": of} for field, of in fields.items()]
    return {"type": "record", "name": name, "namespace": "air", "fields": shown}


def reference(subject: str) -> dict[str, Any]:
    return {"name": subject, "subject": subject, "version": 2}


NULLS = {"type": "array", "items": "null"}
EMPTY = {"type": "array", "items": {"type": "record", "name": "E", "fields": []}}
FLIGHT = record("Flight", legs={"type": "array", "items": "Leg"}, home="Port")
SCHEMAS: dict[int, Any] = {
    1: {"schema": json.dumps(PLANE)},
    2: {"schema": "{}", "schemaType": "JSON"},
    3: {"schema": "anything", "schemaType": "XSD"},
    4: {"schema": json.dumps(FLIGHT), "references": [reference("leg"), reference("air/a port")]},
    5: {"schema": '{"type": "nothing"}'},
    6: {"schema": json.dumps(NULLS)},
    7: {"schema": json.dumps(EMPTY)},
    8: [],
    9: {"schema": "{}", "references": [reference("absent")]},
    10: {"schema": '"string"', "references": [reference("circle")]},
    11: {"schema": '"string"', "references": [reference("chain-0")]},
    12: {"schema": "{}", "schemaType": "JSON", "references": [reference("absent")]},
    13: {"schema": '"string"', "references": [{"subject": "gate"}]},
    14: {
        "schema": 'import "a/leg.proto"; message Flight { repeated air.Leg legs = 1; }',
        "schemaType": "PROTOBUF",
        "references": [{"name": "a/leg.proto", "subject": "leg.proto", "version": 2}],
    },
    15: {"schema": "message A {\u202e", "schemaType": "PROTOBUF"},
    16: {"schema": f"message A {{}} //{'.' * 400_000}", "schemaType": "PROTOBUF"},
    18: {
        "schema": 'import "legs"; import "port.proto"; message A { optional air.Leg a = 1; }',
        "schemaType": "PROTOBUF",
        "references": [
            {"name": "legs", "subject": "leg.proto", "version": 2},
            {"name": "port.proto", "subject": "new port", "version": 2},
        ],
    },
    19: {
        "schema": 'import "legs"; import "air/port"; message A { optional air.Leg a = 1; }',
        "schemaType": "PROTOBUF",
        "references": [
            {"name": "legs", "subject": "leg.proto", "version": 2},
            {"name": "air/port", "subject": "port", "version": 2},
            {"name": "copy", "subject": "copy of port", "version": 2},
        ],
    },
    17: {"schema": 'import "b"; message A { optional B b = 1; }', "schemaType": "PROTOBUF"},
}
SUBJECTS: dict[str, Any] = {
    "gate": {"schema": json.dumps(record("Gate", number="int"))},
    "air/a port": {
        "schema": json.dumps(record("Port", code="string", gate="Gate")),
        "references": [reference("gate")],
    },
    "leg": {
        "schema": json.dumps(record("Leg", to="air.Port", gate="air.Gate")),
        "references": [reference("air/a port"), reference("gate")],
    },
    "leg.proto": {
        "schema": 'package air; import "port.proto"; message Leg { optional Port to = 1; }',
        "schemaType": "PROTOBUF",
        "references": [{"name": "port.proto", "subject": "port", "version": 2}],
    },
    "port": {
        "schema": "package air; message Port { optional string code = 1; }",
        "schemaType": "PROTOBUF",
    },
    "copy of port": {
        "schema": "package air; message Port { optional string code = 1; }",
        "schemaType": "PROTOBUF",
    },
    "new port": {
        "schema": "package air; message Port { optional string code = 1; optional bool big = 2; }",
        "schemaType": "PROTOBUF",
    },
    "circle": {"schema": '"string"', "references": [reference("circle")]},
    **{
        f"chain-{number}": {"schema": '"string"', "references": [reference(f"chain-{number + 1}")]}
        for number in range(schemas.MOST_REFERENCES + 1)
    },
}
asked: list[str] = []


class Answers(BaseHTTPRequestHandler):
    """A registry with these schemas."""

    def do_GET(self) -> None:
        asked.append(self.path)
        match self.path.removeprefix(f"{CONFLUENT}/").split("/"):
            case ["schemas", "ids", number]:
                document = SCHEMAS.get(int(number))
            case ["subjects", name, "versions", "2"]:
                document = SUBJECTS.get(unquote(name))
        self.send_response(200 if document is not None else 404)
        self.end_headers()
        self.wfile.write(
            json.dumps({"message": "not found"} if document is None else document).encode()
        )

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def registry_schemas() -> Iterator[Schemas]:
    asked.clear()
    with served(Answers) as address:
        yield Schemas(SchemaRegistry([address]))


def decoder(registered: Schemas, seconds: float = 60) -> schemas.Decode:
    return registered.decoder(time.monotonic() + seconds)


def value(number: int, data: bytes) -> bytes:
    return b"\0" + number.to_bytes(4, "big") + data


def plane(**fields: Any) -> bytes:
    out = io.BytesIO()
    values = {"tail": "N1", "seats": 3, "seen": 0, "raw": b"\xff", **fields}
    parsed = avro.schema.parse(json.dumps(_plain(PLANE)))
    avro.io.DatumWriter(parsed).write(values, avro.io.BinaryEncoder(out))
    return out.getvalue()


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema without logical types."""
    fields = [
        {**field, "type": "long"} if field["name"] == "seen" else field
        for field in schema["fields"]
    ]
    return {**schema, "fields": fields}


def test_a_record_in_avro_is_shown_as_its_schema_says(registry_schemas: Schemas) -> None:
    decode = decoder(registry_schemas)
    text = decode(value(1, plane(tail="Zürich\u202e\x07")))
    shown = json.loads(text.replace("\\u202e", ""))
    assert shown["tail"] == "Zürich\x07"
    assert (shown["seats"], shown["raw"]) == (3, "ff")
    assert shown["seen"].startswith("1970-01-01")
    assert "\u202e" not in text
    decode(value(1, plane(seats=None)))
    decoder(registry_schemas)(value(1, plane()))
    assert len(asked) == 1, "a schema never changes"


def test_a_record_is_shown_whose_schema_refers_to_others(registry_schemas: Schemas) -> None:
    """Each is read once, also where several refer to it, or it to itself."""
    data = b"\x02" + b"\x06ZRH\x02" + b"\x04" + b"\x00" + b"\x06BSL\x06"
    shown = json.loads(decoder(registry_schemas)(value(4, data)))
    leg = {"to": {"code": "ZRH", "gate": {"number": 1}}, "gate": {"number": 2}}
    assert shown == {"legs": [leg], "home": {"code": "BSL", "gate": {"number": 3}}}
    assert len(asked) == len({*asked}) == 4
    assert decoder(registry_schemas)(value(10, b"\x02a")) == '"a"'
    assert decoder(registry_schemas)(value(12, b"1")) == "1"


def test_a_record_in_protobuf_is_shown_whose_schema_refers_to_others(
    registry_schemas: Schemas,
) -> None:
    decode = decoder(registry_schemas)
    data = value(14, b"\0" + b"\x0a\x07\x0a\x05\x0a\x03ZRH" + b"\x0a\x00")
    shown = json.loads(decode(data))
    assert shown == {"legs": [{"to": {"code": "ZRH"}}, {}]}
    assert decode(data)
    assert len(asked) == 3


def test_of_an_import_that_two_schemas_refer_to_that_of_the_schema_itself_counts(
    registry_schemas: Schemas,
) -> None:
    data = b"\0" + b"\x0a\x06\x0a\x04\x0a\0\x10\x01"
    shown = json.loads(decoder(registry_schemas)(value(18, data)))
    assert shown == {"a": {"to": {"code": "", "big": True}}}


def test_a_schema_may_be_imported_by_several_names(registry_schemas: Schemas) -> None:
    shown = json.loads(decoder(registry_schemas)(value(19, b"\0" + b"\x0a\x04\x0a\x02\x0a\0")))
    assert shown == {"a": {"to": {"code": ""}}}


def test_a_schema_that_cannot_be_understood_is_parsed_once(
    registry_schemas: Schemas, monkeypatch: pytest.MonkeyPatch
) -> None:
    reasons = set()
    for _ in range(2):
        with pytest.raises(SchemaError, match="cannot be understood") as error:
            decoder(registry_schemas)(value(15, b"\0"))
        reasons.add(str(error.value))
        monkeypatch.delitem(schemas._PARSERS, schemas.PROTOBUF, raising=False)
    assert len(reasons) == len(asked) == 1


def test_references_are_bounded_in_size(
    registry_schemas: Schemas, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schemas, "MOST_TEXT", 300)
    with pytest.raises(SchemaError, match="too much"):
        decoder(registry_schemas)(value(4, b""))


def test_json_is_shown_without_its_header(registry_schemas: Schemas) -> None:
    shown = records.text(value(2, b'{"a": [1, "\\u00fc"]}'), decoder(registry_schemas))
    assert shown is not None
    assert json.loads(shown["text"]) == {"a": [1, "ü"]}
    assert (shown["schema"], shown["size"]) == (2, 25)


@pytest.mark.parametrize(
    ("number", "data", "reason"),
    [
        (1, b"", "no value of its schema"),
        (1, b"\xff" * 40, "no value of its schema"),
        (2, b"{", "no value of its schema"),
        (2, b"[" * 100_000, "no value of its schema"),
        (3, b"", "it is XSD"),
        (14, b"\0\x0a", "no value of its schema"),
        (15, b"\0", "PROTOBUF"),
        (15, b"\0", "line 1"),
        (16, b"\0", "bytes"),
        (17, b"\0", "PROTOBUF"),
        (14, b"\0\x18\1", "that its schema does not have"),
        (5, b"", "cannot be understood"),
        (9, b"", "not found"),
        (11, b"", "too much"),
        (13, b"", "a reference of its schema"),
        (8, b"", "cannot be read"),
        (99, b"", "not found"),
    ],
)
def test_what_cannot_be_decoded_has_a_reason(
    number: int, data: bytes, reason: str, registry_schemas: Schemas
) -> None:
    shown = records.text(value(number, data), decoder(registry_schemas))
    assert shown is not None
    assert reason in shown["undecoded"]
    assert shown["undecoded"].isprintable()
    assert ("text" in shown) != ("hex" in shown)


@pytest.mark.parametrize("number", [6, 7])
def test_a_few_bytes_cannot_become_billions(number: int, registry_schemas: Schemas) -> None:
    many = b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"
    begun = time.monotonic()
    with pytest.raises(SchemaError):
        decoder(registry_schemas)(value(number, many))
    assert time.monotonic() - begun < 5


def test_a_schema_that_is_not_there_is_asked_for_once(registry_schemas: Schemas) -> None:
    decode = decoder(registry_schemas)
    for _ in range(3):
        with pytest.raises(SchemaError):
            decode(value(99, b""))
    assert len(asked) == 1


def test_after_the_deadline_nothing_is_decoded(registry_schemas: Schemas) -> None:
    with pytest.raises(SchemaError, match="no time"):
        decoder(registry_schemas, -1)(value(1, plane()))
    assert not asked


def test_schemas_are_bounded(registry_schemas: Schemas, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schemas, "MOST_SCHEMAS", 1)
    decode = decoder(registry_schemas)
    decode(value(1, plane()))
    decode(value(2, b"1"))
    assert len(registry_schemas._found) == 1


def test_a_registry_that_is_down_is_said() -> None:
    with pytest.raises(SchemaError, match="no instance answers"):
        decoder(Schemas(SchemaRegistry(["127.0.0.1:1"])))(value(1, b""))


def test_a_long_value_is_cut(registry_schemas: Schemas) -> None:
    shown = records.text(value(2, json.dumps("x" * 9000).encode()), decoder(registry_schemas))
    assert shown is not None
    assert len(shown["text"]) == records.SHOWN_BYTES
