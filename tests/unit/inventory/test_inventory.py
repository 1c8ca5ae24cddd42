"""An inventory as the model reads it: each variable resolved, or why it cannot be."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleError
from ansible.parsing.dataloader import DataLoader
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.inventory import Inventory
from ansible_collections.millrace.streaming.plugins.plugin_utils.inventory.reading import (
    from_directory,
    play_overrides,
)

from tests.support.lab.topology import ROOT
from tests.unit.in_process import AnsibleRun

HOSTS = """\
kafka_brokers:
  hosts:
    k1: {kafka_node_id: 1, ansible_host: 192.0.2.1, ansible_port: 2222}
    k2: {kafka_node_id: 2}
"""


def written(place: Path, **files: str) -> Path:
    """Write hosts.yml, and each further file with two underscores for a slash."""
    for name, text in {"hosts": HOSTS, **files}.items():
        path = place / f"{name.replace('__', '/')}.yml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return place


def read(place: Path, **files: str) -> Inventory:
    return from_directory(written(place, **files))


def test_groups_hosts_and_addresses_are_read(tmp_path: Path) -> None:
    inventory = read(tmp_path)
    assert inventory.members("kafka_brokers") == ["k1", "k2"]
    assert inventory.members("zookeeper") == []
    assert inventory.placed() == ["k1", "k2"]
    assert inventory.hosts["k1"].variables == {"kafka_node_id": 1}
    assert inventory.hosts["k1"].connection == {"ansible_host": "192.0.2.1", "ansible_port": 2222}
    assert inventory.hosts["k2"].connection == {}
    assert inventory.directory == str(tmp_path)


def test_variables_of_a_host_win_over_those_of_its_groups(tmp_path: Path) -> None:
    inventory = read(
        tmp_path,
        group_vars__all="kafka_rack: all\nkafka_heap: 1g\n",
        group_vars__kafka_brokers="kafka_rack: group\n",
        host_vars__k2="kafka_rack: own\n",
    )
    racks = {name: host.variables["kafka_rack"] for name, host in inventory.hosts.items()}
    assert racks == {"k1": "group", "k2": "own"}
    assert inventory.hosts["k2"].variables["kafka_heap"] == "1g"


def test_expressions_are_resolved_with_defaults_of_roles_and_other_hosts(tmp_path: Path) -> None:
    variables = """
        kafka_start_timeout: "{{ 60 * patience }}"
        patience: 3
        spark_worker_memory: "{{ kafka_stop_timeout }}m"
        kafka_rack: "{{ hostvars['k1'].kafka_node_id }}"
        kafka_config: {super.users: "{{ groups['kafka_brokers'] | join(';') }}"}
    """
    variables_of_k2 = read(tmp_path, group_vars__all=variables).hosts["k2"].variables
    assert variables_of_k2["kafka_start_timeout"] == 180
    assert variables_of_k2["spark_worker_memory"] == "300m"
    assert variables_of_k2["kafka_rack"] == 1
    assert variables_of_k2["kafka_config"] == {"super.users": "k1;k2"}
    assert type(variables_of_k2["kafka_config"]) is dict, "the model holds plain data"
    assert "patience" not in variables_of_k2


@pytest.mark.parametrize(
    "expression", ["{{ nowhere }}", "{{ 'x' | no_such_filter }}", "{{ lookup('file', '/none') }}"]
)
def test_what_cannot_be_resolved_is_named_with_its_place(expression: str, tmp_path: Path) -> None:
    text = yaml.safe_dump({"kafka_rack": expression, "kafka_heap": "1g"})
    host = read(tmp_path, group_vars__all=text).hosts["k1"]
    assert list(host.unresolved) == ["kafka_rack"]
    assert "kafka_rack" not in host.variables
    number = next(n for n, line in enumerate(text.splitlines(), 1) if line.startswith("kafka_rack"))
    assert f"{tmp_path}/group_vars/all.yml:{number}" in host.unresolved["kafka_rack"]
    assert host.variables["kafka_heap"] == "1g"


@pytest.mark.parametrize(
    "text",
    ["kafka_rack: [\n", "- kafka_rack\n", "$ANSIBLE_VAULT;1.1;AES256\n00\n", b"\xff\xfe\x00"],
    ids=["syntax", "list", "vault", "binary"],
)
@pytest.mark.parametrize("file", ["host_vars/k2.yml", "group_vars/kafka_brokers/b.yml"])
def test_a_file_that_cannot_be_read_is_named_and_the_others_are_read(
    file: str, text: str | bytes, tmp_path: Path
) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    inventory = read(
        tmp_path, group_vars__all="kafka_heap: 1g\n", group_vars__kafka_brokers__c="kafka_rack: a\n"
    )
    k2 = inventory.hosts["k2"]
    assert list(k2.unreadable) == [str(path)]
    assert k2.variables == {"kafka_heap": "1g", "kafka_rack": "a", "kafka_node_id": 2}
    assert bool(inventory.hosts["k1"].unreadable) is ("group_vars" in file)
    assert k2.is_unknown("kafka_profile")
    assert not k2.is_unknown("kafka_rack")


def test_the_line_of_a_syntax_error_is_named(tmp_path: Path) -> None:
    host = read(tmp_path, host_vars__k2="kafka_heap: 1g\nkafka_rack: [\n").hosts["k2"]
    [reason] = host.unreadable.values()
    assert "line 3" in reason


def test_a_directory_that_cannot_be_listed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As root, who runs these tests in a container, may list every one."""

    def refuse(_: DataLoader, path: str) -> list[str]:
        raise PermissionError(13, "Permission denied", path)

    written(tmp_path, host_vars__k2__x="kafka_heap: 1g\n")
    monkeypatch.setattr(DataLoader, "list_directory", refuse)
    hosts = from_directory(tmp_path / "hosts.yml").hosts
    assert hosts["k1"].unreadable == {}
    assert hosts["k2"].unreadable == {str(tmp_path / "host_vars/k2"): "Permission denied"}
    assert hosts["k2"].variables == {"kafka_node_id": 2}


