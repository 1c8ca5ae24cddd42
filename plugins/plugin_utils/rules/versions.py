"""The rules about versions of products, where Kafka comes from, and what is installed already."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ...module_utils.formats.values import listing, yaml_type
from ...module_utils.formats.versions import KAFKA, PRODUCTS, Product, release_numbers
from ..cluster.cluster import Cluster
from ..cluster.known_bad import open_holes
from ..services.kafka.node import KafkaNode
from .engine import Finding, Findings, host_rule, hosts_rule, rule
from .inspection import InspectedHost
from .shared import SCALA, differing, falls_back_to_default, nodes

_WITHOUT_ZOOKEEPER = (4, 0)
_LAST_WITH_ZOOKEEPER = "3.9.2"
_FEATURES_IN_CHECKPOINT = (4, 4)
"""The first release that formats the features of a controller into the first checkpoint of the
metadata log, where earlier ones look for them in `bootstrap.checkpoint` alone (KIP-1170)."""
_PLAIN = re.compile(r"[\w.+-]+", re.ASCII)
_SHA512 = re.compile(r"[0-9a-fA-F]{128}")
_ARCHIVE = re.compile(r"kafka_(?P<scala>\d+\.\d+)-(?P<version>\d+\.\d+\.\d+(?:-rc\d+)?)")
_HOME = re.compile(r"kafka-(\d+\.\d+[.\d]*)-")


@rule("version")
def _version(cluster: Cluster) -> Findings:
    """Only versions whose artifacts, keys and Java are known can be installed safely."""
    for host in cluster.hosts:
        for name, service in cluster.services(host).items():
            product, variable = PRODUCTS[name], f"{name}_version"
            if service.version in product.supported:
                continue
            written = cluster.inventory.hosts[host].variables.get(variable)
            reason = product.blocked.get(service.version)
            shown = service.version if _PLAIN.fullmatch(service.version) else repr(service.version)
            good, risky = _choices(name, product)
            problem = f"{product.name} {shown} is not supported."
            fix = f"Set {variable}: {listing(good, 'or')}"
            if reason:
                problem = f"{product.name} {service.version} is refused: {reason}."
            elif isinstance(written, (int, float)):
                problem = (
                    f"YAML read {variable} as {written!r} ({yaml_type(written)}), not as text: "
                )
                problem += "3.10 becomes 3.1."
                fix = f"Set {listing(map(repr, good), 'or')}, in quotes"
            if risky:
                fix += f"; {listing(risky)} can be had only with accepted_risks"
            yield Finding(problem, f"{fix}.", variable, (host,))


def _choices(name: str, product: Product) -> tuple[list[str], list[str]]:
    """Return the versions that can be set as they are, and those that are known to be bad."""
    risky = [version for version in product.choices if open_holes(name, version)]
    return [version for version in product.choices if version not in risky], risky


@rule("version-differs")
def _version_differs(cluster: Cluster) -> Findings:
    """The inventory describes the cluster's final state; a rolling upgrade brings it there."""
    for name, product in PRODUCTS.items():
        services = {host: cluster.services(host) for host in cluster.hosts}
        written = {
            host: by_product[name].version
            for host, by_product in services.items()
            if name in by_product
        }
        # The rule `version` refuses the others.
        versions = {
            host: version for host, version in written.items() if version in product.supported
        }
        variable = f"{name}_version"
        differences = differing(cluster, variable, versions)
        if differences:
            newest = max(versions.values(), key=release_numbers)
            problem = f"{product.name} has more than one version: {differences}."
            yield Finding(problem, f"Set {variable}: {newest} for all of them.", variable)


@rule("zookeeper-mode", where="groups")
def _zookeeper_mode(cluster: Cluster) -> Findings:
    """Kafka 4.x has no ZooKeeper mode."""
    for node in cluster.kafka.values() if cluster.inventory.in_zookeeper_mode else ():
        as_written = not falls_back_to_default(cluster, node.name, "kafka_version")
        if as_written and release_numbers(node.version) >= _WITHOUT_ZOOKEEPER:
            problem = f"Kafka {node.version} on the ensemble {listing(cluster.zookeeper)}: "
            problem += "Kafka 4.x has no ZooKeeper mode."
            fix = f"Add the group kafka_controllers, or set kafka_version: {_LAST_WITH_ZOOKEEPER} "
            fix += "and accepted_risks."
            yield Finding(problem, fix, hosts=(node.name,))


def _from_archive(cluster: Cluster) -> Iterator[tuple[str, KafkaNode]]:
    """Yield the nodes that are installed from an archive."""
    for name, node in nodes(cluster):
        unknown = falls_back_to_default(cluster, name, "kafka_archive", "kafka_version")
        if node.settings["kafka_distribution_source"] == "archive" and not unknown:
            yield name, node


@rule("archive-incomplete", each=_from_archive)
def _archive_incomplete(node: KafkaNode) -> Findings:
    """An archive is installed only after its checksum was compared with the one in the
    inventory.
    """
    archive = node.settings["kafka_archive"]
    if not archive.get("url"):
        fix = "Set kafka_archive.url: the address or the path of "
        fix += f"kafka_{SCALA}-{node.version}.tgz."
        yield Finding("The archive has no url.", fix, "kafka_archive.url")
    sha512 = archive.get("sha512") or ""
    if not _SHA512.fullmatch(sha512):
        problem = f"sha512 has {len(sha512)} characters, 128 hexadecimal digits are needed."
        if len(sha512) == 128:
            problem = "sha512 contains characters that are not hexadecimal digits."
        fix = "Set kafka_archive.sha512 to the digits only, from the archive's .sha512 file."
        yield Finding(problem, fix, "kafka_archive.sha512")


