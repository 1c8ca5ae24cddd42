"""What decommission.yml makes of the names that it is given."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from tests.support.lab.topology import ROOT

GROUPS = {"kafka_brokers": ["b1", "b2"], "kafka_controllers": ["c1"], "kafka_connect": ["b1"]}


def is_kafka_node_leaving(**parameters: Any) -> bool:
    loader = DataLoader()
    path = str(ROOT / "playbooks/vars/decommission.yml")
    written: Any = loader.load_from_file(path, trusted_as_template=True)
    templar = Templar(loader=loader, variables={"groups": GROUPS, **parameters})
    return bool(templar.template(written["decommission_kafka"]))


@pytest.mark.parametrize("only", [None, "", "kafka_brokers", ["spark_workers", "kafka_brokers"]])
def test_the_broker_of_a_host_leaves_with_all_or_by_its_group(only: Any) -> None:
    assert is_kafka_node_leaving(node="b1", only=only)
    assert is_kafka_node_leaving(node="b1", only="kafka_connect, kafka_brokers")


@pytest.mark.parametrize(
    "only", ["kafka_connect", "kafka_connect,spark_workers", ["kafka_connect"]]
)
def test_the_broker_stays_where_another_group_is_left(only: Any) -> None:
    assert not is_kafka_node_leaving(node="b1", only=only)


@pytest.mark.parametrize("node", ["", "all", "*", "b1:b2", "!b1", "kafka_brokers", 4, ["b1"]])
def test_what_is_no_name_of_a_host_takes_no_broker_out(node: Any) -> None:
    assert not is_kafka_node_leaving(node=node)
