"""The checks of what is installed: whether what is wanted can follow it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ansible_collections.millrace.streaming.plugins.module_utils.preflight import (
    Finding,
    Host,
    check,
)
from ansible_collections.millrace.streaming.plugins.module_utils.versions import KAFKA


@check(
    "version-goes-back",
    when="`kafka_version` is an earlier minor release than what wrote the host's data",
    why="An older Kafka refuses to start on a metadata.version, once finalized, that it does not "
    "know.",
    remedy="Keep the version; a cluster whose finalized metadata.version the older one knows may "
    "go back after the link /opt/millrace/kafka is removed from its hosts.",
)
def version_goes_back(host: Host) -> Iterator[Finding]:
    """Refuse a release that may not read the metadata; a patch release reads the same."""
    wanted = str(host.wish.kafka.get("version") or "")
    found = re.match(r"kafka-(\d+\.\d+[.\d]*)-", host.found.installed.get("kafka", ""))
    if not found or not re.match(r"\d+\.\d+", wanted):
        return
    used = any(directory.meta is not None for _, directory in host.data())
    if used and _minor(wanted) < _minor(found[1]):
        releases = KAFKA.supported
        written, known = (
            f"metadata.version {releases[one].metadata}" if one in releases else f"Kafka {one}"
            for one in (found[1], wanted)
        )
        what = f"Kafka {found[1]} ran on this host's data; the inventory says {wanted}."
        fix = (
            f"Set kafka_version: {found[1]}. Only where kafka-features.sh describe says that no "
            f"more than {known} is finalized, and not {written}, remove the link "
            "/opt/millrace/kafka to go back."
        )
        yield Finding("kafka_version", what, fix)


def _minor(version: str) -> tuple[int, ...]:
    """Return the numbers that a minor release has."""
    return tuple(int(part) for part in version.split(".")[:2])
