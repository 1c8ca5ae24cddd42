"""validate.yml and explain.yml as a build server runs them: exit code, files, no host contacted.

What it checks is in tests/unit/rules, how in tests/unit/actions.
"""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from ansible.parsing.vault import VaultLib, VaultSecret

from tests.unit.playbooks.runs import run, run_playbook

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


def test_an_error_is_named_with_its_file_and_line(tmp_path: Path) -> None:
    files = ("-e", "validate_json=problems.json", "-e", "validate_junit=problems.xml")
    code, output = run(tmp_path, HOSTS, *files)
    assert code == 2, output
    assert f"{tmp_path}/hosts.yml:{LINE}" in output
    assert "[unresolved-variable]" in output
    verdict = json.loads((tmp_path / "problems.json").read_text())
    assert not verdict["valid"]
    assert "unresolved-variable" in [problem["rule"] for problem in verdict["problems"]]
    suites = ET.parse(tmp_path / "problems.xml").getroot()
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
    variables = {
        "explain_key": "retention",
        "explain_json": "explained.json",
        "explain_change": {"log.retention.ms": 3600000, "queued.max.requests": 1000},
        "explain_ports": True,
    }
    code, output = run(tmp_path, hosts, "-e", json.dumps(variables), playbook="explain")
    assert code == 0, output
    assert re.search(r"log\.retention\.ms.*3600000", output)
    assert "who connects" in output
    explained = json.loads((tmp_path / "explained.json").read_text())["hosts"]["k1"]
    assert explained["properties"]["log.retention.ms"]["layer"] == "kafka_config"
    assert "queued.max.requests" not in explained["properties"], "explain_key was ignored"
    kinds = {key: change["kind"] for key, change in explained["changes"].items()}
    assert kinds == {"log.retention.ms": "dynamic", "queued.max.requests": "restart"}


MORE_HOSTS = f"{HOSTS}spark_masters:\n  hosts:\n    k2:\n"
PASSWORD, OTHER = ("--vault-password-file=password",), ("--vault-password-file=other",)
# Ansible reads no group_vars/all.yml where there is a directory group_vars/all.
FILES = [
    ["host_vars/k1.yml", "host_vars/k2.yml", "group_vars/all.yml"],
    ["group_vars/all/vault"],
]


