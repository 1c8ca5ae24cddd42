"""The record of the keys that were set online from a broker's server.properties."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection
from pathlib import Path

from . import files, paths

PATH = "/var/lib/millrace/kafka-dynamic.json"


def read(path: Path) -> frozenset[str]:
    """Return the keys that were once set from the file, none where that is not known."""
    with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
        return frozenset(map(str, json.loads(paths.read_text(path))["keys"]))
    return frozenset()


def write(path: Path, keys: Collection[str]) -> None:
    """Remember the keys that were set from the file."""
    files.write_own(path, json.dumps({"keys": sorted(keys)}) + "\n")
