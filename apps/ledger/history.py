"""What a run of the ledger wrote down, as data.

Times are `time.monotonic` seconds of the one machine that ran it; a run also knows one moment in
both clocks, for events that others noted in wall seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Outcome = Literal["ok", "fail", "info"]
Kind = Literal["assign", "group", "final", "uncommitted", "replica"]
Ending = Literal["committed", "aborted", "unknown"]


def value_of(run: str, producer: str, partition: int, seq: int) -> str:
    """Return the text that a record carries: it names the one send it can come from."""
    return f"{run}/{producer}/{partition}/{seq}"


@dataclass(frozen=True)
class Run:
    """What the run was asked for, and one moment in both clocks."""

    id: str
    topic: str
    partitions: int
    rate: float
    """Records a second, over all partitions."""
    wall: float
    monotonic: float

    def moment(self, wall: float) -> float:
        """Return wall seconds as monotonic seconds."""
        return wall - self.wall + self.monotonic


class Send(NamedTuple):
    """One send. A producer is one session, with one producer id at a time.

    `ok` was acknowledged, `fail` provably not appended, `info` anything else: it may be in the log.
    """

    value: str
    producer: str
    partition: int
    seq: int
    invoked: float
    outcome: Outcome = "info"
    acked: float | None = None
    offset: int | None = None
    """None also for an `ok` whose broker knew the record already and not where it lies."""


class Read(NamedTuple):
    """One record as a reader got it."""

    partition: int
    offset: int
    value: str


@dataclass(frozen=True)
class Reader:
    """What one consumer read, in its order, and how far it was asked to read.

    A replica is a reader of its own disk.
    """

    name: str
    kind: Kind
    reads: Sequence[Read]
    ends: Mapping[int, int] | None = None
    """The end offsets by partition once production had stopped; None when the reader ended
    before. Those of a replica are those of its logs."""
    done: bool = False
    """Whether it got that far."""
    moments: Sequence[float] = ()
    """When each of `reads` had been given; empty where nobody wrote it down."""


@dataclass(frozen=True)
class Transaction:
    """What one transaction made of some records: one of each in every partition of the output.

    A commit that was never asked for cannot have happened: such a transaction is aborted, whether
    or not anybody was answered. One that was asked for and not answered is unknown.
    """

    number: int
    inputs: Sequence[tuple[int, int]]
    """(partition, offset) of each."""
    ending: Ending = "aborted"
    asked: float | None = None
    """When its commit was asked for."""

    def values(self, run: str) -> list[str]:
        """Return what it writes to each partition, in the order of its inputs."""
        return [value_of(run, f"t{self.number}", *place) for place in self.inputs]


@dataclass(frozen=True)
class Output:
    """What transactions made of a run's topic, in another topic."""

    run: Run
    """The same run, with the other topic."""
    transactions: Sequence[Transaction]
    readers: Sequence[Reader]
    """Of the kinds `assign` and `final`, which read only what is committed, and `uncommitted`."""
    done: bool = False
    """Whether every record of the input below its end was made something of."""


class Commit(NamedTuple):
    """A group's committed offset, as answered to its consumer or read back by it."""

    partition: int
    offset: int
    after: int
    """How many records the group's reader had been given by then."""


class Sample(NamedTuple):
    """Start and end of each partition's log as a broker gave them, by partition."""

    at: float
    start: Mapping[int, int]
    end: Mapping[int, int]


@dataclass(frozen=True)
class Event:
    """A change of one node, or a fault, from its first step to its end, in wall seconds."""

    node: str
    id: int | None
    phase: str
    start: float
    end: float | None
    """None for a change that did not end."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    """What each part took: stop, start, ready, gate."""
    least_acks: int | None = None
    """How many acknowledgements it needs; None: what its time gives at the run's rate."""
    detail: str = ""
    """What a reader of the report has to know of it."""


@dataclass(frozen=True)
class History:
    """All of it."""

    run: Run
    sends: Sequence[Send]
    readers: Sequence[Reader]
    commits: Sequence[Commit] = ()
    samples: Sequence[Sample] = ()
    events: Sequence[Event] = ()
    troubles: Sequence[str] = ()
    """Errors that the producers reported: each ended a session."""
    started: float | None = None
    stopped: float | None = None
    """When production began and ended."""
    output: Output | None = None
    """None when the run made no transactions."""

    def finals(self) -> list[Reader]:
        """Return the readers that read everything once all was over."""
        return self.of("final")

    def of(self, kind: Kind) -> list[Reader]:
        """Return the readers of one kind."""
        return [reader for reader in self.readers if reader.kind == kind]
