"""The invariants that a history must keep, each a function of its own.

The statements are those of Jepsen's `tests/kafka.clj` and of kafkatest; `NAMES` has a name for each
number. Nothing here knows a clock or a file.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from apps.ledger.history import History, Read, Reader, Send


@dataclass(frozen=True)
class Violation:
    """One thing that must not be: the invariant, what is wrong, and the records concerned."""

    invariant: str
    what: str
    records: tuple[str, ...]


@dataclass(frozen=True)
class Index:
    """A history by value and by place, built once for all invariants."""

    history: History
    sends: Mapping[str, Send]
    places: Mapping[tuple[int, int], Mapping[str, list[str]]]
    """(partition, offset) -> value -> where it was seen: readers, and "ack"."""
    offsets: Mapping[str, list[tuple[int, int]]]
    """Value -> every (partition, offset) where it was seen, in order."""
    read: Mapping[str, frozenset[str]]
    """Final reader -> the values that it got."""
    positions: Mapping[str, Mapping[int, int]]
    """Reader -> partition -> one past the highest offset that it got."""

    def readers(self, value: str) -> set[str]:
        """Return who read a value, wherever it was."""
        places = self.offsets.get(value, ())
        return {name for place in places for name in self.places[place][value]} - {"ack"}

    def decided(self, reader: Reader, partition: int, offset: int | None) -> bool:
        """Whether a reader would have got a record there: it read past it, or all.

        A replica would if it has the partition: with more brokers than replicas not each one has.
        """
        if reader.kind == "replica":
            return partition in (reader.ends or {})
        position = self.positions[reader.name][partition]
        return reader.done or (offset is not None and offset < position)


def index_of(history: History) -> Index:
    """Return a history's index."""
    history = _without_tails(history)
    places: defaultdict[tuple[int, int], dict[str, list[str]]] = defaultdict(dict)
    positions: defaultdict[str, defaultdict[int, int]] = defaultdict(lambda: defaultdict(int))
    for send in history.sends:
        if send.offset is not None:
            places[send.partition, send.offset].setdefault(send.value, []).append("ack")
    for reader in history.readers:
        highest = positions[reader.name]
        for partition, offset, value in reader.reads:
            seen = places[partition, offset].setdefault(value, [])
            if reader.name not in seen:
                seen.append(reader.name)
            highest[partition] = max(offset + 1, highest[partition])
    offsets: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for place in sorted(places):
        for value in places[place]:
            offsets[value].append(place)
    return Index(
        history=history,
        sends={send.value: send for send in history.sends},
        places=places,
        offsets=offsets,
        read={r.name: frozenset(read.value for read in r.reads) for r in history.finals()},
        positions=positions,
    )


def _without_tails(history: History) -> History:
    """Leave out what replicas hold behind the end: never acknowledged, it may be anything."""
    ends: defaultdict[int, int] = defaultdict(int)
    for final in history.finals():
        ends.update(final.ends or {})
    readers = [
        replace(reader, reads=[read for read in reader.reads if read.offset < ends[read.partition]])
        if reader.kind == "replica"
        else reader
        for reader in history.readers
    ]
    return replace(history, readers=readers)


def _names(readers: Iterable[str]) -> str:
    return ", ".join(sorted(readers))


def i1_no_lost_write(index: Index) -> Iterator[Violation]:
    """Yield what breaks: every acknowledged value is read at the end."""
    finals = index.history.finals()
    replicas = {reader.name for reader in index.history.of("replica")}
    for send in index.history.sends:
        if send.outcome != "ok" or any(send.value in index.read[r.name] for r in finals):
            continue
        if any(index.decided(reader, send.partition, send.offset) for reader in finals):
            place = "an unknown offset" if send.offset is None else f"offset {send.offset}"
            readers = index.readers(send.value)
            seen = (
                f"once read by {_names(readers - replicas)}" if readers - replicas else "never read"
            )
            if replicas:
                seen += f", on the disk of {_names(readers & replicas) or 'no replica'}"
            yield Violation(
                "I1",
                f"acknowledged at {place} of partition {send.partition}, "
                f"not there at the end, {seen}",
                (send.value,),
            )


