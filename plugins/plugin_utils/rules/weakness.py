"""What services have in common that say which values of their keys are weak."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...module_utils.formats.values import texts

_OLD_TLS = ("SSL", "SSLv2", "SSLv2Hello", "SSLv3", "TLSv1", "TLSv1.1")
_WEAK_SUITE = re.compile(r"_(?:NULL|anon|EXPORT|RC4|DES|DES40|3DES)_", re.IGNORECASE)


@dataclass(frozen=True)
class Weakness:
    """A key of which some values remove a part of the protection of a secured service."""

    key: str
    is_weak: Callable[[Any], bool]
    """Which of its values are weak."""
    follows: str
    """What follows from them, a sentence without its full stop."""
    instead: Sequence[str] = ()
    """If one of these properties is true, that one protects, and the key does not matter."""


def is_empty(value: object) -> bool:
    """Return whether a value is missing or blank."""
    return value is None or not str(value).strip()


def is_false(value: object) -> bool:
    """Return whether a value means no."""
    return str(value).lower() in ("false", "no", "off", "0")


def is_old(value: object) -> bool:
    """Return whether a list of TLS protocols has one that is broken."""
    return not {*texts(value)}.isdisjoint(_OLD_TLS)


def has_weak_suite(value: object) -> bool:
    """Return whether a list of cipher suites has one that is broken."""
    return any(map(_WEAK_SUITE.search, texts(value)))


def other_than(*words: str) -> Callable[[object], bool]:
    """Return a function: whether a value contains none of the words."""
    return lambda value: not any(word in str(value).upper() for word in words)


READABLE = "Whoever is between two hosts may read and change what they send"
ANY_CERTIFICATE = "Any certificate of the CA is accepted, whatever host it is for"
OLD_PROTOCOL = "Connections with an old protocol can be read where Java allows it"