def test_a_directory_of_links_is_read_with_what_is_kept_beside_it(tmp_path: Path) -> None:
    """A lab makes such a directory."""
    for path in (ROOT / "inventories/kraft_combined").iterdir():
        (tmp_path / path.name).symlink_to(path)
    (tmp_path / "kafka_cluster_id.txt").write_text("MkU3OEVBNTcwNTJENDM2Qg\n")
    (tmp_path / "spark_secret.txt").write_text("s" * 32 + "\n")
    inventory = from_directory(tmp_path)
    assert list(inventory.hosts) == ["k1", "k2", "k3"]
    assert inventory.cluster_id == "MkU3OEVBNTcwNTJENDM2Qg"


@pytest.mark.parametrize("content", ["all:\n\thosts:\n", None], ids=["tab", "absent"])
def test_a_file_that_cannot_be_read_is_no_inventory_without_hosts(
    content: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "hosts.yml"
    if content:
        path.write_text(content)
    with pytest.raises(AnsibleError, match=r"hosts\.yml"):
        from_directory(path)


# Variables that a play sets itself


def overrides(run: AnsibleRun, **play: object) -> dict[str, Any]:
    return play_overrides(run.variables("k1", play))


def test_a_play_sets_variables_of_its_own(tmp_path: Path) -> None:
    run = AnsibleRun(written(tmp_path, group_vars__all="kafka_heap: 1g\n"))
    assert overrides(run) == {}
    assert overrides(run, kafka_heap="2g", unrelated=1) == {"kafka_heap": "2g"}
    assert overrides(run, kafka_heap="1g") == {}, "the inventory says so already"
    assert overrides(run, kafka_rack="", kafka_profile="durable") == {}, "defaults of the role"


def test_a_copy_of_the_inventory_reads_the_same(tmp_path: Path) -> None:
    source = ROOT / "inventories/kraft_dedicated"
    copy = shutil.copytree(source, tmp_path / "copy")
    assert from_directory(copy).hosts == from_directory(source).hosts
