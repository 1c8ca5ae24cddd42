"""Every molecule scenario: check on virgin hosts, converge, idempotence, verify."""

from __future__ import annotations

import re

import pytest

from tests.support.lab import leftovers, succeed
from tests.support.topology import ROOT

SCENARIOS = sorted(path.parent.name for path in ROOT.glob("molecule/*/molecule.yml"))


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario(name: str) -> None:
    said = re.sub(r"\x1b\[[0-9;]*m", "", succeed("scenario", name, seconds=1500))
    assert re.search(rf"{name}\s+: actions=(\d+)\s+successful=\1\s.*missing=0\s+failed=0", said), (
        said[-3000:]
    )
    # The verdict counts tests that ran, so that a verify without tests cannot pass.
    passed = re.search(r"=+ (\d+) passed", said)
    assert passed, "the verify step ran no test"
    assert int(passed[1]) >= 9
    assert not leftovers(f"test-{name}")
