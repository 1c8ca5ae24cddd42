"""Which faults `./lab chaos` makes, and in which order."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import resolve
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.inventory import (
    HostVariables,
    Inventory,
)

from tests.chaos import order
from tests.support.faults.catalogue import FAULTS, processes
from tests.support.lab.lab import CHAOS_SEED
from tests.support.lab.topology import Topology

NODES = {"b1": 1, "b2": 2, "b3": 3, "c1": 11}


def topology(controllers: list[str]) -> Topology:
    hosts = {host: HostVariables(host, {"kafka_node_id": node}) for host, node in NODES.items()}
    groups = {"kafka_brokers": ["b1", "b2", "b3"], "kafka_controllers": controllers}
    return Topology(Path("nowhere"), resolve(Inventory(groups, hosts)))


def first(count: int, seed: int, controllers: list[str]) -> list[str]:
    return [fault.name for fault in islice(order(seed, topology(controllers)), count)]


def test_a_seed_repeats_its_order_and_another_has_another() -> None:
    assert first(50, 1, ["c1"]) == first(50, 1, ["c1"])
    assert first(50, 1, ["c1"]) != first(50, 2, ["c1"])


def test_the_seed_of_the_labs_stage_begins_with_the_kill_of_a_leader() -> None:
    assert first(1, CHAOS_SEED, ["b1"]) == [processes.leader_killed.name]


def test_only_what_fits_and_takes_no_minutes_is_drawn() -> None:
    dedicated = {fault.name for fault in FAULTS if fault.on == "dedicated"}
    on_zookeeper = {fault.name for fault in FAULTS if fault.on == "zookeeper"}
    long = {fault.name for fault in FAULTS if fault.long}
    assert dedicated
    assert on_zookeeper
    assert long
    assert not set(first(500, 1, ["b1"])) & (dedicated | long | on_zookeeper)
    assert dedicated - long <= set(first(500, 1, ["c1"]))


def test_numbers_and_names_are_of_one_fault_each() -> None:
    assert len({fault.number for fault in FAULTS}) == len(FAULTS)
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
