"""The subjects of the inventory: the schemas that the registry is to have, and by which rules."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ....module_utils.formats.values import mapping

VARIABLE = "schema_registry_subjects"
BACKWARD = "BACKWARD"
AVRO, JSON, PROTOBUF = "AVRO", "JSON", "PROTOBUF"
TOPIC, RECORD, TOPIC_RECORD = "TopicNameStrategy", "RecordNameStrategy", "TopicRecordNameStrategy"
"""How Confluent's serializers make the name of a subject."""
_PACKAGE = re.compile(r"^\s*package\s+([\w.]+)\s*;", re.MULTILINE)
_MESSAGE = re.compile(r"^\s*message\s+(\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Subject:
    """A subject as the inventory describes it: its name, and the schema that it is to have."""

    given: Mapping[str, Any]
    """The entry."""
    text: str | None
    """The schema, None where `error` says why it cannot be read."""
    error: str = ""

    @property
    def present(self) -> bool:
        """Whether it is to be there."""
        return str(self.given.get("state") or "present") == "present"

    @property
    def type(self) -> str:
        """The language of the schema."""
        return str(self.given.get("type") or AVRO)

    @property
    def strategy(self) -> str:
        """How its name is made."""
        return str(self.given.get("strategy") or TOPIC)

    @property
    def compatibility(self) -> str:
        """Its own level, empty where the global one counts."""
        return str(self.given.get("compatibility") or "")

    @property
    def references(self) -> Sequence[Mapping[str, Any]]:
        """The schemas of other subjects that it uses.

        Each is name, subject and version, which is None for the latest.
        """
        return [
            {
                "name": str(reference["name"]),
                "subject": str(reference["subject"]),
                "version": reference.get("version"),
            }
            for reference in self.given.get("references") or ()
        ]

    @property
    def record(self) -> str:
        """The full name of the record that the schema describes, empty where it has none."""
        text = self.text or ""
        if self.type == PROTOBUF:
            package, message = _PACKAGE.search(text), _MESSAGE.search(text)
            names = [match[1] for match in (package, message) if match]
            return ".".join(names) if message else ""
        try:
            schema = mapping(json.loads(text))
        except ValueError:
            return ""
        if self.type == JSON:
            return str(schema.get("title") or "")
        name, space = str(schema.get("name") or ""), str(schema.get("namespace") or "")
        return f"{space}.{name}" if space and name and "." not in name else name

    @property
    def name(self) -> str:
        """The name of the subject, empty where its entry does not lead to one."""
        if self.given.get("subject"):
            return str(self.given["subject"])
        topic, record = str(self.given.get("topic") or ""), self.record
        if self.strategy == RECORD:
            return record
        if self.strategy == TOPIC_RECORD:
            return f"{topic}-{record}" if topic and record else ""
        return f"{topic}-{self.given.get('part') or 'value'}" if topic else ""

    @property
    def label(self) -> str:
        """What to call it in a message."""
        return self.name or str(self.given.get("topic") or self.given.get("file") or "an entry")


def of_settings(settings: Mapping[str, Any], directory: str) -> list[Subject]:
    """Return the subjects that an instance's variables name, in their order."""
    return [
        Subject(mapping(entry), *_read(mapping(entry), directory)) for entry in settings[VARIABLE]
    ]


def _read(entry: Mapping[str, Any], directory: str) -> tuple[str | None, str]:
    """Return the schema of an entry, or why it cannot be read."""
    schema = entry.get("schema")
    if schema is not None:
        return (schema if isinstance(schema, str) else json.dumps(schema)), ""
    if not entry.get("file"):
        return None, ""
    path = Path(directory) / Path(str(entry["file"])).expanduser()
    try:
        return path.read_text(encoding="utf-8"), ""
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is no text in UTF-8"
        return None, f"{path}: {why}"
