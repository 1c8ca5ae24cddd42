"""Playbooks for a service that the inventory may lack: they refuse, where all plays would skip."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.support.lab.topology import ROOT
from tests.unit.playbooks.runs import run

HOSTS = """\
all:
  vars: {kafka_security: open, kafka_rack: a}
kafka_brokers:
  hosts:
    k1: {ansible_host: 192.0.2.1, kafka_node_id: 1}
kafka_controllers:
  hosts:
    k1:
"""


@pytest.mark.parametrize(
    ("playbook", "group"),
    [
        ("changes", "postgresql"),
        ("changes_reset", "postgresql"),
        ("connectors", "kafka_connect"),
        ("hdfs_backup", "hdfs_namenode"),
        ("schemas", "schema_registry"),
        ("schemas_backup", "schema_registry"),
        ("schemas_restore", "schema_registry"),
    ],
)
def test_a_playbook_says_which_group_it_needs(playbook: str, group: str) -> None:
    first = yaml.safe_load((ROOT / f"playbooks/{playbook}.yml").read_text())[0]
    assert first["ansible.builtin.import_playbook"] == "validate.yml"
    assert first["vars"]["validate_groups"] == [group]


def test_a_missing_group_is_named(tmp_path: Path) -> None:
    code, output = run(tmp_path, HOSTS, "-e", "changes_reset=true", playbook="changes_reset")
    assert code == 2, output
    assert "group postgresql" in output
    assert "missing or empty" in " ".join(output.split())


def test_no_limit_skips_a_refusal() -> None:
    plays = [
        (path.name, play["name"])
        for path in sorted((ROOT / "playbooks").glob("*.yml"))
        for play in yaml.safe_load(path.read_text())
        if play.get("hosts") == "localhost"
        and list(play["tasks"][0])[1] == "ansible.builtin.fail"
        and len(play["tasks"]) == 1
    ]
    assert plays == [], "--limit leaves localhost out, and the plays that follow run"
