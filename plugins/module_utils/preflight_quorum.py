"""The check over all hosts: a majority of members without data must not elect itself.

An empty majority can choose a leader that lacks committed records, and the members that have them
then truncate theirs (Kafka's documents on KRaft: why controllers do not format themselves).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.preflight import Host
from ansible_collections.millrace.streaming.plugins.module_utils.rules import (
    listing,
    mapping,
    sequence,
    texts,
)

NAMES = {"kafka_controllers": "controllers", "zookeeper": "members of ZooKeeper"}
ADVICE = {
    "kafka_controllers": "Restore metadata directories until a majority has its own; add new "
    "controllers one at a time.",
    "zookeeper": "Restore data directories until a majority has its own; add new members one at "
    "a time.",
}


def has_voted(host: Host) -> dict[str, bool]:
    """Return group -> whether this host holds records of an elected quorum, where it is a member.

    A member whose disk is yet to be mounted is left out: nothing is known of it.
    """
    elected = {directory.path: directory.elected for _, directory in host.disks()}
    kafka, zookeeper = host.wish.kafka, host.wish.zookeeper
    places = {}
    if "controller" in sequence(kafka.get("roles")):
        places["kafka_controllers"] = kafka.get("metadata_dir") or first(kafka.get("data_dirs"))
    if zookeeper:
        places["zookeeper"] = first(zookeeper.get("data_dirs"))
    return {group: elected[path] for group, path in places.items() if path in elected}


def first(paths: object) -> str:
    """Return the first path of a list, empty if there is none."""
    return next(iter(texts(paths)), "")


def lost_majorities(
    results: Mapping[str, Mapping[str, Any]], groups: Mapping[str, Sequence[str]]
) -> list[str]:
    """Say which group would elect itself without its data.

    `results` is host -> the preflight's result, with `voted` as `has_voted` tells it.
    """
    lines: list[str] = []
    for group, name in NAMES.items():
        members = list(groups.get(group, ()))
        voted = {
            host: bool(told[group])
            for host in members
            if group in (told := mapping(mapping(results.get(host)).get("voted")))
        }
        empty = [host for host, has_data in voted.items() if not has_data]
        if any(voted.values()) and 2 * len(empty) > len(members):
            have = listing(host for host, has_data in voted.items() if has_data)
            lines.append(
                f"{listing(empty)} have no data and are a majority of the {len(members)} {name}, "
                f"while {have} has: they would elect a leader without its records. {ADVICE[group]} "
                "[majority-without-data]"
            )
    return lines
