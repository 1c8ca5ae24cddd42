"""Lists of machines that change their order, come late or in part, and say who is who."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.plugins.loader import inventory_loader
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
from ansible_collections.millrace.streaming.plugins.plugin_utils.rules.catalogue import RULES
from ansible_collections.millrace.streaming.plugins.plugin_utils.rules.engine import (
    check_cluster,
    errors,
)

from tests.support.lab.topology import ROOT
from tests.unit.cluster.inventories import INVENTORIES
from tests.unit.cluster.small import with_secrets

EXAMPLE = ROOT / "examples/machines"
MACHINES: dict[str, dict[str, Any]] = json.loads(
    (EXAMPLE / "machines.auto.tfvars.json").read_text()
)["machines"]
REGION = "eu-central-1"


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
    path, chance = place / "hosts.yml", random.Random(name)
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


def state(inventory: Path) -> dict[str, Any]:
    """Return what an inventory makes of its hosts."""
    return desired(with_secrets(resolve(from_directory(inventory))))


def refused(inventory: Path) -> dict[str, str]:
    """Return rule -> the problem and what to do, of an inventory that is read."""
    cluster = resolve(from_sources([str(inventory)], ansible_internals.DataLoader()))
    problems = errors(check_cluster(RULES, cluster))
    return {problem.rule: f"{problem.what} {problem.fix}" for problem in problems}


def test_the_file_of_tofu_has_its_machines() -> None:
    """As `output "inventory"` of machines.tf has them."""
    groups: dict[str, Any] = {}
    for name, machine in MACHINES.items():
        names = {"ansible_host": "address", "kafka_node_id": "node_id", "kafka_rack": "rack"}
        values = {name: machine[key] for name, key in names.items() if key in machine}
        for group in machine["groups"]:
            groups.setdefault(group, {"hosts": {}})["hosts"][name] = values
    assert json.loads((EXAMPLE / "tofu/machines.json").read_text()) == groups
    assert not refused(EXAMPLE / "tofu")


def instances() -> list[dict[str, Any]]:
    """Return the machines as the cloud lists them."""
    return [
        {
            "region": REGION,
            "state": "running",
            "private_ip_address": machine["address"],
            "placement": {"availability_zone": machine.get("rack", "north")},
            "tags": {
                "Name": name,
                "cluster": "streaming",
                "millrace_groups": " ".join(machine["groups"]),
                **({"kafka_node_id": str(machine["node_id"])} if "node_id" in machine else {}),
            },
        }
        for name, machine in MACHINES.items()
    ]


@pytest.fixture
def cloud(tmp_path: Path) -> Path:
    """The inventory of a cloud whose answer is written beside it."""
    inventory_loader.add_directory(str(Path(__file__).parent))
    place = shutil.copytree(EXAMPLE / "aws", tmp_path / "aws")
    path = place / "machines.aws_ec2.yml"
    path.write_text(path.read_text().replace("amazon.aws.aws_ec2", "cloud"))
    answer(place, instances())
    return place


def answer(place: Path, listed: list[dict[str, Any]]) -> None:
    (place.with_name("cloud.json")).write_text(json.dumps(listed))


def test_a_cloud_makes_the_same_cluster_as_tofu(cloud: Path) -> None:
    assert not refused(cloud)
    expected = state(EXAMPLE / "tofu")
    assert len(expected) > len(MACHINES)
    assert state(cloud) == expected


def test_the_order_of_an_answer_changes_nothing(cloud: Path) -> None:
    expected, listed = state(cloud), instances()
    for seed in range(3):
        random.Random(seed).shuffle(listed)
        answer(cloud, listed)
        assert state(cloud) == expected


@pytest.mark.parametrize("late", [0, 1])
def test_of_two_answers_either_may_be_the_later(cloud: Path, late: int) -> None:
    expected, listed = state(cloud), instances()
    for place, instance in enumerate(listed):
        instance["region"] = ("one", "two")[place % 2]
    answer(cloud, listed)
    source = cloud / "machines.aws_ec2.yml"
    text = source.read_text()
    source.unlink()
    for place, region in enumerate(("one", "two")):
        name = ("a", "b")[(place + late) % 2]
        (cloud / f"{name}.aws_ec2.yml").write_text(text.replace(REGION, region))
    assert state(cloud) == expected


def test_fewer_hosts_than_there_are_is_refused(cloud: Path) -> None:
    listed = instances()
    listed[-2]["state"] = "pending"
    answer(cloud, listed)
    text = refused(cloud)["host-count"]
    assert "kafka_brokers has kafka1.example.org and kafka2.example.org: 2, not 3." in text


@pytest.mark.parametrize("listed", [[], None], ids=["nothing", "no answer"])
def test_an_answer_without_hosts_is_refused(cloud: Path, listed: list[Any] | None) -> None:
    answer(cloud, listed or [])
    if listed is None:
        cloud.with_name("cloud.json").unlink()
    assert {"empty-group", "inventory-unread", "no-hosts"} & {*refused(cloud)}


def test_a_machine_without_its_tags_is_refused(cloud: Path) -> None:
    listed = instances()
    del listed[2]["tags"]["millrace_groups"]
    answer(cloud, listed)
    assert "millrace_groups" in refused(cloud)["inventory-unread"]


def test_two_machines_with_one_node_id_are_refused(cloud: Path) -> None:
    listed = instances()
    listed[4]["tags"]["kafka_node_id"] = "101"
    answer(cloud, listed)
    text = refused(cloud)["node-id-duplicate"]
    assert "node.id 101 is used by kafka1.example.org and kafka2.example.org." in text


def test_a_node_without_an_id_is_refused(cloud: Path) -> None:
    listed = instances()
    del listed[4]["tags"]["kafka_node_id"]
    answer(cloud, listed)
    assert "kafka2.example.org has no node.id." in refused(cloud)["node-id-missing"]
