"""Inventories that pages show are accepted, and what pages say is refused is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.clients import guide
from tests.unit.playbooks.runs import run_playbook

HOSTS, VARIABLES = guide.blocks("3. Write the inventory", "yaml", guide.KAFKA_CLUSTER)
[SIX] = guide.blocks("Six machines", "yaml", guide.KAFKA_CLUSTER)
TEAMS = guide.blocks("2. Write a file for each team", "yaml", guide.TEAMS)
ACCEPTED = re.compile(r"\d+ rules, 0 warnings")


def inventory(place: Path, hosts: str) -> Path:
    """Write the page's inventory, with its variables in a file of the group."""
    folder = place / "prod/group_vars/kafka"
    folder.mkdir(parents=True)
    (folder.parent.parent / "hosts.yml").write_text(hosts)
    (folder / "cluster.yml").write_text(VARIABLES)
    return folder


@pytest.mark.parametrize("hosts", [HOSTS, SIX], ids=["three machines", "six machines"])
def test_the_inventory_of_a_first_cluster_is_accepted(tmp_path: Path, hosts: str) -> None:
    inventory(tmp_path, hosts)
    code, output = run_playbook(tmp_path, "prod")
    assert code == 0, output
    assert ACCEPTED.search(output), output


def write_teams(folder: Path) -> None:
    """Write the files of the teams, which begin with the path that each has."""
    cluster = folder / "cluster.yml"
    cluster.write_text(cluster.read_text().partition("kafka_users:")[0])
    for text in TEAMS:
        name = re.match(r"# group_vars/kafka/(\w+\.yml)\n", text)
        assert name, text
        (folder / name[1]).write_text(text)


def test_files_of_teams_are_one_list(tmp_path: Path) -> None:
    folder = inventory(tmp_path, HOSTS)
    write_teams(folder)
    code, output = run_playbook(tmp_path, "prod")
    assert code == 0, output
    assert ACCEPTED.search(output), output


def test_a_user_of_two_teams_is_refused(tmp_path: Path) -> None:
    folder = inventory(tmp_path, HOSTS)
    write_teams(folder)
    billing = folder / "team_billing.yml"
    billing.write_text(billing.read_text().replace("billing-invoices", "orders-shop"))
    code, output = run_playbook(tmp_path, "prod")
    assert code == 2, output
    assert "[user-duplicate]" in output
