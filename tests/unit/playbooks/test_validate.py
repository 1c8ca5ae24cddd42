"""validate.yml and explain.yml as a build server runs them: exit code, files, no host contacted.

What it checks is in tests/unit/rules, how in tests/unit/actions.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.support.lab.topology import ROOT
from tests.support.refusal import ANSIBLE
from tests.unit.module_runner import HANGS_SECONDS

# Addresses of no network (RFC 5737): a connection would wait until its timeout.
HOSTS = """\
all:
  vars:
    kafka_security: open
    kafka_rack: "{{ nowhere }}"
kafka_brokers:
  hosts:
    k1: {ansible_host: 192.0.2.1, kafka_node_id: 1}
kafka_controllers:
  hosts:
    k1:
"""
LINE = 1 + HOSTS.splitlines().index('    kafka_rack: "{{ nowhere }}"')
EMPTY = "all: {hosts: {}, children: {zookeeper: {}}}\n"


def run(place: Path, hosts: str, *options: str, playbook: str = "validate") -> tuple[int, str]:
    """Run a playbook from a directory of the caller; any use of ssh leaves a file there."""
    ssh = place / "ssh"
    ssh.write_text(f"#!/bin/sh\ntouch {place}/contacted\nexit 255\n")
    ssh.chmod(0o755)
    (place / "hosts.yml").write_text(hosts)
    done = subprocess.run(  # noqa: S603 - own arguments, no shell
        [ANSIBLE, "-i", "hosts.yml", ROOT / f"playbooks/{playbook}.yml", *options],
        check=False,
        capture_output=True,
        text=True,
        cwd=place,
        timeout=HANGS_SECONDS,
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
    return done.returncode, output


def test_an_error_is_named_with_its_file_and_line(tmp_path: Path) -> None:
    files = ("-e", "validate_json=problems.json", "-e", "validate_junit=problems.xml")
    code, output = run(tmp_path, HOSTS, *files)
    assert code == 2, output
    assert f"{tmp_path}/hosts.yml:{LINE}" in output
    assert "[unresolved-variable]" in output
    verdict = json.loads((tmp_path / "problems.json").read_text())
    assert not verdict["valid"]
    assert "unresolved-variable" in [one["rule"] for one in verdict["problems"]]
    suites = ET.parse(tmp_path / "problems.xml").getroot()  # noqa: S314 - written by this test's run
    assert suites.get("failures") != "0"


UNKNOWN_CONNECTION = HOSTS.replace(
    "all:\n  vars:\n",
    """\
all:
  vars:
    ansible_connection: "{{ nowhere }}"
    ansible_port: "{{ nowhere }}"
    ansible_user: "{{ nowhere }}"
    ansible_become_password: "{{ nowhere }}"
""",
).replace("192.0.2.1", '"{{ nowhere }}"')


@pytest.mark.parametrize(("playbook", "expected"), [("validate", 2), ("explain", 0)])
def test_a_connection_that_cannot_be_resolved_ends_no_task(
    tmp_path: Path, playbook: str, expected: int
) -> None:
    """It is one of the problems, or one of the variables that are left out."""
    code, output = run(tmp_path, UNKNOWN_CONNECTION, playbook=playbook)
    assert code == expected, output
    assert re.search(r"ansible_host\b.*nowhere", output)
    assert "kafka_rack" in output


def test_a_property_and_a_change_are_explained(tmp_path: Path) -> None:
    """With every option that the guide shows, in one run."""
    hosts = HOSTS.replace(
        '    kafka_rack: "{{ nowhere }}"\n', "    kafka_config: {log.retention.ms: 1}\n"
    )
    asked = {
        "explain_key": "retention",
        "explain_json": "explained.json",
        "explain_change": {"log.retention.ms": 3600000, "queued.max.requests": 1000},
        "explain_ports": True,
    }
    code, output = run(tmp_path, hosts, "-e", json.dumps(asked), playbook="explain")
    assert code == 0, output
    assert re.search(r"log\.retention\.ms.*3600000", output)
    assert "who connects" in output
    explained = json.loads((tmp_path / "explained.json").read_text())["hosts"]["k1"]
    assert explained["properties"]["log.retention.ms"]["layer"] == "kafka_config"
    assert "queued.max.requests" not in explained["properties"], "explain_key was ignored"
    kinds = {key: one["kind"] for key, one in explained["changes"].items()}
    assert kinds == {"log.retention.ms": "dynamic", "queued.max.requests": "restart"}


def test_a_file_that_cannot_be_read_is_named_beside_the_problems_of_others(tmp_path: Path) -> None:
    file = tmp_path / "host_vars" / "k2.yml"
    file.parent.mkdir()
    file.write_text("kafka_node_id: [\n")
    code, output = run(tmp_path, f"{HOSTS}spark_masters:\n  hosts:\n    k2:\n")
    assert code == 2, output
    assert "[unresolved-variable]" in output
    assert "[unreadable-file]" in output
    assert str(file) in output


def test_an_inventory_without_hosts_is_refused(tmp_path: Path) -> None:
    """Otherwise every play would be skipped, and that would look like success."""
    code, output = run(tmp_path, EMPTY)
    assert code != 0, output
    assert "hosts.yml" in output
    assert "no hosts" in output
