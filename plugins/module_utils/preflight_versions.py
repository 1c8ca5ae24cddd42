"""The checks of what is installed: whether what is wanted can follow it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ansible_collections.millrace.streaming.plugins.module_utils.preflight import (
    Finding,
    Host,
    check,
)
from ansible_collections.millrace.streaming.plugins.module_utils.versions import (
    KAFKA,
    release_numbers,
)


@check(
    "version-goes-back",
    when="`kafka_version` is an earlier minor release than what wrote the host's data",
    why="An older Kafka refuses to start on a metadata.version, once finalized, that it does not "
    "know.",
    remedy="Keep the version; a cluster whose finalized metadata.version the older one knows may "
    "go back with `playbooks/rollback.yml`.",
)
def version_goes_back(host: Host) -> Iterator[Finding]:
    """Refuse a release that may not read the metadata; a patch release reads the same."""
    found, wanted = _versions(host)
    if host.wish.allow_version_change in ("down", "any") or _minor(wanted) >= _minor(found):
        return
    releases = KAFKA.supported
    written, known = (
        f"metadata.version {releases[one].metadata}" if one in releases else f"Kafka {one}"
        for one in (found, wanted)
    )
    what = f"Kafka {found} ran on this host's data; the inventory says {wanted}."
    fix = (
        f"Set kafka_version: {found}, or run playbooks/rollback.yml: it goes back where no more "
        f"than {known} is finalized, and not {written}."
    )
    yield Finding("kafka_version", what, fix)


@check(
    "version-changes",
    when="`kafka_version` is another than what runs on the host's data, and the playbook is not "
    "one that changes versions",
    why="A cluster changes its version node by node, each through the gate, and finalizes the new "
    "features at the end.",
    remedy="Run `playbooks/rolling_upgrade.yml`, or `playbooks/rollback.yml` for an earlier one.",
)
def version_changes(host: Host) -> Iterator[Finding]:
    """Refuse a version that only a rolling upgrade brings; `version-goes-back` has the others."""
    found, wanted = _versions(host)
    later = release_numbers(wanted) > release_numbers(found)
    allowed = host.wish.allow_version_change in ("any", "up" if later else "down")
    if found == wanted or allowed or _minor(wanted) < _minor(found):
        return
    what = f"Kafka {found} is installed on this host's data; the inventory says {wanted}."
    playbook = "rolling_upgrade" if later else "rollback"
    fix = f"Run playbooks/{playbook}.yml, or set kafka_version: {found}."
    yield Finding("kafka_version", what, fix)


def _versions(host: Host) -> tuple[str, str]:
    """Return the version that is installed and the wanted one; both empty if nothing compares.

    Only what has written data counts: without it any version may be installed.
    """
    wanted = str(host.wish.kafka.get("version") or "")
    found = re.match(r"kafka-(\d+\.\d+[.\d]*)-", host.found.installed.get("kafka", ""))
    used = any(directory.meta is not None for _, directory in host.data())
    if not (used and found and re.match(r"\d+\.\d+", wanted)):
        return "", ""
    return found[1], wanted


def _minor(version: str) -> tuple[int, ...]:
    """Return the numbers that a minor release has."""
    return release_numbers(version)[:2]
