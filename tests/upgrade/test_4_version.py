"""Up and final under the ledger, with --full also back and up again; an illegal change is refused before."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host import operation_file
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.security import (
    OPEN,
    STANDARD,
)
from testinfra.host import Host

from tests.support.faults.ledger_run import checked, ledger_running
from tests.support.faults.target import Target, skip_unless_full
from tests.support.faults.verifiable import agrees, verifiable
from tests.support.lab.change import PROVE, TASKS, Plays, kept_all, starts, watching
from tests.support.lab.topology import Topology, describe
from tests.support.recap import changed
from tests.upgrade.conftest import Inventory

OLD, NEW = "4.3.1", "4.4.0"
METADATA = {"4.2.2": 29, OLD: 30, NEW: 33}
CONFIRM = ("-e", f"finalize_confirm={NEW}")


def running(hosts: dict[str, Host], topology: Topology) -> dict[str, str]:
    """The version of each broker's process, from what it was started with."""
    command = "ps -o args= -p $(systemctl show --property=MainPID --value kafka)"
    versions = {}
    for name in topology.group("kafka_brokers"):
        words = hosts[name].check_output(command)
        versions[name] = words.partition("/opt/millrace/kafka-")[2].split("-")[0]
    return versions


def finalized(topology: Topology) -> dict[str, int]:
    with clients.admin(topology.connection) as admin:
        features: dict[str, Any] = admin.describe_features()
    return {
        name: feature["finalized"][1]
        for name, feature in features.items()
        if "finalized" in feature
    }


def all_run(version: str, hosts: dict[str, Host], topology: Topology) -> bool:
    return set(running(hosts, topology).values()) == {version}


def test_site_sends_to_the_right_playbook(
    plays: Plays, inventory: Inventory, topology: Topology, hosts: dict[str, Host]
) -> None:
    before = starts(hosts, topology)
    inventory.set(kafka_version=NEW)
    output = plays.refuse("site")
    assert "playbooks/rolling_upgrade.yml" in output
    inventory.set(kafka_version="4.1.2")
    assert "playbooks/rollback.yml" in plays.refuse("rolling_upgrade")
    assert starts(hosts, topology) == before
    assert all_run(OLD, hosts, topology)


def test_the_plan_of_an_upgrade_changes_nothing(
    plays: Plays, inventory: Inventory, topology: Topology, hosts: dict[str, Host]
) -> None:
    before = starts(hosts, topology)
    inventory.set(kafka_version=NEW)
    plays.succeed("rolling_upgrade", "--check")
    assert starts(hosts, topology) == before
    assert hosts["k1"].run(f"ls -d /opt/millrace/kafka-{NEW}*").failed


def test_a_full_disk_of_programs_stops_nothing(
    plays: Plays, inventory: Inventory, topology: Topology, hosts: dict[str, Host]
) -> None:
    """What is missing is reported before the first broker is stopped."""
    skip_unless_full()
    before = starts(hosts, topology)
    inventory.set(kafka_version=NEW)
    with full(hosts["k2"], "/opt/millrace"):
        output = plays.refuse("rolling_upgrade")
    missing = rf"/opt/millrace has \d MiB free and /opt/millrace/kafka-{NEW}\S* needs"
    assert re.search(missing, output)
    assert starts(hosts, topology) == before
    assert all_run(OLD, hosts, topology)


@contextmanager
def full(host: Host, path: str) -> Iterator[None]:
    """Lay a copy of a directory over it that has no space for more."""
    copy = "/var/tmp/full"  # noqa: S108 - on a host of the lab
    host.check_output(
        f"mkdir {copy} && mount -t tmpfs -o size=$(($(du -sm {path} | cut -f1) + 4))m tmpfs {copy}"
        f" && cp -a {path}/. {copy}/ && mount --bind {copy} {path}"
    )
    try:
        yield
    finally:
        host.check_output(f"umount {path}; umount {copy} && rmdir {copy}")


