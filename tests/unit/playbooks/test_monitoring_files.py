"""monitoring_files.yml writes what differs, and shows no secret."""

from __future__ import annotations

import json
import shlex
import stat
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support import promtool
from tests.support.clients import guide
from tests.support.recap import changed
from tests.unit.playbooks.runs import run_playbook

PREVIEW, WRITE = guide.commands("3. Write the files", guide.EXISTING_MONITORING)
CANARY = "canary-token-of-the-exporters"
SITE: dict[str, Any] = {
    "kafka_controllers": {"hosts": {"k1": {"kafka_node_id": 1}}},
    "kafka_brokers": {"hosts": {"k1": None}},
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with the inventory of a deployed cluster."""
    inventory = tmp_path / "prod"
    (inventory / ".secrets").mkdir(parents=True, mode=0o700)
    for name, text in (("ca.pem", "(certificate)\n"), ("metrics_token", CANARY)):
        (inventory / ".secrets" / name).write_text(text)
        (inventory / ".secrets" / name).chmod(0o600)
    settle(tmp_path, metrics_enabled=True)
    return tmp_path


def settle(place: Path, **variables: Any) -> None:
    site = {**SITE, "all": {"vars": variables}}
    (place / "prod/hosts.yml").write_text(yaml.safe_dump(site))


def play(place: Path, command: str, *options: str) -> tuple[int, str]:
    words = shlex.split(command)
    assert words[:4] == [
        "ansible-playbook",
        "-i",
        "inventories/<yours>",
        "playbooks/monitoring_files.yml",
    ]
    return run_playbook(place, "prod", *words[4:], *options, playbook="monitoring_files")


def test_a_preview_writes_nothing_and_the_second_run_changes_nothing(place: Path) -> None:
    code, preview = play(place, PREVIEW)
    assert code == 0, preview
    assert changed(preview) == 1
    assert "+- job_name: millrace-prod" in preview
    assert CANARY not in preview
    files = place / "build/monitoring"
    assert not files.exists()
    code, output = play(place, WRITE, "-v")
    assert (code, changed(output)) == (0, 1), output
    assert CANARY not in output
    assert (files / "token-prod").read_text() == CANARY
    assert stat.S_IMODE((files / "token-prod").stat().st_mode) == 0o600
    assert json.loads((files / "dashboards/cluster.json").read_text())["links"]
    code, output = play(place, WRITE)
    assert (code, changed(output)) == (0, 0), output

    (place / "prod/.secrets/metrics_token").write_text(f"{CANARY}-2")
    (files / "rules/prod-kafka.yml").unlink()
    (files / "foreign").write_text("of somebody else\n")
    _, preview = play(place, PREVIEW)
    assert CANARY not in preview
    assert "- alert: KafkaDown" in preview
    assert "millrace-prod-hosts" not in preview
    assert changed(play(place, WRITE)[1]) == 1
    assert (files / "token-prod").read_text() == f"{CANARY}-2"
    assert (files / "foreign").is_file()

    configuration = {
        "rule_files": ["rules/*.yml"],
        **yaml.safe_load((files / "scrape-prod.yml").read_text()),
    }
    file = files / "prometheus.yml"
    assert not promtool.run("check", "config", file=file, document=configuration)


def test_a_cluster_without_exporters_is_refused(place: Path) -> None:
    settle(place)
    code, output = play(place, WRITE)
    assert code == 2
    assert "set metrics_enabled to true" in " ".join(output.split())


def test_before_the_first_deployment_it_is_refused(place: Path) -> None:
    (place / "prod/.secrets/metrics_token").unlink()
    code, output = play(place, WRITE)
    assert code == 2
    assert "run site.yml first" in " ".join(output.split())
    assert not (place / "build").exists()
