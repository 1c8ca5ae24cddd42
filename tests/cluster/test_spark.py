"""Spark from outside: one master leads, workers serve it, a job's history, no open door."""

from __future__ import annotations

import socket
from typing import Any
from urllib.error import HTTPError

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.formats.values import is_true
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.security import (
    SPARK_UI_TOKEN,
)
from testinfra.host import Host

from tests.support.lab.topology import Topology
from tests.support.services.cluster import SparkProbe
from tests.support.services.spark import get, master_state, statuses
from tests.support.wait import wait_for


@pytest.mark.job
def test_a_job_runs_on_every_worker(
    topology: Topology, hosts: dict[str, Host], spark_probe: SparkProbe
) -> None:
    names = {hosts[worker].check_output("hostname") for worker in topology.group("spark_workers")}
    assert set(spark_probe.hosts) == names


@pytest.mark.job
def test_the_job_is_in_the_history(
    topology: Topology, master: str, spark_probe: SparkProbe
) -> None:
    if not topology.group("spark_history"):
        pytest.skip("no history server here")
    history = topology.group("spark_history")[0]
    port = topology.cluster.spark[history].ports["spark_history_port"]
    url = f"http://{topology.addresses[history]}:{port}/api/v1/applications"
    wait_for(
        lambda: spark_probe.app in {app["id"] for app in get(url, topology.spark_token)},
        seconds=60,
        what=f"{spark_probe.app} in the history server",
    )


def test_a_web_interface_opens_with_the_token_alone(topology: Topology, master: str) -> None:
    if not topology.spark_token:
        pytest.skip("they are open here")
    for url in topology.urls.values():
        for token in ("", f"{topology.spark_token}x"):
            with pytest.raises(HTTPError) as refusal:
                get(f"{url}/", token)
            assert refusal.value.code == 403, url


def test_one_master_leads_and_the_others_stand_by(topology: Topology, master: str) -> None:
    standbys = dict.fromkeys(topology.group("spark_masters"), "STANDBY")
    assert statuses(topology) == {**standbys, master: "ALIVE"}


def test_workers_are_alive(topology: Topology, master: str, facts: dict[str, Any]) -> None:
    workers = master_state(topology, master)["workers"]
    alive = {worker["host"] for worker in workers if worker["state"] == "ALIVE"}
    assert alive == {topology.addresses[worker] for worker in topology.group("spark_workers")}
    facts["spark"] = {"master": master, "workers": sorted(alive)}
    if topology.spark_token:
        secrets = topology.cluster.inventory.secrets.directory
        facts["spark"]["token_file"] = f"{secrets}/{SPARK_UI_TOKEN}"


def test_shuffle_files_are_served_where_that_is_wanted(topology: Topology, master: str) -> None:
    """By each worker's own service, or by the executors alone."""
    for worker in topology.group("spark_workers"):
        spark = topology.cluster.spark[worker]
        enabled = is_true(spark.config.get("spark.shuffle.service.enabled"))
        with socket.socket() as connection:
            connection.settimeout(5)
            port = spark.ports.get("spark.shuffle.service.port", 7337)
            answered = connection.connect_ex((topology.addresses[worker], port)) == 0
        assert answered == enabled, f"{worker}:{port}"


def test_the_rest_server_takes_no_jobs(topology: Topology, master: str) -> None:
    """Spark opens 6066 to everybody since 4.1 unless configured otherwise."""
    with pytest.raises(OSError, match="refused"):
        socket.create_connection((topology.addresses[master], 6066), timeout=5)
