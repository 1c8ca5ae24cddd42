"""Values that the workers of Kafka Connect take from files when they start a connector."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

REFERENCE = re.compile(r"\$\{file:(?P<path>[^:}]*):(?P<key>[^}]*)\}")
"""A value that a worker reads from a file when it starts the connector."""


def references(config: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return each value that a configuration takes from a file: property, path and key."""
    return [
        (key, match["path"], match["key"])
        for key, value in config.items()
        for match in REFERENCE.finditer(str(value))
    ]
