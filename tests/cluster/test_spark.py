"""Spark from outside: workers registered, a job on all of them, its history, no open door."""

from __future__ import annotations

import json
import socket
import urllib.request
from typing import Any

import pytest
from testinfra.host import Host

from tests.support.cluster import SparkProbe
from tests.support.topology import Topology
from tests.support.wait import wait_for


def get(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310 - our own hosts
        return json.load(answer)


def test_a_job_runs_on_every_worker(
    topology: Topology,
    hosts: dict[str, Host],
    master: str,
    spark_probe: SparkProbe,
    facts: dict[str, Any],
) -> None:
    names = {hosts[worker].check_output("hostname") for worker in topology.group("spark_workers")}
    assert set(spark_probe.hosts) == names
    facts["spark"] = {"master": master, "workers": spark_probe.hosts}


def test_the_job_is_in_the_history(
    topology: Topology, master: str, spark_probe: SparkProbe
) -> None:
    history = topology.group("spark_history")[0]
    port = topology.spark(history)["ports"]["spark_history_port"]
    url = f"http://{topology.addresses[history]}:{port}/api/v1/applications"
    wait_for(
        lambda: spark_probe.app in {app["id"] for app in get(url)},
        seconds=60,
        what=f"{spark_probe.app} in the history server",
    )


def test_workers_are_alive(topology: Topology, master: str) -> None:
    port = topology.spark(master)["ports"]["spark_master_ui_port"]
    state = get(f"http://{topology.addresses[master]}:{port}/json/")
    alive = {worker["host"] for worker in state["workers"] if worker["state"] == "ALIVE"}
    assert alive == {topology.addresses[worker] for worker in topology.group("spark_workers")}


def test_the_rest_server_takes_no_jobs(topology: Topology, master: str) -> None:
    """Spark opens 6066 to everybody since 4.1 unless told not to."""
    with pytest.raises(OSError, match="refused"):
        socket.create_connection((topology.addresses[master], 6066), timeout=5)
