"""The small file that the documents show: the last run of each suite on each topology."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from apps.ledger import status
from apps.ledger.page import Seen, SuiteReport

WORST = ("failed", "passed", "skipped")
"""Verdicts: the first that one of some faults has is theirs."""
COUNTS = ("acked", "lost", "reordered", "duplicated")
COLUMNS = ("no.", "fault", "times", "recovery", "limit", "gap", "verdict")


def refresh(path: Path, suite: SuiteReport) -> None:
    """Put a run into the file, in the place of the last one of its suite on its topology."""
    new = run_of(suite)
    runs = json.loads(path.read_text(encoding="utf-8"))["runs"] if path.is_file() else []
    remaining = [run for run in runs if _place(run) != _place(new)]
    runs = sorted([*remaining, new], key=_place)
    path.parent.mkdir(parents=True, exist_ok=True)
    status.write(path, json.dumps({"runs": runs}, indent=2) + "\n")


def run_of(suite: SuiteReport) -> dict[str, Any]:
    """Return a run without what it was each second, and faults of one kind as one."""
    run = suite.run
    kinds: dict[tuple[int, str], list[Seen]] = {}
    for seen in suite.faults:
        kinds.setdefault((seen.fault.number, seen.fault.name), []).append(seen)
    return {
        "suite": run.suite,
        "topology": run.topology,
        "kafka": run.kafka,
        "date": run.date,
        "machine": asdict(run.machine),
        "verdict": suite.state,
        "counts": {name: suite.ledger.counts[name] for name in COUNTS},
        "faults": [
            {"number": number, "name": name, **_together(group)}
            for (number, name), group in sorted(kinds.items())
        ],
    }


def about(run: Mapping[str, Any]) -> list[str]:
    """Return what a run of the file was and gave, as lines, the first a heading."""
    machine, counts = run["machine"], run["counts"]
    return [
        f"{run['suite']} on {run['topology']}, Kafka {run['kafka']}",
        f"{run['date']}, {machine['cores']} cores, {machine['memory_gb']} GB, "
        f"kernel {machine['kernel']}: **{run['verdict']}**.",
        f"{counts['acked']:,} records acknowledged, {counts['lost']:,} lost, "
        f"{counts['reordered']:,} reordered, {counts['duplicated']:,} duplicated.",
    ]


def rows(run: Mapping[str, Any]) -> list[list[str]]:
    """Return a run's faults as the cells of `COLUMNS`."""
    return [
        [
            str(fault["number"]),
            fault["name"],
            str(fault["times"]),
            *(
                "" if (seconds := fault[f"{name}_seconds"]) is None else f"{seconds:.2f} s"
                for name in ("recovery", "limit", "gap")
            ),
            fault["verdict"],
        ]
        for fault in run["faults"]
    ]


def _together(group: Sequence[Seen]) -> dict[str, Any]:
    """Return the worst of some faults: the longest recovery with its limit, the longest gap."""
    slowest = max(group, key=lambda seen: seen.fault.recovery_seconds or 0.0).fault
    verdicts = {seen.fault.verdict for seen in group}
    return {
        "times": sum(seen.fault.verdict != "skipped" for seen in group),
        "recovery_seconds": _rounded(slowest.recovery_seconds),
        "limit_seconds": _rounded(slowest.limit_seconds),
        "gap_seconds": _rounded(
            max((seen.gap for seen in group if seen.gap is not None), default=None)
        ),
        "verdict": next(verdict for verdict in WORST if verdict in verdicts),
    }


def _place(run: dict[str, Any]) -> tuple[str, str]:
    return run["suite"], run["topology"]


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)
