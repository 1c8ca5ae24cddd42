"""Inventories that pages show are accepted, and what pages say is refused is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
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
        name = re.match(r"# ([\w/]+\.yml)\n", text)
        assert name, text
        path = folder.parents[1] / name[1] if "/kafka/" in name[1] else beside(folder) / name[1]
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


def beside(folder: Path) -> Path:
    """Return the directory that has the inventory's directory."""
    return folder.parents[2]


def test_files_of_teams_are_accepted(tmp_path: Path) -> None:
    place = tmp_path / "prod"
    write_teams(written(place, HOSTS))
    assert not problems(place)
    broker = resolve(from_directory(place)).brokers[0]
    operations = {
        user.name: {
            word
            for grant in user.grants
            if grant.get("topic") == "orders.paid"
            for word in grant["operations"]
        }
        for user in broker.security.users
        if user.name.startswith(("orders-", "billing-"))
    }
    assert operations == {
        "orders-admin": set(),
        "orders-shop": set(),
        "billing-invoices": {"read"},
    }


def test_a_user_of_another_team_is_refused(tmp_path: Path) -> None:
    folder = written(tmp_path / "prod", HOSTS)
    write_teams(folder)
    billing = beside(folder) / "resources/billing.yml"
    billing.write_text(billing.read_text().replace("name: billing-invoices", "name: orders-web"))
    assert "resource-prefix" in problems(tmp_path / "prod")


@pytest.mark.parametrize("page", [guide.RESOURCES, guide.FIRST_TOPIC], ids=["resources", "topic"])
def test_entries_of_the_pages_are_accepted(tmp_path: Path, page: Path) -> None:
    """Those of files as the platform's and as the team's, which `teams` in one of them names."""
    texts = re.findall(r"^```yaml\n(.*?)^```$", page.read_text(), flags=re.M | re.S)
    documents = [yaml.safe_load(text) for text in texts]
    assert documents
    prefixes = {"teams": {"orders": {"prefixes": ["orders.", "orders-"]}}}
    for number, document in enumerate(documents):
        place = tmp_path / str(number) / "prod"
        folder = written(place, HOSTS)
        resources = beside(folder) / "resources"
        resources.mkdir()
        if "kafka_resources_dir" not in document and any(
            key.startswith("kafka_") for key in document
        ):
            cluster = folder / "cluster.yml"
            cluster.write_text(yaml.safe_dump({**yaml.safe_load(VARIABLES), **document}))
        else:
            (folder / "resources.yml").write_text("kafka_resources_dir: ../resources\n")
            platform = document if "teams" in document else prefixes
            (resources / "platform.yml").write_text(yaml.safe_dump(platform))
            if "teams" not in document and "kafka_resources_dir" not in document:
                (resources / "orders.yml").write_text(yaml.safe_dump(document))
        # The user of another team is in another block.
        assert {*problems(place)} <= {"grant-unknown-user"}, document


def test_a_file_beside_the_directory_of_a_group_is_hidden(tmp_path: Path) -> None:
    folder = written(tmp_path, HOSTS)
    (folder.parent / "kafka.yml").write_text(VARIABLES)
    assert problems(tmp_path) == ["group-file-hidden"]
