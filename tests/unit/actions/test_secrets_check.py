"""Secrets that are older than those of a host are refused, whatever else other hosts say."""

from __future__ import annotations

import base64
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from ansible.errors import AnsibleError
from ansible_collections.millrace.streaming.plugins.action import secrets_check
from ansible_collections.millrace.streaming.plugins.module_utils.host.secret_record import RECORD
from ansible_collections.millrace.streaming.plugins.plugin_utils.ansible_internals import Vault
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import resolve
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.secret_store import Store
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets import store as secrets

from tests.unit.actions.bare_task import Tasks
from tests.unit.actions.clean_cluster import clean, run_checks
from tests.unit.in_process import AnsibleRun

pytestmark = pytest.mark.usefixtures("local_tmp")


@pytest.fixture
def ansible(tmp_path: Path) -> AnsibleRun:
    cluster = clean(tmp_path, kafka_security="standard")
    run_checks(cluster, generate=True)
    return cluster.next_run()


def store(ansible: AnsibleRun) -> Store:
    store_of_run = ansible.cluster("k1").inventory.secrets.store
    assert store_of_run
    return store_of_run


def record(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_hosts_with_the_present_secrets_former_ones_or_none_are_accepted(
    ansible: AnsibleRun,
) -> None:
    former = store(ansible).record(["kafka"])
    directory = Path(ansible.cluster("k1").inventory.secrets.directory)
    secrets.keep(directory, "spark_secret", "of-somebody")
    ansible = ansible.next_run()
    present = store(ansible).record(["kafka"])
    assert present != former
    records = {"k1": record(present), "k2": record(former), "k3": ""}
    assert not ansible.task("secrets_check", "k1", records=records)["changed"]


@pytest.mark.parametrize("damage", ["no JSON", "[]", "{}", '{"name": 1}'])
def test_a_damaged_record_says_nothing(ansible: AnsibleRun, damage: str) -> None:
    assert not ansible.task("secrets_check", "k1", records={"k1": record(damage)})["changed"]


def test_hosts_with_newer_secrets_are_named_with_the_way_out(ansible: AnsibleRun) -> None:
    newer = secrets._following(store(ansible)).record(["kafka"])
    records = {"k1": "", "k2": record(newer), "k3": record(store(ansible).record(["kafka"]))}
    with pytest.raises(AnsibleError) as refusal:
        ansible.task("secrets_check", "k1", records=records)
    text = str(refusal.value)
    assert "k2" in text
    assert "k3" not in text
    directory = ansible.cluster("k1").inventory.secrets.directory
    for expected in (directory, "secrets_accept=true", RECORD):
        assert expected in text
    with pytest.raises(AnsibleError) as refusal:
        ansible.next_run().task("secrets_check", "k1", records={"k2": records["k2"]})
    assert RECORD not in str(refusal.value), "every host has it, so none of them is suspect"


def test_a_copy_from_before_a_rotation_is_older(ansible: AnsibleRun) -> None:
    """Whatever was made from it since, it is not what the host was deployed with."""
    directory = Path(ansible.cluster("k1").inventory.secrets.directory)
    former = directory.with_name("former")
    shutil.copytree(directory, former)
    secrets.replace(directory, ["admin"], [], store=True)
    ansible = ansible.next_run()
    records = {"k1": record(store(ansible).record(["kafka"]))}
    shutil.rmtree(directory)
    former.rename(directory)
    secrets.replace(directory, ["admin"], [], store=True)
    with pytest.raises(AnsibleError):
        ansible.next_run().task("secrets_check", "k1", records=records)


def test_newer_ones_of_a_vault_are_in_a_commit(
    ansible: AnsibleRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = secrets._following(store(ansible)).record(["kafka"])
    inventory = ansible.cluster("k1").inventory
    stored = replace(inventory.secrets, cipher=Vault((("default", b"password"),)))
    tasks = Tasks(monkeypatch, resolve(replace(inventory, secrets=stored)))
    with pytest.raises(AnsibleError, match="git pull"):
        tasks.run(secrets_check, {"records": {"k2": record(newer)}})
