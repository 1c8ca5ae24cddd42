"""Distributions on the control node: packed once, verified, read again only if changed."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

import pytest
from ansible.errors import AnsibleError
from ansible_collections.millrace.streaming.plugins.module_utils.formats.versions import KAFKA
from ansible_collections.millrace.streaming.plugins.plugin_utils import artifacts
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.artifacts import (
    Distribution,
)

from tests.unit.cluster.small import cluster

CONTENT = "a tarball\n"
SUM = hashlib.sha256(CONTENT.encode()).hexdigest()
PACK = """\
#!/bin/sh
echo "$*" >> {log}
[ "$2" = 4.3.1 ] || {{ echo "no such version"; exit 1; }}
mkdir -p "${{3%/*}}"
printf 'a tarball\\n' > "$3"
if [ $# -gt 3 ]; then echo {sum} > "$3.sha256"; fi
"""


@dataclass(frozen=True)
class Recipes:
    """A program in the place of artifacts/pack, and what it was asked for."""

    log: Path
    cache: Path

    def distribution(self, version: str = "4.3.1", **archive: str) -> Distribution:
        return Distribution("kafka", version, str(self.cache), archive)

    def packed(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture
def recipes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recipes:
    folder, log = tmp_path / "recipes", tmp_path / "log"
    (folder / "kafka/4.3.1").mkdir(parents=True)
    (folder / "kafka/4.3.1/SHA256").write_text(f"{SUM}\n")
    (folder / "pack").write_text(PACK.format(log=log, sum=SUM))
    (folder / "pack").chmod(0o755)
    monkeypatch.setattr(artifacts, "RECIPES", folder)
    monkeypatch.setattr(f"{Distribution.__module__}.RECIPES", folder)
    return Recipes(log, tmp_path / "cache")


def have(*distributions: Distribution) -> list[str]:
    return artifacts.have(distributions, lambda _: None)


def test_what_is_missing_is_packed_once(recipes: Recipes) -> None:
    distribution = recipes.distribution()
    assert have(distribution) == [str(distribution.tarball)]
    assert have(distribution) == []
    assert recipes.packed() == [f"kafka 4.3.1 {distribution.tarball}"]


def test_an_archive_is_passed_on_with_its_sum(recipes: Recipes) -> None:
    distribution = recipes.distribution(url="https://example.org/kafka.tgz", sha512="ab" * 64)
    have(distribution)
    assert recipes.packed()[0].endswith(
        f"{distribution.tarball} https://example.org/kafka.tgz {'ab' * 64}"
    )
    assert distribution.sha256 == SUM


def test_what_cannot_be_packed_is_named_with_the_reason(recipes: Recipes) -> None:
    with pytest.raises(AnsibleError, match=r"4\.2\.1.*no such version"):
        have(recipes.distribution("4.2.1"))


def test_another_content_is_refused_again_and_again(recipes: Recipes) -> None:
    distribution = recipes.distribution()
    have(distribution)
    distribution.tarball.write_text("tampered\n")
    for _ in range(2):
        with pytest.raises(AnsibleError) as refusal:
            have(distribution)
        for text in (str(distribution.tarball), SUM, str(distribution.checksum_file)):
            assert text in str(refusal.value)


def test_another_recorded_sum_is_noticed(recipes: Recipes) -> None:
    """The tarball is as it was: its record was changed."""
    distribution = recipes.distribution()
    have(distribution)
    with pytest.raises(AnsibleError, match="0" * 64):
        artifacts.verify(distribution.tarball, "0" * 64)


def test_a_checked_tarball_is_read_again_only_if_it_was_written(
    recipes: Recipes, monkeypatch: pytest.MonkeyPatch
) -> None:
    distribution = recipes.distribution()
    have(distribution)
    sums = [SUM]
    monkeypatch.setattr(artifacts, "sha256_of", lambda _: sums.pop())
    have(distribution)
    assert sums == [SUM]
    os.utime(distribution.tarball, (1, 1))
    have(distribution)
    assert sums == []


def test_a_missing_tarball_is_named(tmp_path: Path) -> None:
    with pytest.raises(AnsibleError, match=r"a\.tar"):
        artifacts.verify(tmp_path / "a.tar", SUM)


def test_each_distribution_of_a_cluster_is_wanted_once() -> None:
    groups = {"kafka_brokers": ["k1", "k2", "k3"], "spark_masters": ["k1"], "zookeeper": ["z1"]}
    deployment = cluster(groups, {"k3": {"kafka_version": "4.2.1"}})
    versions = sorted(
        (distribution.product, distribution.version)
        for distribution in artifacts.wanted(deployment)
    )
    assert [product for product, _ in versions] == ["kafka", "kafka", "spark", "zookeeper"]
    assert versions[:2] == [("kafka", "4.2.1"), ("kafka", KAFKA.default)]


@pytest.mark.parametrize(
    ("name", "mode"), [(".", 0o775), ("artifacts", 0o777), ("artifacts/{tarball}", 0o664)]
)
def test_a_cache_that_others_can_change_is_refused(recipes: Recipes, name: str, mode: int) -> None:
    """They could put another distribution there, with the mark that it was verified."""
    distribution = recipes.distribution()
    have(distribution)
    path = recipes.cache / name.format(tarball=distribution.tarball.name)
    former = path.stat().st_mode & 0o777
    path.chmod(mode)
    for check in (lambda: have(distribution), lambda: artifacts.verify(distribution.tarball, SUM)):
        with pytest.raises(AnsibleError, match=f"chmod go-w .*{path.name}"):
            check()
    path.chmod(former)
    assert have(distribution) == []


def test_a_cache_of_another_account_is_refused(
    recipes: Recipes, monkeypatch: pytest.MonkeyPatch
) -> None:
    distribution = recipes.distribution()
    have(distribution)
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    monkeypatch.delenv("SUDO_UID", raising=False)
    if not owner:  # what is root's is not refused
        owner = 4711
        os.chown(distribution.tarball, owner, -1)
    with pytest.raises(AnsibleError, match=distribution.tarball.name):
        have(distribution)
    monkeypatch.setenv("SUDO_UID", str(owner))
    assert have(distribution) == []


def test_a_mark_that_others_can_write_is_not_believed(recipes: Recipes) -> None:
    distribution = recipes.distribution()
    have(distribution)
    mark = distribution.tarball.with_suffix(".tar.checked")
    distribution.tarball.write_text("another")
    status = distribution.tarball.stat()
    mark.write_text(f"{SUM} {status.st_size} {status.st_mtime_ns} {status.st_ino}\n")
    have(distribution)
    mark.chmod(0o666)
    with pytest.raises(AnsibleError, match="sha256"):
        have(distribution)
