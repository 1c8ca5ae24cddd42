"""connectors.yml: what it refuses before it contacts a host, and the order of its changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.lab.topology import ROOT
from tests.unit.playbooks.runs import run

HOSTS = """\
all:
  vars:
    kafka_security: open
    connect_security: open
    kafka_rack: a
    connect_connectors:
      - {name: orders, config: {connector.class: OrdersSink, topics: orders}}
      - {name: former, state: absent}
kafka_brokers:
  hosts:
    k1: {ansible_host: 192.0.2.1, kafka_node_id: 1}
kafka_controllers:
  hosts:
    k1:
kafka_connect:
  hosts:
    k1:
"""
PLAYS: list[dict[str, Any]] = yaml.safe_load((ROOT / "playbooks/connectors.yml").read_text())


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        (["connector=order"], "has no connector order"),
        (["connector_restart=al"], "connector_restart must be one of"),
        (["connector_offsets=reset"], "name it"),
        (["connector_offsets=reset", "connector=former"], "connector=NAME"),
    ],
)
def test_what_nobody_can_do_is_refused_first(
    tmp_path: Path, variables: list[str], message: str
) -> None:
    code, output = run(
        tmp_path,
        HOSTS,
        *(argument for variable in variables for argument in ("-e", variable)),
        playbook="connectors",
    )
    assert code == 2, output
    assert message in " ".join(output.split())


def test_users_and_secrets_come_before_the_connectors_and_go_after_them() -> None:
    tasks = [str(task) for play in PLAYS for task in play.get("tasks", ())]
    used = ("kafka_topics", "kafka_users", "logins", "connect_connectors'", "former", "'removed'")
    positions = [next(n for n, task_text in enumerate(tasks) if text in task_text) for text in used]
    assert positions == sorted(positions)
