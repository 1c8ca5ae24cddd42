"""Every molecule scenario: check on fresh hosts, converge, idempotence, verify."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.support.faults.target import FULL, PART_OF_FULL
from tests.support.lab.lab import leftovers, succeed
from tests.support.lab.topology import ROOT

pytestmark = pytest.mark.usefixtures("fetched_ahead")
SECONDS = 9000 if FULL else 2400
"""For one that hangs: machines differ, and so does what else they do."""
BUDGET = 12
"""Remote tasks on a Kafka host at first install, the preflight included."""

# Why a test may be skipped, and what the inventory then does not have.
LACKS = {
    r"no Kafka here": "kafka_brokers",
    r"no Spark here": "spark_masters",
    r"no ZooKeeper here": "zookeeper_id",
    r"no HDFS here": "hdfs_namenode",
    r"no Kafka Connect here": "kafka_connect",
    r"no schema registry here": "schema_registry",
    r"no database here": "postgresql",
    r"no second cluster here": "connect_mirrors",
    r"no history server here": "spark_history",
    r"no racks here": "kafka_rack",
    r"ZooKeeper elects the controller here": "kafka_controllers",
    r"0 controllers: none of them may be lost": "kafka_controllers",
    r"1 controllers: none of them may be lost": "kafka_node_id: 2",
    r"controllers elect each other here": "zookeeper_id",
    r"its controllers are brokers too": r"kafka_controllers:\n +hosts:\n +c1",
    r"libfaketime cannot be downloaded here: .*": "libfaketime",
    r"0 members of ZooKeeper: none of them may be lost": "zookeeper_id",
    r"their first use makes them here": r"(?s)\A(?!.*auto.create.topics.enable: true)",
    r"they are open here": r"(?s)\A(?!.*spark_security: open)",
    r"one Spark master: nothing can take over": r"spark_masters:\n +hosts:\n( +)\w+:\n\1\w",
}


def lacks(inventory: str, reason: str) -> bool:
    """Whether a topology really does not have what a skipped test names."""
    return any(
        re.fullmatch(pattern, reason) and not re.search(missing, inventory)
        for pattern, missing in LACKS.items()
    )


SCENARIOS = sorted(path.parent.name for path in ROOT.glob("molecule/*/molecule.yml"))


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario(name: str, tmp_path: Path) -> None:
    counter = {
        "ANSIBLE_CALLBACK_PLUGINS": str(ROOT / "tests/support/lab/callback"),
        "ANSIBLE_CALLBACKS_ENABLED": "remote_tasks",
        "REMOTE_TASKS_FILE": str(tmp_path / "counts"),
    }
    try:
        output = succeed("scenario", name, seconds=SECONDS, env=counter)
    except subprocess.TimeoutExpired:
        succeed("down", seconds=120, env={"LAB_NAME": f"test-{name}"})
        raise
    output = re.sub(r"\x1b\[[0-9;]*m", "", output)
    assert re.search(
        rf"{name}\s+: actions=(\d+)\s+successful=\1\s.*missing=0\s+failed=0", output
    ), output[-3000:]
    # The verdict counts tests that ran, so that a verify without tests cannot pass.
    passed = re.search(r"=+ (\d+) passed(, \d+ skipped)?", output)
    assert passed, "the verify step ran no test"
    assert int(passed[1]) >= 9
    # Ansible quotes these lines, folds them and draws a bar beside them.
    quoted = re.findall(r"SKIPPED \[\d+\] \S+: ([^']*)'", output)
    reasons = [" ".join(reason.replace("│", " ").split()) for reason in quoted]
    assert bool(passed[2]) == bool(reasons)
    inventory = "".join(x.read_text() for x in sorted((ROOT / "inventories" / name).rglob("*.yml")))
    unexplained = [
        reason
        for reason in reasons
        if not lacks(inventory, reason) and (FULL or reason != PART_OF_FULL)
    ]
    assert not unexplained, "only what a topology does not have may be skipped"
    assert not leftovers(f"test-{name}")
    runs = [json.loads(line) for line in (tmp_path / "counts").read_text().splitlines()]
    first = next(run["plays"] for run in runs if "Hosts" in run["plays"] and not run["check"])
    nodes = first.get("Kafka", {})
    counts = {host: tasks + first["Hosts"][host] for host, tasks in nodes.items()}
    assert bool(counts) == ("kafka_brokers" in inventory)
    assert all(5 <= tasks <= BUDGET for tasks in counts.values()), counts
