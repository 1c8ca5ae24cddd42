"""The files of a ledger: lines of JSON, appended, and read back into a `History`.

A file's first line is its header; each further line has one key that names its contents. Rows are
arrays, as there are many:

- `producer.jsonl`: `session`; `invoke` [partition, seq]; `ok` [partition, seq, offset, sent,
  acked]; `info` and `fail` [partition, seq, sent, answered, why]; `unsent` [partition, seq],
  planned and then not sent; `trouble`; `started`; `stopped`
- `consumer-*.jsonl`, `final-*.jsonl`: `reads` [partition, offset, value]; `commits` [partition,
  offset]; `start` with `end`, the log's; `ends`, how far to read, and `done`, whether it got there;
  `error`
- `transactions.jsonl`: `begin` number with `inputs` [partition, offset]; `commit`, before it is
  asked for; `committed`; `aborted`; `error`; `done`, whether all of the input was processed
- `output-*.jsonl`: what was made of it, as a consumer's
- `replicas/`: see `ledger.replicas`
- `events.jsonl`: without a header, one object a change, written by who makes the changes: `node`,
  `id`, `phase`, `start` and `end` in wall seconds, `..._seconds`, `detail`, and `least_acks`, which
  is 0 where all writing stops
"""

from __future__ import annotations

import json
import os
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from apps.ledger.history import (
    Commit,
    Event,
    History,
    Kind,
    Outcome,
    Output,
    Read,
    Reader,
    Run,
    Sample,
    Send,
    Transaction,
    value_of,
)
from apps.ledger.replicas import readers as replicas_of

PRODUCER = "producer.jsonl"
EVENTS = "events.jsonl"
REPLICAS = "replicas"
READERS: Mapping[str, Kind] = {
    "consumer-assign": "assign",
    "consumer-group": "group",
    "final-1": "final",
    "final-2": "final",
}
TRANSACTIONS = "transactions.jsonl"
OUTPUT_READERS: Mapping[str, Kind] = {
    "output-live": "assign",
    "output-final-1": "final",
    "output-final-2": "final",
    "output-uncommitted": "uncommitted",
}
_SECONDS = "_seconds"


class JournalError(Exception):
    """A file is not what a ledger writes; the text names file and line."""


