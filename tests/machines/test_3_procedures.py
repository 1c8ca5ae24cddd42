"""A disk that is replaced, and a machine that is off, by the commands of their pages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from testinfra.host import Host

from tests.support.clients import guide
from tests.support.clients.operator import Operator, login
from tests.support.faults.machine_target import BOOT_SECONDS, container
from tests.support.faults.target import FULL, PART_OF_FULL
from tests.support.lab.lab import podman
from tests.support.lab.topology import Topology
from tests.support.wait import wait_for

DISK, UNREACHABLE = guide.DISK, guide.UNREACHABLE
LABEL, MOUNT = "kafka2", "/srv/kafka/disk2"
"""Of the page's disk, which each machine of the lab has too."""
HEALTHY_SECONDS = 300


@pytest.fixture
def operator(topology: Topology, hosts: dict[str, Host], tmp_path: Path) -> Operator:
    if not topology.machines:
        pytest.skip("no machines here")
    if not FULL:
        pytest.skip(PART_OF_FULL)
    return Operator(topology, hosts, tmp_path)


@pytest.fixture
def replicated(operator: Operator, admin: Any) -> Iterator[str]:
    """A topic with more partitions than a machine has disks, all of them on each machine."""
    topic = "millrace-probe-replaced"
    shape = {"num_partitions": 6, "replication_factor": len(operator.topology.brokers)}
    admin.create_topics({topic: shape}, wait_for_metadata=True)
    yield topic
    admin.delete_topics([topic])


def is_silent(operator: Operator, command: str, host: str) -> bool:
    """Whether a command prints nothing."""
    return not operator.run(command, host).strip()


def wait_until_healthy(operator: Operator, command: str) -> None:
    wait_for(
        lambda: operator.attempt(command)[0] == 0, seconds=HEALTHY_SECONDS, what="a healthy cluster"
    )


def test_a_broker_gets_a_new_disk(operator: Operator, replicated: str) -> None:
    broker = operator.topology.cluster.brokers[0]
    host = operator.hosts[broker.name]
    device = host.check_output("blkid -L %s", LABEL).strip()
    operator.names = {
        "/dev/sdc": device,
        "mkfs.xfs -L": "mkfs.xfs -f -L",  # the lab's machine keeps its old disk
        "--limit k1": f"--limit {broker.name}",
        "--broker-list 1": f"--broker-list {broker.id}",
    }
    operator.follow("1. Is it the disk", DISK, broker.name)
    assert not any(operator.follow("2. Does anybody else have the data", DISK, broker.name))
    other_directories = [path for path in broker.data_dirs if not path.startswith(MOUNT)]
    before = [host.check_output("cat %s/meta.properties", path) for path in other_directories]
    operator.follow("3. Replace it", DISK, broker.name)
    [output] = operator.follow("4. Take it in", DISK, broker.name)
    assert f"{MOUNT}/data" in output, "which directory was formatted"
    assert [
        host.check_output("cat %s/meta.properties", path) for path in other_directories
    ] == before
    assert host.check_output("findmnt --noheadings --output SOURCE %s", MOUNT).strip() == device
    health, progress = guide.commands("5. Wait until it has caught up", DISK)
    wait_until_healthy(operator, health)
    shown = re.search(r"^\{.*\}$", operator.run(progress, broker.name), re.M)
    assert shown
    [described] = json.loads(shown[0])["brokers"]
    assert {directory["logDir"] for directory in described["logDirs"]} == set(broker.data_dirs)
    assert not [directory for directory in described["logDirs"] if directory["error"]]
    replicas = [
        replica for directory in described["logDirs"] for replica in directory["partitions"]
    ]
    assert (
        len([replica for replica in replicas if replica["partition"].startswith(replicated)]) == 6
    )
    assert not [replica for replica in replicas if replica["offsetLag"]]


def test_a_host_is_unreachable(operator: Operator, replicated: str) -> None:
    assert replicated
    first, *_, last = operator.topology.group("kafka_brokers")
    operator.names = {
        "ssh ansible@k2": login(operator.topology, last),
        "-e node=k2": f"-e node={last}",
        "!k2": f"!{last}",
    }
    [look] = guide.commands("1. What does not answer", UNREACHABLE)
    assert operator.attempt(look) == (0, "")
    podman("kill", "--signal", "KILL", container(last))
    try:
        podman("wait", container(last))
        assert operator.attempt(look)[0] != 0
        unavailable, under_min_isr, quorum = guide.commands(
            "2. Does the cluster work without it", UNREACHABLE
        )
        behind = unavailable.replace("--unavailable-", "--under-replicated-")
        wait_for(lambda: not is_silent(operator, behind, first), seconds=60, what="lost replicas")
        for command in (unavailable, under_min_isr):  # leaders move within a session
            wait_for(partial(is_silent, operator, command, first), seconds=60, what=command)
        assert "LeaderId" in operator.run(quorum, first)
        [change] = guide.commands("4. What you can do meanwhile", UNREACHABLE)
        operator.run(change)
    finally:
        podman("start", container(last))
    wait_for(
        lambda: operator.attempt(look)[0] == 0, seconds=BOOT_SECONDS, what=f"{last} answers again"
    )
    health, take_in = guide.commands("3. Bring it back", UNREACHABLE)
    wait_until_healthy(operator, health)
    operator.run(take_in)
