"""A pipeline that validates: the command and the exit codes of docs/deploy/pipeline.md."""

from __future__ import annotations

import shlex
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import yaml

from tests.support.clients import guide
from tests.unit.playbooks.runs import run_playbook

PYTHON, PIP, VALIDATE = guide.commands("The job", guide.PIPELINE)
[WITH_VAULT] = guide.commands("With secrets", guide.PIPELINE)
VAULT, APPLY, *COMMIT = guide.commands("A job that applies", guide.PIPELINE)
INVENTORY = "inventories/<yours>"
GOOD = {
    "kafka": {
        "children": {
            "kafka_controllers": {
                "hosts": {
                    f"kafka{n}.example.org": {"ansible_host": f"192.0.2.{n}", "kafka_node_id": n}
                    for n in (1, 2, 3)
                }
            },
            "kafka_brokers": {"hosts": {f"kafka{n}.example.org": None for n in (1, 2, 3)}},
        }
    }
}


def options(command: str, *after: str) -> list[str]:
    """The options of a command of the page, behind inventory and playbook."""
    words = shlex.split(command)
    assert words[1:4] == ["-i", INVENTORY, "playbooks/validate.yml"]
    return [*words[4:], *after]


def rules(place: Path) -> dict[str, bool]:
    """Rule -> whether it refused, of the file that the server gets."""
    cases = ET.parse(place / "problems.xml").iter("testcase")
    return {str(case.get("name")): case.find("failure") is not None for case in cases}


def test_an_accepted_inventory_ends_with_0(tmp_path: Path) -> None:
    """With the password of a vault from a file; the shell puts the name of the file in place."""
    password = tmp_path / "password"
    password.write_text("secret")
    (tmp_path / "hosts.yml").write_text(yaml.safe_dump(GOOD))
    words = options(VALIDATE, *options(WITH_VAULT))
    words = [word.replace("$VAULT_PASSWORD_FILE", str(password)) for word in words]
    code, output = run_playbook(tmp_path, "hosts.yml", *words)
    assert code == 0, output
    assert not any(rules(tmp_path).values())
    assert (tmp_path / "problems.json").is_file()


def test_a_refused_inventory_ends_with_2(tmp_path: Path) -> None:
    inventory = {"kafka": {**GOOD["kafka"], "vars": {"kafka_profile": "durabel"}}}
    (tmp_path / "hosts.yml").write_text(yaml.safe_dump(inventory))
    code, output = run_playbook(tmp_path, "hosts.yml", *options(VALIDATE))
    assert code == 2, output
    assert [name for name, refused in rules(tmp_path).items() if refused] == ["variable-value"]


def test_an_inventory_that_cannot_be_read_has_a_code_of_its_own(tmp_path: Path) -> None:
    code, output = run_playbook(tmp_path, "nowhere", *options(VALIDATE))
    assert code == 4, output
    assert rules(tmp_path)["inventory-unread"]


def test_a_wrong_option_writes_no_file(tmp_path: Path) -> None:
    code, _ = run_playbook(tmp_path, "hosts.yml", *options(VALIDATE, "--no-such-option"))
    assert code == 2
    assert not (tmp_path / "problems.xml").exists()


def test_the_environment_is_made_as_elsewhere() -> None:
    """Its two commands are run by tests/stages/test_installed.py, as those of another page."""
    assert PYTHON in guide.commands("2. Install Millrace", guide.KAFKA_CLUSTER)
    assert PIP in guide.commands("2. Install Millrace", guide.KAFKA_CLUSTER)


def test_what_a_run_has_generated_is_committed_and_pushed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that has generated nothing makes no commit; a job that applies is no error then."""
    for name in ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "EMAIL"):
        monkeypatch.setenv(name, "a@example.org")
    assert VAULT == 'export ANSIBLE_VAULT_PASSWORD_FILE="$VAULT_PASSWORD_FILE"'
    assert APPLY.endswith(f"-i {INVENTORY} playbooks/site.yml")
    clone = tmp_path / "clone"

    def shell(command: str, place: Path = clone) -> str:
        words = ["bash", "-ec", command.replace(INVENTORY, f"'{INVENTORY}'")]
        done = subprocess.run(words, cwd=place, capture_output=True, text=True, check=True)
        return done.stdout

    shell("git init -q --bare -b main remote; git clone -q remote clone", tmp_path)
    secret = clone / INVENTORY / ".secrets/passwords/admin"
    secret.parent.mkdir(parents=True)
    for content in ("first", "first", "second"):
        secret.write_text(content)
        for command in COMMIT:
            shell(command)
        pushed = f"git --git-dir=../remote show main:{INVENTORY}/.secrets/passwords/admin"
        assert shell(pushed) == content
    assert len(shell("git --git-dir=../remote log --oneline").splitlines()) == 2
