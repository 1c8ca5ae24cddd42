"""What a producer noticed of all the planned restarts before."""

from __future__ import annotations

import statistics
from typing import Any

from tests.support.faults.target import FULL
from tests.support.lab.change import Plays
from tests.support.lab.topology import Topology


def test_planned_restarts_are_hardly_noticed(
    topology: Topology, plays: Plays, facts: dict[str, Any]
) -> None:
    """At 200 records a second, in the partition that waited longest at each restart.

    A leader that does not move before its broker stops costs a session, here 6 s. Usually it is 0.1
    to 0.25 s; a machine that is three times slower has longer ones, and one slow moment may make a
    single one long, so limits that are near to that, and that of the longest, are part of --full.
    """
    gaps = sorted(plays.gaps)
    facts["gaps"] = gaps
    assert len(gaps) >= 6, "restarts of three nodes, at least twice"
    sessions = [
        node.config["broker.session.timeout.ms"] / 1000 for node in topology.cluster.kafka.values()
    ]
    assert statistics.median(gaps) <= 1.0, gaps
    if FULL:
        assert gaps[-1] < min(sessions), gaps
        assert statistics.median(gaps) <= 0.3, gaps
        assert gaps[-1] <= 1.0, gaps
