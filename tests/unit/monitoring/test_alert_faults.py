"""Each alert has a real fault, with which it has been seen to fire."""

from __future__ import annotations

import json

import pytest

from tests.support.faults.alerting.rounds import FIRST, NOT_HERE, ROUNDS
from tests.support.lab.skips import LACKS
from tests.support.lab.topology import ROOT
from tests.unit.monitoring.alert_rules import ALERTS

FAULTS = [fault for round_ in ROUNDS.values() for fault in round_]
SEEN = json.loads((ROOT / "docs/alerts.json").read_text())


def test_each_alert_has_one_fault() -> None:
    assert sorted(name for fault in FAULTS for name in fault.alerts) == sorted(ALERTS)


def test_the_documentation_says_of_each_alert_whether_it_was_seen() -> None:
    seen = [row["alert"] for row in SEEN["alerts"]]
    assert sorted([*seen, *SEEN["not_yet_seen"]]) == sorted(ALERTS)


@pytest.mark.parametrize("reason", sorted({*NOT_HERE.values()}))
def test_a_round_is_skipped_for_a_known_reason(reason: str) -> None:
    assert reason in LACKS
    assert FIRST not in NOT_HERE
