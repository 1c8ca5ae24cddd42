"""Where a product's distribution lies, and which sum it has."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.artifacts import (
    Distribution,
    cache_directory,
)

from tests.support.lab.topology import ROOT

SHA512 = "AB" * 64
ARCHIVE = {"url": "https://example.org/kafka.tgz", "sha512": SHA512}


def test_a_home_is_named_by_its_version_and_its_sum(tmp_path: Path) -> None:
    recorded = (ROOT / "artifacts/kafka/4.3.1/SHA256").read_text().strip()
    distribution = Distribution("kafka", "4.3.1", str(tmp_path), {})
    assert distribution.home == f"/opt/millrace/kafka-4.3.1-{recorded[:12]}"
    assert distribution.link == "/opt/millrace/kafka"
    assert distribution.tarball == tmp_path / "artifacts" / f"kafka-4.3.1-{recorded[:12]}.tar"
    assert distribution.sha256 == recorded
    assert "kafka-topics.sh" in distribution.tools


def test_an_archives_home_is_another_one_and_its_sum_is_known_once_it_was_packed(
    tmp_path: Path,
) -> None:
    distribution = Distribution("kafka", "4.3.1", str(tmp_path), ARCHIVE)
    assert distribution.home == f"/opt/millrace/kafka-4.3.1-{SHA512[:12].lower()}"
    assert distribution.sha256 == ""
    distribution.checksum_file.parent.mkdir(parents=True)
    distribution.checksum_file.write_text("5\n")
    assert distribution.sha256 == "5"
    assert "kafka-topics.sh" in distribution.tools


@pytest.mark.parametrize("archive", [{}, {"url": "x"}])
def test_what_is_not_known_is_for_the_rules_to_refuse(
    archive: dict[str, str], tmp_path: Path
) -> None:
    distribution = Distribution("kafka", "9.9.9", str(tmp_path), archive)
    assert distribution.home == "/opt/millrace/kafka-9.9.9-unknown"
    assert (distribution.sha256, distribution.tools) == ("", [])


def test_artifacts_are_kept_where_the_inventory_or_the_environment_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MILLRACE_CACHE", "/var/cache/millrace")
    assert cache_directory("~/own") == f"{tmp_path}/own"
    assert cache_directory("") == "/var/cache/millrace"
    monkeypatch.delenv("MILLRACE_CACHE")
    assert cache_directory("") == f"{tmp_path}/.cache/millrace"
