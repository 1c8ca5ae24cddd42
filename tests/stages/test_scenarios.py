"""Every molecule scenario: check on fresh hosts, converge, idempotence, verify."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.support.faults.target import FULL, PART_OF_FULL
from tests.support.lab.lab import leftovers, succeed
from tests.support.lab.skips import lacks
from tests.support.lab.topology import ROOT

pytestmark = pytest.mark.usefixtures("fetched_ahead")
SECONDS = 9000 if FULL else 2400
"""For one that hangs: machines differ, and so does what else they do."""
BUDGET = 12
"""Remote tasks on a Kafka host at first install, the preflight included."""


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
    inventory = "".join(
        path.read_text() for path in sorted((ROOT / "inventories" / name).rglob("*.yml"))
    )
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
