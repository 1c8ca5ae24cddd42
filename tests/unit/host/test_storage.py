"""When storage is formatted, and with which command; the module kafka_storage."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host import storage
from ansible_collections.millrace.streaming.plugins.module_utils.host.storage import LogDir, Node

from tests.unit.module_runner import run_module

Run = Callable[..., dict[str, Any]]

CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"
OTHER = "Qg3OEVBNTcwNTJENDM2MkA"
NODE = Node(
    home="/opt/kafka",
    config="/etc/kafka/server.properties",
    java="/bin/java",
    cluster_id=CLUSTER,
    node_id=1,
    controller=True,
    initial_controllers="1@a:9093:x",
)
DYNAMIC = "controller.quorum.bootstrap.servers=a:9093\n"
STATIC = "controller.quorum.voters=1@a:9093\n"


def meta(cluster: Any = CLUSTER, node: int = 1) -> Any:
    return f"version=1\ncluster.id={cluster}\nnode.id={node}\ndirectory.id=x\n"


def formatted(path: str, **values: Any) -> Any:
    return LogDir(path, exists=True, meta=meta(**values), children=("t-0",))


EMPTY = LogDir("/b", exists=True, children=("lost+found",))


@pytest.mark.parametrize(
    ("dirs", "state", "missing"),
    [
        ([formatted("/a"), formatted("/b")], "formatted", []),
        ([formatted("/a"), EMPTY], "replaced disk", ["/b"]),
        ([EMPTY], "new", ["/b"]),
    ],
)
def test_state(dirs: list[LogDir], state: str, missing: list[str]) -> None:
    assert storage.state(dirs) == state
    assert storage.missing(dirs) == missing
    assert storage.problems(NODE, dirs) == []


def test_every_problem_is_named_at_once() -> None:
    dirs = [
        formatted("/a", cluster=OTHER, node=7),
        LogDir("/b", exists=True, children=("t-0", "a-b-12", "__cluster_metadata-0", "logs")),
        LogDir("/c", exists=False),
        LogDir("/d", exists=True, meta="version=1\n"),
        LogDir("/e", exists=True, meta="x=\\u1"),
    ]
    found = storage.problems(NODE, dirs)
    names = [
        ("/a", "cluster.id", OTHER, CLUSTER),
        ("/a", "node.id", "7", "1"),
        ("/b", "3", "__cluster_metadata-0", "a-b-12", "t-0"),
        ("/c",),
        ("/d",),
        ("/e",),
    ]
    for text, parts in zip(found, names, strict=True):
        assert all(part in text for part in parts), text


@pytest.mark.parametrize("name", ["t-0.0a1b-delete", "t-0.0a1b-future", "t-0.0a1b-stray", "t-12"])
def test_partition_directories_are_known_in_every_form(name: str) -> None:
    assert storage.problems(NODE, [LogDir("/a", exists=True, children=(name,))])


@pytest.mark.parametrize("name", ["lost+found", "t", "topic-x", "-0x"])
def test_other_directories_are_no_partitions(name: str) -> None:
    assert not storage.problems(NODE, [LogDir("/a", exists=True, children=(name,))])


def test_a_new_host_in_check_mode_has_no_directories_yet() -> None:
    assert storage.problems(NODE, [LogDir("/c", exists=False)], planned=True) == []


def test_an_illegal_cluster_id_is_refused() -> None:
    node = dataclasses.replace(NODE, cluster_id="kafka")
    assert "kafka" in storage.problems(node, [EMPTY])[0]


def test_the_zookeeper_form_of_meta_properties_is_read() -> None:
    text = f"version=0\nbroker.id=1\ncluster.id={CLUSTER}\n"
    assert storage.problems(NODE, [LogDir("/a", exists=True, meta=text)]) == []


def test_the_configuration_must_agree() -> None:
    good = "node.id=1\nlog.dirs=/a, /b\nmetadata.log.dir=/m\n"
    dirs = [LogDir(path, exists=True) for path in ("/m", "/a", "/b")]
    assert storage.config_problems(NODE, dirs, good) == []
    found = storage.config_problems(NODE, dirs[:2], "node.id=2\nlog.dirs=/a,/b\n")
    assert "node.id 2" in found[0]
    assert "/a, /b" in found[1]
    assert "/a, /m" in found[1]


@pytest.mark.parametrize(
    ("changes", "config", "expected"),
    [
        ({}, DYNAMIC, ["--initial-controllers", "1@a:9093:x"]),
        ({"initial_controllers": ""}, DYNAMIC, ["--no-initial-controllers"]),
        ({"controller": False}, DYNAMIC, ["--no-initial-controllers"]),
        ({}, STATIC, []),
        ({"controller": False}, STATIC, []),
    ],
)
def test_command(changes: Any, config: str, expected: Any) -> None:
    command = storage.format_command(dataclasses.replace(NODE, **changes), config, partly=False)
    start = command.index("--config")
    assert command[: start - 2][-2:] == ["kafka.tools.StorageTool", "format"]
    assert command[command.index("-cp") + 1] == "/opt/kafka/libs/*"
    assert command[start + 2 :] == expected


def test_a_replaced_disk_leaves_the_others_alone() -> None:
    assert "--ignore-formatted" in storage.format_command(NODE, STATIC, partly=True)


DIRECTORIES = "node.id=1\nlog.dirs=/a,/b\n"


@pytest.mark.parametrize(
    ("config", "changes", "observer"),
    [
        (DIRECTORIES + DYNAMIC, {}, False),
        (DIRECTORIES + DYNAMIC, {"initial_controllers": "2@b:9093:x,1@a:9093:y"}, False),
        (DIRECTORIES + DYNAMIC, {"initial_controllers": "1@a:9093:y,2@b:9093:z"}, True),
        (DIRECTORIES + DYNAMIC, {"initial_controllers": ""}, True),
        (DIRECTORIES + DYNAMIC, {"initial_controllers": "", "controller": False}, False),
        (DIRECTORIES + STATIC, {"initial_controllers": "1@a:9093:y"}, False),
        (DIRECTORIES + "metadata.log.dir=/b\n", {"initial_controllers": "1@a:9093:y"}, False),
        ("", {"initial_controllers": "1@a:9093:y"}, False),
    ],
)
def test_a_controller_that_was_formatted_into_a_running_quorum_is_an_observer(
    config: str, changes: Any, observer: bool
) -> None:
    node = dataclasses.replace(NODE, **changes)
    assert storage.is_observer(node, [formatted("/a"), EMPTY], config) is observer


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
    answer = node()
    assert answer["failed"]
    assert "node.id 9" in answer["msg"]
    assert "__cluster_metadata-0" in answer["msg"]
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
