"""validate.yml with three controllers and 3, 30 and 100 brokers, beside a play without tasks."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

import yaml

from tests.bench.comparison import compare
from tests.bench.lab import LOG, playbook

EMPTY = [{"name": "Nothing", "hosts": "all", "gather_facts": False, "tasks": []}]


def describe(directory: Path, brokers: int) -> Path:
    """Write an inventory of so many brokers; returns its path."""
    controllers = {f"c{number}": {"kafka_node_id": number} for number in (1, 2, 3)}
    nodes = {f"b{number:03}": {"kafka_node_id": 100 + number} for number in range(1, brokers + 1)}
    groups = {
        "kafka": {
            "children": {
                "kafka_controllers": {"hosts": controllers},
                "kafka_brokers": {"hosts": nodes},
            }
        }
    }
    path = directory / f"{brokers}.yml"
    path.write_text(yaml.safe_dump({"all": {"vars": {"kafka_security": "open"}}, **groups}))
    return path


def main(pairs: int) -> None:
    LOG.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        empty = directory / "empty.yml"
        empty.write_text(yaml.safe_dump(EMPTY))
        for brokers in (3, 30, 100):
            inventory = describe(directory, brokers)
            compare(
                f"validate-{brokers}",
                {
                    "baseline": partial(playbook, str(empty), inventory=inventory),
                    "millrace": partial(playbook, "playbooks/validate.yml", inventory=inventory),
                },
                pairs,
            )
