"""Schemas in Protobuf, as text or as descriptors, and the values that they describe."""

from __future__ import annotations

import base64
import re
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from antlr4 import Token
from antlr4.error.ErrorListener import ErrorListener
from google.protobuf import (
    any_pb2,
    api_pb2,
    descriptor_pb2,
    duration_pb2,
    empty_pb2,
    field_mask_pb2,
    json_format,
    source_context_pb2,
    struct_pb2,
    timestamp_pb2,
    type_pb2,
    wrappers_pb2,
)
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from google.type import (
    calendar_period_pb2,
    color_pb2,
    date_pb2,
    datetime_pb2,
    dayofweek_pb2,
    expr_pb2,
    fraction_pb2,
    latlng_pb2,
    money_pb2,
    month_pb2,
    postal_address_pb2,
    quaternion_pb2,
    timeofday_pb2,
)
from proto_schema_parser import ast
from proto_schema_parser.antlr.ProtobufLexer import ProtobufLexer
from proto_schema_parser.parser import Parser

MOST_BYTES = 100_000
"""Of a schema with all that it imports, and of a value: each may need 800 times its size."""
MOST_TYPES = 1000
"""Of a schema with all that it imports: the class of one may need 25 KB."""
MOST_NAME = 500
"""Characters of a full name, with package and outer messages: each descriptor has its own."""
_FILE, _FIELD = descriptor_pb2.FileDescriptorProto, descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    name.removeprefix("TYPE_").lower(): number
    for name, number in _FIELD.Type.items()
    if number not in {_FIELD.TYPE_ENUM, _FIELD.TYPE_GROUP, _FIELD.TYPE_MESSAGE}
}
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TYPES = ("message_type", "nested_type", "enum_type")
_PARTS = (*_TYPES, "field", "extension", "oneof_decl", "value")
_COMMENTS = (ProtobufLexer.LINE_COMMENT, ProtobufLexer.BLOCK_COMMENT)
_MODULES = (
    any_pb2,
    api_pb2,
    descriptor_pb2,
    duration_pb2,
    empty_pb2,
    field_mask_pb2,
    source_context_pb2,
    struct_pb2,
    timestamp_pb2,
    type_pb2,
    wrappers_pb2,
    calendar_period_pb2,
    color_pb2,
    date_pb2,
    datetime_pb2,
    dayofweek_pb2,
    expr_pb2,
    fraction_pb2,
    latlng_pb2,
    money_pb2,
    month_pb2,
    postal_address_pb2,
    quaternion_pb2,
    timeofday_pb2,
)
_DECIMAL = "confluent/type/decimal.proto"
_STANDARD = {
    _DECIMAL: """
        syntax = "proto3"; package confluent.type;
        message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }
    """,
    "confluent/types/decimal.proto": f'import public "{_DECIMAL}";',
    "confluent/type/variant.proto": """
        syntax = "proto3"; package confluent.type;
        message Variant { bytes metadata = 1; bytes value = 2; }
    """,
    **{
        module.DESCRIPTOR.name: base64.b64encode(module.DESCRIPTOR.serialized_pb).decode()
        for module in _MODULES
    },
}
"""What Confluent's clients let every schema import without a reference: name -> schema."""
# Its warnings contain names of a schema, and Python keeps each of them.
warnings.filterwarnings("ignore", module=r"google\.protobuf\.descriptor_database")


class Source(NamedTuple):
    """A schema of a registry: the name by which it is imported, and its text or descriptor."""

    name: str
    schema: str


