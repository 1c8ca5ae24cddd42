"""Write the table of the keys of a version of HDFS, as its jars have them.

    python -m artifacts.hdfs.keys HOME plugins/plugin_utils/services/hdfs/keys/<version>.json

Hadoop's jars hold core-default.xml and hdfs-default.xml, with the default of most keys; of the
others the name is among the texts of its classes. What the values are follows from the defaults.
"""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Iterator
from pathlib import Path

from artifacts import class_files
from artifacts.class_files import Entry

_DEFAULTS = ("core-default.xml", "hdfs-default.xml")
_JARS = "libs/hadoop-*.jar"
_KEY = re.compile(r"[a-z][a-z0-9]*(?:\.[A-Za-z0-9_-]+)+")
# Names of files, hosts and classes look alike.
_NO_KEY = re.compile(
    r".*\.(?:xml|class|java|jar|html|properties|proto|txt|sh|org|com|log|tmp|json)"
)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?[fF]?|-?\d+(?:ns|us|ms|s|m|h|d)")


def entry(default: str) -> Entry:
    """Return the type that a key has by its default, none where a text may be meant."""
    if default in ("true", "false"):
        return {"type": "boolean", "default": default}
    if _NUMBER.fullmatch(default):
        return {"type": "quantity", "default": default}
    return {"default": default}  # perhaps a list


def documented(jars: list[Path]) -> Iterator[tuple[str, Entry]]:
    """Yield the keys of the files with defaults."""
    for jar in jars:
        with zipfile.ZipFile(jar) as archive:
            for name in {*_DEFAULTS} & {*archive.namelist()}:
                for element in ET.fromstring(archive.read(name)):  # noqa: S314 - of the distribution
                    key, value = element.findtext("name", ""), element.findtext("value", "")
                    yield key.strip(), entry(value.strip())


def table(home: Path) -> dict[str, Entry]:
    """Return key -> type and default, of the distribution in a directory."""
    jars = sorted(home.glob(_JARS))
    entries = dict(documented(jars))
    first = {key.partition(".")[0] for key in entries}
    for _, content in class_files.classes(jars):
        for text in class_files.constants(content, _KEY):
            if text.partition(".")[0] in first and not _NO_KEY.fullmatch(text):
                entries.setdefault(text, {})
    return entries


if __name__ == "__main__":
    sys.exit(class_files.main(table, "HDFS"))
