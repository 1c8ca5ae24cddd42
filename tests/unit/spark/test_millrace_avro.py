"""Avro records with the id of their schema: which schema reads them, and what is refused."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from millrace_avro import NO_DATUM, NO_ID, NO_SCHEMA, Registry, RegistryError, decode
from millrace_job import HEADERS, REASON, dead_letters
from tests.support.lab.topology import ROOT

LOGIN = "orders:ge:heim"
KAFKA = f"key binary, value binary, headers {HEADERS}, partition int, offset bigint"
NEWEST = (ROOT / "examples/clients/order.avsc").read_text()
FORMER = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [{"name": "id", "type": "int"}, {"name": "item", "type": "string"}],
    }
)
READER = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [
            {"name": "item", "type": "string"},
            {"name": "id", "type": "long"},
            {"name": "price", "type": "double", "default": 1.5},
        ],
    }
)
SCHEMAS: dict[int, dict[str, Any]] = {
    12: {"schema": FORMER},
    13: {"schema": NEWEST},
    14: {"schema": '{"type": "object"}', "schemaType": "JSON"},
    15: {"schema": NEWEST, "references": [{"name": "a", "subject": "a", "version": 1}]},
}
WRITTEN = [
    "000000000c0206637570",
    "000000000d8080808080400c4dc3bc736c690000000000000a400218776974686f7574206e757473",
    "000000000d0600000000000000000000",
]
"""What confluent-kafka 2.16.1 wrote: the second one's id does not fit into the former int."""
READ = [("cup", 1, 1.5), ("Müsli", 2**40, 3.25), ("", 3, 0.0)]
REFUSED = {
    "": NO_ID,
    "00000000": NO_ID,
    "010000000c0206637570": NO_ID,
    "000000000e7b7d": f"{NO_SCHEMA} 14",
    "000000000f06": f"{NO_SCHEMA} 15",
    "0000000063": f"{NO_SCHEMA} 99",
    "00ffffffff00": f"{NO_SCHEMA} {2**32 - 1}",
    "000000000c": f"{NO_DATUM} 12",
    "000000000d02": f"{NO_DATUM} 13",
}


class Instance(HTTPServer):
    """An instance of a registry: it has some of the schemas, and counts what it is asked."""

    def __init__(self, schemas: dict[int, dict[str, Any]], login: str = LOGIN) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.schemas, self.login = schemas, base64.b64encode(login.encode()).decode()
        self.asked: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Instance

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        _, schemas, ids, number = self.path.split("/")
        schema = (
            self.server.schemas.get(int(number)) if (schemas, ids) == ("schemas", "ids") else {}
        )
        is_known = self.headers["Authorization"] == f"Basic {self.server.login}"
        self.send_response(401 if not is_known else 200 if schema else 404)
        self.end_headers()
        self.wfile.write(json.dumps(schema).encode())

    def log_message(self, *_: object) -> None:
        """Keep stderr for what fails."""


@pytest.fixture
def instances() -> Iterator[list[Instance]]:
    """One that lags behind, and one that has all schemas."""
    servers = [Instance({12: SCHEMAS[12]}), Instance(SCHEMAS)]
    for server in servers:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}).start()
    yield servers
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def registry(instances: list[Instance], tmp_path: Path) -> Registry:
    path = tmp_path / "registry.conf"
    urls = ", ".join(f"{instance.url}/" for instance in instances)
    path.write_text(f"# comment\nurl={urls}\n\nbasic.auth.user.info={LOGIN}\n")
    return Registry.read(path)


@pytest.fixture
def records(spark: SparkSession) -> DataFrame:
    """All of this file, and one without a value."""
    values = [*map(bytes.fromhex, [*WRITTEN, *REFUSED]), None]
    rows = [(None, value, None, 0, offset) for offset, value in enumerate(values)]
    return spark.createDataFrame(rows, KAFKA)


def test_each_record_is_read_by_the_schema_of_its_writer(
    records: DataFrame, registry: Registry
) -> None:
    decoded = decode(records, registry, READER).where(f"{REASON} IS NULL").collect()
    assert [row.record and tuple(row.record) for row in decoded] == [*READ, None]


def test_what_cannot_be_read_becomes_a_dead_letter(records: DataFrame, registry: Registry) -> None:
    letters = dead_letters(decode(records, registry, READER)).collect()
    headers_of_letters = {
        bytes(letter.value).hex(): {
            header.key: bytes(header.value).decode() for header in letter.headers
        }
        for letter in letters
    }
    assert {value: headers[REASON] for value, headers in headers_of_letters.items()} == {
        value: f"value: {reason}" for value, reason in REFUSED.items()
    }
    assert [headers["source.offset"] for headers in headers_of_letters.values()] == [
        str(offset) for offset in range(len(WRITTEN), len(WRITTEN) + len(REFUSED))
    ]


def test_the_first_reason_is_kept(records: DataFrame, registry: Registry) -> None:
    keys = decode(records.selectExpr("value AS key", "key AS value"), registry, READER, "key", "k")
    both = decode(keys, registry, READER)
    assert both.columns == ["key", "value", "k", "record", REASON]
    reasons = {row[REASON] for row in both.collect()}
    assert reasons == {None, *(f"key: {reason}" for reason in REFUSED.values())}


def test_nothing_readable_is_no_error(spark: SparkSession, registry: Registry) -> None:
    rows = spark.createDataFrame([(None, b"x", None, 0, 0)], KAFKA)
    for records in (rows, rows.limit(0)):
        assert decode(records, registry, READER).where("record IS NOT NULL").count() == 0


def test_a_schema_is_fetched_once(registry: Registry, instances: list[Instance]) -> None:
    for _ in range(2):
        assert registry.schema(12) == FORMER
        assert registry.schema(13) == NEWEST
    first, second = (instance.asked for instance in instances)
    assert first == ["/schemas/ids/12", "/schemas/ids/13"]
    assert second == ["/schemas/ids/13"]


def test_an_instance_that_is_down_is_passed_over(
    registry: Registry, instances: list[Instance]
) -> None:
    instances[0].server_close()
    assert registry.schema(13) == NEWEST


def test_an_id_is_unknown_only_if_no_instance_has_it(
    records: DataFrame, registry: Registry, instances: list[Instance]
) -> None:
    """The one that is down may have it: a dead letter would be wrong."""
    assert registry.schema(99) is None
    instances[1].server_close()
    assert registry.schema(12) == FORMER
    with pytest.raises(RegistryError, match=instances[1].url):
        registry.schema(99)
    with pytest.raises(RegistryError):
        decode(records, registry, READER)


def test_a_registry_that_refuses_refuses_no_record(
    records: DataFrame, instances: list[Instance]
) -> None:
    """The record is good: a dead letter would be wrong."""
    stranger = Registry([instance.url for instance in instances], user_info="orders:wrong")
    with pytest.raises(RegistryError, match="401"):
        decode(records, stranger, READER)
    assert "wrong" not in repr(stranger)


def test_a_stream_and_a_schema_that_is_no_record_are_refused(
    spark: SparkSession, records: DataFrame, registry: Registry
) -> None:
    with pytest.raises(ValueError, match="record"):
        decode(records, registry, '"long"')
    with pytest.raises(ValueError, match="foreachBatch"):
        decode(spark.readStream.format("rate").load(), registry, READER)
