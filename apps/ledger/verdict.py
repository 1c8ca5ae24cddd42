"""The verdict on a history: PASS, FAIL with the records, or UNKNOWN with what is missing."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from apps.ledger import exactly_once
from apps.ledger.gaps import Gaps, Window, measure, spread
from apps.ledger.history import History, Kind, Output, Reader
from apps.ledger.invariants import NAMES, Violation, violations

State = Literal["PASS", "FAIL", "UNKNOWN"]
EXIT_CODES: dict[State, int] = {"PASS": 0, "FAIL": 1, "UNKNOWN": 2}
LEAST_ACKS = 10
SHOWN = 20
"""Violations of one invariant that the text shows; the JSON has all."""
CLAIM = (
    "With acks=all, min.insync.replicas of at least 2 and no unclean leader election, no "
    "acknowledged record was lost. None was reordered within its partition, and none was "
    "duplicated within one producer session. This does not cover records that were only in the "
    "memory of all in-sync replicas when all of them lost power: Kafka does not wait for the disk."
)
CLAIM_ONCE = (
    "Each record of the input led to one record in each partition of the output; of each "
    "transaction all was read as committed or nothing, nothing of an aborted one, and nothing "
    "before its commit was asked for. The client uses the protocol from before KIP-890."
)


@dataclass(frozen=True)
class Report:
    """A verdict and the numbers it stands on."""

    state: State
    violations: Sequence[Violation]
    reasons: Sequence[str]
    """Why the history proves nothing, when it breaks no invariant."""
    counts: dict[str, int]
    gaps: Gaps
    topic: str
    claim: str


def judge(
    history: History, *, expect_changes: bool = True, least_acks: int | None = None
) -> Report:
    """Return the verdict on a history.

    Args:
        history: what a run wrote down.
        expect_changes: whether it proves nothing without a change.
        least_acks: acknowledgements that a change needs that names none; default: half of
            what the rate gives in its time, at least `LEAST_ACKS`.

    """
    all_violations = [*violations(history), *exactly_once.violations(history)]
    gaps = measure(history)
    reasons = [
        *unproven(history),
        *(unproven_changes(history, gaps.windows, least_acks) if expect_changes else ()),
    ]
    state: State = "FAIL" if all_violations else "UNKNOWN" if reasons else "PASS"
    claim = f"{CLAIM} {CLAIM_ONCE}" if history.output else CLAIM
    return Report(
        state,
        all_violations,
        reasons,
        _counts(history, all_violations),
        gaps,
        history.run.topic,
        claim,
    )


def unproven(history: History) -> list[str]:
    """Return why a history proves nothing, whatever it was made for."""
    reasons: list[str] = []
    acked = Counter(send.partition for send in history.sends if send.outcome == "ok")
    for partition in range(history.run.partitions):
        if not acked[partition]:
            reasons.append(f"partition {partition} acknowledged no record")
    if reasons and history.troubles:
        reasons.append(f"the producer's last error is {history.troubles[-1]}")
    reasons += _unread(history.readers, {"assign": 1, "group": 1, "final": 2})
    if not history.commits:
        reasons.append("the group never committed an offset")
    if not history.samples:
        reasons.append("start and end of the log were never sampled")
    if history.output:
        needed: Mapping[Kind, int] = {"assign": 1, "final": 2, "uncommitted": 1}
        reasons += [f"output: {reason}" for reason in _unread(history.output.readers, needed)]
        reasons += exactly_once.unproven(history.output)
    return reasons


def _unread(readers: Sequence[Reader], needed: Mapping[Kind, int]) -> list[str]:
    """Return which readers are not there or did not read."""
    reasons: list[str] = []
    for kind, least in needed.items():
        present = [reader for reader in readers if reader.kind == kind]
        if len(present) < least:
            reasons.append(f"{len(present)} readers of kind {kind}, {least} needed")
        reasons += [
            f"{reader.name} did not read to the end" for reader in present if not reader.done
        ]
        reasons += [f"{reader.name} read nothing" for reader in present if not reader.reads]
    return reasons


def unproven_changes(
    history: History, windows: Sequence[Window], least_acks: int | None = None
) -> list[str]:
    """Return why the changes prove nothing: none there, not ended, or without load."""
    if not windows:
        return ["no change was made"]
    reasons: list[str] = []
    for window in windows:
        event = window.event
        name = f"{event.phase} of {event.node}"
        if event.end is None or event.end < event.start:
            reasons.append(f"{name} has no end")
            continue
        share = int(history.run.rate * (event.end - event.start) / 2)
        explicit = least_acks if event.least_acks is None else event.least_acks
        needed = max(LEAST_ACKS, share) if explicit is None else explicit
        if window.acks < needed:
            reasons.append(f"{name}: {window.acks} acknowledgements around it, {needed} needed")
    return reasons


def as_dict(report: Report) -> dict[str, Any]:
    """Return a report for JSON; times in seconds."""
    gaps = report.gaps
    return {
        "verdict": report.state,
        "claim": report.claim,
        "topic": report.topic,
        "violations": [
            {
                "invariant": violation.invariant,
                "name": NAMES[violation.invariant],
                "what": violation.what,
                "records": list(violation.records),
            }
            for violation in report.violations
        ],
        "reasons": list(report.reasons),
        "counts": report.counts,
        "gaps": {
            "longest": gaps.longest,
            "by_partition": {str(partition): gap for partition, gap in gaps.by_partition.items()},
            "any_partition": gaps.any_partition,
            "between_sends": gaps.between_sends,
            "by_change": spread([window.longest for window in gaps.windows]),
        },
        "latency": dict(gaps.latency),
        "seconds_by_change": _seconds(gaps.windows),
        "changes": [
            {
                "node": window.event.node,
                "id": window.event.id,
                "phase": window.event.phase,
                "detail": window.event.detail,
                "start": window.event.start,
                "end": window.event.end,
                "seconds": dict(window.event.seconds),
                "acks": window.acks,
                "gap": window.longest,
            }
            for window in gaps.windows
        ],
    }


def as_text(report: Report) -> str:
    """Return a report for people."""
    counts, gaps = report.counts, report.gaps
    lines = [
        f"{report.state}: {counts['acked']} records acknowledged of {counts['invoked']} sent, "
        f"{len(gaps.windows)} changes",
        f"lost {counts['lost']}, reordered {counts['reordered']}, "
        f"duplicated {counts['duplicated']}; no answer {counts['info']}, refused {counts['fail']}",
        f"producer errors {counts['producer_errors']}, sessions {counts['sessions']}",
        f"longest gap between acknowledgements {gaps.longest:.3f} s in one partition, "
        f"{gaps.any_partition:.3f} s in all; between sends {gaps.between_sends:.3f} s",
    ]
    if counts["replicas"]:
        lines.append(
            f"compared with the disks of {counts['replicas']} replicas, "
            f"{counts['copies']} copies of {counts['partitions']} partitions"
        )
    if "committed" in counts:
        lines.append(
            f"transactions: {counts['committed']} committed, {counts['aborted']} aborted, "
            f"{counts['unknown']} without an answer"
        )
    if gaps.latency:
        milliseconds = ", ".join(
            f"{name} {1000 * value:.1f}" for name, value in gaps.latency.items()
        )
        lines.append(f"milliseconds from send to acknowledgement: {milliseconds}")
    lines += [_change_line(window) for window in gaps.windows]
    if by_change := spread([window.longest for window in gaps.windows]):
        lines.append(
            f"gap at a change: median {by_change['median']:.3f} s, worst {by_change['worst']:.3f} s"
        )
    lines += [f"not proven: {reason}" for reason in report.reasons]
    by_invariant: defaultdict[str, list[Violation]] = defaultdict(list)
    for violation in report.violations:
        by_invariant[violation.invariant].append(violation)
    for name, group in by_invariant.items():
        lines.append(violated(name, len(group)))
        lines += [
            f"  {violation.what}: {' '.join(violation.records)}".rstrip(": ")
            for violation in group[:SHOWN]
        ]
    if report.state == "PASS":
        lines.append(report.claim)
    return "\n".join(lines) + "\n"


def violated(invariant: str, times: int) -> str:
    """Return how often an invariant was violated, with its name."""
    often = "once" if times == 1 else f"{times} times"
    return f"invariant {invariant} ({NAMES[invariant]}) violated {often}"


def _change_line(window: Window) -> str:
    event = window.event
    seconds = [f"{name} {value:.1f}" for name, value in event.seconds.items()]
    took = "did not end" if event.end is None else f"{event.end - event.start:.1f} s"
    remarks = ", ".join([event.detail, *seconds] if event.detail else seconds)
    detail = f" ({remarks})" if remarks else ""
    gap = f"gap {window.longest:.3f} s, {window.acks} acknowledgements"
    return f"{event.phase} of {event.node}: {took}{detail}, {gap}"


def _counts(history: History, all_violations: Sequence[Violation]) -> dict[str, int]:
    broken = Counter(violation.invariant for violation in all_violations)
    outcomes = Counter(send.outcome for send in history.sends)
    return {
        "invoked": len(history.sends),
        "acked": outcomes["ok"],
        "info": outcomes["info"],
        "fail": outcomes["fail"],
        **{f"read_by_{reader.name}": len(reader.reads) for reader in history.readers},
        "lost": broken["I1"],
        "reordered": broken["I5"] + broken["I8"],
        "duplicated": broken["I3"],
        "violations": len(all_violations),
        "producer_errors": len(history.troubles),
        "sessions": len({send.producer for send in history.sends}),
        "partitions": history.run.partitions,
        "changes": len(history.events),
        "replicas": len(history.of("replica")),
        "copies": sum(len(reader.ends or {}) for reader in history.of("replica")),
        **(_transaction_counts(history.output) if history.output else {}),
    }


def _transaction_counts(output: Output) -> dict[str, int]:
    endings = Counter(transaction.ending for transaction in output.transactions)
    return {
        "committed": endings["committed"],
        "aborted": endings["aborted"],
        "unknown": endings["unknown"],
        **{f"read_by_{reader.name}": len(reader.reads) for reader in output.readers},
    }


def _seconds(windows: Sequence[Window]) -> dict[str, dict[str, float]]:
    """Return median and worst of what each part of a change took."""
    durations: defaultdict[str, list[float]] = defaultdict(list)
    for window in windows:
        for name, value in window.event.seconds.items():
            durations[name].append(value)
    return {name: spread(values) for name, values in durations.items()}
