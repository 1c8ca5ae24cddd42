from __future__ import annotations

import base64
import json
import os
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils import quorum_voter
from ansible_collections.millrace.streaming.plugins.module_utils.properties import parse_properties
from ansible_collections.millrace.streaming.plugins.module_utils.quorum_voter import Step

from tests.unit.module_runner import run_module

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
    assert quorum_voter.step(log(voters), 1, text(NEW)) == expected


def test_an_answer_with_an_error_tells_nothing() -> None:
    for error, told in ((None, True), ("NotLeaderOrFollowerError", False)):
        answer = {"topics": [{"partitions": [{**log({}), "error": error}]}]}
        if told:
            assert quorum_voter.partition(answer)["leader_id"] == 2
            continue
        with pytest.raises(LookupError, match="NotLeader"):
            quorum_voter.partition(answer)


def test_a_broker_that_tells_no_directory_ids_has_a_static_quorum() -> None:
    old = {"current_voters": [{"replica_id": 1, "log_end_offset": 5}], "observers": []}
    assert quorum_voter.step(old, 1, text(NEW)) == Step()


@pytest.mark.parametrize(
    ("observers", "leader", "expected"),
    [
        ([replica(1, NEW, 995)], 2, ""),
        ([replica(1, NEW, 1001)], 2, ""),
        ([replica(1, NEW, 900)], 2, "it is 100 records of metadata behind"),
        ([replica(1, OLD, 1000), replica(4, NEW, 1000)], 2, "does not see it as an observer"),
        ([replica(1, NEW, 1000)], -1, "no leader"),
    ],
)
def test_hurdle(observers: Any, leader: int, expected: str) -> None:
    found = quorum_voter.hurdle(log({2: OTHER}, *observers, leader=leader), 1, text(NEW), 10)
    assert expected in found
    assert bool(found) == bool(expected)


def test_the_tool_gets_who_the_node_is_and_how_clients_connect_and_no_secret_of_the_server() -> (
    None
):
    server = "node.id=1\nlog.dirs=/a\nssl.keystore.password=server\nlisteners=C://:9093\n"
    client = "security.protocol=SSL\nssl.truststore.password=a\\\\b\n"
    assert parse_properties(quorum_voter.tool_config(server, client)) == {
        "node.id": "1",
        "log.dirs": "/a",
        "listeners": "C://:9093",
        "security.protocol": "SSL",
        "ssl.truststore.password": "a\\b",
    }


# A quorum in a file, which the tool's place is taken by a script to change.
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
module.cluster_of = lambda params: Cluster()
module.POLL_SECONDS = 0.01
"""


@pytest.fixture
def node(tmp_path: Path) -> Run:
    """Run the real module against a quorum in a file; returns its result and what was asked."""
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
        sabotage = QUORUM.format(path=str(path))
        result = run_module("kafka_voter", args, check=check, sabotage=sabotage)
        return result | {"asked": json.loads(path.read_text()).get("asked", [])}

    return run


READY = replica(1, NEW)
REMOVE = ["remove-controller", "--controller-id", "1", "--controller-directory-id", text(OLD)]


@pytest.mark.parametrize(
    ("voters", "asked"),
    [
        ({1: NEW, 2: OTHER}, []),
        ({1: OLD, 2: OTHER}, [REMOVE, ["add-controller"]]),
        ({2: OTHER}, [["add-controller"]]),
        ({2: STATIC}, []),
    ],
)
def test_module_does_what_is_left_to_do(node: Run, voters: Any, asked: Any) -> None:
    planned = node(log(voters, READY), check=True)
    done = node(log(voters, READY))
    assert (planned["changed"], planned["asked"]) == (bool(asked), [])
    assert (done["changed"], done["asked"]) == (bool(asked), asked), done
    assert planned["removed"] == done["removed"]
    assert ("would be" in planned["msg"]) == bool(asked)


def test_module_adds_no_node_that_lacks_metadata(node: Run) -> None:
    result = node(log({2: OTHER}, replica(1, NEW, 5)))
    assert result["failed"]
    assert "995 records of metadata behind" in result["msg"]
    assert "run the same playbook again" in result["msg"]
    assert result["asked"] == []


def test_module_says_what_the_quorum_refused(node: Run) -> None:
    result = node({**log({1: OLD, 2: OTHER}, READY), "refuse": True})
    assert "could not be removed with its former directory id" in result["msg"]
    assert "TimeoutException: not now" in result["msg"]


def test_module_needs_a_formatted_node(node: Run, tmp_path: Path) -> None:
    (tmp_path / "meta.properties").unlink()
    assert "Configure and format it first" in node(log({2: OTHER}))["msg"]
