"""Modules that operate a service get their options from the model, and changes are recorded."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleError
from ansible_collections.millrace.streaming.plugins.plugin_utils.action import Action
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster import module_options
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka import (
    module_options as kafka_options,
)

from tests.unit.in_process import AnsibleRun, Answer, call_module

pytestmark = pytest.mark.usefixtures("local_tmp")
HOSTS = """\
kafka_brokers: {hosts: {k1: {kafka_node_id: 1}, k2: {kafka_node_id: 2}}}
kafka_controllers: {hosts: {c1: {kafka_node_id: 11}}}
zookeeper: {hosts: {z1: {zookeeper_id: 1}}}
"""
MODULES = ("kafka_features", "kafka_health", "kafka_voter", "spark_health", "zookeeper_health")


def changed(_: str, options: Answer) -> Answer:
    return {"changed": True, "options": options}


@pytest.fixture
def ansible(tmp_path: Path) -> AnsibleRun:
    (tmp_path / "hosts.yml").write_text(HOSTS)
    return AnsibleRun(tmp_path / "hosts.yml", changed)


def operate(ansible: AnsibleRun, module: str, host: str, **args: Any) -> Answer:
    return ansible.task(module, host, **args)


def test_the_module_gets_what_the_model_says(ansible: AnsibleRun) -> None:
    options = operate(ansible, "kafka_health", "k1", gate=True)["options"]
    expected = module_options.of_module("kafka_health", ansible.cluster("k1"), "k1")
    assert options == {**expected, "gate": True}
    assert ansible.calls[0][0] == "millrace.streaming.kafka_health"


def test_options_of_the_task_win(ansible: AnsibleRun) -> None:
    options = operate(ansible, "kafka_health", "k1", strict=False, allow_outage=["logs"])["options"]
    assert (options["strict"], options["allow_outage"]) == (False, ["logs"])
    assert (options["allow_unsafe_quorum"], options["expect_brokers"]) == (False, [1, 2])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bootstrap": ["here:1"]}, r"kafka_health: unsupported options: bootstrap.*include.*wait"),
        ({"events": "changes"}, "unsupported options: events"),
        ({"wait": "long"}, "kafka_health: argument 'wait'.*float"),
    ],
)
def test_an_option_that_is_not_documented_is_refused(
    ansible: AnsibleRun, options: Answer, message: str
) -> None:
    with pytest.raises(AnsibleError, match=message):
        operate(ansible, "kafka_health", "k1", **options)
    assert ansible.calls == []


@pytest.mark.parametrize("module", MODULES)
def test_every_module_of_it_has_options(ansible: AnsibleRun, module: str) -> None:
    host = "z1" if module == "zookeeper_health" else "k1"
    if module == "spark_health":
        with pytest.raises(AnsibleError, match="k1"):
            operate(ansible, module, host)
    else:
        assert operate(ansible, module, host)["changed"]


def test_a_host_without_the_service_is_refused(ansible: AnsibleRun) -> None:
    with pytest.raises(AnsibleError, match=r"z1.*kafka"):
        operate(ansible, "kafka_health", "z1")
    assert ansible.calls == []


# Events


def test_a_change_is_recorded_with_its_time(ansible: AnsibleRun, tmp_path: Path) -> None:
    events, begun = tmp_path / "events.jsonl", time.time()
    for host in ("k1", "k2"):
        options = operate(ansible, "kafka_features", host, events=str(events))["options"]
        assert "events" not in options, "it is the controller's file"
    first, second = map(json.loads, events.read_text().splitlines())
    assert (first["node"], second["node"]) == ("k1", "k2")
    assert first["phase"] == "kafka_features"
    assert begun <= first["start"] <= first["end"] <= second["start"] <= time.time()


@pytest.mark.parametrize(
    ("result", "check"), [({"changed": False}, False), ({"failed": True}, False), ({}, True)]
)
def test_what_changed_nothing_is_not_recorded(
    ansible: AnsibleRun, tmp_path: Path, result: Answer, check: bool
) -> None:
    events = tmp_path / "events.jsonl"
    ansible.module = lambda *_: {"changed": True, **result} if check else result
    operate(ansible, "kafka_features", "k1", events=str(events), check=check)
    assert not events.exists()


# Dynamic properties: a kind of it that asks a running broker alone


@pytest.mark.parametrize(
    ("host", "running", "runs"),
    [("k1", True, True), ("k1", False, False), ("c1", True, False), ("z1", True, False)],
)
def test_only_a_broker_that_ran_is_asked(
    ansible: AnsibleRun, host: str, running: bool, runs: bool
) -> None:
    result = ansible.task("kafka_dynamic_config", host, running=running)
    assert result["changed"] is runs
    assert bool(ansible.calls) is runs
    assert runs or result["refused"] == {}
    assert not runs or "running" not in result["options"]


def test_a_broker_knows_which_operations_a_run_has_judged(
    ansible: AnsibleRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Action, "judged_operations", lambda _: {"judged_operations": ["own"]})
    options = ansible.task("kafka_dynamic_config", "k1")["options"]
    assert options["judged_operations"] == ["own"]


@pytest.mark.parametrize("wrong", [{}, {"wait": "long"}], ids=["no library", "invalid option"])
def test_the_content_of_a_file_is_shown_in_no_failure(
    ansible: AnsibleRun, monkeypatch: pytest.MonkeyPatch, wrong: Answer
) -> None:
    """Also where the module fails before it has looked at its options."""
    monkeypatch.setitem(kafka_options.OPERATIONS, "kafka_dynamic_config", with_secret)
    for check in (True, False):
        ansible.module = lambda name, args: call_module(
            name, {**args, **wrong, "library": "/nonexistent"}
        )
        result = ansible.task("kafka_dynamic_config", "k1", check=check)
        assert result["failed"]
        assert result["invocation"]["module_args"]["path"]
        assert "hunter2" not in json.dumps(result)
    (_, planned), (_, made) = ansible.calls
    assert "hunter2" in planned["content"], "the file is not written yet"
    assert "content" not in made


def with_secret(*_: object) -> Answer:
    """Options of the module as the model gives them, of a node with a password."""
    return {
        "bootstrap": ["k1:9092"],
        "node_id": 1,
        "keys": [],
        "path": "/etc/kafka/server.properties",
        "content": "ssl.key.password=hunter2\n",
    }
