"""Lists of machines that change their order, come late or in part, and say who is who."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.millrace.streaming.plugins.plugin_utils import ansible_internals
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import (
    Cluster,
    resolve,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.desired import of_service
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.inventory import by_name
from ansible_collections.millrace.streaming.plugins.plugin_utils.inventory.reading import (
    from_directory,
    from_sources,
)

from tests.support.lab.topology import ROOT
from tests.unit.cluster.inventories import INVENTORIES
from tests.unit.cluster.small import with_secrets


def shuffled(node: Any, chance: random.Random) -> Any:
    """Return groups and hosts of a file in another order; variables keep theirs."""
    if not isinstance(node, dict):
        return node
    keys = chance.sample([*node], len(node))
    return {
        key: node[key]
        if key == "vars"
        else {
            name: node[key][name] if key == "hosts" else shuffled(node[key][name], chance)
            for name in chance.sample([*node[key]], len(node[key]))
        }
        if key in ("hosts", "children")
        else shuffled(node[key], chance)
        for key in keys
    }


def desired(cluster: Cluster) -> dict[str, Any]:
    """Return all that is to be on each host, and what is known of its services."""
    return {
        f"{host} {product}": of_service(cluster, host, product)
        for host in sorted(cluster.hosts)
        for product in ("host", *cluster.deployed(host))
    }


@pytest.mark.parametrize("name", INVENTORIES)
def test_a_shuffled_inventory_changes_nothing(name: str, tmp_path: Path) -> None:
    place = shutil.copytree(
        ROOT / "inventories" / name, tmp_path / name, ignore=shutil.ignore_patterns(".secrets")
    )
    usual = from_directory(place)
    expected = desired(with_secrets(resolve(usual)))
    path, chance = place / "hosts.yml", random.Random(name)  # noqa: S311 - the same each time
    document = yaml.safe_load(path.read_text())
    for _ in range(3):
        path.write_text(yaml.safe_dump(shuffled(document, chance), sort_keys=False))
        inventory = from_directory(place)
        assert [*inventory.hosts] == [*usual.hosts]
        # With the places of variables of before: lines are others.
        assert desired(with_secrets(resolve(replace(inventory, places=usual.places)))) == expected


def test_names_are_in_the_order_of_their_numbers() -> None:
    assert by_name(["kafka10", "b", "kafka2", "kafka02", "a1.example", "10", "9"]) == [
        "9",
        "10",
        "a1.example",
        "b",
        "kafka02",
        "kafka2",
        "kafka10",
    ]


def test_the_directory_is_that_of_the_first_source(tmp_path: Path) -> None:
    """Not of the host that comes first: secrets and the cluster id lie there."""
    for folder, host in (("site", "k2"), ("cloud", "k1")):
        (tmp_path / folder).mkdir()
        groups = {"kafka_brokers": {"hosts": {host: None}}}
        (tmp_path / folder / "hosts.yml").write_text(yaml.safe_dump(groups))
    sources = [str(tmp_path / "site"), str(tmp_path / "cloud/hosts.yml")]
    inventory = from_sources(sources, ansible_internals.DataLoader())
    assert [*inventory.hosts] == ["k1", "k2"]
    assert inventory.directory == str(tmp_path / "site")


@pytest.mark.parametrize("masters", [["s10", "s2"], ["s2", "s10"]])
def test_jobs_run_on_the_same_master_in_any_order(masters: list[str], tmp_path: Path) -> None:
    """The plays and the model must agree, or two drivers run."""
    inventory = tmp_path / "hosts.yml"
    groups = {"spark_masters": {"hosts": dict.fromkeys(masters)}}
    inventory.write_text(yaml.safe_dump(groups, sort_keys=False))
    cluster = resolve(from_directory(inventory))
    assert [name for name, host in cluster.spark.items() if host.drivers.run_here] == ["s2"]
    program = Path(sys.executable).with_name("ansible-playbook")
    command = [str(program), "--inventory", str(inventory), "--list-hosts", "playbooks/jobs.yml"]
    run = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    [play] = [text for text in run.stdout.split("\n\n") if "): Jobs\t" in text]
    assert play.split("hosts (1):")[1].split() == ["s2"]
    assert "spark_masters[0]" not in run.stdout
