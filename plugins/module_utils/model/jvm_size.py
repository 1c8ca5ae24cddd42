"""Sizes as the JVM's -Xmx takes them."""

from __future__ import annotations

import re

_SIZE = re.compile(r"([0-9]{1,18})([kKmMgG])")
_KIB = {"k": 1, "m": 1024, "g": 1024 * 1024}


def heap_mb(heap: object) -> int | None:
    """Return a heap size such as 512m, 2g or 1048576k in MiB, rounded down, None if it is none."""
    match = _SIZE.fullmatch(heap) if isinstance(heap, str) else None
    size = int(match[1]) * _KIB[match[2].lower()] // 1024 if match else 0
    return size or None
