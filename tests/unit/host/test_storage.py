"""When storage is formatted, and with which command."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.formats.properties import (
    parse_properties,
)
from ansible_collections.millrace.streaming.plugins.module_utils.host import storage
from ansible_collections.millrace.streaming.plugins.module_utils.host.storage import LogDir, Node

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
    problems = storage.problems(NODE, dirs)
    names = [
        ("/a", "cluster.id", OTHER, CLUSTER),
        ("/a", "node.id", "7", "1"),
        ("/b", "3", "__cluster_metadata-0", "a-b-12", "t-0"),
        ("/c",),
        ("/d",),
        ("/e",),
    ]
    for text, fragments in zip(problems, names, strict=True):
        assert all(fragment in text for fragment in fragments), text


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
    problems = storage.config_problems(NODE, dirs[:2], "node.id=2\nlog.dirs=/a,/b\n")
    assert "node.id 2" in problems[0]
    assert "/a, /b" in problems[1]
    assert "/a, /m" in problems[1]


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
    assert command[: start - 1][-2:] == ["kafka.tools.StorageTool", "format"]
    assert command[command.index("-cp") + 1] == "/opt/kafka/libs/*"
    assert command[start + 2 :] == expected


def test_an_id_that_begins_with_a_dash_is_no_option() -> None:
    command = storage.format_command(
        dataclasses.replace(NODE, cluster_id="-x"), STATIC, partly=False
    )
    assert "-x" not in command
    assert "--cluster-id=-x" in command


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


@pytest.mark.parametrize(
    ("name", "is_own"),
    [
        ("meta.properties", True),
        ("meta.properties.tmp", True),
        ("bootstrap.checkpoint", True),
        ("recovery-point-offset-checkpoint", True),
        ("cleaner-offset-checkpoint.tmp", True),
        (".lock", True),
        (".kafka_cleanshutdown", True),
        ("remote-log-index-cache", True),
        ("t-0", False),
        ("meta-properties", False),
        ("xlock", False),
        ("notes.checkpoint", False),
        ("lost+found", False),
    ],
)
def test_what_kafka_keeps_beside_partitions(name: str, *, is_own: bool) -> None:
    assert storage.is_kafkas_own(name) is is_own
    assert storage.is_partition(name) is (name == "t-0")


@pytest.mark.parametrize(
    ("text", "lost", "intact"),
    [
        ("node.id=1\n", "cluster.id", "node.id"),
        (f"cluster.id={CLUSTER}\n", "node.id", "cluster.id"),
    ],
)
def test_what_a_damaged_file_has_lost_is_named(text: str, lost: str, intact: str) -> None:
    (problem,) = storage.problems(NODE, [LogDir("/a", exists=True, meta=text)])
    assert "/a/meta.properties" in problem
    assert lost in problem
    assert intact not in problem


@pytest.mark.parametrize(("cluster", "node"), [(OTHER, 1), (CLUSTER, 2), (OTHER, 2)])
def test_only_what_contradicts_is_a_problem(cluster: str, node: int) -> None:
    problems = storage.problems(NODE, [formatted("/a", cluster=cluster, node=node)])
    assert ["cluster.id" in text for text in problems].count(True) == (cluster != CLUSTER)
    assert [f"node.id {node}" in text for text in problems].count(True) == (node != 1)
    assert len(problems) == (cluster != CLUSTER) + (node != 1)


def test_what_is_known_of_a_directory_is_checked_wherever_it_is() -> None:
    directory = LogDir("/a", exists=False, meta=meta(OTHER))
    assert len(storage.problems(NODE, [directory])) == 1
    assert len(storage.problems(NODE, [directory], planned=True)) == 1
    assert len(storage.problems(NODE, [LogDir("/a", exists=True)])) == 0


@pytest.mark.parametrize(
    ("config", "path"),
    [
        ("log.dirs=/a, /b\n", "/a"),
        ("log.dir=/c\n", "/c"),
        ("log.dir=/c\nlog.dirs=/a\n", "/a"),
        ("log.dirs=/a\nmetadata.log.dir= /m \n", "/m"),
        ("", ""),
    ],
)
def test_the_directory_of_the_metadata(config: str, path: str) -> None:
    assert storage.metadata_dir(parse_properties(config)) == path


def test_a_disk_without_the_metadata_lacks_it() -> None:
    dirs = [formatted("/a"), EMPTY]
    assert storage.lacks_metadata(dirs, "log.dirs=/b,/a\n")
    assert storage.lacks_metadata(dirs, "log.dirs=/a\nmetadata.log.dir=/b\n")
    assert not storage.lacks_metadata(dirs, "log.dirs=/a,/b\n")
    assert not storage.lacks_metadata(dirs, "")


@pytest.mark.parametrize(
    ("config", "count"),
    [
        ("node.id=1\nlog.dirs=/a,/b\n", 0),
        ("node.id=1\nlog.dirs=/b,/a\nmetadata.log.dir=/a\n", 0),
        ("node.id=1\nlog.dirs=/a\n", 1),
        ("node.id=1\nlog.dirs=/a,/b,/c\n", 1),
        ("node.id=2\nlog.dirs=/a,/b\n", 1),
        ("log.dirs=/a,/b\n", 1),
        ("", 2),
    ],
)
def test_where_a_configuration_disagrees(config: str, count: int) -> None:
    dirs = [LogDir(path, exists=True) for path in ("/a", "/b")]
    assert len(storage.config_problems(NODE, dirs, config)) == count


def test_only_a_replaced_disk_is_formatted_beside_others() -> None:
    assert "--ignore-formatted" not in storage.format_command(NODE, STATIC, partly=False)


def test_a_node_is_what_the_options_of_the_module_say() -> None:
    options = {**dataclasses.asdict(NODE), "more": 1}
    assert Node.of(options) == NODE