def i2_one_value_per_offset(index: Index) -> Iterator[Violation]:
    """Yield what breaks: a place has one value, for all readers and the acknowledgement."""
    for (partition, offset), values in sorted(index.places.items()):
        if len(values) > 1:
            held = "; ".join(f"{value} ({', '.join(names)})" for value, names in values.items())
            yield Violation(
                "I2", f"partition {partition}, offset {offset} holds {held}", tuple(values)
            )


def i3_no_duplicate(index: Index) -> Iterator[Violation]:
    """Yield what breaks: a value lies at one offset, as sends are idempotent in a session."""
    for value, places in index.offsets.items():
        if len(places) > 1:
            where = ", ".join(f"{partition}:{offset}" for partition, offset in places)
            yield Violation("I3", f"lies at several places (partition:offset): {where}", (value,))


def i4_nothing_from_nowhere(index: Index) -> Iterator[Violation]:
    """Yield what breaks: nothing is read that was never sent there, or that was refused."""
    for value, places in index.offsets.items():
        send = index.sends.get(value)
        if send is None:
            wrong = "never sent"
        elif send.outcome == "fail":
            wrong = "yet it was refused"
        elif any(partition != send.partition for partition, _ in places):
            wrong = f"sent to partition {send.partition}"
        else:
            continue
        where = f"at partition {places[0][0]}, offset {places[0][1]}"
        yield Violation("I4", f"read {where} by {_names(index.readers(value))}, {wrong}", (value,))


def i5_sending_order(index: Index) -> Iterator[Violation]:
    """Yield what breaks: a log has the records of a session in the order of sending."""
    logs: defaultdict[tuple[str, int], list[tuple[int, int, str]]] = defaultdict(list)
    for offset, send in _where_they_were_sent(index):
        logs[send.producer, send.partition].append((offset, send.seq, send.value))
    for (producer, partition), rows in logs.items():
        for (_, seq, value), (offset, later, follower) in pairwise(sorted(rows)):
            if later < seq:
                yield Violation(
                    "I5",
                    f"partition {partition}, offset {offset}: {later} of {producer} after {seq}",
                    (value, follower),
                )


def _where_they_were_sent(index: Index) -> Iterator[tuple[int, Send]]:
    """Yield each record of the partition that it was sent to, with its first offset there."""
    for value, places in index.offsets.items():
        send = index.sends.get(value)
        offsets = [offset for partition, offset in places if send and partition == send.partition]
        if send and offsets:
            yield min(offsets), send


def i6_no_skip(index: Index) -> Iterator[Violation]:
    """Yield what breaks: without a rebalance offsets increase and no visible one is skipped."""
    visible: defaultdict[int, list[int]] = defaultdict(list)
    for partition, offset in sorted(index.places):
        if any(set(names) != {"ack"} for names in index.places[partition, offset].values()):
            visible[partition].append(offset)
    ranks = {
        partition: {offset: rank for rank, offset in enumerate(offsets)}
        for partition, offsets in visible.items()
    }
    for reader in index.history.readers:
        if reader.kind == "group":
            continue
        last: dict[int, Read] = {}
        for read in reader.reads:
            before = last.get(read.partition)
            last[read.partition] = read
            rank = ranks[read.partition]
            step = rank[read.offset] - (-1 if before is None else rank[before.offset])
            if step != 1:
                came = "nothing" if before is None else f"offset {before.offset}"
                how = f"skips {step - 1}" if step > 1 else "goes back"
                yield Violation(
                    "I6",
                    f"{reader.name} {how}: partition {read.partition}, "
                    f"offset {read.offset} after {came}",
                    (read.value,),
                )


def i7_stable(index: Index) -> Iterator[Violation]:
    """Yield what breaks: what was read once stays; start and end of a log never go back.

    It stays on every disk too, and what a disk has below the end every final reader is given.
    """
    at_the_end = [*index.history.finals(), *index.history.of("replica")]
    starts: defaultdict[int, int] = defaultdict(int)
    for sample in index.history.samples:
        starts.update(sample.start)
    for (partition, offset), values in sorted(index.places.items()):
        readers = {name for names in values.values() for name in names} - {"ack"}
        if not readers or offset < starts[partition]:
            continue
        for reader in at_the_end:
            if reader.name not in readers and index.decided(reader, partition, offset):
                yield Violation(
                    "I7",
                    f"partition {partition}, offset {offset} was read by "
                    f"{_names(readers)} and not by {reader.name}",
                    tuple(values),
                )
    yield from _regressions(index.history)


