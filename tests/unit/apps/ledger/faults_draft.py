"""A suite's run over the drafted ledger of `ledger_draft`, whose load takes 3.6 seconds."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from apps.ledger.faults import Fault, FaultRun, Machine
from apps.ledger.history import History
from apps.ledger.journal import Journal
from tests.unit.apps.ledger.ledger_draft import WALL

KILL = Fault(
    number=1,
    name="kill -9 of a partition's leader",
    node="b1",
    start=WALL + 0.5,
    healed=WALL + 1.0,
    healthy=WALL + 2.0,
    recovery_seconds=1.5,
    limit_seconds=10.9,
    longest_gap=None,
    proof="new MainPID 812, leader of p0 moved from 100 to 101",
    verdict="passed",
    detail="",
)


def failed(fault: Fault, detail: str) -> Fault:
    return replace(fault, verdict="failed", recovery_seconds=None, proof="", detail=detail)


def skipped(fault: Fault) -> Fault:
    unmade = replace(fault, start=None, healed=None, healthy=None, recovery_seconds=None)
    return replace(unmade, verdict="skipped", proof="", detail="no tmpfs")


def suite(*faults: Fault, **changed: Any) -> FaultRun:
    run = FaultRun(
        suite="failover",
        machine=Machine(2, 24, "6.1.0"),
        date="2026-11-21",
        topology="kraft_dedicated",
        kafka="4.3.1",
        faults=faults,
    )
    return replace(run, **changed)


def put(history: History, folder: Path) -> None:
    """Write the files of which the ledger loads this history."""
    header = {**vars(history.run)}
    producer = Journal(folder / "producer.jsonl", header)
    producer.write([{"started": history.started}])
    for send in history.sends:
        place, about = [send.partition, send.seq], {"session": send.producer}
        producer.write([{"invoke": [place], "t": send.invoked, **about}])
        if send.outcome == "ok":
            offset = -1 if send.offset is None else send.offset
            producer.write([{"ok": [[*place, offset, send.invoked, send.acked]], **about}])
        elif send.outcome == "fail":
            producer.write([{"fail": [[*place, send.invoked, send.invoked, "too large"]], **about}])
    producer.write([{"stopped": history.stopped}])
    producer.close()
    for reader in history.readers:
        journal = Journal(folder / f"{reader.name}.jsonl", header)
        sample = history.samples[0]
        if reader.kind == "assign":
            start, end = list(sample.start.items()), list(sample.end.items())
            journal.write([{"start": start, "end": end, "t": sample.at}])
        journal.write([{"reads": list(reader.reads)}])
        if reader.kind == "group":
            journal.write(
                [{"commits": [[commit.partition, commit.offset] for commit in history.commits]}]
            )
        journal.write([{"ends": list((reader.ends or {}).items())}, {"done": reader.done}])
        journal.close()
    with (folder / "events.jsonl").open("w") as file:
        for event in history.events:
            line = {"node": event.node, "phase": event.phase}
            file.write(json.dumps({**line, "start": event.start, "end": event.end}) + "\n")
