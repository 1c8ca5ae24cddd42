"""The keys that a worker of Kafka Connect reads, those of its clients behind their prefixes.

The tables in connect_keys/ come from the binary (artifacts/connect/keys.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from . import key_table
from .key_table import Table
from .values import texts

TABLES = Path(__file__).parent / "connect_keys"

_CONVERTERS = ("header.converter", "key.converter", "value.converter")
# What plugins read, and settings of topics and TLS that get a prefix.
PREFIXES = (
    "admin.listeners.https.",  # KIP-208, KIP-495
    "config.providers.",  # KIP-297
    "config.storage.",  # settings of the internal topics (KIP-605)
    "listeners.https.",
    "metrics.context.",  # KIP-606
    "metrics.jmx.",  # KIP-544
    "offset.storage.",
    "status.storage.",
    *(f"{one}." for one in _CONVERTERS),
)
# Classes of these read keys of any name.
_READERS = (
    "connector.client.config.override.policy",
    "metric.reporters",
    "rest.extension.classes",
    *(f"{one}interceptor.classes" for one in ("consumer.", "producer.")),
)


def load(version: str) -> Table:
    """Return the table of a version, empty if there is none.

    A converter may have a short name, such as JsonConverter.
    """
    table = key_table.read(TABLES, version)
    return {**table, **{one: {**table[one], "type": "string"} for one in _CONVERTERS if table}}


def is_known(key: str, config: Mapping[str, Any], version: str) -> bool:
    """Return whether a worker with this configuration, or one of its plugins, reads a key."""
    if key in load(version) or key.startswith(PREFIXES):
        return True
    return any("." in one for reader in _READERS for one in texts(config.get(reader)))
