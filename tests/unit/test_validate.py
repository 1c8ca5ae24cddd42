"""The playbook validate.yml as a build server runs it: exit code, files, and no host contacted."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.millrace.streaming.plugins.module_utils.rules import RULES

from tests.support.refusal import ANSIBLE, seconds_to_refuse

ROOT = Path(__file__).resolve().parents[2]
INVENTORIES = sorted(path.name for path in (ROOT / "inventories").iterdir() if path.is_dir())

# Addresses of no network (RFC 5737): a connection would wait until its timeout.
NODES: dict[str, dict[str, Any]] = {
    f"k{number}": {"ansible_host": f"192.0.2.{number}", "kafka_node_id": number}
    for number in (1, 2, 3)
}
CLEAN: dict[str, Any] = {"kafka_allow_plaintext": True, "host_memory_mb": 4096}
MISTAKES: dict[str, Any] = {
    "host_memory_mb": 4096,
    "kafka_hep": "1g",
    "kafka_stop_timeout": "soon",
    "kafka_data_dirs": ["/tmp/kafka"],  # noqa: S108 - what a rule refuses
    "kafka_config": {
        "default.replication.factor": 4,
        "log.cleaner.threads": 0,
        "node.id": 9,
        "num.partition": 3,
        "ssl.client.auth": False,
    },
}
TWELVE = [
    "empty-group",
    "host-without-group",
    "unknown-variable",
    "variable-value",
    "data-dir-in-tmp",
    "node-id-duplicate",
    "plaintext-listener",
    "replication-factor",
    "owned-key",
    "unknown-key",
    "key-boolean",
    "cleaner-buffer",
]


def inventory(place: Path, hosts: dict[str, dict[str, Any]], variables: dict[str, Any]) -> None:
    """Write an inventory of combined nodes, besides a host of its own name for each other one."""
    nodes: dict[str, Any] = {name: None for name in hosts if name.startswith("k")}
    groups: dict[str, Any] = {
        "kafka_controllers": {"hosts": nodes},
        "kafka_brokers": {"hosts": nodes},
    }
    if len(nodes) < len(hosts):
        groups["spark_history"] = {"hosts": {}}
    document = {"all": {"hosts": hosts, "children": groups, "vars": variables}}
    (place / "hosts.yml").write_text(yaml.safe_dump(document))


def validate(place: Path, *options: str, inventory: str = "hosts.yml") -> tuple[int, str]:
    """Run the playbook from a directory of the caller; any use of ssh leaves a file there."""
    ssh = place / "ssh"
    ssh.write_text(f"#!/bin/sh\ntouch {place}/contacted\nexit 255\n")
    ssh.chmod(0o755)
    done = subprocess.run(  # noqa: S603 - own arguments, no shell
        [ANSIBLE, "-i", inventory, ROOT / "playbooks" / "validate.yml", *options],
        check=False,
        capture_output=True,
        text=True,
        cwd=place,
        timeout=60,
        env={
            **os.environ,
            "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
            "ANSIBLE_HOME": str(place / "home"),
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_SSH_EXECUTABLE": str(ssh),
        },
    )
    output = done.stdout + done.stderr
    assert not (place / "contacted").exists(), output
    assert "Gathering Facts" not in output
    return done.returncode, output


def test_twelve_mistakes_are_twelve_messages_in_one_run(tmp_path: Path) -> None:
    hosts = {**NODES, "k3": {**NODES["k3"], "kafka_node_id": 2}, "spare": {}}
    inventory(tmp_path, hosts, MISTAKES)
    for _attempt in range(3):  # a build machine may be busy with other tests
        limit = seconds_to_refuse()
        start = time.monotonic()
        code, output = validate(
            tmp_path, "-e", "validate_json=verdict.json", "-e", "validate_junit=verdict.xml"
        )
        seconds = time.monotonic() - start
        if seconds < limit:
            break
    assert seconds < limit
    assert code == 2, output
    assert "The inventory has 12 problems; no host was touched." in output
    assert [rule for rule in TWELVE if f"[{rule}]" not in output] == []

    verdict = json.loads((tmp_path / "verdict.json").read_text())
    assert [one["rule"] for one in verdict["problems"]] == TWELVE
    assert (verdict["valid"], verdict["rules"], verdict["hosts"]) == (False, len(RULES), 4)
    suites = ET.parse(tmp_path / "verdict.xml").getroot()  # noqa: S314 - written by this test's run
    failed = [
        case.get("name") for case in suites.iter("testcase") if case.find("failure") is not None
    ]
    assert failed == TWELVE


def test_legal_inventory_has_a_verdict_too(tmp_path: Path) -> None:
    inventory(tmp_path, NODES, CLEAN)
    code, output = validate(
        tmp_path, "-e", "validate_json=verdict.json", "-e", "validate_junit=verdict.xml"
    )
    assert code == 0, output
    assert json.loads((tmp_path / "verdict.json").read_text()) == {
        "valid": True,
        "problems": [],
        "warnings": [],
        "rules": len(RULES),
        "hosts": 3,
    }
    suites = ET.parse(tmp_path / "verdict.xml").getroot()  # noqa: S314 - written by this test's run
    assert (suites.get("tests"), suites.get("failures")) == (str(len(RULES)), "0")


@pytest.mark.parametrize("name", INVENTORIES)
def test_every_inventory_of_the_tree_is_legal_without_warnings(name: str, tmp_path: Path) -> None:
    # A copy, since a lookup may mint a secret beside the inventory.
    shutil.copytree(ROOT / "inventories" / name, tmp_path / "inventory")
    code, output = validate(tmp_path, "-e", "validate_json=verdict.json", inventory="inventory")
    assert code == 0, output
    verdict = json.loads((tmp_path / "verdict.json").read_text())
    assert (verdict["problems"], verdict["warnings"]) == ([], [])


def test_inventory_is_read_as_a_directory_of_links_with_what_site_keeps(tmp_path: Path) -> None:
    place = tmp_path / "inventory"
    place.mkdir()
    for part in (ROOT / "inventories/kraft_combined").iterdir():
        (place / part.name).symlink_to(part)
    (place / "kafka_cluster_id.txt").write_text("MkU3OEVBNTcwNTJENDM2Qg\n")
    (place / "spark_secret.txt").write_text("s" * 32 + "\n")
    code, output = validate(tmp_path, inventory="inventory")
    assert code == 0, output
    assert "localhost" not in output


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("hosts.yml", "all:\n\thosts:\n", "Completely failed to parse inventory source"),
        ("absent.yml", None, "Completely failed to parse inventory source"),
        (
            "hosts.yml",
            "all: {hosts: {}, children: {zookeeper: {}}}\n",
            "The inventory has no hosts;",
        ),
    ],
    ids=["tab", "absent", "empty"],
)
def test_inventory_that_says_nothing_is_refused(
    name: str, content: str | None, says: str, tmp_path: Path
) -> None:
    if content:
        (tmp_path / name).write_text(content)
    code, output = validate(tmp_path, inventory=name)
    assert code != 0, output
    assert says in output
    assert name in output
