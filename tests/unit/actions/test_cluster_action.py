"""The cluster of a run is checked once, with every problem at once, and its id is kept."""

from __future__ import annotations

import json
import re
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleError
from ansible_collections.millrace.streaming.plugins.module_utils.formats.uuids import is_cluster_id
from ansible_collections.millrace.streaming.plugins.module_utils.host.secret_record import RECORD
from ansible_collections.millrace.streaming.plugins.plugin_utils import operation, run
from ansible_collections.millrace.streaming.plugins.plugin_utils.rules import engine
from ansible_collections.millrace.streaming.plugins.plugin_utils.rules.catalogue import RULES
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets.certificates import (
    new_authority,
)

from tests.support.lab.topology import ROOT
from tests.unit.actions.clean_cluster import CLEAN, NODES, clean, run_checks, secret_files, written
from tests.unit.cluster.inventories import INVENTORIES
from tests.unit.in_process import AnsibleRun
from tests.unit.inspections import answer_with, directory_at

pytestmark = pytest.mark.usefixtures("local_tmp")
ID = "4L6g3nShT-eMCtK--X86sw"
OTHER = "MkU3OEVBNTcwNTJENDM2Qg"
KEPT = "kafka_cluster_id.txt"

MISTAKES: dict[str, Any] = {
    "host_memory_mb": 4096,
    "kafka_listeners": [{"name": "CLIENT", "port": 9092, "protocol": "PLAINTEXT"}],
    "kafka_controller_listener": {"name": "CONTROLLER", "port": 9093, "protocol": "PLAINTEXT"},
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


def rules(result: dict[str, Any], kind: str = "problems") -> list[str]:
    return [problem["rule"] for problem in result[kind]]


# The verdict


def test_every_mistake_is_one_problem_of_one_failure(tmp_path: Path) -> None:
    hosts = {**NODES, "k3": {**NODES["k3"], "kafka_node_id": 2}, "spare": {}}
    ansible = AnsibleRun(written(tmp_path, hosts, MISTAKES))
    verdict, junit = tmp_path / "problems.json", tmp_path / "problems.xml"
    result = run_checks(ansible, json=str(verdict), junit=str(junit))
    assert result["failed"]
    assert rules(result) == TWELVE
    assert [rule for rule in TWELVE if f"[{rule}]" not in result["shown"]] == []

    data = json.loads(verdict.read_text())
    assert [problem["rule"] for problem in data["problems"]] == TWELVE
    assert (data["valid"], data["rules"], data["hosts"]) == (False, len(RULES), 3)
    suites = ET.parse(junit).getroot()
    failed = [
        case.get("name") for case in suites.iter("testcase") if case.find("failure") is not None
    ]
    assert failed == TWELVE


def test_a_legal_inventory_has_a_verdict_too(tmp_path: Path) -> None:
    verdict, junit = tmp_path / "problems.json", tmp_path / "problems.xml"
    result = run_checks(clean(tmp_path), json=str(verdict), junit=str(junit))
    assert (result.get("failed"), result["changed"]) == (None, False)
    assert json.loads(verdict.read_text()) == {
        "valid": True,
        "problems": [],
        "warnings": [],
        "rules": len(RULES),
        "hosts": 3,
    }
    suites = ET.parse(junit).getroot()
    assert (suites.get("tests"), suites.get("failures")) == (str(len(RULES)), "0")


@pytest.mark.parametrize("name", INVENTORIES)
def test_every_inventory_of_the_tree_is_legal(name: str, tmp_path: Path) -> None:
    # A copy, since a lookup may write a secret beside the inventory.
    inventory = shutil.copytree(ROOT / "inventories" / name, tmp_path / name)
    if any("nftables" in path.read_text() for path in inventory.glob("group_vars/**/*.yml")):
        # The lab adds the addresses, without which a firewall is refused.
        names = AnsibleRun(inventory).hostvars
        hosts = {
            str(name): {"ansible_host": f"10.0.0.{n}"} for n, name in enumerate(names, start=1)
        }
        (inventory / "transport.yml").write_text(yaml.safe_dump({"all": {"hosts": hosts}}))
    ansible = AnsibleRun(inventory)
    result = ansible.task("cluster", next(iter(ansible.hostvars)))
    assert result["problems"] == []
    # Those that begin with an old version on purpose accept its holes.
    outdated = any(
        "accepted_risks:" in path.read_text() for path in inventory.glob("group_vars/**/*.yml")
    )
    assert [note["rule"] for note in result["notes"]] == ["outdated-version"] * outdated


@pytest.mark.parametrize("colors", [True, False])
def test_the_summary_is_first_and_each_problem_is_shown_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, colors: bool
) -> None:
    # Ansible sets it where the output is a terminal and NO_COLOR is not set.
    monkeypatch.setattr("ansible.utils.color.ANSIBLE_COLOR", colors)
    hosts = {**NODES, "k3": {**NODES["k3"], "kafka_node_id": 2}, "spare": {}}
    found = run_checks(AnsibleRun(written(tmp_path, hosts, MISTAKES)))
    shown = re.sub(r"\x1b\[[\d;]*m", "", found["shown"])
    first, *problems = shown.split("\n\n")
    assert f"{len(TWELVE)} problems in 1 file;" in first
    assert "no host was touched" in first
    assert sorted(re.findall(r"^\d+\. .*\[(.*)\]$", shown, flags=re.M)) == sorted(TWELVE)
    assert len(problems) == len(TWELVE)
    colored = re.findall(r"\x1b\[[\d;]*m *(\d+\.|fix:)", found["shown"])
    assert len(colored) == (2 * len(TWELVE) if colors else 0)
    assert ("\x1b" in found["shown"]) is colors


