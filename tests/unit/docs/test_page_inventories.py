"""Inventories that pages show are accepted, and what pages say is refused is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import resolve
from ansible_collections.millrace.streaming.plugins.plugin_utils.inventory.reading import (
    from_directory,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.rules.catalogue import RULES
from ansible_collections.millrace.streaming.plugins.plugin_utils.rules.engine import check_cluster

from tests.support.clients import guide

HOSTS, VARIABLES = guide.blocks("3. Write the inventory", "yaml", guide.KAFKA_CLUSTER)
[SIX] = guide.blocks("Six machines", "yaml", guide.KAFKA_CLUSTER)
TEAMS = guide.blocks("2. Write a file for each team", "yaml", guide.TEAMS)


def written(place: Path, hosts: str) -> Path:
    """Write the page's inventory; the directory of the variables of its group."""
    folder = place / "group_vars/kafka"
    folder.mkdir(parents=True)
    (place / "hosts.yml").write_text(hosts)
    (folder / "cluster.yml").write_text(VARIABLES)
    return folder


def problems(place: Path) -> list[str]:
    """The rules that name a problem or warn."""
    return [problem.rule for problem in check_cluster(RULES, resolve(from_directory(place)))]


@pytest.mark.parametrize("hosts", [HOSTS, SIX], ids=["three machines", "six machines"])
def test_the_inventory_of_a_first_cluster_is_accepted(tmp_path: Path, hosts: str) -> None:
    written(tmp_path, hosts)
    assert not problems(tmp_path)


def write_teams(folder: Path) -> None:
    """Write the files of the teams, which begin with the path that each has."""
    cluster = folder / "cluster.yml"
    cluster.write_text(cluster.read_text().partition("kafka_users:")[0])
    for text in TEAMS:
        name = re.match(r"# group_vars/kafka/(\w+\.yml)\n", text)
        assert name, text
        (folder / name[1]).write_text(text)


def test_files_of_teams_are_one_list(tmp_path: Path) -> None:
    write_teams(written(tmp_path, HOSTS))
    assert not problems(tmp_path)
    users = resolve(from_directory(tmp_path)).brokers[0].settings["kafka_users"]
    assert [user["name"] for user in users] == ["orders-shop", "orders-admin", "billing-invoices"]


def test_a_user_of_two_teams_is_refused(tmp_path: Path) -> None:
    folder = written(tmp_path, HOSTS)
    write_teams(folder)
    billing = folder / "team_billing.yml"
    billing.write_text(billing.read_text().replace("billing-invoices", "orders-shop"))
    assert problems(tmp_path) == ["user-duplicate"]


def test_a_file_beside_the_directory_of_a_group_is_hidden(tmp_path: Path) -> None:
    folder = written(tmp_path, HOSTS)
    (folder.parent / "kafka.yml").write_text(VARIABLES)
    assert problems(tmp_path) == ["group-file-hidden"]
