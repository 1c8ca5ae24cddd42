"""The commands of the page on alerts, as somebody pastes them, where all services are.

The cluster is well: that they run is tested, and that they find what is there. Whether an alert
fires is tested in tests/failover/test_alerts.py.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from testinfra.host import Host

from tests.support.clients import guide
from tests.support.clients.operator import LOCAL, Operator, host_of
from tests.support.faults.target import FULL, PART_OF_FULL
from tests.support.lab.topology import Topology
from tests.support.services import groups

pytestmark = pytest.mark.skipif(not FULL, reason=PART_OF_FULL)
# These end with an error where there is nothing to show, as on a cluster that is well.
MAY_FIND_NOTHING = (
    "tail -n 5 /var/lib/millrace/crash/",
    "ls -l /run/",
    "cat /var/lib/millrace/operation.json",
)
LABELS = {"UNIT": "kafka", "JOB": "changes", "MOUNTPOINT": "/etc", "DATA_DIR": "/etc"}
"""What the labels of an alert could name."""
# What the page says about an answer on a cluster that is well.
SILENT = ("--unavailable-partitions", "--under-min-isr-partitions", "--under-replicated-partitions")


@pytest.fixture(scope="module")
def operator(
    topology: Topology, hosts: dict[str, Host], admin: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Operator]:
    """Somebody on call, and a group that has not read its topic to the end."""
    name = f"millrace-probe-{uuid.uuid4().hex[:8]}"
    shape = {"num_partitions": 1, "replication_factor": min(3, len(topology.brokers))}
    admin.create_topics({name: shape}, wait_for_metadata=True)
    groups.commit(admin, name, 0)
    names = {"GROUP": name, "TOPIC": name, **LABELS}
    folder: Path = tmp_path_factory.mktemp("on-call")
    yield Operator(topology, hosts, folder, names)
    admin.delete_topics([name])
    if name in {group["group_id"] for group in admin.list_groups()}:
        admin.delete_groups([name])


@pytest.mark.parametrize("command", dict.fromkeys(guide.page_commands(guide.ALERTS)))
def test_command_runs(operator: Operator, admin: Any, command: str) -> None:
    if LOCAL.match(command):
        operator.run(command)
        return
    host = host_of(operator.topology.cluster, operator.put(command))
    code, output = operator.attempt(command, host)
    text = f"{host}: {command}\n{output[-4000:]}"
    assert code == 0 or command.startswith(MAY_FIND_NOTHING), text
    if any(word in command for word in SILENT):
        assert not output.strip(), text
    if command.startswith("systemctl status "):
        assert "active (running)" in output, text
    if "quorum.sh" in command:
        assert "Leader" in output, text
    if "--delete --group" in command:
        gone = operator.names["GROUP"]
        assert gone not in {group["group_id"] for group in admin.list_groups()}
        groups.commit(admin, gone, 0)  # for the commands after it