def test_a_warning_is_shown_and_refuses_nothing(tmp_path: Path) -> None:
    verdict = tmp_path / "problems.json"
    config = {"log.cleaner.enable": True}
    result = run_checks(clean(tmp_path, kafka_config=config), json=str(verdict))
    assert (result.get("failed"), rules(result)) == (None, [])
    assert rules(result, "notes") == ["deprecated-key"]
    assert [line for line in result["warnings"] if "[deprecated-key]" in line]
    data = json.loads(verdict.read_text())
    assert data["valid"]
    assert [problem["rule"] for problem in data["warnings"]] == ["deprecated-key"]


def test_the_address_of_a_host_is_judged(tmp_path: Path) -> None:
    hosts = {**NODES, "k2": {**NODES["k2"], "ansible_host": "192.0.2.1"}}
    result = run_checks(AnsibleRun(written(tmp_path, hosts, CLEAN)))
    assert "same-address" in rules(result)
    assert result["problems"][0]["hosts"] == ["k1", "k2"]


def test_a_variable_that_has_no_value_is_named_with_its_place(tmp_path: Path) -> None:
    result = run_checks(clean(tmp_path, kafka_rack="{{ nowhere }}"))
    assert rules(result) == ["unresolved-variable"]
    assert f"{tmp_path}/inventory/hosts.yml:" in result["shown"]


def test_a_file_that_cannot_be_read_hides_no_problem_of_other_hosts(tmp_path: Path) -> None:
    hosts = {**NODES, "k2": {"ansible_host": "192.0.2.2"}}
    inventory = written(tmp_path, hosts, {**CLEAN, "kafka_hep": "1g"})
    file = inventory / "host_vars" / "k2.yml"
    file.parent.mkdir()
    file.write_text("kafka_node_id: 2\nkafka_rack\n")
    result = run_checks(AnsibleRun(inventory))
    assert rules(result) == ["unknown-variable", "unreadable-file"]
    assert result["problems"][0]["hosts"] == ["k1", "k2", "k3"]
    assert result["problems"][1]["hosts"] == ["k2"]
    assert str(file) in result["problems"][1]["where"]


