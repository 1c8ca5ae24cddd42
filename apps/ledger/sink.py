"""Exactly once into an idempotent sink (I11): what a stream wrote against what it was given.

It knows neither stream nor sink: whoever tests one reads the source's records and the sink's rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from apps.ledger.invariants import Violation


class Place(NamedTuple):
    """Where a record of the source lies."""

    topic: str
    partition: int
    offset: int


class Row(NamedTuple):
    """A row of the sink: the record that it came from, and the micro-batch that wrote it."""

    topic: str
    partition: int
    offset: int
    batch: int


def violations(source: Iterable[Place], rows: Iterable[Row]) -> list[Violation]:
    """Return what breaks: each record has one row, each row a record, no batch is missing.

    Args:
        source: the records that were readable between the first and the last offset which the
            stream reports as processed. Not the offsets between: transactions and compaction leave
            some of them without a record.
        rows: everything in the sink.

    """
    batches: defaultdict[Place, list[int]] = defaultdict(list)
    for topic, partition, offset, batch in rows:
        batches[Place(topic, partition, offset)].append(batch)
    return [*_not_once(set(source), batches), *_missing(batches)]


def _not_once(source: set[Place], batches: dict[Place, list[int]]) -> Iterator[Violation]:
    for place in sorted(source | set(batches)):
        name = f"{place.topic}-{place.partition}@{place.offset}"
        numbers = batches.get(place, [])
        if not numbers:
            yield Violation("I11", "lost: the sink has no row of it", (name,))
        elif place not in source:
            yield Violation("I11", f"foreign: written by batch {numbers[0]}, never given", (name,))
        elif len(numbers) > 1:
            listing = ", ".join(map(str, sorted(numbers)))
            yield Violation("I11", f"duplicated: written by batches {listing}", (name,))


def _missing(batches: dict[Place, list[int]]) -> Iterator[Violation]:
    present = {batch for numbers in batches.values() for batch in numbers}
    for batch in range(min(present, default=0), max(present, default=0)):
        if batch not in present:
            yield Violation("I11", f"batch {batch} is missing between others", ())
