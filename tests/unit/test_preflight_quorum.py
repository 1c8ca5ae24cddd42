from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.preflight_quorum import (
    has_voted,
    lost_majorities,
)
from ansible_collections.millrace.streaming.plugins.modules import preflight

from tests.unit.preflight_cases import DATA, KAFKA, host

THREE = {"kafka_controllers": ["c1", "c2", "c3"], "zookeeper": ["z1", "z2", "z3"]}


def results(**voted: bool) -> dict[str, dict[str, Any]]:
    groups = {"c": "kafka_controllers", "z": "zookeeper"}
    return {name: {"voted": {groups[name[0]]: had}} for name, had in voted.items()}


@pytest.mark.parametrize(
    "voted",
    [
        {"c1": False, "c2": False, "c3": False},
        {"c1": True, "c2": True, "c3": False},
        {"c1": True, "c2": False},
        {"z1": True, "z2": True, "z3": True},
        {},
    ],
)
def test_new_quorums_and_minorities_pass(voted: dict[str, bool]) -> None:
    assert lost_majorities(results(**voted), THREE) == []


def test_a_majority_without_data_is_refused() -> None:
    found = lost_majorities(
        results(c1=False, c2=True, c3=False, z1=False, z2=False, z3=True), THREE
    )
    assert len(found) == 2
    assert found[0].startswith("c1 and c3 have no data and are a majority of the 3 controllers")
    assert "while c2 has" in found[0]
    assert found[1].startswith("z1 and z2 have no data and are a majority of the 3 members")


def test_a_host_that_did_not_answer_is_not_counted() -> None:
    assert lost_majorities({"c1": {"voted": {"kafka_controllers": True}}, "c2": {}}, THREE) == []


def test_the_metadata_directory_tells() -> None:
    combined = {**KAFKA, "roles": ["broker", "controller"]}
    assert has_voted(host(exists=True, elected=True, kafka=combined)) == {"kafka_controllers": True}
    assert has_voted(host(exists=True, kafka=combined)) == {"kafka_controllers": False}
    assert has_voted(host(exists=True, kafka={**KAFKA, "roles": ["broker"]})) == {}
    elsewhere = {**combined, "metadata_dir": f"{DATA}/elsewhere"}
    assert has_voted(host(exists=True, elected=True, kafka=elsewhere)) == {}


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("__cluster_metadata-0/leader-epoch-checkpoint", "0\n1\n1 0\n", True),
        ("__cluster_metadata-0/leader-epoch-checkpoint", "0\n0\n", False),
        ("version-2/currentEpoch", "3", True),
        ("version-2/currentEpoch", "0", False),
        ("other", "", False),
    ],
)
def test_data_is_that_of_an_elected_quorum(
    tmp_path: Path, path: str, text: str, expected: bool
) -> None:
    file = tmp_path / path
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    assert preflight.elected(str(tmp_path)) is expected
