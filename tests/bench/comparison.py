"""Alternating measurements, and what they say."""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable, Mapping

from tests.support.lab.topology import ROOT

Measured = dict[str, float]
"""Figures of one measurement; "seconds" is what is compared."""


def compare(name: str, kinds: Mapping[str, Callable[[], Measured]], pairs: int) -> None:
    """Measure two kinds in turn, the first one being the baseline.

    Prints each measurement, then the median ratio of the pairs and their range, and writes all of
    it to .lab/bench-NAME.json.
    """
    measured: list[dict[str, Measured]] = []
    for pair in range(pairs):
        # A B, then B A: what else the machine does falls on both alike.
        order = list(kinds) if pair % 2 == 0 else list(kinds)[::-1]
        found = {}
        for kind in order:
            found[kind] = kinds[kind]()
            show(f"{name}: {kind}", found[kind])
        measured.append(found)
    baseline, ours = kinds
    ratios = [pair[ours]["seconds"] / pair[baseline]["seconds"] for pair in measured]
    median = statistics.median(ratios)
    result = {"pairs": measured, "ratios": ratios, "median": median}
    (ROOT / f".lab/bench-{name}.json").write_text(json.dumps(result, indent=2) + "\n")
    show(f"{name}: ratio", {"median": median, "least": min(ratios), "most": max(ratios)})


def show(what: str, figures: Measured) -> None:
    """Print one line of figures."""
    line = "  ".join(f"{key} {value:.2f}" for key, value in figures.items())
    sys.stdout.write(f"{what:32} {line}\n")
    sys.stdout.flush()
