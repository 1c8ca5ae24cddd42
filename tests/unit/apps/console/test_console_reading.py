"""Records that are made to do harm are read by a process with limits; all else goes on."""

from __future__ import annotations

import ctypes
import json
import struct
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import library
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.connection import Connection
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.console.model import (
    Console,
)

from apps.console import codecs, reading, worker
from apps.console.codecs import CodecError
from apps.console.reading import Reading
from apps.console.records import RecordsError, Request
from tests.unit.host.served import served

WORKER = "tests.unit.apps.console.drawn_worker"
CODECS = {"gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
BOMB_BYTES = 788_000_000
DECIMAL, UNION, TEXT, ENDLESS = 1, 2, 3, 4
BRANCHES = [{"type": "fixed", "name": f"f{number}", "size": 1} for number in range(5_000)]
SCHEMAS = {
    DECIMAL: {"type": "bytes", "logicalType": "decimal", "precision": 2_400_000, "scale": 2},
    UNION: {"type": "array", "items": BRANCHES},
    TEXT: "string",
}
REASON = "undecoded"
Record = tuple[bytes | None, bytes | None, list[tuple[str, bytes]]]
Ask = Callable[..., dict[str, Any]]


class Registry(BaseHTTPRequestHandler):
    """A registry with these schemas."""

    def do_GET(self) -> None:
        number = int(self.path.rpartition("/")[2])
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"schema": json.dumps(SCHEMAS[number])}).encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def batch(*records: Record, codec: str = "") -> bytes:
    builder = library.MemoryRecordsBuilder(
        magic=2, compression_type=CODECS.get(codec, 0), batch_size=10**9
    )
    for key, value, headers in records:
        builder.append(timestamp=1, key=key, value=value, headers=headers)
    builder.close()
    return bytes(builder.buffer())


def with_schema(number: int, data: bytes) -> Record:
    return None, b"\0" + number.to_bytes(4, "big") + data, []


def text(value: str) -> Record:
    return with_schema(TEXT, bytes([2 * len(value)]) + value.encode())


def number(value: int) -> bytes:
    """Return a number of a record (zigzag, of variable length)."""
    groups, remaining = [], value * 2
    while remaining >= 0x80:
        groups.append(remaining & 0x7F | 0x80)
        remaining >>= 7
    return bytes([*groups, remaining])


def crafted(records: int, *parts: tuple[bytes, int]) -> bytes:
    """Return a batch in gzip of so many records that consists of parts, each so many times."""
    data = b"".join(zlib_member(part) * times for part, times in parts)
    header = bytearray(batch((None, bytes(1000), []), codec="gzip")[:61])
    struct.pack_into(">i", header, 8, 61 - 12 + len(data))
    struct.pack_into(">i", header, 57, records)
    return bytes(header) + data


def zlib_member(data: bytes) -> bytes:
    compress = zlib.compressobj(9, wbits=31)
    return compress.compress(data) + compress.flush()


