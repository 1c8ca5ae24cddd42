"""The rules about versions of products, where Kafka comes from, and what is installed already."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ansible_collections.millrace.streaming.plugins.module_utils.model.cluster import Cluster
from ansible_collections.millrace.streaming.plugins.module_utils.model.kafka import KafkaNode
from ansible_collections.millrace.streaming.plugins.module_utils.model.values import (
    listing,
    yaml_type,
)
from ansible_collections.millrace.streaming.plugins.module_utils.model.versions import (
    KAFKA,
    PRODUCTS,
    release_numbers,
)
from ansible_collections.millrace.streaming.plugins.module_utils.rules.engine import (
    Finding,
    host_rule,
    rule,
)
from ansible_collections.millrace.streaming.plugins.module_utils.rules.inspection import (
    InspectedHost,
)
from ansible_collections.millrace.streaming.plugins.module_utils.rules.shared import (
    differing,
    has_default_instead,
)

_WITHOUT_ZOOKEEPER = (4, 0)
_LAST_WITH_ZOOKEEPER = "3.9.2"
_SCALA = "2.13"
_SHA512 = re.compile(r"[0-9a-fA-F]{128}")
_ARCHIVE = re.compile(r"kafka_(?P<scala>\d+\.\d+)-(?P<version>\d+\.\d+\.\d+(?:-rc\d+)?)")
_HOME = re.compile(r"kafka-(\d+\.\d+[.\d]*)-")


@rule(
    "version",
    when="a version is not in Millrace's table, or known to be bad",
    why="Only versions whose artifacts, keys and Java are known can be installed safely.",
    remedy="Set one of the supported versions that the message names.",
)
def _version(cluster: Cluster) -> Iterator[Finding]:
    for host in cluster.hosts:
        for name, service in cluster.services(host).items():
            product, variable = PRODUCTS[name], f"{name}_version"
            if service.version in product.supported:
                continue
            written = cluster.inventory.hosts[host].variables.get(variable)
            reason = product.blocked.get(service.version)
            what = f"{product.name} {service.version} is not supported."
            fix = f"Set {variable}: {listing(product.supported, 'or')}."
            if reason:
                what = f"{product.name} {service.version} is refused: {reason}."
            elif isinstance(written, (int, float)):
                what = f"YAML read {variable} as {written!r} ({yaml_type(written)}), no text: "
                what += "3.10 becomes 3.1."
                fix = f"Set {listing((repr(one) for one in product.supported), 'or')}, in quotes."
            yield Finding(variable, what, fix, (host,))


@rule(
    "version-differs",
    when="hosts of one cluster have different versions of a product",
    why="The inventory describes the cluster's final state; a rolling upgrade leads there.",
    remedy="Set the version once, in the group variables of the cluster.",
)
def _version_differs(cluster: Cluster) -> Iterator[Finding]:
    for name, product in PRODUCTS.items():
        services = {host: cluster.services(host).get(name) for host in cluster.hosts}
        versions = {
            host: service.version
            for host, service in services.items()
            if service and service.version in product.supported  # else `version` refuses it
        }
        parts = differing(cluster, f"{name}_version", versions)
        if parts:
            newest = max(versions.values(), key=release_numbers)
            what = f"{product.name} has more than one version: {parts}."
            yield Finding(f"{name}_version", what, f"Set {name}_version: {newest} for all of them.")


@rule(
    "zookeeper-mode",
    when="brokers without controllers, on an ensemble of ZooKeeper, have Kafka 4.0 or newer",
    why="Kafka 4.x has no ZooKeeper mode.",
    remedy="Add the group `kafka_controllers`, or set `kafka_version: 3.9.2`. An old cluster "
    "migrates on 3.9 first.",
)
def _zookeeper_mode(cluster: Cluster) -> Iterator[Finding]:
    for node in cluster.kafka.values() if cluster.inventory.in_zookeeper_mode else ():
        known = not has_default_instead(cluster, node.name, "kafka_version")
        if known and release_numbers(node.version) >= _WITHOUT_ZOOKEEPER:
            what = f"Kafka {node.version} on the ensemble {listing(cluster.zookeeper)}: "
            what += "Kafka 4.x has no ZooKeeper mode."
            fix = f"Add the group kafka_controllers, or set kafka_version: {_LAST_WITH_ZOOKEEPER}."
            yield Finding("groups", what, fix, (node.name,))


def _from_archive(cluster: Cluster) -> Iterator[KafkaNode]:
    """Give the nodes that are installed from an archive."""
    for node in cluster.kafka.values():
        from_archive = node.settings["kafka_distribution_source"] == "archive"
        unknown = (
            has_default_instead(cluster, node.name, one)
            for one in ("kafka_archive", "kafka_version")
        )
        if from_archive and not any(unknown):
            yield node


@rule(
    "archive-incomplete",
    when="`kafka_distribution_source` is `archive` and `kafka_archive` has no `url` or no `sha512` "
    "of 128 hexadecimal digits",
    why="An archive is installed only after its checksum was compared with the one in the "
    "inventory.",
    remedy="Set `kafka_archive: {url: ..., sha512: ...}`; the checksum is published beside the "
    "archive, in a file that ends in `.sha512`.",
)
def _archive_incomplete(cluster: Cluster) -> Iterator[Finding]:
    for node in _from_archive(cluster):
        archive = node.settings["kafka_archive"]
        if not archive.get("url"):
            fix = "Set kafka_archive.url: the address or the path of "
            fix += f"kafka_{_SCALA}-{node.version}.tgz."
            yield Finding("kafka_archive.url", "The archive has no url.", fix, (node.name,))
        sha512 = archive.get("sha512") or ""
        if not _SHA512.fullmatch(sha512):
            what = f"sha512 has {len(sha512)} characters, 128 hexadecimal digits are needed."
            if len(sha512) == 128:
                what = "sha512 holds characters that are no hexadecimal digits."
            fix = "Set kafka_archive.sha512: the digits of the archive's .sha512 file alone."
            yield Finding("kafka_archive.sha512", what, fix, (node.name,))


@rule(
    "archive-name",
    when="the archive's file name has another version than `kafka_version`, or another Scala than "
    "2.13",
    why="Configuration, keys and Java are chosen by `kafka_version`, and tools by its class path.",
    remedy="Set `kafka_version` to the archive's, or `kafka_archive` to the version's archive.",
)
def _archive_name(cluster: Cluster) -> Iterator[Finding]:
    for node in _from_archive(cluster):
        name = (node.settings["kafka_archive"].get("url") or "").rpartition("/")[2]
        match = _ARCHIVE.match(name)
        if match and (match["scala"], match["version"]) != (_SCALA, node.version):
            what = f"{name} is Kafka {match['version']} for Scala {match['scala']}, "
            what += f"kafka_version is {node.version}."
            fix = f"Set kafka_archive.url to kafka_{_SCALA}-{node.version}.tgz, or kafka_version "
            fix += "to the archive's."
            yield Finding("kafka_archive.url", what, fix, (node.name,))


@host_rule(
    "version-goes-back",
    when="`kafka_version` is an earlier minor release than what wrote the host's data",
    why="An older Kafka refuses to start on a metadata.version, once finalized, that it does not "
    "know.",
    remedy="Keep the version; a cluster whose finalized metadata.version the older one knows may "
    "go back with `playbooks/rollback.yml`.",
)
def _version_goes_back(host: InspectedHost) -> Iterator[Finding]:
    found, wanted = _installed_and_wanted(host)
    if host.allow_version_change in ("down", "any") or _minor(wanted) >= _minor(found):
        return
    releases = KAFKA.supported
    written, known = (
        f"metadata.version {releases[one].metadata}" if one in releases else f"Kafka {one}"
        for one in (found, wanted)
    )
    what = f"Kafka {found} ran on this host's data; the inventory says {wanted}."
    fix = f"Set kafka_version: {found}, or run playbooks/rollback.yml: it goes back where no more "
    fix += f"than {known} is finalized, and not {written}."
    yield Finding("kafka_version", what, fix)


@host_rule(
    "version-changes",
    when="`kafka_version` is another than what runs on the host's data, and the playbook is not "
    "one that changes versions",
    why="A cluster changes its version node by node, each through the gate, and finalizes the new "
    "features at the end.",
    remedy="Run `playbooks/rolling_upgrade.yml`, or `playbooks/rollback.yml` for an earlier one.",
)
def _version_changes(host: InspectedHost) -> Iterator[Finding]:
    found, wanted = _installed_and_wanted(host)
    later = release_numbers(wanted) > release_numbers(found)
    allowed = host.allow_version_change in ("any", "up" if later else "down")
    # An earlier minor release is for version-goes-back to refuse.
    if found == wanted or allowed or _minor(wanted) < _minor(found):
        return
    what = f"Kafka {found} is installed on this host's data; the inventory says {wanted}."
    playbook = "rolling_upgrade" if later else "rollback"
    fix = f"Run playbooks/{playbook}.yml, or set kafka_version: {found}."
    yield Finding("kafka_version", what, fix)


def _installed_and_wanted(host: InspectedHost) -> tuple[str, str]:
    """Return Kafka's version that is installed and the wanted one; both empty if none compares.

    Only what has written data counts: without it any version may be installed.
    """
    wanted = host.kafka.version if host.kafka else ""
    found = _HOME.match(host.found.installed.get("kafka", ""))
    used = any(directory.meta is not None for _, directory in host.data())
    if not (used and found and re.match(r"\d+\.\d+", wanted)):
        return "", ""
    return found[1], wanted


def _minor(version: str) -> tuple[int, ...]:
    return release_numbers(version)[:2]