class Journal:
    """Appends lines to one file; used by one thread at a time."""

    def __init__(self, path: Path, header: Mapping[str, Any]) -> None:
        """Begin the file.

        Raises:
            FileExistsError: there is one already; a ledger never continues another.

        """
        self._file = path.open("x", encoding="utf-8")
        self.write([{"header": header}], durable=True)

    def write(self, lines: Iterable[Mapping[str, Any]], *, durable: bool = False) -> None:
        """Append lines and hand them to the system; with `durable` wait for the disk."""
        text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
        self._file.write(text)
        self._file.flush()
        if durable:
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Wait for the disk and close the file, once."""
        if self._file.closed:
            return
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()


def lines_of(path: Path) -> Iterator[dict[str, Any]]:
    """Yield a file's lines; a last line without its newline was torn and is left out.

    Raises:
        JournalError: another line is not an object of JSON.

    """
    with path.open(encoding="utf-8") as file:
        for number, text in enumerate(file, 1):
            if not text.endswith("\n"):
                return
            try:
                line = json.loads(text)
            except ValueError as error:
                message = f"{path.name}:{number}: {error}"
                raise JournalError(message) from error
            if not isinstance(line, dict):
                message = f"{path.name}:{number}: not an object"
                raise JournalError(message)
            yield line


def load(folder: Path) -> History:
    """Return what the ledger in a directory wrote.

    Raises:
        JournalError: there is none, or a file is damaged beyond a torn last line.

    """
    if not (folder / PRODUCER).is_file():
        message = f"{folder} holds no ledger: {PRODUCER} is missing"
        raise JournalError(message)
    with _reading(PRODUCER):
        lines = lines_of(folder / PRODUCER)
        run = Run(**next(lines)["header"])
        sends, other_lines = _sends(run, lines)
    commits: list[Commit] = []
    samples: list[Sample] = []
    readers = _readers(folder, READERS, commits, samples)
    readers += replicas_of(folder / REPLICAS, run.topic)
    events: list[Event] = []
    if (folder / EVENTS).is_file():
        with _reading(EVENTS):
            events = [_event(line) for line in lines_of(folder / EVENTS)]
    return History(
        run=run,
        sends=sends,
        readers=readers,
        commits=commits,
        samples=samples,
        events=events,
        troubles=[str(text) for text in other_lines["trouble"]],
        started=min(other_lines["started"], default=None),
        stopped=max(other_lines["stopped"], default=None),
        output=_output(folder) if (folder / TRANSACTIONS).is_file() else None,
    )


@contextmanager
def _reading(name: str) -> Iterator[None]:
    try:
        yield
    except (LookupError, TypeError, ValueError, StopIteration) as error:
        message = f"{name}: {type(error).__name__}: {error}"
        raise JournalError(message) from error


def _sends(
    run: Run, lines: Iterable[dict[str, Any]]
) -> tuple[list[Send], defaultdict[str, list[Any]]]:
    """Return every send with its answer, and the lines about other things by key."""
    sends: dict[str, Send] = {}
    other_lines: defaultdict[str, list[Any]] = defaultdict(list)
    for line in lines:
        if "invoke" in line:
            producer, at = sys.intern(line["session"]), line["t"]
            for partition, seq in line["invoke"]:
                value = sys.intern(value_of(run.id, producer, partition, seq))
                sends[value] = Send(value, producer, partition, seq, at)
        elif "ok" in line:
            for partition, seq, offset, sent, acked in line["ok"]:
                value = value_of(run.id, line["session"], partition, seq)
                place = offset if offset >= 0 else None
                sends[value] = sends[value]._replace(
                    invoked=sent, outcome="ok", acked=acked, offset=place
                )
        elif "info" in line or "fail" in line:
            outcome: Outcome = "info" if "info" in line else "fail"
            for partition, seq, sent, *_ in line[outcome]:
                value = value_of(run.id, line["session"], partition, seq)
                sends[value] = sends[value]._replace(invoked=sent, outcome=outcome)
        elif "unsent" in line:
            for partition, seq in line["unsent"]:
                del sends[value_of(run.id, line["session"], partition, seq)]
        else:
            for key, content in line.items():
                other_lines[key].append(content)
    return list(sends.values()), other_lines


def _output(folder: Path) -> Output:
    transactions: dict[int, Transaction] = {}
    done = False
    with _reading(TRANSACTIONS):
        lines = lines_of(folder / TRANSACTIONS)
        run = Run(**next(lines)["header"])
        for line in lines:
            if "begin" in line:
                inputs = [(int(partition), int(offset)) for partition, offset in line["inputs"]]
                transactions[line["begin"]] = Transaction(line["begin"], inputs)
            elif "commit" in line:
                transaction = replace(
                    transactions[line["commit"]], ending="unknown", asked=line["t"]
                )
                transactions[line["commit"]] = transaction
            elif "committed" in line:
                transactions[line["committed"]] = replace(
                    transactions[line["committed"]], ending="committed"
                )
            elif "done" in line:
                done = bool(line["done"])
    return Output(run, list(transactions.values()), _readers(folder, OUTPUT_READERS, [], []), done)


def _readers(
    folder: Path, names: Mapping[str, Kind], commits: list[Commit], samples: list[Sample]
) -> list[Reader]:
    readers: list[Reader] = []
    for name, kind in names.items():
        if (folder / f"{name}.jsonl").is_file():
            with _reading(f"{name}.jsonl"):
                readers.append(_reader(folder, name, kind, commits, samples))
    return readers


def _reader(
    folder: Path, name: str, kind: Kind, commits: list[Commit], samples: list[Sample]
) -> Reader:
    reads: list[Read] = []
    moments: list[float] = []
    ends: dict[int, int] | None = None
    done = False
    for line in lines_of(folder / f"{name}.jsonl"):
        if "reads" in line:
            reads += [Read(p, offset, sys.intern(value)) for p, offset, value in line["reads"]]
            moments += [line["t"]] * len(line["reads"]) if "t" in line else []
        elif "commits" in line:
            commits += [Commit(p, offset, len(reads)) for p, offset in line["commits"]]
        elif "start" in line:
            samples.append(Sample(line["t"], _offsets(line["start"]), _offsets(line["end"])))
        elif "ends" in line:
            ends = _offsets(line["ends"])
        elif "done" in line:
            done = bool(line["done"])
    return Reader(name, kind, reads, ends, done, moments)


def _offsets(rows: Iterable[tuple[int, int]]) -> dict[int, int]:
    return {int(partition): int(offset) for partition, offset in rows}


def _event(line: Mapping[str, Any]) -> Event:
    seconds = {
        key.removesuffix(_SECONDS): float(value)
        for key, value in line.items()
        if key.endswith(_SECONDS) and value is not None
    }
    end, least = line.get("end"), line.get("least_acks")
    return Event(
        node=str(line["node"]),
        id=None if line.get("id") is None else int(line["id"]),
        phase=str(line.get("phase", "change")),
        start=float(line["start"]),
        end=None if end is None else float(end),
        seconds=seconds,
        least_acks=None if least is None else int(least),
        detail=str(line.get("detail", "")),
    )
