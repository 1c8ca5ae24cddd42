"""Write the table of the keys of a version of Apicurio Registry, as its jars have them.

    python -m artifacts.schema_registry.keys HOME \
        plugins/plugin_utils/services/schema_registry/keys/<version>.json

Each extension of Quarkus describes its keys in its jar (quarkus-config-model.json), with types.
Those of Apicurio itself are in its own properties, and among the texts of its classes.
"""

from __future__ import annotations

import json
import re
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from artifacts import class_files
from artifacts.class_files import Entry

_MODEL = "META-INF/quarkus-config-doc/quarkus-config-model.json"
_PROPERTIES = "application.properties"
_APICURIO = re.compile(r"apicurio(?:\.[A-Za-z0-9_-]+)+")
_TYPES = {
    **dict.fromkeys(("boolean", "java.lang.Boolean"), "boolean"),
    **dict.fromkeys(("int", "java.lang.Integer", "java.util.OptionalInt"), "int"),
    **dict.fromkeys(("long", "java.lang.Long", "java.util.OptionalLong"), "long"),
    **dict.fromkeys(("float", "double", "java.util.OptionalDouble"), "double"),
    **dict.fromkeys(("java.util.List", "java.util.Set"), "list"),
    "java.util.Map": "map",
}


def _properties(items: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for item in items:
        if "items" in item:
            yield from _properties(item["items"])
        elif item.get("path"):
            yield item


def quarkus(jars: Iterable[Path]) -> Iterator[tuple[str, Entry]]:
    """Yield the keys of the extensions of Quarkus; a part in quotes stands for any name."""
    for jar in jars:
        with zipfile.ZipFile(jar) as archive:
            if _MODEL not in archive.namelist():
                continue
            for root in json.loads(archive.read(_MODEL))["configRoots"]:
                for item in _properties(root.get("items", ())):
                    kind = _TYPES.get(str(item.get("type")), "string")
                    yield item["path"]["property"], {"type": kind}


def apicurio(jars: list[Path]) -> Iterator[str]:
    """Yield the keys of Apicurio itself."""
    for jar in jars:
        with zipfile.ZipFile(jar) as archive:
            if _PROPERTIES in archive.namelist():
                for line in archive.read(_PROPERTIES).decode().splitlines():
                    key = re.sub(r"^%[\w-]+\.", "", line.partition("=")[0].strip())
                    if _APICURIO.fullmatch(key):
                        yield key
    for _, content in class_files.classes(jars):
        yield from class_files.constants(content, _APICURIO)


def table(home: Path) -> dict[str, Entry]:
    """Return key -> type, of the distribution in a directory."""
    jars = sorted(home.glob("**/*.jar"))
    registry_jars = [jar for jar in jars if "apicurio" in jar.name or jar.parent.name == "quarkus"]
    return {**{key: {} for key in apicurio(registry_jars)}, **dict(quarkus(jars))}


if __name__ == "__main__":
    sys.exit(class_files.main(table, "Apicurio Registry"))