VERIFIED = "up"
"""The change that Kafka's own programs judge too."""
CHANGES = {
    "up": ("rolling_upgrade", NEW),
    "back": ("rollback", OLD),
    "again": ("rolling_upgrade", NEW),
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_loses_nothing(
    change: str,
    plays: Plays,
    inventory: Inventory,
    topology: Topology,
    hosts: dict[str, Host],
) -> None:
    """Binaries only: what is finalized stays as it was, so a rollback stays possible."""
    if change != VERIFIED:
        skip_unless_full()
    playbook, version = CHANGES[change]
    before, features = starts(hosts, topology), finalized(topology)
    inventory.set(kafka_version=version)
    with ExitStack() as stack:
        watcher = stack.enter_context(watching(topology))
        second = (
            stack.enter_context(verifiable(topology, plays.state / "verifiable"))
            if change == VERIFIED
            else None
        )
        plays.succeed(playbook, *PROVE, "-e", "soak_seconds=3")
    assert watcher.most == 1, watcher.down
    tasks = plays.remote_tasks()
    assert all(0 < tasks[host] <= TASKS for host in before), tasks
    assert all_run(version, hosts, topology)
    assert starts(hosts, topology) == {host: count + 1 for host, count in before.items()}
    assert finalized(topology) == features
    kept_all(plays.proof())
    if second:
        agrees(second)


def test_a_second_upgrade_restarts_nothing(
    plays: Plays, topology: Topology, hosts: dict[str, Host]
) -> None:
    before = starts(hosts, topology)
    output = plays.succeed("rolling_upgrade", "-e", "soak_seconds=0")
    assert changed(output) == 0
    assert starts(hosts, topology) == before


@contextmanager
def another_operation(hosts: Mapping[str, Host]) -> Iterator[None]:
    """Let the record of the last operation be that of one that runs on another machine."""
    replacements = {
        '"state": "finished"': '"state": "running"',
        '"machine": "': '"machine": "other ',
    }
    for host in hosts.values():
        assert '"state": "finished"' in host.check_output("cat %s", operation_file.PATH)
        for old, new in replacements.items():
            host.check_output("sed -i %s %s", f"s/{old}/{new}/", operation_file.PATH)
    try:
        yield
    finally:
        for host in hosts.values():
            for old, new in replacements.items():
                host.check_output("sed -i %s %s", f"s/{new}/{old}/", operation_file.PATH)


def test_nothing_is_finalized_while_another_operation_is_at_work(
    plays: Plays, topology: Topology, hosts: dict[str, Host]
) -> None:
    before = finalized(topology)
    with another_operation({name: hosts[name] for name in topology.group("kafka_controllers")}):
        output = plays.refuse("finalize", *CONFIRM)
    assert "[operation-running]" in output
    assert finalized(topology) == before


def test_finalize_wants_a_confirmation_and_then_is_final(
    plays: Plays, inventory: Inventory, topology: Topology, hosts: dict[str, Host]
) -> None:
    before = finalized(topology)
    assert before["metadata.version"] == METADATA[OLD]
    output = plays.refuse("finalize")
    assert f"finalize_confirm={NEW}" in output
    assert "metadata.version" in output
    assert "metadata.version" in plays.succeed("finalize", "--check")
    assert finalized(topology) == before

    plays.succeed("finalize", *CONFIRM, *PROVE)
    after = finalized(topology)
    assert after["metadata.version"] == METADATA[NEW]
    assert after.get("kraft.version") == before.get("kraft.version")
    kept_all(plays.proof())
    assert changed(plays.succeed("finalize")) == 0

    counts = starts(hosts, topology)
    inventory.set(kafka_version=OLD)
    output = plays.refuse("rollback")
    assert "metadata.version" in output
    assert starts(hosts, topology) == counts
    assert all_run(NEW, hosts, topology)
    inventory.set(kafka_version=NEW)


@pytest.mark.parametrize(
    ("version", "target", "security"),
    [
        ("4.2.1", "4.2.2", STANDARD),
        (OLD, NEW, OPEN),
        ("4.2.1", NEW, STANDARD),
        ("4.0.2", NEW, STANDARD),
        ("3.9.2", NEW, STANDARD),
    ],
)
def test_older_clusters_are_upgraded_and_finalized(
    version: str,
    target: str,
    security: str,
    plays: Plays,
    inventory: Inventory,
    topology: Topology,
    hosts: dict[str, Host],
    tmp_path: Path,
) -> None:
    """A new cluster of that version on the same hosts, upgraded under two ledgers and finalized.

    The second ledger writes transactions.
    """
    skip_unless_full()
    plays.succeed("teardown", "-e", "teardown_confirm=true", "-e", "kafka_remove_data=true")
    inventory.set(kafka_version=version, kafka_security=security)
    plays.succeed("site")
    assert all_run(version, hosts, topology)
    inventory.set(kafka_version=target, kafka_security=security)
    present = describe(topology.inventory)  # its passwords are new, or it has none
    with (
        ledger_running(present, hosts, plays, tmp_path, Target, transactions=True, rate=50) as load,
        watching(present) as watcher,
    ):
        plays.succeed("rolling_upgrade", *PROVE, "-e", "soak_seconds=1")
        transactions, text = checked(load)
    assert watcher.most == 1, watcher.down
    assert all_run(target, hosts, topology)
    kept_all(plays.proof())
    assert transactions["verdict"] == "PASS", text
    plays.succeed("finalize", "-e", f"finalize_confirm={target}")
    assert finalized(present)["metadata.version"] == METADATA[target]
    plays.succeed("health")
