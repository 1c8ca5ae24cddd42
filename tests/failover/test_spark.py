"""Spark's masters under faults: another one leads, and applications and workers go with it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from testinfra.host import Host

from tests.support.lab.topology import Topology
from tests.support.services.spark import Load, active_master, application, master_state, statuses
from tests.support.wait import wait_for

TAKE_OVER_SECONDS = 10


@pytest.fixture
def active(topology: Topology, hosts: dict[str, Host]) -> Iterator[str]:
    """The host of the master that leads, all others standing by."""
    masters = topology.group("spark_masters")
    if not masters:
        pytest.skip("no Spark here")
    if len(masters) < 2:
        pytest.skip("one Spark master: nothing can take over")
    complete = ["ALIVE"] + ["STANDBY"] * (len(masters) - 1)
    wait_for(
        lambda: sorted(statuses(topology).values()) == complete,
        seconds=60,
        what="a master that leads and all others standing by",
    )
    yield active_master(topology)
    # A fault of ours does not count: the next check of the services begins at zero.
    for master in masters:
        hosts[master].check_output("systemctl reset-failed spark-master")


@pytest.fixture
def load(topology: Topology, hosts: dict[str, Host], active: str) -> Iterator[Load]:
    """A job that runs on the cluster, its driver where no master leads."""
    driver = next(host for host in topology.group("spark_workers") if host != active)
    job = Load(hosts[driver])
    job.start()
    yield job
    job.remove()


def state_of(host: Host, unit: str) -> dict[str, str]:
    shown = host.check_output("systemctl show --property=MainPID,ActiveState,NRestarts %s", unit)
    return dict(line.split("=", 1) for line in shown.splitlines())


def taken_over(topology: Topology, former: str, workers: int, since: float) -> tuple[str, float]:
    """Wait until another master leads `workers`; its host, and the seconds since `since`."""

    standbys = [host for host in topology.group("spark_masters") if host != former]

    def successor() -> str | None:
        for host in standbys:
            state = master_state(topology, host)
            if state["status"] == "ALIVE" and state["aliveworkers"] >= workers:
                return host
        return None

    remaining = TAKE_OVER_SECONDS - (time.monotonic() - since)
    leader = wait_for(successor, seconds=remaining, what=f"another master with {workers} workers")
    return leader, time.monotonic() - since


def test_an_application_survives_its_master(
    topology: Topology,
    hosts: dict[str, Host],
    active: str,
    load: Load,
    facts: dict[str, Any],
) -> None:
    app = load.wait_for_rounds(3, seconds=60)[-1]["app"]
    assert application(master_state(topology, active), app) == "RUNNING"
    before = state_of(hosts[active], "spark-master")

    killed = time.monotonic()
    hosts[active].check_output("systemctl kill --signal=KILL spark-master")
    wait_for(
        lambda: state_of(hosts[active], "spark-master")["MainPID"] != before["MainPID"],
        seconds=5,
        what="the death of the master",
    )
    successor, first = taken_over(topology, active, 1, killed)
    leader, last = taken_over(topology, active, len(topology.group("spark_workers")), killed)
    facts.setdefault("failover", {})["spark_master"] = {
        "first_worker_seconds": round(first, 1),
        "all_workers_seconds": round(last, 1),
    }
    assert leader == successor
    assert application(master_state(topology, successor), app) == "RUNNING"

    load.wait_for_rounds(3, seconds=30)
    report = load.finish()
    assert report["app"] == app
    assert report["total"] == report["rounds"] * sum(range(100))
    wait_for(
        lambda: application(master_state(topology, successor), app) == "FINISHED",
        seconds=10,
        what=f"the end of {app} at {successor}",
    )
    wait_for(
        lambda: statuses(topology) == {active: "STANDBY", successor: "ALIVE"},
        seconds=60,
        what="the killed master as a standby",
    )
    assert int(state_of(hosts[active], "spark-master")["NRestarts"]) >= 1


def test_a_master_that_was_gone_for_a_while_stands_by(
    topology: Topology, hosts: dict[str, Host], active: str
) -> None:
    """A stopped process still believes that it leads when it goes on: it has to step down."""
    before = state_of(hosts[active], "spark-master")
    stopped = time.monotonic()
    hosts[active].check_output("systemctl kill --signal=STOP spark-master")
    try:
        assert master_state(topology, active)["status"] == "DOWN"
        workers = len(topology.group("spark_workers"))
        successor, _ = taken_over(topology, active, workers, stopped)
    finally:
        hosts[active].check_output("systemctl kill --signal=CONT spark-master")
    wait_for(
        lambda: statuses(topology) == {active: "STANDBY", successor: "ALIVE"},
        seconds=60,
        what="the former leader as a standby",
    )
    assert state_of(hosts[active], "spark-master")["MainPID"] != before["MainPID"]
    assert master_state(topology, successor)["aliveworkers"] == workers
