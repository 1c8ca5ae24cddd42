"""Readings of a cluster, as the adapter gives them."""

from __future__ import annotations

from collections.abc import Mapping

from ansible_collections.millrace.streaming.plugins.module_utils.kafka.groups import (
    Group,
    Place,
    Reading,
)

FLIGHTS: Place = ("flights", 0)
PLANES: Place = ("planes", 3)


def group(name: str = "app", **overrides: object) -> Group:
    """Return a group with one member that has read ten records of a topic."""
    fields = {"state": "Stable", "members": 1, "committed": {FLIGHTS: 10}, **overrides}
    return Group(name, **fields)  # type: ignore[arg-type]  # of any type for short


def reading(*groups: Group, ends: Mapping[Place, int] | None = None, problem: str = "") -> Reading:
    """Return a reading of groups."""
    groups_by_name = {consumer_group.name: consumer_group for consumer_group in groups}
    problems = (problem,) if problem else ()
    return Reading(groups_by_name, {FLIGHTS: 10} if ends is None else ends, problems=problems)
