"""The module kafka_storage, with a program in the place of Kafka's storage tool."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.host.test_storage import CLUSTER, STATIC, meta
from tests.unit.module_runner import run_module

Run = Callable[..., dict[str, Any]]

FAKE_JAVA = """#!/bin/sh
echo "WARN StatusLogger No Log4j 2 configuration file found" >&2
for dir in {dirs}; do
  test -e "$dir/meta.properties" || printf '{meta}' > "$dir/meta.properties"
done
"""


@pytest.fixture
def node(tmp_path: Path) -> Any:
    """Run the real module against a java that writes what the storage tool would."""
    dirs = [tmp_path / "data", tmp_path / "meta"]
    for path in dirs:
        path.mkdir()
    java = tmp_path / "java"
    java.write_text(
        FAKE_JAVA.format(dirs=" ".join(map(str, dirs)), meta=meta().replace("\n", "\\n"))
    )
    java.chmod(0o755)
    config = tmp_path / "server.properties"
    config.write_text(f"node.id=1\nlog.dirs={dirs[0]}\nmetadata.log.dir={dirs[1]}\n")
    args = {
        "home": str(tmp_path),
        "config": str(config),
        "cluster_id": CLUSTER,
        "node_id": 1,
        "log_dirs": [str(path) for path in dirs],
        "user": Path("/").owner() if os.geteuid() == 0 else Path.home().owner(),
        "java": str(java),
        "bootstrap": ["127.0.0.1:1"],
        "may_vote": True,
    }

    def run(check: bool = False, **changes: Any) -> dict[str, Any]:
        return run_module("kafka_storage", {**args, **changes}, check=check)

    return run


def test_the_module_formats_once(node: Run, tmp_path: Path) -> None:
    planned = node(check=True)
    assert planned["changed"]
    assert planned["formatted"] == [str(tmp_path / "data"), str(tmp_path / "meta")]
    assert not (tmp_path / "data" / "meta.properties").exists()
    first = node()
    assert (first["changed"], first["state"]) == (True, "new")
    assert first["formatted"] == planned["formatted"]
    second = node()
    assert (second["changed"], second["state"]) == (False, "formatted")


def test_the_module_formats_a_replaced_disk_only(node: Run, tmp_path: Path) -> None:
    node()
    (tmp_path / "data" / "meta.properties").unlink()
    again = node()
    assert again["state"] == "replaced disk"
    assert again["formatted"] == [str(tmp_path / "data")]


def test_the_module_says_each_time_that_a_controller_is_an_observer(node: Run) -> None:
    joining = {"controller": True, "initial_controllers": "1@127.0.0.1:1:y"}
    assert [node(**joining)["observer"] for _ in range(2)] == [True, True]
    assert node(**joining | {"initial_controllers": "1@127.0.0.1:1:x"})["observer"] is False


def test_the_module_refuses_and_touches_nothing(node: Run, tmp_path: Path) -> None:
    (tmp_path / "data" / "meta.properties").write_text(meta(node=9))
    (tmp_path / "meta" / "__cluster_metadata-0").mkdir()
    result = node()
    assert result["failed"]
    assert "node.id 9" in result["msg"]
    assert "__cluster_metadata-0" in result["msg"]
    assert not (tmp_path / "meta" / "meta.properties").exists()


def test_the_module_does_not_believe_a_tool_that_did_nothing(node: Run, tmp_path: Path) -> None:
    (tmp_path / "java").write_text("#!/bin/sh\nexit 0\n")
    result = node()
    assert result["failed"]
    assert str(tmp_path / "data") in result["msg"]


VOTING = {"controller": True, "initial_controllers": "1@127.0.0.1:1:x"}


def test_a_controller_whose_peers_have_data_is_formatted_without_a_vote(node: Run) -> None:
    command = node(**VOTING, may_vote=False)["command"]
    assert "--no-initial-controllers" in command
    assert "--initial-controllers" not in command


def test_a_first_controller_votes(node: Run) -> None:
    assert "--initial-controllers" in node(**VOTING)["command"]


def test_a_replaced_disk_without_the_metadata_takes_no_vote(node: Run, tmp_path: Path) -> None:
    node(**VOTING)
    (tmp_path / "data" / "meta.properties").unlink()
    assert "--initial-controllers" in node(**VOTING, may_vote=False)["command"]
    (tmp_path / "meta" / "meta.properties").unlink()
    assert "--no-initial-controllers" in node(**VOTING, may_vote=False)["command"]


def test_an_empty_voter_of_a_static_quorum_waits_for_the_others(node: Run, tmp_path: Path) -> None:
    """Nothing answers there: whether the quorum needs its vote is not known."""
    with (tmp_path / "server.properties").open("a") as config:
        config.write(STATIC)
    refused = node(**VOTING, may_vote=False)
    assert refused["failed"]
    assert "node 1" in refused["msg"]
    assert not (tmp_path / "meta" / "meta.properties").exists()
    assert node(**VOTING)["changed"], "a first one is formatted"
