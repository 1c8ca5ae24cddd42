"""The example for production as a lab: small enough, still what it is, and refused by no rule."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import (
    Cluster,
    resolve,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.inventory.reading import (
    from_directory,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.rules.catalogue import RULES
from ansible_collections.millrace.streaming.plugins.plugin_utils.rules.engine import check_cluster

from tests.support.lab.production import KEY, on_containers
from tests.support.lab.topology import ROOT
from tests.unit.outside_authority import OutsideCa

AUTHORITY = OutsideCa.new("The CA of a site").with_key


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    monkeypatch.setenv(KEY, AUTHORITY.key)
    place = shutil.copytree(ROOT / "inventories/vms_kafka", tmp_path / "inventory")
    source = on_containers(from_directory(place), AUTHORITY.certificate)
    (place / "lab.yml").write_text(yaml.safe_dump(source))
    return resolve(from_directory(place))


def test_only_its_size_is_that_of_a_lab(lab: Cluster) -> None:
    assert {problem.rule for problem in check_cluster(RULES, lab)} == {"lab-settings"}
    example = from_directory(ROOT / "inventories/vms_kafka")
    assert [*lab.hosts] == [*example.hosts]
    racks = {broker.settings["kafka_rack"] for broker in lab.brokers}
    assert racks == {"north", "east", "west"}
    assert len(lab.firewalls) == len(lab.hosts)


def test_its_ca_signs(lab: Cluster) -> None:
    assert lab.brokers[0].settings["kafka_ca_key"].strip() == AUTHORITY.key.strip()
    assert lab.brokers[0].settings["kafka_ca_certificate"] == AUTHORITY.certificate