def encrypt(path: Path, text: str, password: str) -> None:
    """Write a file of variables that is encrypted as a whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    vault = VaultLib([("default", VaultSecret(password.encode()))])
    path.write_bytes(vault.encrypt(text))


def check_refusal(place: Path, code: int, output: str, *paths: Path) -> None:
    """Check that files are named, beside the problem that the hosts have anyway."""
    assert code != 0, output
    assert "[unreadable-file]" in output
    assert all(f"{path} cannot be read" in output for path in paths), output
    assert f"{place}/hosts.yml:{LINE}" in output


@pytest.mark.parametrize("files", FILES)
def test_files_that_cannot_be_read_are_named_beside_all_other_problems(
    files: list[str], tmp_path: Path
) -> None:
    paths = [tmp_path / file for file in files]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("kafka_node_id: [\n")
    verdicts = ("-e", "validate_json=problems.json", "-e", "validate_junit=problems.xml")
    check_refusal(tmp_path, *run(tmp_path, MORE_HOSTS, *verdicts), *paths)
    verdict = json.loads((tmp_path / "problems.json").read_text())
    assert "unreadable-file" in [problem["rule"] for problem in verdict["problems"]]
    assert "unreadable-file" in (tmp_path / "problems.xml").read_text()


@pytest.mark.parametrize(
    ("options", "files"), [((), FILES[0]), (OTHER, FILES[1])], ids=["no password", "a wrong one"]
)
def test_vaults_that_cannot_be_opened_are_named_with_what_to_do(
    options: tuple[str, ...], files: list[str], tmp_path: Path
) -> None:
    paths = [tmp_path / file for file in files]
    for path in paths:
        encrypt(path, "kafka_heap: 1g\n", "right")
    (tmp_path / "other").write_text("wrong")
    code, output = run(tmp_path, MORE_HOSTS, *options)
    check_refusal(tmp_path, code, output, *paths)
    assert "--vault-password-file" in output
    assert "Traceback" not in output


def test_of_two_vaults_the_one_without_its_password_is_named(tmp_path: Path) -> None:
    open_one, closed = (tmp_path / f"group_vars/all/{name}.yml" for name in ("ours", "theirs"))
    encrypt(open_one, "kafka_heap: 1g\n", "right")
    encrypt(closed, "kafka_profile: durable\n", "another")
    (tmp_path / "password").write_text("right")
    code, output = run(tmp_path, MORE_HOSTS, "--vault-id", "dev@password")
    check_refusal(tmp_path, code, output, closed)
    assert str(open_one) not in output


def test_a_vault_with_its_password_is_read(tmp_path: Path) -> None:
    encrypt(tmp_path / "group_vars/all/vault.yml", "kafka_heap: nonsense\n", "right")
    (tmp_path / "password").write_text("right")
    code, output = run(tmp_path, MORE_HOSTS, *PASSWORD)
    assert code == 2, output
    assert "[unreadable-file]" not in output
    assert "kafka_heap" in output


def test_a_vault_of_hosts_without_a_service_is_left_alone(tmp_path: Path) -> None:
    encrypt(tmp_path / "group_vars/web.yml", "a: 1\n", "right")
    allowed = HOSTS.replace(
        '    kafka_rack: "{{ nowhere }}"\n', "    kafka_allow_unsafe_quorum: true\n"
    )
    code, output = run(tmp_path, f"{allowed}web:\n  hosts:\n    w1:\n")
    assert code == 0, output


def test_an_inventory_without_hosts_is_refused(tmp_path: Path) -> None:
    """Otherwise every play would be skipped, and that would look like success."""
    code, output = run(tmp_path, EMPTY)
    assert code != 0, output
    assert "hosts.yml" in output
    assert "[no-hosts]" in output


VERDICTS = ("-e", "validate_json=problems.json", "-e", "validate_junit=problems.xml")
STALE = "of the last run"
CYCLE = """\
east: {children: {west: }}
west: {children: {east: }}
"""


def refused(place: Path, source: str) -> tuple[list[dict[str, Any]], str]:
    """Validate an inventory beside results of a run before; return all problems, and the output.

    Each is shown once, and is in both results.
    """
    for name in ("problems.json", "problems.xml"):
        (place / name).write_text(STALE)
    code, output = run_playbook(place, source, *VERDICTS)
    assert code != 0, output
    assert "Traceback" not in output
    problems = json.loads((place / "problems.json").read_text())["problems"]
    assert STALE not in (place / "problems.xml").read_text()
    for problem in problems:
        assert output.count(f"[{problem['rule']}]") == sum(
            entry["rule"] == problem["rule"] for entry in problems
        )
        assert output.count(problem["why"]) <= sum(
            entry["why"] == problem["why"] for entry in problems
        )
    return problems, output


def places(problems: list[dict[str, Any]], rule: str) -> list[str]:
    return [str(problem["where"]) for problem in problems if problem["rule"] == rule]


def test_every_source_that_cannot_be_read_is_named_beside_all_other_problems(
    tmp_path: Path,
) -> None:
    """In one directory: an INI file, a script, a document, a cycle, wrong text, no UTF-8."""
    folder = tmp_path / "inventory"
    (folder / "group_vars").mkdir(parents=True)
    (folder / "group_vars/all.yml").write_text("kafka_hep: 1g\n")
    texts = {
        "a.ini": "[kafka_brokers]\nb1 ansible_host: 192.0.2.1\nb2 ansible_host=192.0.2.2\n",
        "b.sh": "#!/bin/sh\necho reading\necho '{}'\n",
        "README": "These are our brokers.\nPlease keep them in order.\n",
        "c.yml": CYCLE,
        "d.yml": "kafka_brokers: [\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    (folder / "b.sh").chmod(0o755)
    (folder / "e.yml").write_bytes("# Z\u00fcrich\nweb: {hosts: {w1: }}\n".encode("latin-1"))
    problems, output = refused(tmp_path, "inventory")
    named = {f"{folder}/{end}" for end in ("a.ini:2", "b.sh", "README", "d.yml:2", "e.yml")}
    assert {*places(problems, "inventory-unread")} == named, output
    assert places(problems, "group-cycle"), output
    assert places(problems, "unknown-variable"), "another problem is hidden"
    b1 = [problem for problem in problems if "b1" in (problem["hosts"] or ())]
    assert b1, "the host of a line that is wrong is lost"


@pytest.mark.parametrize("source", ["nowhere", "nowhere/hosts.yml"])
def test_a_source_that_is_not_there_is_named(source: str, tmp_path: Path) -> None:
    problems, _ = refused(tmp_path, source)
    assert places(problems, "inventory-unread") == [str(tmp_path / source)]


def test_a_result_of_a_run_before_does_not_outlive_a_run_that_ends_early(tmp_path: Path) -> None:
    (tmp_path / "hosts.yml").write_text("kafka_brokers: [\n")
    problems, _ = refused(tmp_path, "hosts.yml")
    assert [problem["rule"] for problem in problems] == ["inventory-unread"]


def test_each_problem_is_shown_once_with_its_file_line_and_groups(tmp_path: Path) -> None:
    folder = tmp_path / "inventory"
    (folder / "group_vars").mkdir(parents=True)
    hosts = "".join(f"        b{n}: {{kafka_node_id: {n}}}\n" for n in range(1, 6))
    (folder / "hosts.yml").write_text(
        f"all:\n  children:\n    kafka_brokers:\n      hosts:\n{hosts}"
        "    kafka_controllers:\n      hosts:\n        c1: {kafka_node_id: 9}\n"
        "  vars:\n    ansible_become: ture\n"
    )
    (folder / "group_vars/kafka_brokers.yml").write_text(
        "kafka_hep: 1g\nkafka_config:\n  num.partition: 3\n  log.preallocate: 7\n"
    )
    problems, output = refused(tmp_path, "inventory")
    by_rule = {str(problem["rule"]): problem for problem in problems}
    file = folder / "group_vars/kafka_brokers.yml"
    assert by_rule["unknown-variable"]["places"] == [f"{file}:1"]
    assert by_rule["unknown-key"]["places"] == [f"{file}:3"]
    assert by_rule["become-value"]["places"] == [f"{folder}/hosts.yml:14"]
    assert f"kafka_hep of kafka_brokers ({file}:1)" in output
    assert "b1, b2, b3" not in output


def test_a_good_run_says_what_was_checked(tmp_path: Path) -> None:
    allowed = HOSTS.replace(
        '    kafka_rack: "{{ nowhere }}"\n', "    kafka_allow_unsafe_quorum: true\n"
    )
    code, output = run(tmp_path, allowed)
    assert code == 0, output
    assert re.search(r"\b1 host\b.*\b1 controller\b.*\b1 broker\b.*\b0 warnings\b", output)


@pytest.mark.parametrize("playbook", ["explain", "teardown"])
def test_no_playbook_works_on_what_is_left_of_an_inventory(playbook: str, tmp_path: Path) -> None:
    folder = tmp_path / "inventory"
    folder.mkdir()
    (folder / "a.yml").write_text(HOSTS)
    (folder / "b.yml").write_text("kafka_brokers: [\n")
    code, output = run_playbook(tmp_path, "inventory", playbook=playbook)
    assert code != 0, output
    assert f"{folder}/b.yml:2" in output
    assert "[unresolved-variable]" not in output