def test_a_verdict_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(AnsibleError, match=r"no/such/folder\.json"):
        run_checks(clean(tmp_path), json=f"{tmp_path}/no/such/folder.json")


def test_the_rules_run_once_unless_a_report_is_requested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ansible = clean(tmp_path)
    run_checks(ansible)
    monkeypatch.setattr(engine, "check_cluster", lambda *_: pytest.fail("checked again"))
    run_checks(ansible)
    with pytest.raises(pytest.fail.Exception):
        run_checks(ansible, json=str(tmp_path / "problems.json"))


def test_a_refused_cluster_is_judged_again(tmp_path: Path) -> None:
    ansible = clean(tmp_path, kafka_hep="1g")
    assert rules(run_checks(ansible)) == rules(run_checks(ansible)) == ["unknown-variable"]


# The cluster id


def kept(ansible: AnsibleRun) -> str:
    path = ansible.inventory / KEPT
    return path.read_text().strip() if path.exists() else ""


def test_an_id_is_generated_once_where_it_is_asked_for(tmp_path: Path) -> None:
    ansible = clean(tmp_path)
    assert run_checks(ansible)["changed"] is False
    assert kept(ansible) == ""
    assert run_checks(ansible, generate=True)["changed"] is True
    assert is_cluster_id(kept(ansible))
    assert ansible.cluster("k3").kafka["k3"].cluster_id == kept(ansible), "for tasks to come"
    assert run_checks(ansible, generate=True)["changed"] is False


def test_check_mode_has_an_id_and_keeps_none(tmp_path: Path) -> None:
    ansible = clean(tmp_path)
    assert run_checks(ansible, check=True, generate=True)["changed"] is True
    assert kept(ansible) == ""
    assert is_cluster_id(ansible.cluster("k1").kafka["k1"].cluster_id)


def test_an_id_that_is_kept_or_set_stays(tmp_path: Path) -> None:
    ansible = clean(tmp_path)
    (ansible.inventory / KEPT).write_text(f"{OTHER}\n")
    for check in (False, True):
        options: dict[str, Any] = {"generate": True, "known_cluster_id": ID}
        assert run_checks(ansible, check=check, **options)["changed"] is False
    assert kept(ansible) == OTHER
    assert ansible.cluster("k1").kafka["k1"].cluster_id == OTHER


def test_beside_an_id_of_the_inventory_none_is_kept(tmp_path: Path) -> None:
    ansible = clean(tmp_path, kafka_cluster_id=ID)
    assert run_checks(ansible, generate=True)["changed"] is False
    assert kept(ansible) == ""


def test_with_zookeeper_the_first_broker_generates_it(tmp_path: Path) -> None:
    path = shutil.copytree(ROOT / "inventories/zookeeper", tmp_path / "zookeeper")
    ansible = AnsibleRun(path)
    ansible.task("cluster", "b1", generate=True)
    assert kept(ansible) == ""
    assert ansible.task("cluster", "b1", known_cluster_id=ID)["changed"] is True
    assert kept(ansible) == ID


def test_a_broken_file_is_refused_with_all_other_problems(tmp_path: Path) -> None:
    ansible = clean(tmp_path, kafka_hep="1g")
    (ansible.inventory / KEPT).write_text("not-an-id\n")
    result = run_checks(ansible, generate=True)
    assert rules(result) == ["unknown-variable", "cluster-id-file"]
    assert f"{ansible.inventory / KEPT} holds 'not-an-id'" in result["shown"]
    assert kept(ansible) == "not-an-id"


# Secrets


def closed(place: Path, **variables: Any) -> AnsibleRun:
    return clean(place, **{"kafka_security": "standard", **variables})


