"""The actions of report.yml: which host reads what, and what the page gets."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.lab.topology import ROOT
from tests.unit.in_process import AnsibleRun

pytestmark = pytest.mark.usefixtures("local_tmp")
HOSTS = """\
all: {vars: {kafka_version: 4.3.1, kafka_security: open, spark_security: open}}
kafka_controllers: {hosts: {k1: {kafka_node_id: 1}, k2: {kafka_node_id: 2}, k3: {kafka_node_id: 3}}}
kafka_brokers: {hosts: {k1: {}, k2: {}, k3: {}}}
spark_masters: {hosts: {k1: {}}}
spark_workers: {hosts: {k2: {}}}
"""
UNREACHABLE = {"unreachable": True, "msg": "no route to host"}


def answer(name: str, args: dict[str, Any]) -> dict[str, Any]:
    if name.endswith("kafka_contents"):
        return {"error": "", "topics": [["flights", [[1, [1], [1]]], 1]], "invocation": args}
    if name.endswith("spark_health"):
        assert args["fail"] is False
        return {"failed": True, "msg": "the module could not run"}
    return {"units": [], "healthy": True, "jobs": {}}


@pytest.fixture
def ansible(tmp_path: Path) -> AnsibleRun:
    (tmp_path / "inventory").mkdir()
    (tmp_path / "inventory/hosts.yml").write_text(HOSTS)
    return AnsibleRun(tmp_path / "inventory", answer)


def called(ansible: AnsibleRun) -> list[str]:
    return [name.rpartition(".")[2] for name, _ in ansible.calls]


def read(ansible: AnsibleRun, host: str) -> dict[str, Any]:
    play = {"ansible_play_hosts_all": ["k1", "k2", "k3"]}
    return ansible.task("report_parts", host, play=play, reached="report_hosts")


def test_a_service_is_read_by_the_first_host_that_was_reached(ansible: AnsibleRun) -> None:
    ansible.register("k1", "report_hosts", UNREACHABLE)
    for host in ("k2", "k3"):
        ansible.register(host, "report_hosts", ansible.task("report_host", host))
    ansible.calls.clear()
    assert read(ansible, "k2")["parts"].keys() == {"kafka"}
    assert read(ansible, "k3")["parts"] == {}
    assert called(ansible) == ["kafka_contents"]
    ((_, options),) = ansible.calls
    assert options.keys() >= {"bootstrap", "expect_brokers", "expect_voters"}


def test_the_state_of_a_host_is_asked_by_what_is_on_it(ansible: AnsibleRun) -> None:
    ansible.task("report_host", "k2")
    ((_, options),) = ansible.calls
    assert options["units"] == ["kafka", "spark-worker"]
    assert options["marks"]["kafka"].startswith("/run/kafka/")
    assert "/srv/spark" in options["directories"]


def test_the_page_has_what_was_read_and_why_the_rest_is_missing(
    ansible: AnsibleRun, tmp_path: Path
) -> None:
    for host in ("k1", "k2"):
        ansible.register(host, "report_hosts", ansible.task("report_host", host))
    ansible.register("k3", "report_hosts", UNREACHABLE)
    for host in ("k1", "k2"):
        ansible.register(host, "report_parts", read(ansible, host))
    path = tmp_path / "page.html"
    result = ansible.task(
        "report_page", "k1", path=str(path), hosts="report_hosts", parts="report_parts"
    )
    assert result["problems"] == [
        "k3: no route to host",
        "spark: the module could not run",
    ]
    text = path.read_text()
    assert '"flights"' in text
    assert "no route to host" in text


def test_the_playbook_registers_what_its_tasks_name() -> None:
    text = (ROOT / "playbooks/report.yml").read_text()
    registered = set(re.findall(r"register: (\w+)", text))
    plays = yaml.safe_load(text)
    tasks = [task for play in plays for task in play.get("tasks", ())]
    named = {
        value
        for task in tasks
        for name in ("report_parts", "report_page")
        for key, value in (task.get(f"millrace.streaming.{name}") or {}).items()
        if key != "path"
    }
    assert named
    assert named <= registered
