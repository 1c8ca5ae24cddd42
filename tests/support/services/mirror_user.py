"""The user of another cluster as which a mirror reads there, as docs/operate/mirroring.md describes it."""

from __future__ import annotations

from typing import Any

from ansible_collections.millrace.streaming.plugins.plugin_utils.services.connect.mirrors import (
    Mirror,
)

Grant = dict[str, Any]


def grants(mirror: Mirror) -> list[Grant]:
    """What it may do there: it writes nothing."""
    return [
        *(_grant("topic", topic, "read", "describe_configs") for topic in mirror.topics),
        *(_grant("group", group, "describe") for group in mirror.groups),
        # Groups may read what that cluster has copied from here.
        *([_grant("topic", f"{mirror.target}.*", "describe")] if mirror.groups else []),
    ]


def _grant(kind: str, name: str, *operations: str) -> Grant:
    prefixed = {"pattern": "prefixed"} if name.endswith("*") and name != "*" else {}
    return {kind: name.rstrip("*") or "*", **prefixed, "operations": list(operations)}