def missing(ansible: AnsibleRun) -> list[str]:
    """Return what the tasks to come would miss."""
    deployment = ansible.cluster("k2")
    return [
        secret for host in deployment.kafka for secret in deployment.missing_secrets(host, "kafka")
    ]


def test_secrets_are_made_once_where_they_are_asked_for(tmp_path: Path) -> None:
    ansible = closed(tmp_path)
    assert run_checks(ansible)["changed"] is False
    assert secret_files(ansible) == {}
    assert run_checks(ansible, generate=True)["changed"] is True
    made = secret_files(ansible)
    assert {"ca.pem", "ca.key", "passwords/admin", "certificates/k3/node.pem"} <= made.keys()
    assert missing(ansible) == [], "for tasks to come"
    assert is_cluster_id(ansible.cluster("k1").kafka["k1"].cluster_id), "which is kept too"
    for check in (False, True):
        assert run_checks(ansible, check=check, generate=True)["changed"] is False
    assert run_checks(ansible.next_run(), generate=True)["changed"] is False
    assert secret_files(ansible) == made


def test_check_mode_has_secrets_and_keeps_none(tmp_path: Path) -> None:
    ansible = closed(tmp_path)
    assert run_checks(ansible, check=True, generate=True)["changed"] is True
    assert missing(ansible) == []
    assert secret_files(ansible) == {}
    assert run_checks(ansible.next_run(), generate=True)["changed"] is True


def test_check_mode_says_that_a_certificate_would_be_replaced(tmp_path: Path) -> None:
    ansible = closed(tmp_path)
    run_checks(ansible, generate=True)
    (ansible.inventory / ".secrets/certificates/k2/node.pem").write_text("damaged")
    before = secret_files(ansible)
    again = ansible.next_run()
    assert run_checks(again, check=True, generate=True)["changed"] is True
    assert secret_files(ansible) == before


def test_no_result_shows_a_secret(tmp_path: Path) -> None:
    ansible = closed(tmp_path)
    shown = str(run_checks(ansible, generate=True)) + repr(ansible.cluster("k1"))
    assert [name for name, text in secret_files(ansible).items() if text in shown] == []


def test_a_refused_cluster_gets_no_secrets(tmp_path: Path) -> None:
    ansible = closed(tmp_path, kafka_hep="1g")
    assert run_checks(ansible, generate=True)["failed"]
    assert secret_files(ansible) == {}


def test_secrets_are_where_the_inventory_says(tmp_path: Path) -> None:
    ansible = closed(tmp_path, kafka_secrets_dir=f"{tmp_path}/elsewhere")
    run_checks(ansible, generate=True)
    assert (tmp_path / "elsewhere/ca.pem").exists()
    assert secret_files(ansible) == {}
    assert run_checks(ansible.next_run(), generate=True)["changed"] is False


def test_the_ca_of_a_site_signs(tmp_path: Path) -> None:
    site = new_authority("Site")
    key = "{{ lookup('ansible.builtin.file', '" + str(tmp_path / "site.key") + "') }}"
    (tmp_path / "site.key").write_text(site.key)
    ansible = closed(tmp_path, kafka_ca_certificate=site.certificate, kafka_ca_key=key)
    assert run_checks(ansible, generate=True)["changed"] is True
    assert secret_files(ansible)["ca.pem"].strip() == site.certificate.strip()
    assert "ca.key" not in secret_files(ansible)
    assert run_checks(ansible.next_run(), generate=True)["changed"] is False


# What was found on hosts


def inspect(ansible: AnsibleRun, host: str, disk: Mapping[str, Any] = {}, **changes: Any) -> None:
    """Let a host be found sound, but for changes of its disk and of the rest."""
    directory = directory_at("/var/lib/kafka/data", **{"mount": "/var/lib/kafka", **disk})
    answer = answer_with(disks_directories=(directory,), **changes)
    ansible.register(host, run.INSPECTION, {"inspection": answer, "clock_offset": 0.0})


