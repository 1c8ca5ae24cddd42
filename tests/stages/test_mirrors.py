"""Two labs, of which the second follows the first."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.lab.lab import leftovers, run_tests, succeed
from tests.support.lab.topology import ROOT

pytestmark = pytest.mark.usefixtures("fetched_ahead")
LABS = {"test-mirrors-first": "connect", "test-mirrors-second": "mirror"}
"""Name -> its topology."""


def env(name: str) -> dict[str, str]:
    return {"LAB_NAME": name, "LAB_TOPOLOGY": LABS[name]}


@pytest.fixture(scope="module")
def labs() -> Iterator[list[str]]:
    """The inventories of both, the first one first."""
    try:
        for name in LABS:
            succeed("up", seconds=1200, env=env(name))
        yield [str(ROOT / f".lab/{name}/inventory") for name in LABS]
    finally:
        for name in LABS:
            succeed("down", seconds=120, env=env(name))
    assert not [leftover for name in LABS for leftover in leftovers(name)]


def test_the_second_follows_the_first(labs: list[str]) -> None:
    first, second = labs
    run_tests(
        "tests/failover/test_mirror.py",
        "--inventory",
        first,
        "--second",
        second,
        seconds=3600,
    )
