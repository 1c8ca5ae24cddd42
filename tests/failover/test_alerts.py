"""Alerts on a real cluster: each fires by its fault, reaches a receiver, and clears afterwards."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host.connect_rest import Rest
from ansible_collections.millrace.streaming.plugins.module_utils.host.prometheus_rest import Servers
from testinfra.host import Host

from tests.support.faults.alerts import ROUNDS, AlertingFault, Labels, Watched
from tests.support.faults.target import skip_unless_full
from tests.support.lab.topology import ROOT, Topology
from tests.support.services.monitoring import Notifications
from tests.support.wait import wait_for

FIRE_SECONDS, CLEAR_SECONDS, QUIET_SECONDS = 150, 150, 120
"""Deadlines: the longest condition of these alerts is 30 s, and a JVM takes as long to start."""
RESULTS = ROOT / "build/alerts.json"


@pytest.fixture(scope="module")
def watched(
    topology: Topology,
    hosts: dict[str, Host],
    servers: Servers,
    admin: Any,
    connect_rest: Rest,
) -> Watched:
    return Watched(topology, hosts, admin, connect_rest)


@pytest.fixture(scope="module")
def seen() -> Iterator[list[dict[str, Any]]]:
    """What was measured, a row for each alert; written for `docs/generate.py alerts`."""
    rows: list[dict[str, Any]] = []
    yield rows
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    found = {"date": datetime.now(UTC).date().isoformat(), "alerts": rows}
    RESULTS.write_text(json.dumps(found, indent=2) + "\n")


def active(servers: Servers) -> list[str]:
    """The alerts that are pending or fire."""
    return sorted({one["labels"]["alertname"] for one in servers.data("alerts")["alerts"]})


@pytest.mark.parametrize("faults", ROUNDS, ids=lambda faults: faults[0].name)
def test_alerts_fire_and_clear(
    faults: tuple[AlertingFault, ...],
    watched: Watched,
    servers: Servers,
    notifications: Notifications,
    seen: list[dict[str, Any]],
) -> None:
    if faults is not ROUNDS[0]:
        skip_unless_full()
    wait_for(lambda: not active(servers), seconds=QUIET_SECONDS, what="no alert before the faults")
    wanted: dict[tuple[str, str], Labels] = {}
    begun: dict[str, float] = {}
    with contextlib.ExitStack() as injected:
        for fault in faults:
            begun[fault.name] = time.time()
            injected.enter_context(fault.inject(watched))
            wanted |= {(fault.name, name): x for name, x in fault.alerts(watched).items()}
        fired = reached(notifications, wanted, "firing", FIRE_SECONDS)
    healed = time.time()
    cleared = reached(notifications, wanted, "resolved", CLEAR_SECONDS)
    for key in wanted:
        seconds = {"fired": fired[key] - begun[key[0]], "cleared": cleared[key] - healed}
        rounded = {name: round(value, 1) for name, value in seconds.items()}
        seen.append({"alert": key[1], "fault": key[0], **rounded})


def reached(
    notifications: Notifications,
    wanted: dict[tuple[str, str], Labels],
    status: str,
    seconds: float,
) -> dict[tuple[str, str], float]:
    """Wait until the receiver has got each alert with a status; return when it was seen there."""
    found: dict[tuple[str, str], float] = {}

    def missing() -> list[str]:
        for key, labels in wanted.items():
            if key not in found and notifications.last(key[1], labels) == status:
                found[key] = time.time()
        return [name for fault, name in wanted if (fault, name) not in found]

    last: list[str] = []

    def all_there() -> bool:
        last[:] = missing()
        return not last

    try:
        wait_for(all_there, seconds=seconds, what=f"all alerts {status}")
    except AssertionError as error:
        message = f"{error}; missing: {', '.join(last)}"
        raise AssertionError(message) from None
    return found
