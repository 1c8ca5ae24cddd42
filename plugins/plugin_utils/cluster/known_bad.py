"""Versions that are known to be bad: artifacts/known-bad.yml, and what it says of a product's."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ...module_utils.formats.versions import PRODUCTS, release_numbers
from . import files

LIST = "artifacts/known-bad.yml"
PARTS: Mapping[str, str] = {
    "kafka": "org.apache.kafka:kafka_2.13",
    "spark": "pyspark",
    "zookeeper": "org.apache.zookeeper:zookeeper",
}
"""Product -> the part of a distribution that is the product itself; of the others no hole is
recorded."""

Entry = Mapping[str, Any]


@functools.cache
def recorded() -> tuple[Entry, ...]:
    """Return the entries of the list."""
    return tuple(files.parse_yaml(files.read(LIST)))


def numbers(version: str) -> tuple[int, ...]:
    """Return the numbers that a version begins with, `4.1.118.Final` -> (4, 1, 118).

    Zeros at the end do not matter, so that 2.0 is 2.
    """
    match = re.match(r"\d+(\.\d+)*", version)
    return tuple(map(int, re.sub(r"(\.0+)+$", "", match[0]).split("."))) if match else ()


def includes(entry: Entry, version: str) -> bool:
    """Return whether an entry's range has a version; one without a number is before all others."""
    first, good = entry.get("from"), entry.get("below")
    compared = numbers(version)
    return (not first or numbers(first) <= compared) and (not good or compared < numbers(good))


def means(entry: Entry, part: str, version: str) -> bool:
    """Return whether an entry means a part, `group:name`, in a version.

    Of a part whose group is not known, `:name`, it may be that of any group.
    """
    matches = entry["part"].endswith if part.startswith(":") else entry["part"].__eq__
    return bool(matches(part)) and includes(entry, version)


def holes(product: str, version: str) -> Iterator[Entry]:
    """Yield the entries that mean a product itself in a version."""
    part = PARTS.get(product)
    for entry in recorded():
        if entry["part"] == part and includes(entry, version):
            yield entry


def open_holes(product: str, version: str) -> list[Entry]:
    """Return the holes of a version, without those that are none in its distribution."""
    return [entry for entry in holes(product, version) if not is_accepted(entry, product, version)]


def is_accepted(entry: Entry, product: str, version: str) -> bool:
    """Return whether the list accepts what comes with a distribution and cannot be chosen."""
    return f"{product}-{version}" in entry.get("accepted", {})


def better_versions(product: str, version: str) -> list[str]:
    """Return the supported later versions without a recorded hole: of its own line, and the newest.

    Empty if none is supported.
    """
    supported = PRODUCTS[product].supported
    good = sorted(
        (
            candidate
            for candidate in supported
            if release_numbers(candidate) > release_numbers(version)
            and not any(holes(product, candidate))
        ),
        key=release_numbers,
    )
    line = [
        candidate
        for candidate in good
        if release_numbers(candidate)[:2] == release_numbers(version)[:2]
    ]
    return list(dict.fromkeys([*line[-1:], *good[-1:]]))