def test_the_problems_of_all_hosts_are_one_failure(tmp_path: Path) -> None:
    ansible = clean(tmp_path)
    run_checks(ansible)
    for host in NODES:
        names = [] if host == "k3" else [f"junk-of-{host}/"]
        inspect(ansible, host, disk={"exists": True, "names": names, "meta": None})
    result = run_checks(ansible, inspected=["k1", "k2", "k3"])
    assert result["failed"]
    assert {host for problem in result["problems"] for host in problem["hosts"]} == {"k1", "k2"}
    for host in ("k1", "k2"):
        assert f"junk-of-{host}" in result["shown"]


def test_sound_hosts_pass_and_complete_the_cluster(tmp_path: Path) -> None:
    ansible = clean(tmp_path)
    run_checks(ansible)
    for host in NODES:
        inspect(ansible, host, system_cores=16, system_memory_mb=8192)
    result = run_checks(ansible, inspected=list(NODES))
    assert (result.get("failed"), result["problems"]) == (None, [])
    assert {host.cores for host in ansible.cluster("k1").hosts.values()} == {16}


def deployed(tmp_path: Path) -> tuple[AnsibleRun, dict[str, Any]]:
    """A closed cluster, and what its hosts have of its secrets."""
    ansible = closed(tmp_path)
    run_checks(ansible, generate=True)
    store = ansible.cluster("k1").inventory.secrets.store
    assert store
    return ansible, json.loads(store.record(["kafka"]))


def test_older_secrets_are_refused_unless_they_are_accepted(tmp_path: Path) -> None:
    ansible, record = deployed(tmp_path)
    shutil.rmtree(ansible.inventory / ".secrets")
    for accepted in (False, True, False):
        ansible = ansible.next_run()
        run_checks(ansible, generate=True)
        before = secret_files(ansible)
        for host in NODES:
            inspect(ansible, host, secrets=record)
        result = run_checks(ansible, inspected=list(NODES), accept_secrets=accepted)
        assert secret_files(ansible) == before
        store = ansible.cluster("k1").inventory.secrets.store
        assert store
        if store.replacing:
            assert rules(result) == []
            assert store.replacing == ("admin", "ledger")
            assert store.generation.number == 2
        else:
            assert rules(result) == ["secrets-older"]
            assert {*result["problems"][0]["hosts"]} == {*NODES}
            assert not accepted


def test_a_host_whose_record_alone_is_unknown_may_have_been_taken_over(tmp_path: Path) -> None:
    ansible, record = deployed(tmp_path)
    run_checks(ansible.next_run(), generate=True)
    foreign = {**record, "name": "unknown"}
    for alone in (True, False):
        ansible = ansible.next_run()
        for host in NODES:
            inspect(ansible, host, secrets=record if alone and host != "k2" else foreign)
        (problem,) = run_checks(ansible, inspected=list(NODES))["problems"]
        assert problem["hosts"] == ["k2"] if alone else [*NODES]
        assert (RECORD in problem["fix"]) is alone


def test_newer_secrets_are_not_refused(tmp_path: Path) -> None:
    """As after a rotation that ended before the hosts had it, and on a host that is new."""
    ansible, record = deployed(tmp_path)
    (ansible.inventory / ".secrets/passwords/admin").write_text("another")
    ansible = ansible.next_run()
    run_checks(ansible, generate=True)
    inspect(ansible, "k1", secrets=record)
    for host in ("k2", "k3"):
        inspect(ansible, host)
    for accepted, replacing in ((False, ()), (True, ("admin", "ledger"))):
        result = run_checks(ansible, inspected=list(NODES), accept_secrets=accepted)
        assert rules(result) == []
        store = ansible.cluster("k1").inventory.secrets.store
        assert store
        # As after teardown.yml, which keeps Kafka's data and leaves no record.
        assert (store.generation.number, store.replacing) == (2, replacing)


