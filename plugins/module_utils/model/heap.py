"""Sizes as the JVM's -Xmx takes them."""

from __future__ import annotations

import re

_SIZE = re.compile(r"([0-9]+)([kKmMgG])")
_KIB = {"k": 1, "m": 1024, "g": 1024 * 1024}


def heap_mb(text: str) -> int:
    """Return a heap size such as 512m, 2g or 1048576k in MiB, rounded down.

    Raises:
        ValueError: any other form, or less than 1 MiB; names the value and the legal forms.

    """
    match = _SIZE.fullmatch(text) if isinstance(text, str) else None
    size = int(match[1]) * _KIB[match[2].lower()] // 1024 if match else 0
    if size < 1:
        message = (
            f"heap size {text!r} is not legal: write a whole number and k, m or g, at least 1 MiB, "
            "such as '512m', '2g' or '1048576k'"
        )
        raise ValueError(message)
    return size
