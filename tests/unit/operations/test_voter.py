"""What makes a controller with a new disk a voter again, and the module kafka_voter."""

from __future__ import annotations

import base64
import json
import os
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.formats.properties import (
    parse_properties,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.snapshot import Quorum
from ansible_collections.millrace.streaming.plugins.module_utils.operations import voter
from ansible_collections.millrace.streaming.plugins.module_utils.operations.voter import Step

from tests.unit.module_runner import run_module
from tests.unit.operations.gate_cases import voters

Run = Callable[..., dict[str, Any]]

OLD, NEW, OTHER = (str(uuid.UUID(int=(number << 120) + 7)) for number in (1, 2, 3))
STATIC = str(uuid.UUID(int=0))


def text(value: str) -> str:
    return base64.urlsafe_b64encode(uuid.UUID(value).bytes).decode().rstrip("=")


def replica(node: int, directory: str, end: int = 1000) -> dict[str, Any]:
    return {"replica_id": node, "replica_directory_id": directory, "log_end_offset": end}


def log(voters: dict[int, str], *observers: Any, leader: int = 2) -> dict[str, Any]:
    members = [replica(node, directory) for node, directory in voters.items()]
    return {"leader_id": leader, "current_voters": members, "observers": list(observers)}


@pytest.mark.parametrize(
    ("voters", "expected"),
    [
        ({1: NEW, 2: OTHER}, Step()),
        ({1: OLD, 2: OTHER}, Step(remove=text(OLD), add=True)),
        ({2: OTHER}, Step(add=True)),
        ({1: STATIC, 2: STATIC}, Step()),
        ({2: STATIC, 3: STATIC}, Step()),
        ({1: STATIC, 2: OTHER}, Step()),
        ({}, Step()),
    ],
)
def test_step(voters: Any, expected: Step) -> None:
    assert voter.step(log(voters), 1, text(NEW)) == expected


def test_an_answer_with_an_error_is_no_quorum_without_voters() -> None:
    def answer(error: str | None) -> dict[str, Any]:
        return {"topics": [{"partitions": [{**log({}), "error": error}]}]}

    assert voter.partition(answer(None))["leader_id"] == 2
    with pytest.raises(LookupError, match="NotLeader"):
        voter.partition(answer("NotLeaderOrFollowerError"))


def test_a_broker_that_knows_no_directory_ids_has_a_static_quorum() -> None:
    old = {"current_voters": [{"replica_id": 1, "log_end_offset": 5}], "observers": []}
    assert voter.step(old, 1, text(NEW)) == Step()


@pytest.mark.parametrize(
    ("observers", "leader", "expected"),
    [
        ([replica(1, NEW, 995)], 2, ""),
        ([replica(1, NEW, 1001)], 2, ""),
        ([replica(1, NEW, 900)], 2, ""),
        ([replica(1, NEW, 899)], 2, "101 records"),
        ([replica(1, OLD, 1000), replica(4, NEW, 1000)], 2, "observer"),
        ([replica(1, NEW, 1000)], -1, "leader"),
    ],
)
def test_when_a_node_can_be_added(observers: Any, leader: int, expected: str) -> None:
    reason = voter.not_ready_reason(log({2: OTHER}, *observers, leader=leader), 1, text(NEW))
    assert expected in reason
    assert bool(reason) == bool(expected)


@pytest.mark.parametrize(
    ("members", "node", "directory", "reason"),
    [
        (voters(0, 0, 0), 3, NEW, ""),
        (voters(0, 0, 0), 1, NEW, ""),
        (voters(0, 0, 60_000), 3, NEW, ""),
        (voters(0, 0, 60_000), 2, NEW, "only 1 are caught up, not 2: start 3 first"),
        (voters(0, 0), 2, NEW, ""),
        (voters(0, 60_000), 1, NEW, "only 0 are caught up, not 1: start 2 first"),
        (voters(0, 0, 0, 0, None), 4, NEW, ""),
        (voters(0, 0, None, None), 2, NEW, "only 1 are caught up, not 2: start 3, 4 first"),
        (voters(0), 1, NEW, "the only controller"),
        (voters(0, 0, 0, leader=-1), 3, NEW, "no leader"),
        (voters(0, 0, 0), 3, STATIC, "the quorum is static"),
    ],
)
def test_a_vote_ends_only_where_the_others_go_on(
    members: Quorum, node: int, directory: str, reason: str
) -> None:
    text_ = voter.removal_reason(members, node, directory)
    assert reason in text_
    assert bool(text_) == bool(reason)


def test_what_becomes_of_a_quorum_is_said() -> None:
    assert voter.removal_lines(voters(0, 0, 0, 0), 4) == [
        "controller 4 leaves the quorum: 1, 2, 3 carry it then"
    ]
    even = voter.removal_lines(voters(0, 0, 0), 2)
    assert even[1].startswith("2 controllers tolerate no more failures than 1")
    assert voter.removal_lines(voters(0, 0), 2)[1] == "one controller tolerates no failure"


def test_the_directory_of_a_voter_is_the_one_that_the_quorum_knows() -> None:
    answer = log({1: OLD, 2: OTHER}, replica(3, NEW))
    assert voter.voter_directory(answer, 1) == OLD
    assert voter.voter_directory(answer, 3) == "", "an observer"
    old = {"current_voters": [{"replica_id": 1, "log_end_offset": 5}]}
    assert voter.voter_directory(old, 1) == STATIC


def test_kafkas_tool_gets_the_node_and_its_client_and_no_secret_of_the_server() -> None:
    server = "node.id=1\nlog.dirs=/a\nssl.keystore.password=server\nlisteners=C://:9093\n"
    client = "security.protocol=SSL\nssl.truststore.password=a\\\\b\n"
    assert parse_properties(voter.tool_config(server, client)) == {
        "node.id": "1",
        "log.dirs": "/a",
        "listeners": "C://:9093",
        "security.protocol": "SSL",
        "ssl.truststore.password": "a\\b",
    }


# Takes the place of Java and Kafka's tool: changes a quorum that lies in a file.
FAKE_JAVA = """#!/usr/bin/env python3
import json, sys
path, new = {path!r}, {new!r}
log = json.load(open(path))
log.setdefault("asked", []).append(sys.argv[sys.argv.index("--command-config") + 2 :])
if not log.get("refuse"):
    log["current_voters"] = [one for one in log["current_voters"] if one["replica_id"] != 1]
    if "add-controller" in sys.argv:
        log["current_voters"].append(new)
json.dump(log, open(path, "w"))
sys.exit("TimeoutException: not now" if log.get("refuse") else 0)
"""
QUORUM = """
class Cluster:
    def ask(self, question): return json.load(open({path!r}))
    def close(self): pass
module.options.connection_of = lambda params: None
module.options.Cluster = lambda connection, **_: Cluster()
module.POLL_SECONDS = 0.01
"""


@pytest.fixture
def node(tmp_path: Path) -> Run:
    """Run the real module against a quorum in a file; returns its result and the tool's calls."""
    path, java = tmp_path / "quorum.json", tmp_path / "java"
    java.write_text(FAKE_JAVA.format(path=str(path), new=replica(1, NEW)))
    java.chmod(0o755)
    (tmp_path / "meta.properties").write_text(f"version=1\ndirectory.id={text(NEW)}\n")
    (tmp_path / "server.properties").write_text(f"node.id=1\nlog.dirs={tmp_path},/b\n")
    (tmp_path / "client.properties").write_text("security.protocol=PLAINTEXT\n")
    args = {
        "bootstrap": ["a:9092"],
        "library": str(tmp_path),
        "home": str(tmp_path),
        "java": str(java),
        "config": str(tmp_path / "server.properties"),
        "client_config": str(tmp_path / "client.properties"),
        "node_id": 1,
        "user": Path("/").owner() if os.geteuid() == 0 else Path.home().owner(),
        "group": Path("/").group() if os.geteuid() == 0 else Path.home().group(),
        "timeout": 0.5,
    }

    def run(quorum: Any, check: bool = False) -> dict[str, Any]:
        path.write_text(json.dumps(quorum))
        patch = QUORUM.format(path=str(path))
        result = run_module("kafka_voter", args, check=check, patch=patch)
        return result | {"asked": json.loads(path.read_text()).get("asked", [])}

    return run


READY = replica(1, NEW)
REMOVE = ["remove-controller", "--controller-id", "1", "--controller-directory-id", text(OLD)]


@pytest.mark.parametrize(
    ("voters", "requests"),
    [
        ({1: NEW, 2: OTHER}, []),
        ({1: OLD, 2: OTHER}, [REMOVE, ["add-controller"]]),
        ({2: OTHER}, [["add-controller"]]),
        ({2: STATIC}, []),
    ],
)
def test_the_module_does_what_is_left_to_do(node: Run, voters: Any, requests: Any) -> None:
    planned = node(log(voters, READY), check=True)
    done = node(log(voters, READY))
    assert (planned["changed"], planned["asked"]) == (bool(requests), [])
    assert (done["changed"], done["asked"]) == (bool(requests), requests), done
    assert planned["removed"] == done["removed"]
    assert (planned["added"], planned["directory_id"]) == (bool(requests), text(NEW))


@pytest.mark.parametrize("voters", [{2: OTHER}, {1: OLD, 2: OTHER}])
def test_the_module_changes_no_quorum_for_a_node_that_lacks_metadata(
    node: Run, voters: Any
) -> None:
    """Nor does it remove the former voter: the quorum would have one fewer for all that time."""
    result = node(log(voters, replica(1, NEW, 5)))
    assert result["failed"]
    assert "995 records" in result["msg"]
    assert result["asked"] == []


def test_the_module_says_what_the_quorum_refused(node: Run) -> None:
    result = node({**log({1: OLD, 2: OTHER}, READY), "refuse": True})
    assert result["failed"]
    assert "controller 1" in result["msg"]
    assert "TimeoutException: not now" in result["msg"]


def test_the_module_needs_a_formatted_node(node: Run, tmp_path: Path) -> None:
    (tmp_path / "meta.properties").unlink()
    result = node(log({2: OTHER}))
    assert result["failed"]
    assert str(tmp_path / "meta.properties") in result["msg"]
