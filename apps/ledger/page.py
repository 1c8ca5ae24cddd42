"""The report of a suite of faults: a page for people, and the same as JSON.

The page needs nothing but itself: no script, no font, no other file.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import jinja2

from apps.ledger import faults, journal, plot, status
from apps.ledger.faults import Fault, FaultRun
from apps.ledger.gaps import MARGIN, measure
from apps.ledger.history import Event, History
from apps.ledger.series import Series, per_second
from apps.ledger.verdict import CLAIM, SHOWN, Report, State, as_dict, judge, violated

TEMPLATE = "page.html.j2"
SIGNS = {"passed": "✓", "failed": "✗", "skipped": "-"}
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""What HTML does not allow, or not as it is meant: terminals' escapes come with a proof."""


@dataclass(frozen=True)
class Seen:
    """A fault, and what the ledger saw of it."""

    fault: Fault
    acks: int | None
    """Acknowledgements from `MARGIN` seconds before it to as long after; None: it did not run."""
    gap: float | None
    """Seconds without an acknowledgement in the worst partition; the suite's own where the
    ledger did not run."""


@dataclass(frozen=True)
class SuiteReport:
    """All that is reported."""

    run: FaultRun
    history: History
    ledger: Report
    series: Series
    faults: Sequence[Seen]
    state: State
    reasons: Sequence[str]
    """Why it is not PASS."""


def read(
    folder: Path, *, expect_changes: bool = True, least_acks: int | None = None
) -> SuiteReport:
    """Return what the ledger and the suite in a directory report together.

    Raises:
        JournalError: a file is missing or damaged.

    """
    run = faults.load(folder)
    history = journal.load(folder)
    report = judge(history, expect_changes=expect_changes, least_acks=least_acks)
    return together(run, history, report)


def together(run: FaultRun, history: History, report: Report) -> SuiteReport:
    """Return what a suite, its ledger and the ledger's verdict report together."""
    series = per_second(history)
    state, reasons = verdict(run, report)
    return SuiteReport(
        run, history, report, series, observe(history, run.faults, series), state, reasons
    )


def write(runs: Sequence[SuiteReport], out: Path) -> None:
    """Write the page of some runs, and the JSON beside it."""
    out.parent.mkdir(parents=True, exist_ok=True)
    status.write(out, as_html(runs))
    content = {"runs": [as_json(suite) for suite in runs]}
    status.write(out.with_suffix(".json"), json.dumps(content, indent=2) + "\n")


def verdict(run: FaultRun, report: Report) -> tuple[State, list[str]]:
    """Return the verdict on all of it, and why it is not PASS.

    PASS needs that of the ledger, a fault that passed, and none that failed.
    """
    verdicts = Counter(fault.verdict for fault in run.faults)
    failed = [
        f"fault {fault.number} on {fault.node or 'no node'} failed: {fault.detail or fault.name}"
        for fault in run.faults
        if fault.verdict == "failed"
    ]
    broken = Counter(violation.invariant for violation in report.violations)
    failed += [violated(name, count) for name, count in sorted(broken.items())]
    missing = [f"not proven: {reason}" for reason in report.reasons]
    if not verdicts["passed"]:
        missing.append(f"not proven: no fault {'passed' if run.faults else 'was made'}")
    return "FAIL" if failed else "UNKNOWN" if missing else "PASS", failed + missing


def observe(history: History, made: Sequence[Fault], series: Series) -> list[Seen]:
    """Return what a ledger saw of each fault."""
    begin, end = series.start, series.start + len(series.acks)
    events: dict[int, Event] = {}
    for index, fault in enumerate(made):
        if (window := fault.window()) is None:
            continue
        start, finish = map(history.run.moment, window)
        if start <= end and finish >= begin:
            events[index] = Event(
                node=fault.node, id=None, phase=fault.name, start=window[0], end=window[1]
            )
    measured = measure(replace(history, events=list(events.values()))).windows
    windows = dict(zip(events, measured, strict=True))
    return [
        Seen(fault, windows[n].acks, windows[n].longest)
        if n in windows
        else Seen(fault, None, fault.longest_gap)
        for n, fault in enumerate(made)
    ]


def as_json(suite: SuiteReport) -> dict[str, Any]:
    """Return a run for machines; times in seconds, of the wall where absolute."""
    run, series = suite.run, suite.series
    return {
        "verdict": suite.state,
        "reasons": list(suite.reasons),
        **{key: value for key, value in asdict(run).items() if key != "faults"},
        "faults": [
            {**asdict(seen.fault), "acks": seen.acks, "gap": seen.gap} for seen in suite.faults
        ],
        "ledger": as_dict(suite.ledger),
        "per_second": {
            "start": series.start - suite.history.run.moment(0.0),
            "acks": list(series.acks),
            "longest_latency": list(series.latency),
        },
    }


def as_html(runs: Sequence[SuiteReport]) -> str:
    """Return the page, one run below the other."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_printable,
    )
    return (
        environment.get_template(TEMPLATE).render(
            pages=[_part(suite) for suite in runs], signs=SIGNS, claim=CLAIM, margin=MARGIN
        )
        + "\n"
    )


def _part(suite: SuiteReport) -> dict[str, Any]:
    """Return what the template shows of a run."""
    return {
        "suite": suite,
        "verdicts": Counter(fault.verdict for fault in suite.run.faults),
        "rows": [(seen, _at(suite, seen.fault)) for seen in suite.faults],
        "violations": suite.ledger.violations[:SHOWN],
        "timeline": plot.timeline(suite.series, spans(suite), suite.history.run.rate),
    }


def spans(suite: SuiteReport) -> list[plot.Span]:
    """Return what the timeline shades: each fault that was made, since the load began."""
    shaded = []
    for seen in suite.faults:
        fault, window = seen.fault, seen.fault.window()
        if window is None or seen.acks is None:
            continue
        healed = window[1] if fault.healed is None else fault.healed
        shaded.append(
            plot.Span(
                label=str(fault.number),
                start=_since(suite, window[0]),
                healed=_since(suite, healed),
                end=_since(suite, window[1]),
                failed=fault.verdict == "failed",
                title=f"{fault.number}: {fault.name}, {fault.node}, {fault.verdict}",
            )
        )
    return shaded


def _since(suite: SuiteReport, wall: float) -> float:
    return suite.history.run.moment(wall) - suite.series.start


def _at(suite: SuiteReport, fault: Fault) -> str:
    """Return when a fault began, as the timeline counts."""
    if fault.start is None or (since := _since(suite, fault.start)) < 0:
        return ""
    return plot.clock(since)


def _printable(value: object) -> object:
    # Markup is a str, and stays what it is.
    return type(value)(_UNPRINTABLE.sub("\ufffd", value)) if isinstance(value, str) else value
