"""The faults of a suite, as it writes them into `faults.json` beside the ledger that ran meanwhile.

The dataclasses are the schema: a field's type is what `load` demands and its name is what it
blames. Times are wall seconds, durations seconds. Numbers are those of the fault catalogue.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from itertools import pairwise
from pathlib import Path
from types import UnionType
from typing import Any, Literal, NoReturn, get_args, get_origin, get_type_hints

from apps.ledger.journal import JournalError

FAULTS = "faults.json"
Verdict = Literal["passed", "failed", "skipped"]


@dataclass(frozen=True)
class Machine:
    """What it all ran on."""

    cores: int
    memory_gb: float
    kernel: str


@dataclass(frozen=True)
class Fault:
    """One fault and what became of it; what is null was not measured."""

    number: int
    name: str
    node: str
    start: float | None
    healed: float | None
    """When the fault was taken away."""
    healthy: float | None
    """When every replica and every node was back, or the suite gave up."""
    recovery_seconds: float | None
    limit_seconds: float | None
    longest_gap: float | None
    """Seconds without an acknowledgement, where the suite has seen it itself."""
    proof: str
    verdict: Verdict
    """`passed` needs a proof that it happened, when it began and when the cluster was healthy
    again, and a recovery within its limit."""
    detail: str

    def window(self) -> tuple[float, float] | None:
        """Return its start and when the cluster was healthy again; None if it was never made."""
        if self.start is None or self.verdict == "skipped":
            return None
        return self.start, max(self.start, self.healed or 0.0, self.healthy or 0.0)


@dataclass(frozen=True)
class FaultRun:
    """One run of a suite of faults."""

    suite: Literal["failover", "chaos"]
    machine: Machine
    date: str
    """As in 2026-11-21."""
    topology: str
    kafka: str
    """Its version."""
    faults: Sequence[Fault]


def load(folder: Path) -> FaultRun:
    """Return the faults that a suite made while the ledger in a directory ran.

    Raises:
        JournalError: there is no such file, or it does not fit; the text names the field.

    """
    try:
        document = json.loads((folder / FAULTS).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        message = f"{folder} holds no {FAULTS}: the suite of faults writes it"
        raise JournalError(message) from error
    except ValueError as error:
        message = f"{FAULTS}: {error}"
        raise JournalError(message) from error
    return parsed(document)


def save(run: FaultRun, folder: Path) -> None:
    """Write what `load` reads.

    Raises:
        JournalError: it does not fit; nothing is written.

    """
    text = json.dumps(asdict(run), indent=2) + "\n"
    parsed(json.loads(text))
    (folder / FAULTS).write_text(text, encoding="utf-8")


def parsed(document: object) -> FaultRun:
    """Return a document of JSON as a run.

    Raises:
        JournalError: it does not fit; the text names the field.

    """
    run: FaultRun = _value(FaultRun, document, "")
    for index, fault in enumerate(run.faults):
        for field, problem in _contradictions(fault):
            _refuse(f"faults[{index}].{field}", problem)
    try:
        date.fromisoformat(run.date)
    except ValueError:
        _refuse("date", f"must be a date such as 2026-11-21, not {run.date!r}")
    return run


def _contradictions(fault: Fault) -> Iterator[tuple[str, str]]:
    """Yield fields whose values cannot be true together, and why."""
    if not fault.name:
        yield "name", "must not be empty"
    times = {"start": fault.start, "healed": fault.healed, "healthy": fault.healthy}
    measured = [(field, at) for field, at in times.items() if at is not None]
    for (earlier, before), (field, at) in pairwise(measured):
        if at < before:
            yield field, f"is {before - at:.3f} s before {earlier}"
    if fault.verdict != "passed":
        return
    for field in ("start", "healthy"):
        if times[field] is None:
            yield field, "must be known of a fault that passed"
    if not fault.proof.strip():
        yield "proof", "nothing proves a fault that passed"
    limit = math.inf if fault.limit_seconds is None else fault.limit_seconds
    if (fault.recovery_seconds or 0.0) > limit:
        yield "recovery_seconds", f"is above limit_seconds {limit}, yet it passed"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf


_PLAIN: Mapping[type, tuple[str, Callable[[object], bool]]] = {
    int: ("an integer of at least 0", lambda value: _is_number(value) and isinstance(value, int)),
    float: ("a number of at least 0", _is_number),
    str: ("a text", lambda value: isinstance(value, str)),
}


def _value(kind: Any, value: object, where: str) -> Any:
    """Return a value of JSON as a type wants it: plain, optional, a choice, a list, an object."""
    choices = get_args(kind)
    if kind in _PLAIN:
        description, fits = _PLAIN[kind]
        return value if fits(value) else _refuse(where, f"must be {description}, not {value!r}")
    if isinstance(kind, UnionType):
        return None if value is None else _value(choices[0], value, where)
    if get_origin(kind) is Literal:
        fit = f"must be one of {', '.join(choices)}, not {value!r}"
        return value if value in choices else _refuse(where, fit)
    if choices:
        if not isinstance(value, list):
            _refuse(where, "must be a list")
        return [_value(choices[0], entry, f"{where}[{index}]") for index, entry in enumerate(value)]
    return _object(kind, value, where)


def _object(kind: Any, value: object, where: str) -> Any:
    """Return an object of JSON as a dataclass: every field of it, and no other."""
    if not isinstance(value, dict):
        _refuse(where or "all of it", "must be an object")
    place = f"{where}." if where else ""
    hints = get_type_hints(kind)
    for name in (*hints, *value):
        if name not in value or name not in hints:
            _refuse(place + name, "is missing" if name in hints else "no such field")
    return kind(**{name: _value(hint, value[name], place + name) for name, hint in hints.items()})


def _refuse(where: str, problem: str) -> NoReturn:
    message = f"{FAULTS}: {where}: {problem}"
    raise JournalError(message)
