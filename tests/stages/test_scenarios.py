"""Every molecule scenario: check on virgin hosts, converge, idempotence, verify."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.lab import leftovers, succeed
from tests.support.topology import ROOT

BUDGET = 12
"""Remote tasks on a Kafka host at first install, fact gathering included."""

SCENARIOS = sorted(path.parent.name for path in ROOT.glob("molecule/*/molecule.yml"))


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario(name: str, tmp_path: Path) -> None:
    counter = {
        "ANSIBLE_CALLBACK_PLUGINS": str(ROOT / "tests/support/callback"),
        "ANSIBLE_CALLBACKS_ENABLED": "remote_tasks",
        "REMOTE_TASKS_FILE": str(tmp_path / "counts"),
    }
    said = re.sub(r"\x1b\[[0-9;]*m", "", succeed("scenario", name, seconds=1500, env=counter))
    assert re.search(rf"{name}\s+: actions=(\d+)\s+successful=\1\s.*missing=0\s+failed=0", said), (
        said[-3000:]
    )
    # The verdict counts tests that ran, so that a verify without tests cannot pass.
    passed = re.search(r"=+ (\d+) passed(, \d+ skipped)?", said)
    assert passed, "the verify step ran no test"
    assert int(passed[1]) >= 9
    # Only what a topology does not have may be skipped.
    assert bool(passed[2]) == (
        "spark_masters" not in (ROOT / f"inventories/{name}/hosts.yml").read_text()
    )
    assert not leftovers(f"test-{name}")
    runs = [json.loads(line) for line in (tmp_path / "counts").read_text().splitlines()]
    first = next(run["plays"] for run in runs if "Kafka" in run["plays"] and not run["check"])
    assert all(
        5 <= tasks + first["Preflight"][host] <= BUDGET for host, tasks in first["Kafka"].items()
    ), first
