"""Values in Protobuf: what its own library has written is shown, and anything else refused."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import (
    any_pb2,
    descriptor_pb2,
    descriptor_pool,
    json_format,
    message_factory,
    struct_pb2,
    timestamp_pb2,
    wrappers_pb2,
)
from google.protobuf.internal import api_implementation
from google.protobuf.message import DecodeError
from google.type import money_pb2

from apps.console.protobuf_schemas import (
    _STANDARD,
    MOST_BYTES,
    MOST_NAME,
    MOST_TYPES,
    Source,
    Types,
)
from tests.support.faults.target import skip_unless_full

FLIGHT = """
/* message Never { */ syntax = "proto3"; // }
package air.planes;
import "google/protobuf/timestamp.proto";
import public "ports.proto";
import "confluent/meta.proto";
option java_package = "a;}\\"b";
enum State {
  option allow_alias = true;
  reserved 7, 9 to 11;
  UNKNOWN = 0; GONE = 1 [deprecated = true]; LEFT = 1; LOST = -2;
}
message First { string a = 1; }
message Flight {
  reserved 20, 30 to max; reserved "b", 'c';
  string tail = 1 [json_name = "x", (own.option) = { a: [1], b { c: 2 } }];
  google.protobuf.Timestamp at = 2;
  map<string, Leg> legs_by_name = 3;
  State state = 4; // the last one
  message Leg { ports.Port to = 1; repeated sint64 heights = 2; message Inner { bytes raw = 1; } }
  oneof one { option (x) = { y: 1 }; string x = 7; .air.planes.Flight back = 8; }
  optional int32 maybe = 9 [(confluent.field_meta).doc = "Zürich"];
  map<int32, bool> seats = 10;
  repeated string notes = 11;
  repeated State states = 12;
  string message = 13;
}
service Flights { rpc Get(First) returns (stream Flight) { option (http) = { get: "/" }; } }
"""
PORT = 'syntax = "proto3"; package air.ports; message Port { string code = 1; }'
SCALARS = {
    "double": (-1.5, 1e300),
    "float": (-0.5, 2.0**100),
    "int64": (-(2**63), 2**63 - 1, 1),
    "uint64": (2**64 - 1, 1),
    "int32": (-(2**31), 2**31 - 1, -1),
    "fixed64": (2**64 - 1, 1),
    "fixed32": (2**32 - 1, 1),
    "bool": (True,),
    "string": ("Zürich", "x" * 300),
    "bytes": (b"\0\xff",),
    "uint32": (2**32 - 1, 1),
    "sfixed32": (-(2**31), 2**31 - 1),
    "sfixed64": (-(2**63), 2**63 - 1),
    "sint32": (-(2**31), 2**31 - 1, -1),
    "sint64": (-(2**63), 2**63 - 1, -1),
}
FIELD = descriptor_pb2.FieldDescriptorProto
NO_SCHEMA = (ValueError, TypeError, LookupError, DecodeError)
LARGEST = MOST_BYTES - len("root")


def types(*schemas: str, names: tuple[str, ...] = ()) -> Types:
    """The types of a schema, the last one, that imports those before it."""
    return Types([Source(*source) for source in zip((*names, "root"), schemas, strict=True)])


def scalars() -> Any:
    """A message with each type alone, repeated, and as values of a map."""
    file = descriptor_pb2.FileDescriptorProto(name="s.proto", package="all", syntax="proto3")
    message = file.message_type.add(name="Scalars")
    for number, kind in enumerate(SCALARS, 1):
        of = FIELD.Type.Value(f"TYPE_{kind.upper()}")
        message.field.add(name=f"one_{kind}", number=number, type=of, label=1)
        message.field.add(name=f"many_{kind}", number=100 + number, type=of, label=3)
        entry = message.nested_type.add(name=f"Map{kind}Entry")
        entry.options.map_entry = True
        entry.field.add(name="key", number=1, type=FIELD.TYPE_STRING, label=1)
        entry.field.add(name="value", number=2, type=of, label=1)
        entry_name = f".all.Scalars.Map{kind}Entry"
        place = {"number": 200 + number, "type": FIELD.TYPE_MESSAGE, "type_name": entry_name}
        message.field.add(name=f"map_{kind}", label=3, **place)
    return file


def scalars_text(syntax: str) -> str:
    fields = [
        f"{'optional' if syntax == 'proto2' else ''} {kind} one_{kind} = {number};"
        f" repeated {kind} many_{kind} = {100 + number};"
        f" map<string, {kind}> map_{kind} = {200 + number};"
        for number, kind in enumerate(SCALARS, 1)
    ]
    begin = 'edition = "2023"' if syntax == "2023" else f'syntax = "{syntax}"'
    return f"{begin}; package all; message Scalars {{ {' '.join(fields)} }}"


def in_base64(file: Any) -> str:
    return base64.b64encode(file.SerializeToString()).decode()


def message_class(file: Any, name: str) -> Any:
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))


def field(number: int, data: bytes) -> bytes:
    return bytes([number << 3 | 2, len(data)]) + data


def test_the_library_is_that_of_hosts() -> None:
    assert api_implementation.Type() == "python"


@pytest.mark.parametrize(
    "schema",
    [*map(scalars_text, ("proto3", "proto2", "2023")), in_base64(scalars())],
    ids=["proto3", "proto2", "edition", "base64"],
)
def test_every_type_is_read_as_protobuf_itself_writes_it(schema: str) -> None:
    """Also where the schema says that numbers are not packed, as in proto2, and they are."""
    written = message_class(scalars(), "all.Scalars")()
    for kind, values in SCALARS.items():
        setattr(written, f"one_{kind}", values[0])
        getattr(written, f"many_{kind}").extend(values)
        getattr(written, f"map_{kind}").update({str(at): value for at, value in enumerate(values)})
    expected = json_format.MessageToDict(written, preserving_proto_field_name=True)
    assert types(schema).decode(b"\0" + written.SerializeToString()) == expected
    assert expected["many_sint64"] == [str(value) for value in SCALARS["sint64"]]


def test_a_schema_as_people_write_it_is_understood() -> None:
    leg = b"\x0a\x05\x0a\x03ZRH" + b"\x12\x02\x05\x06"
    data = (
        b"\x02\x02",
        b"\x0a\x02N1",
        b"\x12\x02\x08\x05",
        b"\x1a\x13\x0a\x02k1\x12\x0d" + leg + b"\x10\x02",
        b"\x1a\x04\x0a\x02k2",
        b"\x20\x01",
        b"\x42\x03\x0a\x01B",
        b"\x48" + b"\xff" * 9 + b"\x01",
        b"\x52\x02\x10\x01",
        b"\x5a\x01a\x5a\x00",
        b"\x62\x0b\x05" + b"\xfe" + b"\xff" * 8 + b"\x01",
    )
    assert types(PORT, FLIGHT, names=("ports.proto",)).decode(b"".join(data)) == {
        "tail": "N1",
        "at": "1970-01-01T00:00:05Z",
        "legs_by_name": {"k1": {"to": {"code": "ZRH"}, "heights": ["-3", "3", "1"]}, "k2": {}},
        "state": "GONE",
        "back": {"tail": "B"},
        "maybe": -1,
        "seats": {"0": True},
        "notes": ["a", ""],
        "states": [5, "LOST"],
    }


@pytest.mark.parametrize("schema", ["", 'syntax = "proto2";', 'syntax = "proto3";'])
def test_an_optional_field_is_shown_with_its_default(schema: str) -> None:
    schema += "message A { optional int32 a = 1; optional string b = 2; }"
    assert types(schema).decode(b"\0\x08\0") == {"a": 0}


@pytest.mark.parametrize(
    ("indexes", "data", "expected"),
    [
        (b"\x00", b"\x0a\x01x", {"a": "x"}),
        (b"\x02\x00", b"\x0a\x01x", {"a": "x"}),
        (b"\x06\x02\x00\x00", b"\x0a\x01x", {"raw": "eA=="}),
        (b"\x04\x02\x00", b"\x10\x01", {"heights": ["-1"]}),
        (b"\x02\x02", b"", {}),
    ],
)
def test_the_message_is_found_by_its_indexes(indexes: bytes, data: bytes, expected: object) -> None:
    parsed = types(PORT, FLIGHT, names=("ports.proto",))
    assert parsed.decode(indexes + data) == expected


def test_groups_of_proto2_are_read() -> None:
    schema = (
        "message A { repeated group Leg = 1 { required int32 height = 2; } optional Leg b = 3; }"
    )
    decoded = types(schema).decode(b"\0\x0b\x10\x01\x0c\x0b\x10\x02\x0c\x1a\x02\x10\x03")
    assert decoded == {"leg": [{"height": 1}, {"height": 2}], "b": {"height": 3}}


def test_types_that_every_schema_may_import_are_shown_as_protobuf_does() -> None:
    schema = """
    syntax = "proto3";
    import "google/protobuf/struct.proto"; import "google/protobuf/wrappers.proto";
    import "confluent/types/decimal.proto"; import "confluent/type/decimal.proto";
    import "google/protobuf/any.proto"; import "google/type/money.proto";
    message A {
      google.protobuf.Struct struct = 1; google.protobuf.Int64Value number = 2;
      confluent.type.Decimal decimal = 3; repeated google.protobuf.Any any = 4;
      google.type.Money price = 5;
    }
    """
    struct, known_type, absent = struct_pb2.Struct(), any_pb2.Any(), any_pb2.Any()
    json_format.ParseDict({"a": [1.5, None, {"b": True}]}, struct)
    known_type.type_url, known_type.value = "type.googleapis.com/A", b"\x12\x02\x08\x01"
    absent.Pack(timestamp_pb2.Timestamp(seconds=1))
    absent.type_url = "type.googleapis.com/of.another"
    # The first field of Decimal, too, is of bytes.
    decimal, price = wrappers_pb2.BytesValue(value=b"\1"), money_pb2.Money(units=3)
    messages = (struct, wrappers_pb2.Int64Value(value=5), decimal, known_type, absent, price)
    data = b"".join(
        field(number, message.SerializeToString())
        for number, message in zip((1, 2, 3, 4, 4, 5), messages, strict=True)
    )
    assert types(schema).decode(b"\0" + data) == {
        "struct": {"a": [1.5, None, {"b": True}]},
        "number": "5",
        "decimal": {"value": "AQ=="},
        "any": [{"@type": known_type.type_url, "number": "1"}, {"@type": absent.type_url}],
        "price": {"units": "3"},
    }


@pytest.mark.parametrize("name", sorted(_STANDARD))
def test_each_of_them_can_be_imported(name: str) -> None:
    assert types(f'import "{name}"; message A {{ optional bool a = 1; }}').decode(b"\0\x08\1")


def test_a_registry_may_have_the_standard_types_as_subjects() -> None:
    standard = timestamp_pb2.DESCRIPTOR
    schema = f'import "{standard.name}"; message A {{ optional google.protobuf.Timestamp a = 1; }}'
    text = 'syntax = "proto3"; package google.protobuf; message Timestamp { int64 seconds = 1; }'
    parsed = types(text, schema, names=(standard.name,))
    assert parsed.decode(b"\0\x0a\x02\x08\x01") == {"a": "1970-01-01T00:00:01Z"}


def test_what_a_client_of_confluent_writes_is_read() -> None:
    """With the schemas that it registers: descriptors, with one reference for each import."""
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(timestamp_pb2.DESCRIPTOR.serialized_pb)
    port = descriptor_pb2.FileDescriptorProto(name="port.proto", package="air")
    port.message_type.add(name="Port").field.add(name="code", number=1, type=9, label=1)
    flight = descriptor_pb2.FileDescriptorProto(name="flight.proto", package="air")
    flight.dependency.extend(["port.proto", timestamp_pb2.DESCRIPTOR.name])
    outer = flight.message_type.add(name="Flight")
    outer.nested_type.add(name="Other")
    leg = outer.nested_type.add(name="Leg")
    leg.field.add(name="to", number=1, type_name="Port", label=1)
    leg.field.add(name="at", number=2, type_name="google.protobuf.Timestamp", label=3)
    for file in (port, flight):
        pool.Add(file)
    kind = message_factory.GetMessageClass(pool.FindMessageTypeByName("air.Flight.Leg"))
    shown = {"to": {"code": "ZRH"}, "at": ["1970-01-01T00:00:01Z"]}
    registry = SchemaRegistryClient.new_client({"url": "mock://air"})
    written = ProtobufSerializer(kind, registry)(
        json_format.ParseDict(shown, kind()),
        SerializationContext("flights", MessageField.VALUE),
    )
    assert written
    registered = registry.get_schema(int.from_bytes(written[1:5], "big"))
    [reference] = registered.references or []
    imported = registry.get_version(str(reference.subject), reference.version or 0).schema
    texts = (str(imported.schema_str), str(registered.schema_str))
    assert types(*texts, names=(str(reference.name),)).decode(written[5:]) == shown


def test_a_schema_may_be_a_descriptor_that_imports_text() -> None:
    file = descriptor_pb2.FileDescriptorProto(name="a.proto", dependency=["ports.proto"])
    message = file.message_type.add(name="A")
    message.field.add(name="to", number=1, type=11, label=1, type_name=".air.ports.Port")
    parsed = types(PORT, in_base64(file), names=("ports.proto",))
    assert parsed.decode(b"\0\x0a\x03\x0a\x01Z") == {"to": {"code": "Z"}}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x01",
        b"\x02",
        b"\x02\x02",
        b"\x02\x01",
        b"\x04\x00\x00",
        b"\xff" * 20,
        b"\0\x0a",
        b"\0\x0a\x05a",
        b"\0\x0a\x01\xff",
        b"\0\x08\x01",
        b"\0\x0b\x0c",
        b"\0\x0d\x01",
        b"\0\x10\x01",
        b"\0\x0a" + b"\xff" * 9 + b"\x01",
        b"\xfe\xff\xff\xff\x0f" + b"\0" * 9,
    ],
)
def test_what_is_no_value_of_its_schema_is_refused(data: bytes) -> None:
    with pytest.raises((ValueError, IndexError, DecodeError)):
        types(PORT).decode(data)


def test_a_field_of_a_nested_message_that_the_schema_does_not_have_is_refused() -> None:
    parsed = types("message A { repeated A a = 1; }")
    assert parsed.decode(b"\0\x0a\x02\x0a\x00") == {"a": [{"a": [{}]}]}
    with pytest.raises(ValueError, match="field"):
        parsed.decode(b"\0\x0a\x02\x10\x01")


@pytest.mark.parametrize(
    "schema",
    [
        "message A {",
        "}",
        "message A {]}",
        "message A { string a = b; }",
        "anything",
        "message A { string a; }",
        "message A { Absent a = 1; }",
        "AAAA",
        "[",
        "{",
        "\0",
        "enum E { A }",
        "edition = '1'; message A {}",
        'message A { string a = "; }',
        "message A {} message A {}",
        "message A { string a = 1 [(x) = {]; }",
        "/* message A {}",
    ],
)
def test_what_is_no_schema_is_refused(schema: str) -> None:
    with pytest.raises(NO_SCHEMA):
        types(schema)


@pytest.mark.parametrize(
    ("fields", "data"),
    [
        ("repeated A a = 1;", b"\x0a\x00" * (MOST_BYTES // 2)),
        ("map<int32, A> a = 1;", b"\x0a\x00" * (MOST_BYTES // 2)),
        ("repeated int32 a = 1;", b"\x08\x00" * (MOST_BYTES // 2)),
    ],
)
def test_a_value_is_bounded_in_size(fields: str, data: bytes) -> None:
    parsed = types(f"message A {{ {fields} }}")
    assert parsed.decode(b"\0" + data[:-2])
    with pytest.raises(ValueError, match="bytes"):
        parsed.decode(b"\0" + data)


def test_a_value_that_is_nested_without_end_is_refused() -> None:
    parsed, data = types("message A { optional A a = 1; }"), b""
    for _ in range(5000):
        size = len(data)
        length = bytes([size]) if size < 128 else bytes([size & 127 | 128, size >> 7])
        data = b"\x0a" + length + data
    with pytest.raises(DecodeError):
        parsed.decode(b"\0" + data)


def test_any_within_any_without_end_is_refused() -> None:
    parsed = types(
        'import "google/protobuf/any.proto"; message A { repeated google.protobuf.Any a = 1; }'
    )
    data = any_pb2.Any()
    for _ in range(1500):
        outer = any_pb2.Any()
        outer.Pack(data)
        data = outer
    value = b"\0" + _field(data.SerializeToString())
    with pytest.raises(RecursionError):
        parsed.decode(value)


def _field(data: bytes) -> bytes:
    size, length = len(data), b""
    while size > 127:
        length += bytes([size & 127 | 128])
        size >>= 7
    return b"\x0a" + length + bytes([size]) + data


PARTS = (
    "/*",
    '"\\"',
    '"',
    "'",
    "message A{",
    "{",
    "map < ",
    "a . ",
    "// a\n",
    ";",
    "(",
    "[",
    "message A{}",
    "enum E{A=0;}",
    "message A{/**/;/**/}",
    "import 'a';",
    "option a = ",
)


@pytest.mark.parametrize("fragment", PARTS)
@pytest.mark.parametrize("begin", ["", "message A { int32 a = ", "option (a) = {"])
def test_no_schema_needs_long(begin: str, fragment: str) -> None:
    skip_unless_full()
    begun = time.monotonic()
    with suppress(*NO_SCHEMA, RecursionError):
        types(begin + fragment * ((LARGEST // 2 - len(begin)) // len(fragment)))
    assert time.monotonic() - begun < 30


def filled(begin: str, fragment: str, end: str = "") -> str:
    """A schema that is almost as large as it may be, of numbered parts."""
    fragments, size = [begin], len(begin) + len(end)
    for number in range(1, LARGEST):
        fragments.append(fragment.format(number))
        size += len(fragments[-1])
        if size > LARGEST - 100:
            break
    return "".join(fragments) + end


def large_schemas() -> Iterator[str]:
    long = f"package {'p' * (LARGEST // 2)};"
    yield filled(long, "message M{0}{{}}")
    yield filled(f"{long} message A{{", "bool a{0}={0};", "}")
    yield filled(f"package {'p' * (MOST_NAME - 10)}; message A{{", "bool a{0}={0};", "}")
    maps = (f"map<bool,A>a{number}={number};" for number in range(1, MOST_TYPES))
    yield f"syntax='proto3'; message A{{ {' '.join(maps)} }}"
    yield filled(f"message {'m' * 600}{{" * 80, "message A{0}{{}}", "}" * 80)
    file = descriptor_pb2.FileDescriptorProto(package="p" * (LARGEST // 3))
    for number in range(2000):
        file.message_type.add(name=f"M{number}")
    yield in_base64(file)


def peak(schema: str) -> float:
    """The most memory, in MB, that this process has had, with what a schema needs."""
    with suppress(*NO_SCHEMA):
        types(schema).decode(b"\0")
    [line] = [
        status_line
        for status_line in Path("/proc/self/status").read_text().split("\n")
        if "VmHWM" in status_line
    ]
    return int(line.split()[1]) / 1000


def test_no_schema_needs_much_memory() -> None:
    skip_unless_full()
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        [begin, *peaks] = process.map(peak, ("message A {}", *large_schemas()))
    assert max(peaks) - begin < 120


def test_names_are_bounded_also_in_descriptors() -> None:
    file = descriptor_pb2.FileDescriptorProto(package="p" * (MOST_NAME - 2))
    message = file.message_type.add(name="A")
    assert types(in_base64(file)).decode(b"\0") == {}
    message.enum_type.add(name="E").value.add(name="A")
    with pytest.raises(ValueError, match="name"):
        types(in_base64(file))


@pytest.mark.parametrize("name", ["", "a b", "a\nb", "1", "é"])
def test_names_are_identifiers(name: str) -> None:
    file = descriptor_pb2.FileDescriptorProto()
    file.message_type.add(name="A").field.add(name=name, number=1, type=8, label=1)
    with pytest.raises(ValueError, match="name"):
        types(in_base64(file))


def test_types_are_bounded_in_number() -> None:
    many = "".join(f"message M{number} {{}}" for number in range(MOST_TYPES))
    assert types(many).decode(b"\0") == {}
    with pytest.raises(ValueError, match="types"):
        types(many, "message A {}", names=("many",))


@pytest.mark.parametrize(
    "again", ["message A { }", "enum A { X = 0; }", "message B {} message B {}"]
)
def test_a_type_has_one_schema(again: str) -> None:
    """Also of two that are imported: Protobuf's library would write their names to the journal."""
    with pytest.raises(ValueError, match="twice"):
        types("message A {}", PORT, again, names=("a", "port"))


def test_a_schema_may_be_imported_by_several_names() -> None:
    schema = 'import "a/port"; import "port"; message A { optional air.ports.Port a = 1; }'
    parsed = types(PORT, PORT, schema, names=("a/port", "port"))
    assert parsed.decode(b"\0\x0a\x03\x0a\x01Z") == {"a": {"code": "Z"}}


def test_the_size_of_types_is_also_that_of_standard_ones() -> None:
    schema = f'import "{timestamp_pb2.DESCRIPTOR.name}"; message A {{}}'
    assert types(PORT, schema, names=("port",)).size > len(PORT) + len(schema)
