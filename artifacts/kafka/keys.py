"""Write the table of a Kafka version's legal keys, as the binary itself prints them.

    python -m artifacts.kafka.keys HOME plugins/plugin_utils/services/kafka/keys/<version>.json

`kafka.server.KafkaConfig` has a main that prints its ConfigDef as HTML. Keys that Kafka calls
internal are not in it, nor are those that a plug-in reads
(see plugins/module_utils/formats/key_table.py).
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Collection
from html.parser import HTMLParser
from pathlib import Path

FIELDS = {
    "Type": "type",
    "Default": "default",
    "Valid Values": "valid",
    "Importance": "importance",
    "Update Mode": "update",
}
CONFIG = "kafka.server.KafkaConfig"
_READABLE_FORM = re.compile(r" \([^()]*\)$")


class KeyParser(HTMLParser):
    """Collects the headings and the tables below them."""

    def __init__(self) -> None:
        """Start with no key."""
        super().__init__()
        self.keys: dict[str, dict[str, str]] = {}
        self._tag = ""
        self._key = ""
        self._field = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remember the element that the following text belongs to."""
        del attrs
        if tag in ("h4", "th", "td"):
            self._tag = tag
        if tag == "h4":
            self._key = ""
        elif tag == "td" and self._key:
            self.keys[self._key][self._field] = ""

    def handle_endtag(self, tag: str) -> None:
        """Forget it again."""
        if tag == self._tag:
            self._tag = ""

    def handle_data(self, data: str) -> None:
        """Take a key's name, a field's name or a field's value."""
        if self._tag == "h4":
            self._key += data
            self.keys.setdefault(self._key, {})
        elif self._tag == "th":
            self._field = data.rstrip(":")
        elif self._tag == "td" and self._key:
            self.keys[self._key][self._field] += data


def parse(html: str, fields: Collection[str] = FIELDS) -> dict[str, dict[str, str | None]]:
    """Return key -> type, default, valid, importance, update, or those of them in `fields`.

    A default of None is Kafka's null; a key that must be set has no default. Raises ValueError for
    a key without one of the fields, which is another layout than the one known.
    """
    parser = KeyParser()
    parser.feed(html)
    table: dict[str, dict[str, str | None]] = {}
    for key, cells in sorted(parser.keys.items()):
        missing = [field for field in fields if field not in cells]
        if missing:
            message = f"{key}: the page has no {', '.join(missing)}"
            raise ValueError(message)
        entry: dict[str, str | None] = {
            FIELDS[field]: cells[field].strip() for field in fields if field != "Default"
        }
        default = cells["Default"].strip()
        if default:
            entry["default"] = _default(default, cells["Type"])
        table[key] = entry
    if not table:
        message = "the page holds no key"
        raise ValueError(message)
    return table


def _default(text: str, kind: str) -> str | None:
    """Return a default without the quotes and the readable form, `86400000 (1 day)`."""
    if text == "null":
        return None
    if kind in ("int", "long", "short", "double"):
        return _READABLE_FORM.sub("", text)
    return "" if text == '""' else text


def render(table: dict[str, dict[str, str | None]]) -> str:
    """Return the table as JSON with one key a line, for a readable difference of two versions."""
    lines = [
        f"{json.dumps(key)}: {json.dumps(table[key], sort_keys=True)}" for key in sorted(table)
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def page(libs: Path, config: str = CONFIG) -> str:
    """Return what a class with a ConfigDef in a directory of jars prints."""
    java = shutil.which("java")
    if java is None:
        message = "java is not on the PATH; install a JRE of version 17 or newer"
        raise FileNotFoundError(message)
    command = [java, "-cp", f"{libs}/*", config]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout


def kafka_keys(libs: Path) -> dict[str, dict[str, str | None]]:
    """Return the table of the Kafka in a directory of jars."""
    return parse(page(libs))


def main(
    arguments: list[str] | None = None,
    read: Callable[[Path], dict[str, dict[str, str | None]]] = kafka_keys,
) -> int:
    """Run the command line; `read` returns the table of a directory of jars."""
    parser = argparse.ArgumentParser(description="Write the table of the legal keys of a version.")
    parser.add_argument("home", type=Path, help="directory of the unpacked distribution")
    parser.add_argument("out", type=Path, help="JSON file to write")
    options = parser.parse_args(arguments)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(render(read(options.home / "libs")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
