"""The action kafka_resources: which resources and login the module gets, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleActionFail

from tests.unit.in_process import AnsibleRun, Answer, Module

pytestmark = pytest.mark.usefixtures("local_tmp")

PLATFORM: dict[str, Any] = {
    "teams": {"orders": {"prefixes": ["orders."]}, "audit": {"prefixes": ["audit."]}},
    "topics": [{"name": "orders.shared"}],
    "users": [
        {"name": "reader", "same_grants_as": "orders.app"},
        {"name": "copier", "grants": [{"topic": "orders.x", "operations": ["read"]}]},
    ],
    "quotas": [{"user": "orders.app", "producer_byte_rate": 1000}],
}
TEAM: dict[str, Any] = {
    "topics": [{"name": "orders.x"}],
    "users": [
        {"name": "orders.app", "grants": [{"topic": "orders.y", "operations": ["write"]}]},
    ],
}


def answer(_: str, args: Answer) -> Answer:
    return {"changed": False, "args": args}


def resources(
    place: Path,
    platform: dict[str, Any] = PLATFORM,
    orders: dict[str, Any] = TEAM,
    rest: str = "",
    variables: dict[str, Any] | None = None,
    module: Module = answer,
    **options: Any,
) -> Answer:
    """The options that the module gets, with the files of a platform and of a team."""
    files = place / "files"
    files.mkdir(exist_ok=True)
    (files / "platform.yml").write_text(yaml.safe_dump(platform))
    (files / "orders.yml").write_text(yaml.safe_dump(orders))
    login = place / "client.properties"
    login.write_text("bootstrap.servers=k1:9092\n")
    document = {
        "all": {
            "vars": {
                "kafka_security": "open",
                "kafka_resources_dir": str(files),
                **(variables or {}),
            }
        },
        "kafka_brokers": {"hosts": {"k1": {"kafka_node_id": 1}}},
        "zookeeper": {"hosts": {"z1": {}}},
    }
    inventory = place / "inventory" / "hosts.yml"
    inventory.parent.mkdir(exist_ok=True)
    inventory.write_text(yaml.safe_dump(document) + rest)
    ansible = AnsibleRun(inventory, module)
    options = {"client_config": str(login), **options}
    result: Answer = ansible.task("kafka_resources", "localhost", **options).get("args", {})
    return result


def names(records: list[dict[str, Any]]) -> set[str]:
    return {record["name"] for record in records}


def test_a_run_of_a_team_knows_what_others_describe(tmp_path: Path) -> None:
    args = resources(tmp_path, team="orders", prune="orders.")
    assert names(args["resources"]["topics"]) == {"orders.x"}
    elsewhere = args["elsewhere"]
    assert names(elsewhere["topics"]) == {"orders.shared"}
    # `reader` has the grants of a user that the run compares.
    assert {(acl["principal"], acl["name"]) for acl in elsewhere["acls"]} == {
        ("User:reader", "orders.y"),
        ("User:copier", "orders.x"),
    }
    assert [quota["entity"] for quota in elsewhere["quotas"]] == [{"user": "orders.app"}]
    assert elsewhere["users"] == []


def test_a_run_of_all_leaves_out_nobody(tmp_path: Path) -> None:
    args = resources(tmp_path)
    assert names(args["resources"]["topics"]) == {"orders.x", "orders.shared"}
    assert args["elsewhere"] == {}


@pytest.mark.parametrize("variables", [{}, {"kafka_cluster_id": "MkU3OEVBNTcwNTJENDM2Qg"}])
def test_the_module_gets_the_id_of_the_inventorys_cluster(
    tmp_path: Path, variables: dict[str, Any]
) -> None:
    args = resources(tmp_path, variables=variables)
    assert args.get("cluster_id") == variables.get("kafka_cluster_id")


def test_a_prune_where_nothing_is_described_is_refused(tmp_path: Path) -> None:
    teams: dict[str, Any] = {"teams": PLATFORM["teams"]}
    nothing: dict[str, Any] = {"topics": []}
    with pytest.raises(AnsibleActionFail, match="nothing is described"):
        resources(tmp_path, teams, nothing, prune="orders.")
    assert not names(resources(tmp_path, teams, nothing)["resources"]["topics"])


def test_a_prune_with_a_part_of_an_inventory_is_refused(tmp_path: Path) -> None:
    broken = "\nkafka_controllers: [\n"
    with pytest.raises(AnsibleActionFail, match="read in part only"):
        resources(tmp_path, prune="orders.", rest=broken)


def test_the_plan_of_a_failure_is_written_without_what_ansible_adds(tmp_path: Path) -> None:
    """As ansible-core gives it: the exception is an object, the options are all there."""
    failure = {
        "failed": True,
        "msg": "no broker answers",
        "exception": object(),
        "invocation": {"module_args": {}},
    }
    plan = tmp_path / "plan.json"
    resources(tmp_path, module=lambda *_: failure, json=str(plan))
    assert json.loads(plan.read_text()) == {"failed": True, "msg": "no broker answers"}
