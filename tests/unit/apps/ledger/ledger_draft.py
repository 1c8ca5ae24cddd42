"""A cluster and its clients in memory, healthy until a test damages it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random

from apps.ledger.history import (
    Commit,
    Event,
    History,
    Outcome,
    Read,
    Reader,
    Run,
    Sample,
    Send,
    value_of,
)

PARTITIONS = 3
RATE = 100
WALL = 1_700_000_000.0
FINALS = ("final-1", "final-2")
LIVE = ("consumer-assign", "consumer-group")


@dataclass
class Draft:
    """A cluster and its clients in memory, to be damaged before the history is taken."""

    sends: list[Send] = field(default_factory=list)
    logs: dict[str, dict[int, list[Read]]] = field(default_factory=dict)
    """Reader -> partition -> what it reads, in order."""
    commits: list[tuple[int, int]] | None = None
    events: list[Event] = field(default_factory=list)
    ends: dict[int, int] | None = None

    def history(self) -> History:
        true_ends = {p: self.logs["final-1"][p][-1].offset + 1 for p in range(PARTITIONS)}
        ends = self.ends or true_ends
        readers = [
            Reader(
                name,
                "final" if name in FINALS else "assign" if name == LIVE[0] else "group",
                [read for partition in range(PARTITIONS) for read in log[partition]],
                ends,
                done=True,
            )
            for name, log in self.logs.items()
        ]
        number_read = sum(map(len, self.logs[LIVE[1]].values()))
        commits = list(true_ends.items())
        return History(
            run=Run("r", "t", PARTITIONS, RATE, WALL, 0.0),
            sends=self.sends,
            readers=readers,
            commits=[
                Commit(*row, number_read)
                for row in (commits if self.commits is None else self.commits)
            ],
            samples=[Sample(0.0, dict.fromkeys(ends, 0), dict.fromkeys(ends, 1))],
            events=self.events,
            started=0.0,
            stopped=len(self.sends) / RATE,
        )

    def every_log(self) -> list[dict[int, list[Read]]]:
        return list(self.logs.values())

    def send(self, value: str) -> int:
        return next(i for i, send in enumerate(self.sends) if send.value == value)

    def acked(self, partition: int, rank: int) -> Send:
        """An acknowledged record, by its rank among those of its partition."""
        return [s for s in self.sends if s.outcome == "ok" and s.partition == partition][rank]

    def unread(self, outcome: Outcome) -> Send:
        """A record that nobody reads."""
        read = {r.value for r in self.logs["final-1"][0]}
        return next(
            s
            for s in self.sends
            if s.outcome == outcome and s.partition == 0 and s.value not in read
        )


def drafted(random: Random, records: int = 360) -> Draft:
    """A healthy cluster: some sends without an answer, of which some are in the log."""
    draft = Draft()
    log: dict[int, list[Read]] = {p: [] for p in range(PARTITIONS)}
    seqs: defaultdict[tuple[str, int], int] = defaultdict(int)
    for number in range(records):
        at, partition = number / RATE, number % PARTITIONS
        producer = "p1" if number < records / 2 else "p2"
        seq = seqs[producer, partition]
        seqs[producer, partition] += 1
        value = value_of("r", producer, partition, seq)
        send = Send(value, producer, partition, seq, at)
        luck = 1.0 if number < 2 * PARTITIONS else random.random()
        offset = len(log[partition])
        if luck < 0.05:
            send = send._replace(outcome="fail")
        elif luck >= 0.2:
            # The broker may know a repeated batch without knowing where it lies.
            acked_offset = None if luck < 0.22 else offset
            acked = at + random.uniform(0.002, 0.2)
            send = send._replace(outcome="ok", acked=acked, offset=acked_offset)
        if luck >= 0.12:
            log[partition].append(Read(partition, offset, value))
        draft.sends.append(send)
    for name in (*LIVE, *FINALS):
        draft.logs[name] = {partition: list(reads) for partition, reads in log.items()}
    half = WALL + records / RATE / 2
    draft.events = [
        Event("k1", 1, "restart", WALL, half, {"stop": 1.0, "ready": 2.0}),
        Event("k2", 2, "restart", half, half + 1, {"stop": 3.0}),
    ]
    return draft


def remove(log: list[Read], value: str) -> None:
    log[:] = [read for read in log if read.value != value]


def with_readers(history: History, change: Callable[[Reader], Reader | None]) -> History:
    changed = [change(reader) for reader in history.readers]
    return replace(history, readers=[reader for reader in changed if reader])
