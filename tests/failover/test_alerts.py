"""Alerts on a real cluster: each fires by its fault, reaches a receiver, and clears afterwards."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host.prometheus_rest import Servers
from testinfra.host import Host

from tests.support.faults.alerting.rounds import FIRST, NOT_HERE, ROUNDS
from tests.support.faults.alerting.watched import AlertingFault, Labels, Watched
from tests.support.faults.target import skip_unless_full
from tests.support.lab.change import Plays
from tests.support.lab.topology import ROOT, Topology
from tests.support.services.monitoring import Notifications
from tests.support.wait import wait_for_none

QUIET_SECONDS = 360
"""Elections of the round before count for five minutes."""
RESULTS = ROOT / "build/alerts.json"


@pytest.fixture(scope="module")
def watched(
    request: pytest.FixtureRequest,
    topology: Topology,
    hosts: dict[str, Host],
    plays: Plays,
    servers: Servers,
    notifications: Notifications,
) -> Iterator[Watched]:
    has_connect = bool(topology.cluster.connect)
    with contextlib.ExitStack() as afterwards:
        yield Watched(
            topology,
            hosts,
            plays,
            plays.state,
            servers=servers,
            notifications=notifications,
            connect=request.getfixturevalue("connect_rest") if has_connect else None,
            afterwards=afterwards,
        )


@pytest.fixture(scope="module")
def rows() -> Iterator[list[dict[str, Any]]]:
    """What was measured, a row for each alert; written for `docs/generate.py alerts`."""
    rows: list[dict[str, Any]] = []
    yield rows
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    results = {"date": datetime.now(UTC).date().isoformat(), "alerts": rows}
    RESULTS.write_text(json.dumps(results, indent=2) + "\n")


def active(servers: Servers) -> list[str]:
    """The alerts that are pending or fire.

    Hosts of a lab share the disks of their machine, and others fill them too: those do not count.
    """
    label_sets = [alert["labels"] for alert in servers.data("alerts")["alerts"]]
    return sorted(
        {
            labels["alertname"]
            for labels in label_sets
            if not labels.get("device", "").startswith("/dev/")
        }
    )


@dataclass
class Expected:
    """An alert of a fault that has been injected, and when what happened, in seconds since 1970."""

    fault: AlertingFault
    alert: str
    labels: Labels
    begun: float
    """Before the fault was injected."""
    there: float
    """Once it was."""
    healed: float = 0.0
    """When its healing began."""
    fired: float = 0.0
    cleared: float = 0.0

    @property
    def row(self) -> dict[str, Any]:
        """What the documentation shows, but for the lab."""
        seconds = {"fired": self.fired - self.there, "cleared": self.cleared - self.healed}
        rounded = {moment: round(value, 1) for moment, value in seconds.items()}
        return {"alert": self.alert, "fault": self.fault.name, **rounded}


@pytest.mark.parametrize("name", ROUNDS)
def test_alerts_fire_and_clear(
    name: str, watched: Watched, notifications: Notifications, rows: list[dict[str, Any]]
) -> None:
    faults = [fault for fault in ROUNDS[name] if fault.can_be_made(watched.topology)]
    if not faults:
        pytest.skip(NOT_HERE[name])
    if name != FIRST:
        skip_unless_full()
    wait_for_none(
        lambda: active(watched.servers), seconds=QUIET_SECONDS, what="no alert before the faults"
    )
    expected: list[Expected] = []
    with watched.afterwards:
        with contextlib.ExitStack() as injected:
            for fault in faults:
                begun = time.time()
                labels = injected.enter_context(fault.inject(watched))
                injected_at = time.time()
                alerts = [
                    Expected(fault, alert, labels.get(alert, {}), begun, injected_at)
                    for alert in fault.alerts
                ]
                injected.callback(heals, alerts)
                expected += alerts
            wait_until_fired(notifications, expected)
        wait_until_cleared(notifications, expected)
    rows += [{**alert.row, "lab": watched.topology.name} for alert in expected]


def heals(alerts: list[Expected]) -> None:
    """Record that the fault of some alerts is healed from now on."""
    for alert in alerts:
        alert.healed = time.time()


def wait_until_fired(notifications: Notifications, expected: list[Expected]) -> None:
    """Wait until the receiver has got each alert."""

    def missing() -> list[str]:
        for alert in expected:
            alert.fired = alert.fired or notifications.reached(
                alert.alert, alert.labels, "firing", alert.begun
            )
        return [alert.alert for alert in expected if not alert.fired]

    wait_for_none(missing, seconds=max(alert.fault.fires for alert in expected), what="each alert")


def wait_until_cleared(notifications: Notifications, expected: list[Expected]) -> None:
    """Wait until the receiver has the message about each alert that it is over."""

    def missing() -> list[str]:
        for alert in expected:
            alert.cleared = alert.cleared or notifications.reached(
                alert.alert, alert.labels, "resolved", alert.healed
            )
        return [alert.alert for alert in expected if not alert.cleared]

    seconds = max(alert.fault.clears for alert in expected)
    wait_for_none(missing, seconds=seconds, what="the end of each alert")
