"""What the guide's commands of explain.yml give, without the time that Ansible takes to start."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleError
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.registry import GROUPS

from tests.support.clients import guide
from tests.support.lab.topology import ROOT
from tests.unit.in_process import AnsibleRun

pytestmark = pytest.mark.usefixtures("local_tmp")
PLAY = yaml.safe_load((ROOT / "playbooks/explain.yml").read_text())[0]
# Variable of the playbook -> option of the action, as the playbook has them.
OPTIONS = {
    "explain_key": "key",
    "explain_change": "change",
    "explain_json": "path",
    "explain_ports": "ports",
}


@pytest.fixture
def ansible(tmp_path: Path) -> AnsibleRun:
    source = ROOT / "inventories/kraft_combined"
    return AnsibleRun(shutil.copytree(source, tmp_path / "inventory"))


def explain(ansible: AnsibleRun, **options: Any) -> str:
    return "\n".join(ansible.task("explain", "k1", **options)["lines"])


def test_the_playbook_passes_its_variables_on() -> None:
    (task,) = (entry for entry in PLAY["tasks"] if "millrace.streaming.explain" in entry)
    args = task["millrace.streaming.explain"]
    assert args.keys() == set(OPTIONS.values())
    for variable, option in OPTIONS.items():
        assert args[option].startswith(f"{{{{ {variable} "), "a variable of the guide"


def test_commands_of_the_guide_explain(
    ansible: AnsibleRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    texts: dict[str, str] = {}
    for line in guide.commands("Explain a property"):
        words = shlex.split(line)
        assert "playbooks/explain.yml" in words
        variables = dict(guide.extra_variables(words))
        options = {OPTIONS[variable]: value for variable, value in variables.items()}
        texts[" ".join(variables)] = explain(ansible, **options)
    assert texts.keys() == {"", *OPTIONS}
    assert "k1, k2, k3" in texts[""].splitlines()[0]
    assert "min.insync.replicas" in texts[""]
    assert "log.retention.hours" in texts["explain_key"]
    assert "min.insync.replicas" not in texts["explain_key"]
    for text in ("log.retention.ms: dynamic", "queued.max.requests: restart", "node.id: refused"):
        assert text in texts["explain_change"]
    assert "kafka_controller_listener" in texts["explain_ports"]
    assert "spark_master_port" in texts["explain_ports"]
    assert "min.insync.replicas" not in texts["explain_ports"]
    document = json.loads((tmp_path / "explained.json").read_text())
    assert document["ports"]["k1"][0]["port"] == 9095
    assert document["hosts"]["k3"]["properties"]["min.insync.replicas"]["layer"] == "topology"


def test_a_change_is_shown_without_all_properties(ansible: AnsibleRun) -> None:
    change = {"num.io.threads": 16}
    assert "compression.type" not in explain(ansible, change=change)
    assert "compression.type" in explain(ansible, change=change, key="compression")


def test_a_wrong_inventory_is_explained_too(tmp_path: Path) -> None:
    """It describes and does not validate."""
    wrong = {"kafka_config": {"num.partition": 3}, "kafka_rack": "{{ nowhere }}", "kafka_hep": 1}
    document = {"kafka_brokers": {"hosts": {"k1": {}}, "vars": wrong}}
    (tmp_path / "hosts.yml").write_text(yaml.safe_dump(document))
    text = explain(AnsibleRun(tmp_path / "hosts.yml"))
    assert "num.partition" in text
    assert "nowhere" in text


def test_ports_are_explained_without_kafka_and_equal_hosts_share_a_table(tmp_path: Path) -> None:
    copy = shutil.copytree(ROOT / "inventories/spark_ha", tmp_path / "inventory")
    lines = AnsibleRun(copy).task("explain", "s1", ports=True)["lines"]
    assert [line for line in lines if line.startswith("On ")] == ["On s1:", "On s2:", "On s3:"]
    assert [line.split() for line in lines if "7337" in line] == 2 * [
        ["7337", "nodes", "spark.shuffle.service.port"]
    ]
    assert "any" in [line.split()[0] for line in lines if line]
    hosts = yaml.safe_load((ROOT / "playbooks/vars/hosts.yml").read_text())
    assert "every_host" in PLAY["hosts"]
    assert set(hosts["every_host"].split(":")) == set(GROUPS)


def test_a_file_that_cannot_be_written_is_named(ansible: AnsibleRun, tmp_path: Path) -> None:
    with pytest.raises(AnsibleError, match=r"no/such/folder\.json"):
        explain(ansible, path=f"{tmp_path}/no/such/folder.json")
