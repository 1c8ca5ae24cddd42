"""The invariant of transactions (I10): all or nothing, never too early, and each input once.

The statements are those of Jepsen's `tests/kafka.clj` (aborted and precommitted reads) and of
kafkatest's `transactions_test` (the input set is the output set, without duplicates).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from apps.ledger.history import History, Output, Reader, Transaction
from apps.ledger.invariants import Violation

Place = tuple[int, int]
"""(partition, offset)."""


@dataclass(frozen=True)
class Index:
    """What transactions wrote and what was read of it, by value."""

    history: History
    output: Output
    made: Mapping[str, tuple[Transaction, Place]]
    """Value -> the transaction that writes it, and the input that it is made of."""
    seen: Mapping[str, Mapping[str, frozenset[Place]]]
    """Reader -> value -> where it lies in the output."""

    def committed(self) -> list[Reader]:
        """Return the readers of what is committed."""
        return [reader for reader in self.output.readers if reader.kind != "uncommitted"]


def index_of(history: History, output: Output) -> Index:
    """Return the index of a history's transactions."""
    seen: dict[str, Mapping[str, frozenset[Place]]] = {}
    for reader in output.readers:
        places: defaultdict[str, set[Place]] = defaultdict(set)
        for partition, offset, value in reader.reads:
            places[value].add((partition, offset))
        seen[reader.name] = {value: frozenset(where) for value, where in places.items()}
    made = {
        value: (transaction, place)
        for transaction in output.transactions
        for place, value in zip(transaction.inputs, transaction.values(output.run.id), strict=True)
    }
    return Index(history, output, made, seen)


def one_value_per_offset(index: Index) -> Iterator[Violation]:
    """Yield what breaks: a place of the output has one value for all of its readers."""
    places: defaultdict[Place, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for name, values in index.seen.items():
        for value, where in values.items():
            for place in where:
                places[place][value].append(name)
    for (partition, offset), contents in sorted(places.items()):
        if len(contents) > 1:
            listing = "; ".join(
                f"{value} ({', '.join(names)})" for value, names in contents.items()
            )
            text = f"output partition {partition}, offset {offset} holds {listing}"
            yield Violation("I10", text, tuple(contents))


def nothing_from_nowhere(index: Index) -> Iterator[Violation]:
    """Yield what breaks: a reader gets only what a transaction wrote."""
    for name, values in index.seen.items():
        for value in values:
            if value not in index.made:
                yield Violation("I10", f"{name} read what no transaction wrote", (value,))


def nothing_aborted(index: Index) -> Iterator[Violation]:
    """Yield what breaks: what was aborted is never read as committed."""
    for reader in index.committed():
        for value in index.seen[reader.name]:
            transaction = index.made[value][0] if value in index.made else None
            if transaction and transaction.ending == "aborted":
                text = f"{reader.name} read a record of transaction {transaction.number}, aborted"
                yield Violation("I10", text, (value,))


def all_or_nothing(index: Index) -> Iterator[Violation]:
    """Yield what breaks: of a transaction all is read or nothing, and all if it is committed."""
    for reader in index.committed():
        if not reader.done:
            continue
        seen = index.seen[reader.name]
        for transaction in index.output.transactions:
            values = transaction.values(index.output.run.id)
            complete = len(values) * index.output.run.partitions
            # A value that is twice in one partition does not make up for another partition.
            read = sum(len({p for p, _ in seen.get(value, ())}) for value in values)
            if read == complete or (read == 0 and transaction.ending != "committed"):
                continue
            if transaction.ending != "aborted":
                text = f"{reader.name} read {read} of {complete} records of transaction "
                ending = f"{transaction.number}, {transaction.ending}"
                yield Violation("I10", text + ending, (values[0],))


def not_before_commit(index: Index) -> Iterator[Violation]:
    """Yield what breaks: nothing is read as committed before its commit was asked for."""
    for reader in index.committed():
        for read, moment in zip(reader.reads, reader.moments, strict=False):
            transaction = index.made[read.value][0] if read.value in index.made else None
            if transaction and transaction.asked is not None and moment < transaction.asked:
                early = transaction.asked - moment
                text = f"{reader.name} read a record of transaction {transaction.number} "
                yield Violation("I10", f"{text}{early:.6f} s before its commit", (read.value,))


def each_input_once(index: Index) -> Iterator[Violation]:
    """Yield what breaks: each partition of the output has one record of each input, and no other.

    Inputs behind the last committed one are left out when the worker did not reach the end.
    """
    ends, inputs = _inputs(index.history)
    transactions = index.output.transactions
    done = [
        place
        for transaction in transactions
        if transaction.ending == "committed"
        for place in transaction.inputs
    ]
    last = dict(sorted(done))  # partition -> the highest offset, which comes last
    due = {(p, at) for p, at in inputs if index.output.done or (p in last and at <= last[p])}
    expected = {(place, p) for place in due for p in range(index.output.run.partitions)}
    for reader in index.committed():
        if reader.kind != "final" or not reader.done:
            continue
        made: Counter[tuple[Place, int]] = Counter()
        for value, where in index.seen[reader.name].items():
            if value in index.made:
                made.update((index.made[value][1], partition) for partition, _ in where)
        for place, partition in sorted(expected | set(made)):
            count = made[place, partition]
            # A record beyond the end may be processed or not.
            is_input = place in inputs or place[0] not in ends or place[1] >= ends[place[0]]
            if count != 1 or not is_input:
                subject = f"{count} records of input {place[0]}:{place[1]}"
                why = "" if is_input else ", which no reader of the input got"
                text = f"{reader.name} read {subject} in output partition {partition}{why}"
                yield Violation("I10", text, ())


def _inputs(history: History) -> tuple[Mapping[int, int], set[Place]]:
    """Return the ends of the input, and the places of its records below them."""
    ends: dict[int, int] = {}
    places: set[Place] = set()
    for reader in history.finals():
        if reader.done:
            ends.update(reader.ends or {})
            places |= {(read.partition, read.offset) for read in reader.reads}
    return ends, places


STATEMENTS: tuple[Callable[[Index], Iterator[Violation]], ...] = (
    one_value_per_offset,
    nothing_from_nowhere,
    nothing_aborted,
    all_or_nothing,
    not_before_commit,
    each_input_once,
)


def violations(history: History) -> list[Violation]:
    """Return everything that is wrong with a history's transactions; nothing without any."""
    if history.output is None:
        return []
    index = index_of(history, history.output)
    return [violation for statement in STATEMENTS for violation in statement(index)]


def unproven(output: Output) -> list[str]:
    """Return why transactions prove nothing, beside what their readers lack."""
    reasons = [] if output.done else ["the transactions did not reach the end of their input"]
    endings = Counter(transaction.ending for transaction in output.transactions)
    if not endings["committed"]:
        reasons.append("no transaction was committed")
    aborted = {
        value
        for transaction in output.transactions
        if transaction.ending == "aborted"
        for value in transaction.values(output.run.id)
    }
    readers = [reader for reader in output.readers if reader.kind == "uncommitted"]
    if not any(read.value in aborted for reader in readers for read in reader.reads):
        reasons.append("no aborted record was seen in the output's log")
    return reasons