def _regressions(history: History) -> Iterator[Violation]:
    samples = sorted(history.samples)
    for bound, series in (
        ("start", [sample.start for sample in samples]),
        ("end", [*(sample.end for sample in samples), *(r.ends or {} for r in history.finals())]),
    ):
        highest: defaultdict[int, int] = defaultdict(int)
        for offsets in series:
            for partition, offset in offsets.items():
                if offset < highest[partition]:
                    text = f"partition {partition}: {bound} of the log went back from "
                    yield Violation("I7", f"{text}{highest[partition]} to {offset}", ())
                highest[partition] = max(offset, highest[partition])


def i8_real_time_order(index: Index) -> Iterator[Violation]:
    """Yield what breaks: what was acknowledged before another was sent lies before it."""
    logs: defaultdict[int, list[tuple[int, Send]]] = defaultdict(list)
    for offset, send in _where_they_were_sent(index):
        logs[send.partition].append((offset, send))
    for partition, rows in logs.items():
        earliest: tuple[float, str] | None = None
        for offset, send in sorted(rows, reverse=True):
            if earliest and earliest[0] < send.invoked:
                yield Violation(
                    "I8",
                    f"partition {partition}, offset {offset} was sent after one "
                    "behind it was acknowledged",
                    (send.value, earliest[1]),
                )
            if send.acked is not None:
                earliest = min(earliest or (math.inf, ""), (send.acked, send.value))


def i9_commits(index: Index) -> Iterator[Violation]:
    """Yield what breaks: commits never go back nor pass the end; all below was delivered."""
    ends: dict[int, int] = {}
    for reader in index.history.finals():
        ends.update(reader.ends or {})
    visible: defaultdict[int, set[int]] = defaultdict(set)
    for (partition, offset), values in index.places.items():
        if any(set(names) != {"ack"} for names in values.values()):
            visible[partition].add(offset)
    for group in [r for r in index.history.readers if r.kind == "group"]:
        delivered: defaultdict[int, set[int]] = defaultdict(set)
        checked: defaultdict[int, int] = defaultdict(int)
        position = 0
        for commit in index.history.commits:
            partition, offset, after = commit
            for read in group.reads[position:after]:
                delivered[read.partition].add(read.offset)
            position = max(position, after)
            low = checked[partition]
            if offset < low:
                problem = f"went back from {low} to {offset}"
                yield Violation("I9", f"partition {partition}: committed offset {problem}", ())
                continue
            checked[partition] = offset
            if partition in ends and offset > ends[partition]:
                problem = f"{offset} is past the end {ends[partition]}"
                yield Violation("I9", f"partition {partition}: committed offset {problem}", ())
                continue
            below = {at for at in range(low, offset) if at in visible[partition]}
            if missed := sorted(below - delivered[partition]):
                problem = f"{offset} passes {len(missed)} never delivered, first {missed[0]}"
                yield Violation("I9", f"partition {partition}: committed offset {problem}", ())


NAMES: Mapping[str, str] = {
    "I1": "no lost write",
    "I2": "one value at an offset",
    "I3": "no duplicate",
    "I4": "nothing that was not sent",
    "I5": "order of sending",
    "I6": "no skipped record",
    "I7": "stable log",
    "I8": "real-time order",
    "I9": "committed offsets",
    "I10": "transactions, exactly once",
    "I11": "sink, exactly once",
}
"""Invariant -> its name, of those of transactions and of a sink too."""
INVARIANTS: tuple[Callable[[Index], Iterator[Violation]], ...] = (
    i1_no_lost_write,
    i2_one_value_per_offset,
    i3_no_duplicate,
    i4_nothing_from_nowhere,
    i5_sending_order,
    i6_no_skip,
    i7_stable,
    i8_real_time_order,
    i9_commits,
)


def violations(history: History) -> list[Violation]:
    """Return everything that is wrong with a history, by invariant."""
    index = index_of(history)
    return [violation for invariant in INVARIANTS for violation in invariant(index)]
