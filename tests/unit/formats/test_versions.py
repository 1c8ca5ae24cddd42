"""The version tables agree with the artifacts and with what each binary printed."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.formats import key_table, versions

from artifacts import tools
from docs import generate
from tests.support.lab.topology import ROOT
from tests.unit.tree import load

RELEASES = [
    (name, version) for name, product in versions.PRODUCTS.items() for version in product.supported
]
KAFKA = sorted(versions.KAFKA.supported, key=versions.release_numbers)
NEIGHBOURS = list(pairwise(KAFKA))


def recipe(product: str, version: str) -> Path:
    return ROOT / "artifacts" / product / version


@pytest.mark.parametrize(("product", "version"), RELEASES)
def test_every_supported_version_has_its_artifact(product: str, version: str) -> None:
    folder = recipe(product, version)
    assert re.fullmatch(r"[0-9a-f]{64}\n", (folder / "SHA256").read_text())
    assert f"<version>{version}</version>" in (folder / "pom.xml").read_text()
    assert versions.PRODUCTS[product].supported[version].java
    if product in ("kafka", "zookeeper"):  # the others have commands of their own
        assert tools.read(folder / "tools")


@pytest.mark.parametrize("product", versions.PRODUCTS)
def test_every_artifact_is_of_a_supported_version(product: str) -> None:
    folders = {path.parent.name for path in (ROOT / "artifacts" / product).glob("*/pom.xml")}
    assert folders == set(versions.PRODUCTS[product].supported)


@pytest.mark.parametrize("product", versions.PRODUCTS)
def test_default_is_the_roles_and_not_blocked(product: str) -> None:
    product_versions = versions.PRODUCTS[product]
    assert (
        load(ROOT / f"roles/{product}/defaults/main.yml")[f"{product}_version"]
        == product_versions.default
    )
    assert product_versions.default in product_versions.supported
    assert not set(product_versions.supported) & set(product_versions.blocked)


@pytest.mark.parametrize("version", KAFKA)
def test_kafka_releases_are_complete(version: str) -> None:
    release = versions.KAFKA.supported[version]
    line = ".".join(version.split(".")[:2])
    assert re.fullmatch(rf"{re.escape(line)}-IV\d", release.metadata)
    assert release.zookeeper == (line == "3.9") == ("zookeeper.connect" in key_table.load(version))
    assert 17 in release.java
    assert list(release.java) == sorted(release.java)


# What `kafka-features.sh version-mapping` of the newest binary prints for each release.
MAPPING = {
    "3.9": "21 0 0 0 0 0",
    "4.0": "25 1 2 0 0 0",
    "4.1": "27 1 2 1 0 0",
    "4.2": "29 1 2 1 1 1",
    "4.3": "30 1 2 1 1 1",
    "4.4": "33 1 2 1 2 1",
}
FEATURES = (
    "metadata.version",
    "group.version",
    "transaction.version",
    "eligible.leader.replicas.version",
    "share.version",
    "streams.version",
)


@pytest.mark.parametrize("version", KAFKA)
def test_features_are_those_of_the_binary(version: str) -> None:
    release = versions.KAFKA.supported[version]
    levels = [release.features.get(feature, 0) for feature in FEATURES]
    assert " ".join(map(str, levels)) == MAPPING[version.rpartition(".")[0]]
    assert set(release.ceilings) <= set(FEATURES)


@pytest.mark.parametrize(("old", "new"), NEIGHBOURS)
def test_a_later_release_knows_all_levels_of_an_earlier_one(old: str, new: str) -> None:
    before, after = (versions.KAFKA.supported[version].ceilings for version in (old, new))
    assert all(after[feature] >= level for feature, level in before.items())


@pytest.mark.parametrize(("old", "new"), NEIGHBOURS)
def test_what_the_tables_lack_is_known_as_removed(old: str, new: str) -> None:
    gone = set(key_table.load(old)) - set(key_table.load(new))
    removed = {
        key
        for key in key_table.load(old)
        if versions.removed(key, new) and not versions.removed(key, old)
    }
    assert removed == gone


@pytest.mark.parametrize(
    "name",
    [
        *(key for key in versions.removed_keys() if versions.removed_keys()[key].instead),
        *(key for key in versions.DEPRECATED_KEYS if versions.DEPRECATED_KEYS[key].instead),
    ],
)
def test_successors_are_legal_keys(name: str) -> None:
    entries = [versions.removed_keys().get(name), versions.DEPRECATED_KEYS.get(name)]
    existing = [entry for entry in entries if entry]
    assert len({entry.instead for entry in existing}) == 1
    table = key_table.load(versions.KAFKA.default)
    assert all(key_table.is_known(key, table) for key in existing[0].instead.split(" and "))


@pytest.mark.parametrize(
    ("key", "version", "since"),
    [
        ("zookeeper.connect", "3.9.2", None),
        ("zookeeper.connect", "4.0.2", "4.0"),
        ("zookeeper.ssl.ocsp.enable", "4.3.1", "4.0"),
        ("password.encoder.secret", "4.0.2", "4.0"),
        ("metrics.jmx.whitelist", "3.9.2", None),
        ("metrics.jmx.whitelist", "4.0.2", "4.0"),
        ("group.share.max.groups", "4.0.2", None),
        ("group.share.max.groups", "4.1.2", "4.1"),
        ("group.share.enable", "4.2.1", None),
        ("group.share.enable", "4.3.1", "4.3"),
        ("broker.id", "4.4.0", None),
        ("num.partitions", "4.4.0", None),
    ],
)
def test_removed(key: str, version: str, since: str | None) -> None:
    entry = versions.removed(key, version)
    assert (entry.since if entry else None) == since


@pytest.mark.parametrize(
    ("key", "version", "since"),
    [
        ("log.cleaner.enable", "4.0.2", None),
        ("log.cleaner.enable", "4.1.2", "4.1"),
        ("log.cleaner.enable", "4.3.1", "4.1"),
        ("remote.log.manager.thread.pool.size", "4.1.2", None),
        ("remote.log.manager.thread.pool.size", "4.2.1", "4.2"),
        ("group.coordinator.rebalance.protocols", "4.3.1", "4.3"),
        ("log.message.timestamp.difference.max.ms", "3.9.2", "3.6"),
        ("log.message.timestamp.difference.max.ms", "4.0.2", None),
        ("broker.id", "4.3.1", None),
        ("broker.id", "4.4.0", "4.4"),
        ("num.partitions", "4.4.0", None),
    ],
)
def test_deprecated(key: str, version: str, since: str | None) -> None:
    entry = versions.deprecated(key, version)
    assert (entry.since if entry else None) == since


@pytest.mark.parametrize(("key", "release"), generate.CHANGED_DEFAULTS)
def test_each_default_that_the_documents_name_changed(key: str, release: str) -> None:
    before, after = generate.defaults_around(key, release)
    assert before != after