class Types:
    """The types of a schema, the last one, and of those before it that it imports.

    `size` is that of their schemas, with the standard ones.
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        """Parse them, each text once, also where it is imported by several names.

        Raises:
            Exception: one of them is not a schema, a type is missing, or they are too large.

        """
        _refuse_large(sum(len(text) for source in sources for text in source))
        self._pool = DescriptorPool()
        self._names: dict[str, str] = {}  # of each text, the first under which it is imported
        self._types: set[str] = set()
        for source in sources:
            if source.name not in _STANDARD:
                self._add(source)
        file = self._pool.FindFileByName(self._names[sources[-1].schema])
        self._messages = list(file.message_types_by_name.values())
        self.size = sum(map(len, self._names))

    def decode(self, data: bytes) -> object:
        """Return a value without its header, in Protobuf's JSON with the names of the schema.

        Raises:
            Exception: it is no value of this schema, or too large.

        """
        _refuse_large(len(data))
        indexes, begin = _indexes(data)
        kind = self._messages[indexes[0]]
        for index in indexes[1:]:
            kind = kind.nested_types[index]
        message = GetMessageClass(kind).FromString(data[begin:])
        written = message.SerializePartialToString()
        message.DiscardUnknownFields()
        # Other data may begin as if it had a schema.
        if message.SerializePartialToString() != written:
            reason = "it has a field, or a number of an enum, that its schema does not have"
            raise ValueError(reason)
        return json_format.MessageToDict(
            message, preserving_proto_field_name=True, descriptor_pool=_TypesOfAny(self._pool)
        )

    def _add(self, source: Source) -> None:
        """Add a schema after the standard ones that it imports.

        It may use all that were added before it, by whatever names it imports them. Other imports
        are left out: they may be needed by options alone.
        """
        if source.schema in self._names:
            return
        file = _file(source)
        for name in file.dependency:
            if name in _STANDARD:
                self._add(Source(name, _STANDARD[name]))
        for name in _checked_types(file.package, file):
            if name in self._types:
                message = f"it has {name} twice"
                raise ValueError(message)
            self._types.add(name)
        if len(self._types) > MOST_TYPES:
            message = f"it has more than {MOST_TYPES} types"
            raise ValueError(message)
        file.ClearField("public_dependency")
        file.ClearField("weak_dependency")
        file.dependency[:] = self._names.values()
        self._pool.Add(file)
        self._names[source.schema] = file.name


class _TypesOfAny:
    """What a value of `Any` may be; of a type that the schema does not have no field is shown."""

    def __init__(self, pool: DescriptorPool) -> None:
        self._pool = pool

    def FindMessageTypeByName(self, name: str) -> Any:
        """Return the descriptor of a message."""
        try:
            descriptor = self._pool.FindMessageTypeByName(name)
        except KeyError:
            return empty_pb2.Empty.DESCRIPTOR
        GetMessageClass(descriptor)
        return descriptor


class _Refuse(ErrorListener):  # type: ignore[misc]  # antlr4 has no types
    """Refuses what is not in the grammar; by default ANTLR guesses and goes on."""

    def syntaxError(self, *details: Any) -> None:
        """Raise an error with line and message."""
        _, _, line, _, message, _ = details
        reason = f"line {line}: {message}"
        raise ValueError(reason)


def _refuse_large(size: int) -> None:
    if size > MOST_BYTES:
        message = f"it has more than {MOST_BYTES} bytes"
        raise ValueError(message)


def _checked_types(scope: str, outer: Any) -> Iterator[str]:
    """Return the full names of the types of a file or message, each with all that it contains.

    Raises:
        ValueError: a name is no identifier, or too long.

    """
    for kind in _PARTS:
        for descriptor in getattr(outer, kind, ()):
            name = f"{scope}.{descriptor.name}" if scope else descriptor.name
            if len(name) > MOST_NAME or not all(map(_IDENTIFIER.fullmatch, name.split("."))):
                message = f"a name is no identifier, or has more than {MOST_NAME} characters"
                raise ValueError(message)
            if kind in _TYPES:
                yield name
            yield from _checked_types(name, descriptor)


def _file(source: Source) -> Any:
    """Return the descriptor of a schema."""
    try:
        file = _FILE.FromString(base64.b64decode(source.schema, validate=True))
    except ValueError:
        file = _parsed(source.schema)
    file.name = source.name
    return file


def _parsed(text: str) -> Any:
    tree = Parser(setup_lexer=_set_up_lexer, setup_parser=_set_up).parse(text)
    file = _FILE(syntax=tree.syntax or "proto2")
    if tree.edition:
        file = _FILE(syntax="editions", edition=f"EDITION_{tree.edition}")
    for element in tree.file_elements:
        match element:
            case ast.Package():
                file.package = element.name
            case ast.Import():
                file.dependency.append(element.name)
            case ast.Message():
                _add_message(file.message_type.add(), element)
            case ast.Enum():
                _add_enum(file.enum_type.add(), element)
    return file


def _set_up(recognizer: Any) -> None:
    recognizer.removeErrorListeners()
    recognizer.addErrorListener(_Refuse())


def _set_up_lexer(lexer: ProtobufLexer) -> None:
    """Hide comments: the grammar has them among elements, where a thousand need minutes."""
    emit = lexer.emitToken

    def emit_token(token: Token) -> None:
        if token.type in _COMMENTS:
            token.channel = Token.HIDDEN_CHANNEL
        emit(token)

    lexer.emitToken = emit_token
    _set_up(lexer)


def _add_message(message: Any, declaration: ast.Message | ast.Group) -> None:
    message.name = declaration.name
    for element in declaration.elements:
        match element:
            case ast.Message():
                _add_message(message.nested_type.add(), element)
            case ast.Enum():
                _add_enum(message.enum_type.add(), element)
    # Fields follow, since the indexes of a value do not count the entries of maps.
    for element in declaration.elements:
        match element:
            case ast.OneOf():
                _add_oneof(message, element)
            case ast.Field(cardinality=ast.FieldCardinality.OPTIONAL):
                # A oneof of its own: it is shown even with its default, whatever the syntax.
                _add_oneof(message, ast.OneOf(f"_{element.name}", [element]))
            case ast.Field() | ast.Group() | ast.MapField():
                _add_field(message, element)


def _add_oneof(message: Any, oneof: ast.OneOf) -> None:
    index = len(message.oneof_decl)
    message.oneof_decl.add(name=oneof.name)
    for element in oneof.elements:
        if isinstance(element, (ast.Field, ast.Group)):
            _add_field(message, element).oneof_index = index


def _add_field(message: Any, declaration: ast.Field | ast.Group | ast.MapField) -> Any:
    field = message.field.add(
        name=declaration.name, number=declaration.number, label=_FIELD.LABEL_REPEATED
    )
    if not isinstance(declaration, ast.MapField):
        cardinality = declaration.cardinality or ast.FieldCardinality.OPTIONAL
        field.label = _FIELD.Label.Value(f"LABEL_{cardinality.value}")
    match declaration:
        case ast.MapField():
            entry = message.nested_type.add(
                name=_entry_name(declaration.name), options={"map_entry": True}
            )
            _add_field(entry, ast.Field("key", 1, declaration.key_type))
            _add_field(entry, ast.Field("value", 2, declaration.value_type))
            field.type_name = entry.name
        case ast.Group():
            _add_message(message.nested_type.add(), declaration)
            field.name, field.type, field.type_name = (
                declaration.name.lower(),
                _FIELD.TYPE_GROUP,
                declaration.name,
            )
        case ast.Field() if declaration.type in _SCALARS:
            field.type = _SCALARS[declaration.type]
        case ast.Field():
            field.type_name = declaration.type
    return field


def _entry_name(field: str) -> str:
    return re.sub(r"(?:^|_)(.?)", lambda match: match[1].upper(), field) + "Entry"


def _add_enum(enum: Any, declaration: ast.Enum) -> None:
    enum.name = declaration.name
    for element in declaration.elements:
        if isinstance(element, ast.EnumValue):
            enum.value.add(name=element.name, number=element.number)


def _indexes(data: bytes) -> tuple[list[int], int]:
    """Return which message a value is, and where this ends: its index, then those of nested ones.

    Instead of the index of the first message there is a single zero.
    """
    count, at = _index(data, 0)
    indexes = []
    for _ in range(count):
        index, at = _index(data, at)
        indexes.append(index)
    return indexes or [0], at


def _index(data: bytes, at: int) -> tuple[int, int]:
    """Return the number that begins there, in Protobuf's zigzag encoding, and where it ends."""
    encoded = 0
    for place, byte in enumerate(data[at : at + 5]):
        encoded |= (byte & 0x7F) << 7 * place
        if byte < 0x80 and encoded % 2 == 0:
            return encoded // 2, at + place + 1
    message = "it does not begin with the indexes of a message"
    raise ValueError(message)