def test_what_follows_from_the_hosts_is_judged_too(tmp_path: Path) -> None:
    """The inventory does not say how much memory a host has."""
    ansible = clean(tmp_path, host_memory_mb=0, kafka_heap="6g")
    assert rules(run_checks(ansible)) == []
    inspect(ansible, "k1", system_memory_mb=4096)
    result = run_checks(ansible, inspected=["k1", "k2"])
    assert result["problems"][0]["hosts"] == ["k1"]
    assert "6g" in result["shown"] or "6144" in result["shown"]


@pytest.mark.parametrize(
    ("allowed", "problems"), [("none", ["version-changes"]), ("up", []), ("any", [])]
)
def test_another_version_is_for_the_playbooks_that_change_it(
    allowed: str, problems: list[str], tmp_path: Path
) -> None:
    ansible = clean(tmp_path)
    meta = f"version=1\ncluster.id={ID}\nnode.id=1\ndirectory.id=x\n"
    installed = {"kafka": "kafka-4.2.1-0123456789ab"}
    inspect(ansible, "k1", software_installed=installed, disk={"exists": True, "meta": meta})
    result = run_checks(ansible, inspected=["k1"], allow_version_change=allowed)
    assert [rule for rule in rules(result) if rule.startswith("version")] == problems


AT_WORK = {"id": "x", "state": "running", "what": "rolling_upgrade", "machine": "m", "age": 3.0}


@pytest.mark.parametrize(
    ("change", "options", "refused"),
    [
        ({}, {}, True),
        ({}, {"allow_operation": True}, False),
        ({"state": "finished"}, {}, False),
        # Its holder is dead, so the next roll takes the lock over.
        ({"age": 1e6}, {}, False),
    ],
)
def test_hosts_of_a_running_operation_are_refused(
    change: dict[str, Any], options: dict[str, Any], refused: bool, tmp_path: Path
) -> None:
    ansible = clean(tmp_path)
    run_checks(ansible)
    for host in NODES:
        inspect(ansible, host, operation={**AT_WORK, **change})
    result = run_checks(ansible, inspected=list(NODES), **options)
    assert rules(result) == (["operation-running"] if refused else [])
    assert ("rolling_upgrade" in result["shown"]) is refused


@pytest.mark.parametrize(
    ("options", "words"),
    [({}, "nothing was changed"), ({"hosts_changed": True}, "no service was changed")],
)
def test_a_refusal_says_what_was_changed_before_it(
    options: dict[str, Any], words: str, tmp_path: Path
) -> None:
    ansible = clean(tmp_path)
    run_checks(ansible)
    inspect(ansible, "k1", operation=AT_WORK)
    result = run_checks(ansible, inspected=["k1"], **options)
    texts = ("nothing was changed", "no service was changed")
    assert [text for text in texts if text in result["msg"]] == [words]


def test_the_second_inspection_of_site_comes_after_changes_of_the_hosts() -> None:
    plays = yaml.safe_load((ROOT / "playbooks/site.yml").read_text())
    (include,) = (
        task
        for play in plays
        for task in play.get("post_tasks", [])
        if task.get("ansible.builtin.include_role", {}).get("tasks_from") == "inspect"
    )
    assert include["vars"] == {"preflight_hosts_changed": True}
    inspect_tasks = yaml.safe_load((ROOT / "roles/host/tasks/inspect.yml").read_text())
    assert (
        "preflight_hosts_changed"
        in inspect_tasks[-1]["millrace.streaming.cluster"]["hosts_changed"]
    )


def test_a_run_is_not_refused_for_its_own_operation(tmp_path: Path) -> None:
    ansible = clean(tmp_path)
    run_checks(ansible)
    own_operation = {**AT_WORK, "id": operation.current("rolling_upgrade")["id"]}
    for host in NODES:
        inspect(ansible, host, operation=own_operation)
    assert rules(run_checks(ansible, inspected=list(NODES))) == []
