"""Alternating measurements, and what they say."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from tests.support.faults.target import this_machine
from tests.support.lab.topology import ROOT

Measured = dict[str, float]
"""Figures of one measurement; "seconds" is what `compare` compares."""
Round = dict[str, Measured]
"""One measurement of each kind."""


def compare(name: str, kinds: Mapping[str, Callable[[], Measured]], pairs: int) -> None:
    """Measure two kinds in turn, the first one being the baseline.

    Prints each measurement, then the median ratio of the pairs and their range, and writes all of
    it to .lab/bench-NAME.json.
    """
    measured = in_turn(name, kinds, pairs)
    baseline, ours = kinds
    values = ratios(measured, ours, baseline, "seconds")
    middle = spread(values)
    save(name, {"pairs": measured, "ratios": values, "median": middle["median"]})
    show(f"{name}: ratio", middle)


def in_turn(name: str, kinds: Mapping[str, Callable[[], Measured]], rounds: int) -> list[Round]:
    """Measure each kind once a round, and print each measurement."""
    measured = []
    for number in range(rounds):
        # A B, then B A: what else the machine does falls on both alike.
        order = list(kinds) if number % 2 == 0 else list(kinds)[::-1]
        by_kind = {}
        for kind in order:
            by_kind[kind] = kinds[kind]()
            show(f"{name}: {kind}", by_kind[kind])
        measured.append(by_kind)
    return measured


def ratios(rounds: Sequence[Round], kind: str, baseline: str, figure: str) -> list[float]:
    """Return one kind's figure divided by the baseline's, of each round."""
    return [measured[kind][figure] / measured[baseline][figure] for measured in rounds]


def spread(figures: Sequence[float]) -> Measured:
    """Return the median and the range; of five figures it holds the true median in 15 of 16 cases.

    That is 1 - 2 ** (1 - n): all n are on one side of it otherwise.
    """
    return {"median": statistics.median(figures), "least": min(figures), "most": max(figures)}


def save(name: str, result: Mapping[str, object]) -> None:
    """Write .lab/bench-NAME.json, with what a record of docs/benchmarks.yml needs."""
    machine = this_machine()
    record = {
        "date": datetime.now(tz=UTC).date().isoformat(),
        "commit": subprocess.run(
            ["git", "describe", "--always", "--dirty"],
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip(),
        "machine": f"{machine.cores} cores, {machine.memory_gb:.0f} GB",
        **result,
    }
    (ROOT / f".lab/bench-{name}.json").write_text(json.dumps(record, indent=2) + "\n")


def show(title: str, figures: Measured) -> None:
    """Print one line of figures."""
    line = "  ".join(f"{key} {value:.2f}" for key, value in figures.items())
    sys.stdout.write(f"{title:32} {line}\n")
    sys.stdout.flush()
