"""Values of configuration, compared by what they mean to Kafka."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ...formats.values import property_text

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_INTEGER = re.compile(r"[+-]?\d{1,4000}")
_SETS = ("cleanup.policy",)
"""Lists whose order means nothing."""


def texts(config: Mapping[str, object] | None) -> dict[str, str]:
    """Return a configuration with values as Kafka writes them; a key without one is left out."""
    written = {str(key): property_text(value) for key, value in (config or {}).items()}
    return {key: text for key, text in written.items() if text is not None}


def same(key: str, text: str, other: str) -> bool:
    """Return whether two values of a key mean the same."""
    return text == other or _meaning(key, text) == _meaning(key, other)


def changes(desired: Mapping[str, str], current: Mapping[str, str]) -> dict[str, str | None]:
    """Return what makes a configuration exactly the desired one: key -> value, None to delete it."""
    altered: dict[str, str | None] = {
        key: value
        for key, value in desired.items()
        if key not in current or not same(key, value, current[key])
    }
    return {**altered, **{key: None for key in current if key not in desired}}


def entries(text: str) -> frozenset[str]:
    """Return the entries of a list whose order means nothing."""
    return frozenset(filter(None, (entry.strip() for entry in text.split(","))))


def _meaning(key: str, text: str) -> object:
    stripped = text.strip()
    if _INTEGER.fullmatch(stripped):
        return int(stripped)
    if _NUMBER.fullmatch(stripped):
        return float(stripped)
    if stripped.lower() in ("true", "false"):
        return stripped.lower()
    if key in _SETS:
        return entries(stripped)
    return tuple(entry.strip() for entry in stripped.split(","))
