"""Subjects as the inventory describes them: their names, their schemas, what they refer to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.schema_registry import (
    schemas,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.schema_registry.schemas import (
    AVRO,
    JSON,
    PROTOBUF,
    RECORD,
    TOPIC,
    TOPIC_RECORD,
    Subject,
)

PLANE = {"type": "record", "name": "Plane", "namespace": "flights"}
MESSAGES = 'syntax = "proto3";\npackage f.g;\nmessage Plane {}\n  message Wing {}\n'


def subject(directory: Path | str = "", **entry: Any) -> Subject:
    """Read the only subject of an inventory."""
    (read_subject,) = schemas.of_settings({schemas.VARIABLE: [entry]}, str(directory))
    return read_subject


def test_what_an_entry_leaves_out() -> None:
    read_subject = subject(topic="t")
    assert (read_subject.present, read_subject.type, read_subject.strategy) == (True, AVRO, TOPIC)
    assert (read_subject.compatibility, list(read_subject.references)) == ("", [])
    assert (read_subject.text, read_subject.error, read_subject.name) == (None, "", "t-value")


def test_what_an_entry_says() -> None:
    reference = {"name": "Wing", "subject": "wings", "version": 2}
    latest = {"name": "Tail", "subject": "tails"}
    read_subject = subject(
        topic="t",
        part="key",
        state="absent",
        type=JSON,
        compatibility="FULL",
        references=[reference, latest],
    )
    assert (read_subject.present, read_subject.type, read_subject.compatibility) == (
        False,
        JSON,
        "FULL",
    )
    assert read_subject.name == "t-key"
    assert read_subject.references == [reference, {**latest, "version": None}]


@pytest.mark.parametrize(
    ("kind", "schema", "record"),
    [
        (AVRO, PLANE, "flights.Plane"),
        (AVRO, {"name": "Plane"}, "Plane"),
        (AVRO, {"name": "other.Plane", "namespace": "flights"}, "other.Plane"),
        (AVRO, {"namespace": "flights"}, ""),
        (AVRO, "int", ""),
        (AVRO, "{", ""),
        (AVRO, '["null", "int"]', ""),
        (JSON, {"title": "Plane", "name": "other"}, "Plane"),
        (JSON, {"name": "other"}, ""),
        (PROTOBUF, MESSAGES, "f.g.Plane"),
        (PROTOBUF, "message Plane {}", "Plane"),
        (PROTOBUF, "package f.g;\n", ""),
    ],
)
def test_the_record_of_a_schema(kind: str, schema: Any, record: str) -> None:
    assert subject(topic="t", type=kind, schema=schema).record == record


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        ({"subject": "any", "topic": "t", "schema": PLANE}, "any"),
        ({"topic": "t", "schema": PLANE}, "t-value"),
        ({"schema": PLANE}, ""),
        ({"strategy": RECORD, "topic": "t", "schema": PLANE}, "flights.Plane"),
        ({"strategy": RECORD, "topic": "t"}, ""),
        ({"strategy": TOPIC_RECORD, "topic": "t", "schema": PLANE}, "t-flights.Plane"),
        ({"strategy": TOPIC_RECORD, "topic": "t"}, ""),
        ({"strategy": TOPIC_RECORD, "schema": PLANE}, ""),
    ],
)
def test_the_name_of_a_subject(entry: dict[str, Any], name: str) -> None:
    assert subject(**entry).name == name


@pytest.mark.parametrize(
    ("entry", "label"),
    [
        ({"topic": "t", "file": "f"}, "t-value"),
        ({"topic": "t", "file": "f", "strategy": RECORD}, "t"),
        ({"file": "plane.avsc", "strategy": RECORD}, "plane.avsc"),
    ],
)
def test_a_message_names_a_subject_by_what_is_known(entry: dict[str, Any], label: str) -> None:
    assert subject("/nonexistent", **entry).label == label
    assert subject().label


def test_a_schema_is_text_or_a_mapping() -> None:
    text = '{ "type": "int" }'
    assert subject(topic="t", schema=text).text == text
    assert json.loads(subject(topic="t", schema=PLANE).text or "") == PLANE
    assert subject(topic="t", schema="", file="missing").text == "", "the rules refuse it"


def test_the_schema_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "plane.avsc").write_text(json.dumps(PLANE))
    for file in ("plane.avsc", tmp_path / "plane.avsc"):
        read_subject = subject(tmp_path, topic="t", file=str(file))
        assert (json.loads(read_subject.text or ""), read_subject.error) == (PLANE, "")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    (tmp_path / "directory").mkdir()
    for file in ("missing", "binary", "directory"):
        read_subject = subject(tmp_path, topic="t", file=file)
        assert read_subject.text is None
        assert str(tmp_path / file) in read_subject.error