@rule("archive-name", each=_from_archive, where="kafka_archive.url")
def _archive_name(node: KafkaNode) -> Findings:
    """Configuration, keys and Java are chosen by `kafka_version`, and tools by its class path."""
    name = (node.settings["kafka_archive"].get("url") or "").rpartition("/")[2]
    match = _ARCHIVE.match(name)
    if match and (match["scala"], match["version"]) != (SCALA, node.version):
        problem = f"{name} is Kafka {match['version']} for Scala {match['scala']}, "
        problem += f"kafka_version is {node.version}."
        fix = f"Set kafka_archive.url to kafka_{SCALA}-{node.version}.tgz, or kafka_version "
        fix += "to the archive's."
        yield Finding(problem, fix)
    elif name.endswith(("-src.tgz", "-site-docs.tgz")):
        fix = f"Set kafka_archive.url to kafka_{SCALA}-{node.version}.tgz, and its sha512."
        yield Finding(f"{name} has no programs of Kafka.", fix)


def _minor(version: str) -> tuple[int, ...]:
    return release_numbers(version)[:2]


def _installed_and_wanted(host: InspectedHost) -> Iterator[tuple[str, str, str]]:
    """Yield Kafka's installed version, the wanted one, and which version change is allowed.

    Only what has written data counts: without it any version may be installed.
    """
    configured = host.kafka.version if host.kafka else ""
    match = _HOME.match(host.inspection.software.installed.get("kafka", ""))
    used = any(directory.meta is not None for _, directory in host.data())
    if used and match and re.match(r"\d+\.\d+", configured):
        yield match[1], configured, host.allow_version_change


@host_rule("version-downgrade", each=_installed_and_wanted, where="kafka_version")
def _version_downgrade(installed: str, configured: str, allowed: str) -> Findings:
    """An older Kafka does not start once a metadata.version that it does not support has been
    finalized.
    """
    if allowed in ("down", "any") or _minor(configured) >= _minor(installed):
        return
    releases = KAFKA.supported
    written, supported = (
        f"metadata.version {releases[version].metadata}"
        if version in releases
        else f"Kafka {version}"
        for version in (installed, configured)
    )
    problem = f"Kafka {installed} ran on this host's data; the inventory says {configured}."
    fix = f"Set kafka_version: {installed}, or run playbooks/rollback.yml, which works only while "
    fix += f"nothing newer than {supported} is finalized, not once {written} is."
    yield Finding(problem, fix)


@host_rule("version-changes", each=_installed_and_wanted, where="kafka_version")
def _version_changes(installed: str, configured: str, allowed: str) -> Findings:
    """A cluster changes its version node by node, each through the gate, and finalizes the new
    features at the end.
    """
    later = release_numbers(configured) > release_numbers(installed)
    # An earlier minor release is for version-downgrade to refuse.
    back = _minor(configured) < _minor(installed)
    if installed != configured and not back and allowed not in ("any", "up" if later else "down"):
        problem = (
            f"Kafka {installed} is installed on this host's data; the inventory says {configured}."
        )
        playbook = "rolling_upgrade" if later else "rollback"
        yield Finding(problem, f"Run playbooks/{playbook}.yml, or set kafka_version: {installed}.")


@hosts_rule("format-version", where="kafka_version")
def _format_version(hosts: Sequence[InspectedHost]) -> Findings:
    """Kafka supports a directory only with the version that formatted it, or a later one. The
    cluster runs an earlier one, to which an upgrade may be rolled back (KIP-1170).
    """
    reached = [*hosts, *(hosts[0].outside if hosts else ())]
    running = {
        host.name: version for host in reached for version, *_ in _installed_and_wanted(host)
    }
    for host in hosts:
        node = host.kafka
        if node is None or not node.is_controller or not _is_unformatted(host, node):
            continue
        later = release_numbers(node.version)[:2] >= _FEATURES_IN_CHECKPOINT
        cluster = {name: running[name] for name in sorted(running) if name != host.name}
        if (
            later
            and cluster
            and all(_minor(version) < _minor(node.version) for version in cluster.values())
        ):
            newest = max(cluster.values(), key=release_numbers)
            problem = f"The controller {host.name} is not formatted and Kafka {node.version} would "
            problem += f"format it, while {newest} is installed on {listing(cluster)}."
            fix = (
                f"Set kafka_version: {newest} and run playbooks/site.yml, then upgrade all of them "
            )
            fix += "by playbooks/rolling_upgrade.yml."
            yield Finding(problem, fix, hosts=(host.name,))


def _is_unformatted(host: InspectedHost, node: KafkaNode) -> bool:
    """Return whether the directory of the metadata log has no meta.properties."""
    path = node.quorum.metadata_dir or next(iter(node.data_dirs), "")
    return any(
        directory.path == path and directory.meta is None
        for _, directory in host.on_present_disks()
    )
