"""Texts in the classes of a distribution: what its keys are called, where nothing lists them."""

from __future__ import annotations

import argparse
import json
import re
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

Entry = dict[str, str]
# Of a constant pool: the tag of a text, its length, the text.
_TEXT = re.compile(rb"\x01(..)", re.DOTALL)


def classes(jars: Iterable[Path]) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of each class in jars."""
    for jar in jars:
        with zipfile.ZipFile(jar) as archive:
            for name in archive.namelist():
                if name.endswith(".class"):
                    yield name.removesuffix(".class").replace("/", "."), archive.read(name)


def constants(content: bytes, key: re.Pattern[str]) -> Iterator[str]:
    """Yield the texts of a class that match a pattern as a whole."""
    for start in (match.end() for match in _TEXT.finditer(content)):
        length = int.from_bytes(content[start - 2 : start], "big")
        text = content[start : start + length].decode("utf-8", "replace")
        if len(text) == length and key.fullmatch(text):
            yield text


def render(keys: Mapping[str, Mapping[str, object]]) -> str:
    """Return the table as JSON with one key a line, for a readable difference of two versions."""
    lines = [f"{json.dumps(key)}: {json.dumps(keys[key], sort_keys=True)}" for key in sorted(keys)]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main(read: Callable[[Path], Mapping[str, Mapping[str, object]]], product: str) -> int:
    """Run the command line of a product: write the table of the distribution in a directory."""
    parser = argparse.ArgumentParser(description=f"Write the table of the keys of {product}.")
    parser.add_argument("home", type=Path, help="directory of the unpacked distribution")
    parser.add_argument("out", type=Path, help="JSON file to write")
    options = parser.parse_args(sys.argv[1:])
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(render(read(options.home)), encoding="utf-8")
    return 0
