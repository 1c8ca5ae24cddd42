"""Which keys a Kafka version knows, and which values each takes.

The tables in kafka_keys/ come from the binary (artifacts/kafka/keys.py).
"""

from __future__ import annotations

import difflib
import functools
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Optional

from .values import integer

TABLES = Path(__file__).parents[2] / "plugin_utils/services/kafka/keys"
"""On the control node alone: hosts have no tables."""

# Read by plug-ins or by a part of the broker outside KafkaConfig, so absent from the table.
PLUGIN_PREFIXES = (
    "client.quota.callback.",  # KIP-257
    "config.providers.",  # KIP-297
    "kafka.metrics.",
    "metrics.context.",  # KIP-606
    "metrics.jmx.",  # KIP-544
    "rlmm.config.",  # KIP-405
    "rsm.config.",
)
# The last is read by every version and printed from 4.2 on.
PLUGIN_KEYS = ("allow.everyone.if.no.acl.found", "super.users", "config.providers")

_LISTENER = re.compile(
    r"listener\.name\.[^.]+\."
    r"(?:(?:gssapi|plain|scram-sha-256|scram-sha-512|oauthbearer)\.)?(?P<key>.+)"
)
# Kafka cuts these to two parts, three below 1.0, and takes a release for its newest `-IV`; what it
# prints as legal are the long forms alone (MetadataVersion.fromVersionString).
_VERSION_KEYS = ("inter.broker.protocol.version", "log.message.format.version")
_INTEGER_BITS = {"short": 16, "int": 32, "long": 64}
_TEXTS = ("string", "class", "password")
# Of Spark, as its JavaUtils reads them; without a unit each key has its own. Of Hadoop, which
# reads numbers, sizes and times.
_QUANTITIES = {
    "bytes": (re.compile(r"-?\d+(?:b|[kmgtp]b?)?", re.IGNORECASE), "a size such as 512m"),
    "quantity": (
        re.compile(
            r"[+-]?(?:0x[0-9a-f]+|\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?:[kmgtpe]b?|ns|us|ms|[smhdfb])?",
            re.IGNORECASE,
        ),
        "a number, with a unit where the key takes one",
    ),
    "time": (re.compile(r"-?\d+(?:us|ms|s|m|min|h|d)?", re.IGNORECASE), "a time such as 30s"),
}
# Kafka passes these on to Java, which knows only these names.
_MORE_CHOICES = {
    "ssl.enabled.protocols": "[SSLv2Hello, SSLv3, TLSv1, TLSv1.1, TLSv1.2, TLSv1.3]",
    "ssl.protocol": "[SSL, SSLv2, SSLv3, TLS, TLSv1, TLSv1.1, TLSv1.2, TLSv1.3]",
    "ssl.endpoint.identification.algorithm": "(case insensitive) [https, ldaps, ]",
}
_CLASS_KEYS = (".class", ".class.name")
_RANGE = re.compile(
    r"\[(?P<low>-?[\d.]+),\.\.\.(?:,(?P<high>-?[\d.]+))?\](?: or (?P<extra>-?\d+))?"
)
_CHOICES = re.compile(
    r"(?P<anycase>\(case insensitive\) )?\[(?P<names>[^\[\]]+)\](?P<classes> or a class name)?"
)

Table = Mapping[str, Mapping[str, Optional[str]]]


def load(version: str) -> Table:
    """Return the table of a version, empty if there is none."""
    return read(TABLES, version)


@functools.cache
def read(directory: Path, version: str) -> Table:
    """Return the table of a version in a directory of them, empty if there is none."""
    path = directory / f"{version}.json"
    if not re.fullmatch(r"[\w.-]{1,64}", version) or not path.is_file():
        return {}
    table: Table = json.loads(path.read_text(encoding="utf-8"))
    return table


def table_key(key: str) -> str:
    """Return the key under which the table knows a key of one listener, else the key itself."""
    match = _LISTENER.fullmatch(key)
    return match["key"] if match else key


def is_known(key: str, table: Table) -> bool:
    """Return whether a Kafka node or one of its plug-ins reads this key."""
    name = table_key(key)
    return name in table or name in PLUGIN_KEYS or name.startswith(PLUGIN_PREFIXES)


