"""The order of rotate_secrets.yml: whatever ends a run, another one completes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.lab.topology import ROOT

ROTATE, USERS = "millrace.streaming.rotate_secrets", "millrace.streaming.kafka_users"
SERVICE, CHECK = "millrace.streaming.service", "millrace.streaming.secrets_check"
RECORD = {"product": "host", "parts": ["secrets"]}


def play(name: str) -> dict[str, Any]:
    plays = yaml.safe_load((ROOT / "playbooks/rotate_secrets.yml").read_text())
    (named,) = [play for play in plays if play["name"] == name]
    return dict(named)


def tasks(name: str) -> list[dict[str, Any]]:
    return list(play(name)["tasks"])


@pytest.mark.parametrize("name", ["Passwords of Kafka's users", "The logins of Spark's jobs"])
def test_a_lost_host_is_left_out_and_keeps_no_password_in_use(name: str) -> None:
    """It is a failure all the same: an ignored one would be given the tasks that are done once."""
    assert not play(name).get("any_errors_fatal")
    assert not [task["name"] for task in tasks(name) if task.get("ignore_unreachable")]


def test_kafka_answers_before_a_password_is_replaced_and_gets_it_after() -> None:
    read, checked, probe, made, recorded, applied, _ = tasks("Passwords of Kafka's users")
    assert USERS in probe
    assert probe["check_mode"]
    assert read["register"] in checked[CHECK]["records"]
    assert made[ROTATE]["make"]
    assert recorded[SERVICE] == RECORD
    assert USERS in applied
    assert "check_mode" not in applied


def parts(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load((ROOT / f"playbooks/{name}.yml").read_text()))


def test_older_secrets_are_refused_before_hosts_record_the_present_ones() -> None:
    ((read, checked, recorded),) = [play["tasks"] for play in parts("record_secrets")]
    assert read["register"] in checked[CHECK]["records"]
    assert recorded[SERVICE] == RECORD
    (play,) = parts("record_secrets")
    assert "any_errors_fatal" not in play, "a host that does not answer would end the run"
    assert read["ignore_unreachable"]
    assert recorded["any_errors_fatal"]


@pytest.mark.parametrize(
    "path", sorted((ROOT / "playbooks").glob("*.yml")), ids=lambda path: path.stem
)
def test_hosts_record_secrets_that_a_playbook_makes(path: Path) -> None:
    """Before it uses them; site.yml does it in its role host."""
    imports = [play.get("ansible.builtin.import_playbook", "") for play in parts(path.stem)]
    makes = any(play.get("vars", {}).get("validate_generate") for play in parts(path.stem))
    if makes and path.stem != "site":
        changes = ["kafka_users" in str(play) for play in parts(path.stem)]
        assert imports.index("record_secrets.yml") < changes.index(True)


@pytest.mark.parametrize("name", ["secure", "rotate_certificates"])
def test_hosts_record_the_end_of_a_phase(name: str) -> None:
    assert parts(name)[-1]["ansible.builtin.import_playbook"] == "record_secrets.yml"


def test_all_of_spark_is_stopped_before_its_secret_is_replaced() -> None:
    """No host keeps the former one, by which each later run would be refused, and no unit starts
    without one, not even after a boot.
    """
    inspected, checked, stopped, made, recorded, *started = tasks("Spark's secret")
    assert "inspect" in str(inspected)
    assert "make" not in checked[ROTATE]
    assert checked[ROTATE]["hosts"] == made[ROTATE]["hosts"]
    assert stopped[SERVICE] == {
        "product": "spark",
        "state": "absent",
        "removed": ["/etc/spark/spark-defaults.conf"],
    }
    assert made[ROTATE]["make"]
    assert recorded[SERVICE] == RECORD
    assert "'tasks_from': 'masters'" in str(started[0])


def test_nothing_is_made_before_everything_was_checked() -> None:
    (checked,) = tasks("Check what is to be replaced")
    assert "make" not in checked[ROTATE]
    assert {"users", "spark", "confirmed", "hosts"} == checked[ROTATE].keys()
