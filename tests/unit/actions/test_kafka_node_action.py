"""What hosts record of an operation: lock hosts take the lock, all record how it ended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleConnectionFailure
from ansible_collections.millrace.streaming.plugins.action import kafka_node
from ansible_collections.millrace.streaming.plugins.module_utils.formats.pem import bodies
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets import certificates
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.security import (
    Certificate,
)

from tests.unit.actions.bare_task import Tasks
from tests.unit.cluster import small

CLUSTER = small.kafka(2, 3)
TIMED_OUT = "timed out"


@pytest.fixture
def tasks(local_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> Tasks:
    return Tasks(monkeypatch, CLUSTER, lambda *_: {"running": True})


def ask(tasks: Tasks, inventory_hostname: str, **args: Any) -> dict[str, Any]:
    """Return the options that the module got on a host."""
    result = tasks.run(kafka_node, args, {"inventory_hostname": inventory_hostname})
    assert (result["running"], result["lock_hosts"]) == (True, ["c1", "c2", "c3"])
    return tasks.calls[-1][1]


def test_a_node_is_compared_with_the_distribution_of_the_inventory(tasks: Tasks) -> None:
    options = ask(tasks, "b1")
    assert set(options["keystores"]) <= set(map(str, CLUSTER.kafka["b1"].config.values()))
    assert options["home"] == CLUSTER.kafka["b1"].distribution.home
    assert "operation" not in options


@pytest.mark.parametrize(("days", "ends"), [(100, False), (20, False), (1, True), (0, True)])
def test_key_stores_that_end_soon_are_named(
    days: int, ends: bool, tasks: Tasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(certificates, "LEAF_DAYS", days)
    node = Certificate("b1/node", "", "b1", ("b1",), client=True)
    text = certificates.issue(certificates.new_authority("Millrace"), node)
    shown = {"/node.pem": bodies(text)[0], "/junk.pem": "junk"}
    tasks.module = lambda *_: {"running": True, "certificates": shown}
    result = tasks.run(kafka_node, {}, {"inventory_hostname": "b1"})
    assert result["expiring"] == (["/node.pem"] if ends else [])


def test_only_the_hosts_of_the_lock_take_it(tasks: Tasks) -> None:
    taken = ask(tasks, "c2", what="rolling_restart", over="dead")
    assert (taken["take"], taken["over"]) == (True, "dead")
    assert taken["operation"]["what"] == "rolling_restart"
    assert "operation" not in ask(tasks, "b1", what="rolling_restart")
    again = ask(tasks, "b1", what="rolling_restart", host="c3")
    assert again["operation"]["id"] == taken["operation"]["id"]


def test_every_host_hears_how_the_operation_ended(tasks: Tasks) -> None:
    ask(tasks, "c1", what="rolling_restart")
    ended = ask(tasks, "b1", finish=True)
    assert ended["operation"]["state"] == "stopped", "every node is done, and a later task failed"
    assert not ended.get("take"), "it would take the lock of who began meanwhile"
    number_of_calls = len(tasks.calls)
    assert tasks.run(kafka_node, {"complete": True}) == {"changed": False}
    assert len(tasks.calls) == number_of_calls, "only the controller keeps that"
    assert ask(tasks, "b1", finish=True)["operation"]["state"] == "finished"


def test_a_verdict_belongs_to_the_operation_of_the_run(tasks: Tasks) -> None:
    options = {"finish": True, "verdict": "PASS"}
    assert tasks.run(kafka_node, options, {"inventory_hostname": "c1"}) == {"changed": False}
    assert not tasks.calls, "nothing was done, so that there is nothing to record"
    taken = ask(tasks, "c1", what="rolling_restart")
    tasks.run(kafka_node, {"complete": True})
    ended = ask(tasks, "c1", **options)["operation"]
    assert (ended["id"], ended["state"]) == (taken["operation"]["id"], "finished")
    assert ended["verdict"] == "PASS"


def test_a_second_roll_of_a_run_takes_the_lock_as_running(tasks: Tasks) -> None:
    ask(tasks, "c1", what="rolling_restart")
    tasks.run(kafka_node, {"complete": True})
    taken = ask(tasks, "c1", what="rolling_restart")
    assert (taken["operation"]["state"], taken["take"]) == ("running", True)


def test_a_host_outside_the_run_does_not_have_to_be_reachable(
    local_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ansible would end the play at it: every play here has any_errors_fatal."""

    def broken(*_: object) -> dict[str, Any]:
        raise AnsibleConnectionFailure(TIMED_OUT)

    tasks = Tasks(monkeypatch, CLUSTER, broken)
    variables = {"inventory_hostname": "c1", "ansible_play_hosts": ["c1", "b1"]}
    result = tasks.run(kafka_node, {"what": "rolling_restart", "host": "c3"}, variables)
    assert TIMED_OUT in result["not_reached"]
    assert "holder" not in result, "it did not take the lock"
    with pytest.raises(AnsibleConnectionFailure):
        tasks.run(kafka_node, {"restore": True, "host": "b1"}, variables)
