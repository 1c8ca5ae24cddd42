"""The action in a real run: what it reads from all hosts, and that it fails once for all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleError
from ansible.parsing.vault import EncryptedString
from ansible_collections.millrace.streaming.plugins.action.inventory_rules import (
    protected,
    read_specs,
)

from tests.unit.inventory_draft import SPECS, Draft

ROOT = Path(__file__).resolve().parents[2]
PLAYBOOK = Path(sys.executable).with_name("ansible-playbook")


def plays(specs: dict[str, str], verdicts: dict[str, str]) -> list[dict[str, Any]]:
    describe = [
        {
            "ansible.builtin.set_fact": {f"__{role}_described": f"{{{{ described.{role} }}}}"},
            "when": f"described.{role} is defined",
        }
        for role in ("host", "kafka", "zookeeper", "spark")
    ]
    rules = {
        "millrace.streaming.inventory_rules": {"specs": specs, **verdicts},
        "run_once": True,
    }
    touch = {"ansible.builtin.debug": {"msg": "{{ inventory_hostname }} was touched"}}
    every = {"hosts": "all", "gather_facts": False}
    return [{**every, "tasks": [*describe, rules]}, {**every, "tasks": [touch]}]


def run(place: Path, draft: Draft, *options: str, **verdicts: str) -> tuple[int, str]:
    """Judge a draft in a play of its own; return exit code and output."""
    hosts = {
        name: {
            **draft.variables.get(name, {}),
            **draft.connections.get(name, {}),
            "described": draft.descriptions[name],
        }
        for name in draft.groups["all"]
    }
    groups = {
        group: {"hosts": dict.fromkeys(names)}
        for group, names in draft.groups.items()
        if group not in ("all", "ungrouped")
    }
    specs = {role: str(place / f"{role}.yml") for role in SPECS}
    for role, known in SPECS.items():
        Path(specs[role]).write_text(
            yaml.safe_dump({"argument_specs": {"main": {"options": known}}})
        )
    (place / "hosts.yml").write_text(yaml.safe_dump({"all": {"hosts": hosts, "children": groups}}))
    (place / "play.yml").write_text(yaml.safe_dump(plays(specs, verdicts)))
    done = subprocess.run(  # noqa: S603 - own arguments, no shell
        [PLAYBOOK, "-i", "hosts.yml", "play.yml", *options],
        check=False,
        capture_output=True,
        text=True,
        cwd=place,
        timeout=60,
        env={
            **os.environ,
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "collections"),
            "ANSIBLE_HOME": str(place / "home"),
            "ANSIBLE_NOCOLOR": "1",
        },
    )
    return done.returncode, done.stdout + done.stderr


def test_clean_inventory_passes(tmp_path: Path) -> None:
    code, output = run(tmp_path, Draft())
    assert code == 0, output
    assert "k3 was touched" in output


def test_every_problem_is_reported_once_and_no_host_is_touched(tmp_path: Path) -> None:
    draft = Draft().ids(k3=2).own("num.partition", 3).variable("kafka_hep", "1g").add_host("k4")
    code, output = run(tmp_path, draft)
    assert code == 2, output
    assert output.count("[ERROR]: Task failed: Action failed: The inventory has 4 problems;") == 1
    assert output.count("fatal: ") == 1
    assert 'was touched"' not in output
    for line in (
        "1. k4 is in no group of Millrace. [host-without-group]",
        "2. No role has a variable kafka_hep. [unknown-variable]",
        "3. node.id 2 is used by k2 and k3. [node-id-duplicate]",
        "4. Kafka 4.3.1 has no key num.partition. [unknown-key]",
    ):
        assert line in output


def test_variables_are_templated_and_those_of_role_defaults_left_alone(tmp_path: Path) -> None:
    draft = Draft()
    draft.variable("kafka_profile", "{{ a_default_of_the_role }}")
    draft.variable("kafka_stop_timeout", "{{ 60 * 5 }}")
    draft.variable("spark_worker_memory", "{{ kafka_stop_timeout }}m")
    code, output = run(tmp_path, draft)
    assert code == 0, output
    draft.variable("kafka_stop_timeout", "{{ 'so' ~ 'on' }}")
    code, output = run(tmp_path, draft)
    assert code == 2, output
    assert "The inventory has 1 problem;" in output
    assert "kafka_stop_timeout of k1, k2, k3" in output


def test_limit_warns_what_was_not_judged(tmp_path: Path) -> None:
    code, output = run(tmp_path, Draft(), "--limit", "k1")
    assert code == 0, output
    assert "k2, k3: outside this run (--limit?)" in output


def test_file_that_is_no_spec_is_named(tmp_path: Path) -> None:
    wrong = tmp_path / "argument_specs.yml"
    for content in ("", "- a list", "argument_specs: []", "argument_specs: {main: 1}", "{"):
        wrong.write_text(content)
        with pytest.raises(AnsibleError, match=f"role kafka: {wrong} is no argument spec"):
            read_specs({"kafka": str(wrong)})
    with pytest.raises(AnsibleError, match="No such file"):
        read_specs({"kafka": str(tmp_path / "missing.yml")})


def test_variables_of_every_entry_point_are_known() -> None:
    specs = read_specs({"host": str(ROOT / "roles" / "host" / "meta" / "argument_specs.yml")})
    assert specs["host"]["host_memory_mb"]["type"] == "int"


def test_warning_is_shown_and_refuses_nothing(tmp_path: Path) -> None:
    draft = Draft().own("log.cleaner.enable", True)
    code, output = run(tmp_path, draft, json="verdict.json", junit="verdict.xml")
    assert code == 0, output
    assert "log.cleaner.enable is deprecated since Kafka 4.1" in output
    verdict = json.loads((tmp_path / "verdict.json").read_text())
    assert (verdict["valid"], verdict["problems"]) == (True, [])
    assert [one["rule"] for one in verdict["warnings"]] == ["deprecated-key"]
    assert "deprecated-key" in (tmp_path / "verdict.xml").read_text()


def test_address_of_a_host_is_judged(tmp_path: Path) -> None:
    draft = Draft().reached_at("k1", "10.0.0.1").reached_at("k2", "10.0.0.1")
    code, output = run(tmp_path, draft)
    assert code == 2, output
    assert "k1 and k2 are all reached at 10.0.0.1, port 22. [same-address]" in output


def test_verdict_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    code, output = run(tmp_path, Draft(), json="no/such/folder.json")
    assert code == 2, output
    assert "the verdict cannot be written" in output


def test_secret_from_an_expression_or_a_vault_is_protected() -> None:
    secret = "spark.authenticate.secret"  # noqa: S105 - the name of a key
    place = f"spark_config[{secret}]"
    assert protected({"spark_config": {secret: "{{ lookup('env', 'SECRET') }}"}}) == {place}
    assert protected({"spark_config": {secret: "hunter2"}}) == set()
    assert protected({"spark_config": "{{ all_of_it }}"}) == {"spark_config"}
    encrypted = EncryptedString(ciphertext="$ANSIBLE_VAULT;1.1;AES256\n00")
    assert protected({"spark_config": {secret: encrypted}}) == {place}
