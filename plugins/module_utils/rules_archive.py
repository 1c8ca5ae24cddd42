"""The rules about the archive that Kafka is installed from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.rules import (
    Finding,
    Host,
    Inventory,
    mapping,
    rule,
)

_SCALA = "2.13"
_SHA512 = re.compile(r"[0-9a-fA-F]{128}")
_NAME = re.compile(r"kafka_(?P<scala>\d+\.\d+)-(?P<version>\d+\.\d+\.\d+(?:-rc\d+)?)")


def archive(host: Host) -> Mapping[str, Any]:
    """Return `url` and `sha512` of a host that is installed from an archive, else nothing."""
    found = mapping(host.kafka.get("distribution"))
    return found if found.get("source") == "archive" else {}


@rule(
    "archive-incomplete",
    when="`kafka_distribution_source` is `archive` and `kafka_archive` has no `url` or no `sha512` "
    "of 128 hexadecimal digits",
    why="An archive is installed only after its checksum was compared with the one in the "
    "inventory.",
    remedy="Set `kafka_archive: {url: ..., sha512: ...}`; the checksum stands beside the archive, "
    "in a file that ends in `.sha512`.",
)
def archive_incomplete(inventory: Inventory) -> Iterator[Finding]:
    """Refuse an archive that cannot be found or not be checked."""
    for host in inventory.kafka_hosts():
        found = archive(host)
        if found and not found.get("url"):
            name = f"kafka_{_SCALA}-{host.kafka.get('version')}.tgz"
            fix = f"Set kafka_archive.url: the address or the path of {name}."
            yield Finding("kafka_archive.url", "The archive has no url.", fix, (host.name,))
        sha512 = str(found.get("sha512") or "")
        if found and not _SHA512.fullmatch(sha512):
            what = f"sha512 has {len(sha512)} characters, 128 hexadecimal digits are needed."
            if len(sha512) == 128:
                what = "sha512 holds characters that are no hexadecimal digits."
            fix = "Set kafka_archive.sha512: the digits of the archive's .sha512 file alone."
            yield Finding("kafka_archive.sha512", what, fix, (host.name,))


@rule(
    "archive-name",
    when="the archive's file name tells another version than `kafka_version`, or another Scala "
    "than 2.13",
    why="Configuration, keys and Java are chosen by `kafka_version`, and tools by its class path.",
    remedy="Set `kafka_version` to the archive's, or `kafka_archive` to the version's archive.",
)
def archive_name(inventory: Inventory) -> Iterator[Finding]:
    """Refuse an archive of something else."""
    for host in inventory.kafka_hosts():
        name = str(archive(host).get("url") or "").rpartition("/")[2]
        version = str(host.kafka.get("version"))
        match = _NAME.match(name)
        if match and (match["scala"], match["version"]) != (_SCALA, version):
            what = f"{name} is Kafka {match['version']} for Scala {match['scala']}, "
            what += f"kafka_version is {version}."
            fix = (
                f"Set kafka_archive.url to kafka_{_SCALA}-{version}.tgz, or correct kafka_version."
            )
            yield Finding("kafka_archive.url", what, fix, (host.name,))
