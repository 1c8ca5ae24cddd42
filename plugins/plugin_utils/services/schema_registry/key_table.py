"""The keys that a version of Apicurio Registry reads, and Quarkus, on which it is built.

The tables in schema_registry_keys/ come from the jars (artifacts/schema_registry/keys.py).
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

from ....module_utils.formats import key_table
from ....module_utils.formats.key_table import Table, nearest

TABLES = Path(__file__).parent / "keys"

_ALL = ("apicurio.", "quarkus.")
# Below these are keys of Kafka's clients, names of rules, or addresses.
PREFIXES = (
    "apicurio.kafka.common.",
    "apicurio.kafkasql.admin.",
    "apicurio.kafkasql.consumer.",
    "apicurio.kafkasql.producer.",
    "apicurio.redirects.",
    "apicurio.rules.global.",
)
_PROFILE = re.compile(r"%[\w,-]+\.")
_NAME = re.compile(r'"[^"]*"')
_NEARLY = 0.85


def load(version: str) -> Table:
    """Return the table of a version, empty if there is none."""
    return key_table.read(TABLES, version)


@functools.cache
def _with_names(version: str) -> re.Pattern[str]:
    """Return the pattern of all keys with a part for which any name may stand."""
    patterns = []
    for key, entry in load(version).items():
        if '"' in key:
            named = re.escape(_NAME.sub("\0", key)).replace("\0", r'(?:"[^"]+"|[^.]+)')
            patterns.append(f"{named}(?:\\..+)?" if entry.get("type") == "map" else named)
    return re.compile("|".join(patterns))


@functools.cache
def is_known(key: str, version: str) -> bool:
    """Return whether a version of the registry reads this key, or another library may."""
    table, name = load(version), _PROFILE.sub("", key)
    if name in table or name.startswith(PREFIXES) or _with_names(version).fullmatch(name):
        return True
    return not name.startswith(_ALL) and not nearest(name, list(table), _NEARLY)
