"""What a producer noticed of all the planned restarts before."""

from __future__ import annotations

import statistics
from typing import Any

from tests.support.change import Plays


def test_planned_restarts_are_hardly_noticed(plays: Plays, facts: dict[str, Any]) -> None:
    """At 200 records a second, in the partition that waited longest at each restart."""
    gaps = sorted(plays.gaps)
    facts["gaps"] = gaps
    assert len(gaps) >= 9, "restarts of three nodes, at least three times"
    assert statistics.median(gaps) <= 0.3, gaps
    assert gaps[-1] <= 1.0, gaps
