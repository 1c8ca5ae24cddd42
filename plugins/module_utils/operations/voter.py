"""How a controller becomes a voter of its dynamic quorum, and leaves it (KIP-853).

Pure: the caller asks the cluster and runs the commands. A voter is its node id with the directory
id of its disk: with another disk it is another voter, since its log and its votes are lost.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..formats.properties import escape_key, escape_value, parse_properties
from ..formats.uuids import ZERO, kafka_text
from ..kafka.snapshot import Quorum
from .gate import MAX_LAG, caught_up

_TOOL = "org.apache.kafka.tools.MetadataQuorumCommand"
# What the tool reads of a node's configuration to add it; the rest may hold the server's secrets.
_OWN_KEYS = (
    "node.id",
    "process.roles",
    "log.dir",
    "log.dirs",
    "metadata.log.dir",
    "listeners",
    "advertised.listeners",
    "controller.listener.names",
    "listener.security.protocol.map",
)


@dataclass(frozen=True)
class Step:
    """What is to be done."""

    remove: str = ""
    """The old directory id of the voter to remove."""
    add: bool = False
    """Whether to add the node."""


def partition(response: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the metadata log out of the answer about the quorum.

    Raises:
        LookupError: the node that answered does not know it, such as a former leader.

    """
    log: Mapping[str, Any] = response["topics"][0]["partitions"][0]
    if log.get("error"):
        # Such an answer has no voters, which would mean that nothing is to be done.
        raise LookupError(str(log["error"]))
    return log


def step(log: Mapping[str, Any], node_id: int, directory: str) -> Step:
    """Return what makes the node with this directory id (Kafka's text form) a voter."""
    voters = {voter["replica_id"]: _directory(voter) for voter in log["current_voters"]}
    if set(voters.values()) <= {ZERO}:
        return Step()  # A static quorum: its members are in the files.
    former = voters.get(node_id)
    # Without a directory id: of a static quorum that just became dynamic. It registers its own.
    if former in (directory, ZERO):
        return Step()
    return Step(remove=former or "", add=True)


def not_ready_reason(log: Mapping[str, Any], node_id: int, directory: str) -> str:
    """Return why the node cannot be added yet; empty if it can."""
    end = next(
        (
            voter["log_end_offset"]
            for voter in log["current_voters"]
            if _id(voter) == log["leader_id"]
        ),
        None,
    )
    if end is None:
        return "the quorum has no leader among its voters"
    identity = (node_id, directory)
    for observer in log["observers"]:
        if (_id(observer), _directory(observer)) == identity:
            lag = end - observer["log_end_offset"]
            return "" if lag <= MAX_LAG else f"it is {lag} records of metadata behind"
    return "the quorum's leader does not see it as an observer"


def remove_command(tool: Sequence[str], node_id: int, directory: str) -> list[str]:
    """Return the command that takes a voter out of the quorum."""
    return [
        *tool,
        "remove-controller",
        "--controller-id",
        str(node_id),
        "--controller-directory-id",
        directory,
    ]


def tool_command(java: str, home: str, bootstrap: Sequence[str], config: str) -> list[str]:
    """Return the command of Kafka's tool for the quorum, without what it is to do."""
    return [
        java,
        "-Xmx128m",
        "-XX:TieredStopAtLevel=1",
        "-XX:+UseSerialGC",
        "-cp",
        f"{home}/conf:{home}/libs/*",
        _TOOL,
        "--bootstrap-server",
        ",".join(bootstrap),
        "--command-config",
        config,
    ]


def tool_config(server: str, client: str) -> str:
    """Return the tool's configuration: who the node is, and how clients connect."""
    node = parse_properties(server)
    keys = {key: node[key] for key in _OWN_KEYS if key in node} | parse_properties(client)
    return "".join(f"{escape_key(key)}={escape_value(value)}\n" for key, value in keys.items())


def voter_directory(log: Mapping[str, Any], node_id: int) -> str:
    """Return the directory id of a voter as the answer about the quorum has it, empty for none."""
    return next(
        (
            str(voter.get("replica_directory_id") or uuid.UUID(int=0))
            for voter in log["current_voters"]
            if _id(voter) == node_id
        ),
        "",
    )


def removal_reason(quorum: Quorum, node_id: int, directory: str) -> str:
    """Return why a voter cannot leave its dynamic quorum, empty if it can.

    The others must go on without it: a majority of them is caught up.
    """
    if uuid.UUID(directory).int == 0:
        return (
            "the quorum is static, or has become dynamic just now: it knows no directory id of "
            "this controller. Replace its machine with replace.yml instead"
        )
    others = {voter.id for voter in quorum.voters} - {node_id}
    if not others:
        return "it is the only controller: add others first"
    if quorum.leader_id < 0:
        return "the controllers have no leader: start a majority of them"
    caught = caught_up(quorum) & others
    majority = len(others) // 2 + 1
    if len(caught) >= majority:
        return ""
    late = ", ".join(str(voter) for voter in sorted(others - caught))
    return (
        f"of the {len(others)} controllers that are left only {len(caught)} are caught up, not "
        f"{majority}: start {late} first, or remove a dead one instead"
    )


def removal_lines(quorum: Quorum, node_id: int) -> list[str]:
    """Return what becomes of the quorum, for a reader."""
    remaining = sorted({voter.id for voter in quorum.voters} - {node_id})
    lines = [
        f"controller {node_id} leaves the quorum: {', '.join(map(str, remaining))} carry it then"
    ]
    if len(remaining) % 2 == 0:
        lines.append(
            f"{len(remaining)} controllers tolerate no more failures than {len(remaining) - 1}: "
            "remove one more, or add one"
        )
    if len(remaining) == 1:
        lines.append("one controller tolerates no failure")
    return lines


def _id(replica: Mapping[str, Any]) -> int:
    return int(replica["replica_id"])


def _directory(replica: Mapping[str, Any]) -> str:
    # Brokers before Kafka 3.9 do not report it.
    return kafka_text(replica.get("replica_directory_id") or "0" * 32)
