"""The file of changes and their times, which the ledger reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def write_event(path: str, event: Mapping[str, Any]) -> None:
    """Add a change to the file of a ledger."""
    with Path(path).open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(dict(event)) + "\n")
