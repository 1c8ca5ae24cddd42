"""The keys that a worker of Kafka Connect reads, those of its clients behind their prefixes.

The tables in connect_keys/ come from the binary (artifacts/connect/keys.py).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ....module_utils.formats import key_table
from ....module_utils.formats.key_table import Table, nearest
from ....module_utils.formats.values import texts

TABLES = Path(__file__).parent / "keys"

_CONVERTERS = ("header.converter", "key.converter", "value.converter")
# TLS of the REST interface (KIP-208, KIP-495).
_REST = ("admin.listeners.https.", "listeners.https.")
# Settings of the internal topics (KIP-605), beside keys of the worker itself.
_STORAGES = ("config.storage.", "offset.storage.", "status.storage.")
_MISSPELT = 0.8
# What plugins read.
PREFIXES = (
    "config.providers.",  # KIP-297
    "metrics.context.",  # KIP-606
    "metrics.jmx.",  # KIP-544
    *(f"{key}." for key in _CONVERTERS),
)
_POLICY = "connector.client.config.override.policy"
# The one policy of Kafka itself that reads a key (KIP-1188), by its names.
_ALLOWLIST = "AllowlistConnectorClientConfigOverridePolicy"
_ALLOWLISTS = ("Allowlist", _ALLOWLIST, f"org.apache.kafka.connect.connector.policy.{_ALLOWLIST}")
_ALLOWED = "connector.client.config.override.allowlist"
# Classes of these read keys of any name, but for those of Kafka itself.
_READERS = (
    _POLICY,
    "metric.reporters",
    "rest.extension.classes",
    *(f"{prefix}interceptor.classes" for prefix in ("consumer.", "producer.")),
)


@functools.cache
def load(version: str) -> Table:
    """Return the table of a version, empty if there is none.

    A converter may have a short name, such as JsonConverter.
    """
    table = key_table.read(TABLES, version)
    tls = {key: entry for key, entry in table.items() if key.startswith("ssl.")}
    return {
        **table,
        **{key: {**table[key], "type": "string"} for key in _CONVERTERS if table},
        **{f"{prefix}{key}": entry for prefix in _REST for key, entry in tls.items()},
    }


def is_known(key: str, config: Mapping[str, Any], version: str) -> bool:
    """Return whether a worker with this configuration, or one of its plugins, reads a key."""
    table = load(version)
    if key in table or key.startswith(PREFIXES):
        return True
    if key == _ALLOWED and config.get(_POLICY) in _ALLOWLISTS:
        return True
    storage = next((prefix for prefix in _STORAGES if key.startswith(prefix)), "")
    if storage:
        suffixes = [
            table_key.removeprefix(storage) for table_key in table if table_key.startswith(storage)
        ]
        return not nearest(key.removeprefix(storage), suffixes, _MISSPELT)
    classes = [class_name for reader in _READERS for class_name in texts(config.get(reader))]
    return any(
        "." in class_name and not class_name.startswith("org.apache.kafka.")
        for class_name in classes
    )