def nearest(name: str, names: list[str], cutoff: float = 0.6) -> str:
    """Return the most similar known name, empty if none is similar."""
    return next(iter(difflib.get_close_matches(name, names, n=1, cutoff=cutoff)), "")


def nearest_key(key: str, table: Table) -> str:
    """Return the most similar legal key, a listener's prefix kept; empty if none is similar."""
    name = table_key(key)
    similar = nearest(name, [*table, *PLUGIN_KEYS])
    return key.removesuffix(name) + similar if similar else ""


def expected_value(key: str, value: Any, table: Table) -> str:
    """Return which value the key expects, empty if this one is valid or cannot be checked.

    A list is what the renderer joins with commas; `${...}` is filled in by Kafka at its start.
    """
    entry = table.get(table_key(key), {})
    kind, valid = entry.get("type") or "", entry.get("valid") or ""
    if kind in _TEXTS and key.endswith(_CLASS_KEYS):
        kind = "class"
    valid = valid or _MORE_CHOICES.get(table_key(key), "")
    if isinstance(value, str) and "${" in value:
        return ""
    if value is None or isinstance(value, Mapping):
        return _expected(kind or "string", valid)
    if isinstance(value, (list, tuple)):
        legal = kind in ("list", "") and _in_choices([str(item) for item in value], valid)
        return "" if legal else _expected(kind, valid)
    if not kind or _is_legal(kind, valid, value):
        return ""
    if key in _VERSION_KEYS and _is_release(str(value).strip(), valid):
        return ""
    return _expected(kind, valid)


def _expected(kind: str, valid: str) -> str:
    names = {"int": "an int", "class": "a class name", "list": "a list", "": "a single value"}
    names |= {name: description for name, (_, description) in _QUANTITIES.items()}
    expected = names.get(kind, f"a {kind}")
    if kind in _TEXTS:
        expected += " (in quotes, if YAML takes it for something else)"
    if kind in _INTEGER_BITS and valid.endswith(",...]"):
        valid = f"{valid[:-1]},{2 ** (_INTEGER_BITS[kind] - 1) - 1}]"
    valid = valid.replace(", ]", ", or an empty text]")
    return f"{expected}, {valid}" if valid else expected


def _is_legal(kind: str, valid: str, value: bool | float | str) -> bool:
    if kind == "boolean":
        return isinstance(value, bool) or str(value).strip().lower() in ("true", "false")
    if isinstance(value, bool):
        return False
    text = str(value).strip()
    if kind in _INTEGER_BITS:
        number, limit = integer(text), 2 ** (_INTEGER_BITS[kind] - 1)
        return number is not None and -limit <= number < limit and _in_range(text, valid)
    if kind == "double":
        return _in_range(text, valid)
    if kind in _QUANTITIES:
        return _QUANTITIES[kind][0].fullmatch(text) is not None
    if kind == "list":
        return _in_choices([item.strip() for item in text.split(",")] if text else [], valid)
    if kind == "class" and text and "." not in text:  # a class without its package
        return False
    return _in_choices([text], valid)


def _in_range(text: str, valid: str) -> bool:
    try:
        number = float(text)
    except ValueError:
        return False
    match = _RANGE.fullmatch(valid)
    if not match or (match["extra"] and number == float(match["extra"])):
        return True
    return float(match["low"]) <= number <= float(match["high"] or "inf")


def _in_choices(items: list[str], valid: str) -> bool:
    if valid.startswith("non-empty"):
        return any(items)
    match = _CHOICES.fullmatch(valid)
    if not match or "..." in valid:
        return True
    names = match["names"].split(", ")
    if match["classes"]:
        items = [item for item in items if "." not in item]
    if match["anycase"]:
        names, items = [name.lower() for name in names], [item.lower() for item in items]
    return set(items) <= set(names)


def _is_release(text: str, valid: str) -> bool:
    """Return whether a version, cut as Kafka cuts it, is one of the releases or of their steps."""
    numbers = text.split(".")
    release = ".".join(numbers[: 3 if numbers[0] == "0" else 2])
    names = valid.strip("[]").split(", ")
    return release in names or release in {name.partition("-IV")[0] for name in names}