def bomb() -> bytes:
    """Return a batch of less than 1 MB with a value of `BOMB_BYTES`."""
    begin = b"\0\0\0" + b"\x01" + number(BOMB_BYTES)
    size = number(len(begin) + BOMB_BYTES + 1)
    return crafted(1, (size + begin, 1), (bytes(4_000_000), BOMB_BYTES // 4_000_000), (b"\0", 1))


@pytest.fixture(scope="module")
def registry() -> Iterator[Mapping[str, Any]]:
    with served(Registry) as address:
        yield {"instances": [address]}


@pytest.fixture
def ask(registry: Mapping[str, Any], tmp_path: Path) -> Ask:
    def read(*batches: bytes) -> dict[str, Any]:
        path = tmp_path / "batches"
        path.write_bytes(b"".join(batches))
        connection = Connection(("k1:1",), {"batches": str(path)})
        request = Request("t", 0, 0, 100, 10_000_000)
        return Reading(registry, WORKER).read(connection, request)

    return read


def values(document: Mapping[str, Any]) -> list[Any]:
    return [record["value"] for record in document["records"]]


@pytest.mark.parametrize("codec", ["", *CODECS])
def test_every_codec_of_kafka_is_read_without_a_package(codec: str, ask: Ask) -> None:
    record = (b"key", b"value " * 1000, [("name", b"x")])
    document = ask(batch(record, record, codec=codec))
    (first, second) = document["records"]
    assert first["key"]["text"] == "key"
    assert second["value"]["text"].startswith("value value")
    assert second["headers"] == [["name", {"size": 1, "text": "x"}]]
    assert not document["problem"]


def test_names_that_are_no_text_are_shown_escaped(ask: Ask) -> None:
    record: Record = (b"\xff\xfe", b"v", [("nXme", b"\xfe"), ("text", b"y")])
    good: Record = (None, b"w", [("text", b"z")])
    damaged = batch(record, good).replace(b"nXme", b"n\xffme")
    (first, second) = ask(damaged)["records"]
    assert first["key"]["hex"] == "ff fe"
    assert [(name, value.get("text")) for name, value in first["headers"]] == [
        ("n\\xffme", None),
        ("text", "y"),
    ]
    assert second["headers"][0][0] == "text"


def test_a_small_batch_that_becomes_huge_is_refused_alone(ask: Ask) -> None:
    harmful = bomb()
    assert len(harmful) < 1_000_000
    document = ask(batch((None, b"before", [])), harmful)
    assert [value["text"] for value in values(document)] == ["before"]
    assert "gzip" in document["problem"]
    assert "offset 1 " in document["problem"]


@pytest.mark.parametrize("codec", CODECS)
def test_every_codec_is_bounded(codec: str, ask: Ask) -> None:
    document = ask(batch((None, bytes(codecs.MOST_BYTES), []), codec=codec))
    assert not document["records"]
    assert codec in document["problem"]


@pytest.mark.parametrize("codec", CODECS)
def test_what_is_damaged_is_said(codec: str) -> None:
    decompress = codecs._CODECS[codec]
    compressed = batch((None, b"value" * 900, []), codec=codec)[61:]
    assert decompress(compressed)
    for damaged in (compressed[: len(compressed) // 2], compressed[:-5], b"x" * 100):
        with pytest.raises(CodecError, match=codec):
            decompress(damaged)


def test_a_library_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(name: str) -> None:
        raise OSError(name)

    monkeypatch.setattr(ctypes, "CDLL", load)
    with pytest.raises(CodecError, match=r"zstd.*libzstd"):
        codecs.zstd(b"x")


def test_many_records_of_no_bytes_end_alone(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each needs memory of Python and time, though they need neither of the network."""
    monkeypatch.setattr(reading, "FETCH_SECONDS", 6.0)
    empty, many = b"\x0c\0\0\0\1\1\0", 2_000_000
    try:
        reason = ask(crafted(many, (empty * many, 1)))["problem"]
    except RecordsError as error:
        reason = str(error)
    assert "memory" in reason or "took more than" in reason


@pytest.mark.parametrize(
    "harmful",
    [
        with_schema(DECIMAL, number(950_000) + b"\x7f" * 950_000),
        with_schema(UNION, number(20_000) + (number(4_999) + b"x") * 20_000 + b"\0"),
    ],
    ids=["decimal", "union"],
)
def test_a_value_that_needs_minutes_ends_alone(
    harmful: Record, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "DECODE_SECONDS", 4.0)
    begun = time.monotonic()
    document = ask(batch(text("before"), harmful, text("after")))
    assert time.monotonic() - begun < 60
    (before, slow, after) = values(document)
    assert before["text"] == '"before"'
    assert "took more than" in slow[REASON]
    assert after.get("text") == '"after"' or after[REASON] == reading.NOT_DECODED


def test_a_few_processes_run_of_a_user_and_a_network() -> None:
    readings = Reading({})

    def held(*places: tuple[str, str]) -> str:
        if not places:
            return ""
        try:
            with readings.place(*places[0]):
                return held(*places[1:])
        except RecordsError as error:
            return f"{error.status} {error}"

    most = reading.MOST_OF_USER
    assert "429 You are" in held(*[("anna", f"10.0.0.{number}") for number in range(most + 1)])
    most = reading.MOST_OF_NETWORK
    assert "your address" in held(*[(f"user {number}", "10.0.0.1") for number in range(most + 1)])
    requesters = [(f"user {number}", f"10.0.0.{number}") for number in range(reading.MOST + 1)]
    assert held(*requesters)
    assert not held(*requesters[: reading.MOST])
    assert reading.MOST_OF_USER < reading.MOST
    assert not readings._running


def test_all_processes_together_fit_the_unit() -> None:
    assert Console.memory.endswith("G")
    assert int(Console.memory[:-1]) * 2**30 > (reading.MOST + 1) * worker.MEMORY
