"""Resources of variables and files together: grants by role, exact users, and what a module gets."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.variables import defaults
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.resources import (
    grants,
    merged,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.resources.entries import (
    Entry,
    ResourceFiles,
    Team,
)

from tests.unit.cluster.small import kafka

ORDERS = Team("orders", ("orders.",))
READ = {"topic": "t", "pattern": "literal", "operations": ["read"]}


def file(*entries: tuple[str, dict[str, Any]]) -> ResourceFiles:
    """Return a file of the team orders: kind and values of each entry."""
    listed = [
        Entry(kind, values, f"orders.yml:{line}", ORDERS)
        for line, (kind, values) in enumerate(entries, start=1)
    ]
    return ResourceFiles("/resources", {"orders": ORDERS}, entries=tuple(listed))


def module_grants(name: str, **variables: Any) -> list[dict[str, Any]]:
    """Return the grants of a user of a secured cluster, without which it has nothing."""
    node = kafka(1, 1, kafka_security="standard", **variables).brokers[0]
    [user] = [user for user in node.security.users if user.name == name]
    return [dict(grant) for grant in user.grants]


@pytest.mark.parametrize(
    ("entry", "granted"),
    [
        (
            {"role": "producer", "topic": "t", "transactional_id": "x"},
            {("topic", "t", "literal", "write"), ("transactional_id", "x", "literal", "write")},
        ),
        (
            {"role": "consumer", "topic": "t.", "group": "g.", "pattern": "prefixed"},
            {("topic", "t.", "prefixed", "read"), ("group", "g.", "prefixed", "read")},
        ),
        ({"role": "consumer", "topic": "t"}, {("topic", "t", "literal", "read")}),
        ({"role": "consumer_group", "group": "g"}, {("group", "g", "literal", "read")}),
        (
            {"role": "transactional", "transactional_id": "x"},
            {("transactional_id", "x", "literal", "write")},
        ),
        (
            {"role": "admin", "prefix": "t."},
            {(kind, "t.", "prefixed", "all") for kind in ("topic", "group", "transactional_id")},
        ),
        (
            {"topic": "t", "operations": ["read", "alter_configs"]},
            {("topic", "t", "literal", "read"), ("topic", "t", "literal", "alter_configs")},
        ),
        (
            {"cluster": True, "operations": ["describe"]},
            {("cluster", merged.CLUSTER_NAME, "literal", "describe")},
        ),
        ({"role": "producer", "group": "g"}, set()),
        ({}, set()),
    ],
)
def test_a_role_becomes_acls(
    entry: dict[str, Any], granted: set[tuple[str, str, str, str]]
) -> None:
    acls = [*merged.acls(Entry("grants", {"user": "app", **entry}, "here"))]
    assert {
        (acl["resource"], acl["name"], acl["pattern"], acl["operation"]) for acl in acls
    } == granted
    assert {(acl["principal"], acl["permission"], acl["host"]) for acl in acls} <= {
        ("User:app", "allow", "*")
    }


def test_a_grant_has_its_host_and_denies() -> None:
    values = {
        "principal": "User:app",
        "role": "producer",
        "topic": "t",
        "host": "10.0.0.1",
        "permission": "deny",
    }
    [acl] = merged.acls(Entry("grants", values, "here"))
    assert (acl["principal"], acl["host"], acl["permission"]) == ("User:app", "10.0.0.1", "deny")


@pytest.mark.parametrize(
    ("entry", "user"),
    [
        ({"user": "app"}, "app"),
        ({"principal": "User:app"}, "app"),
        ({"principal": "Group:app"}, ""),
        ({"principal": "User:a:b"}, "a:b"),
        ({}, ""),
    ],
)
def test_a_principal_is_a_user_by_either_key(entry: dict[str, str], user: str) -> None:
    assert grants.user(entry) == user


@pytest.mark.parametrize("key", [{"user": "app"}, {"principal": "User:app"}])
def test_a_user_has_its_grants_of_all_places(key: dict[str, str]) -> None:
    granted = module_grants(
        "app",
        kafka_users=[{"name": "app", "grants": [READ]}],
        kafka_grants=[
            {**key, "role": "producer", "topic": "u"},
            {**key, "role": "producer", "topic": "absent", "state": "absent"},
            {"user": "other", "role": "producer", "topic": "v"},
            {"principal": "Group:app", "role": "producer", "topic": "w"},
        ],
    )
    assert [(grant["topic"], grant["operations"]) for grant in granted] == [
        ("t", ["read"]),
        ("u", ["write"]),
    ]


def test_grants_are_shared_and_a_further_one_is_not_lost() -> None:
    variables = {
        "kafka_users": [
            {"name": "app", "grants": [READ]},
            {"name": "next", "same_grants_as": "app"},
        ],
        "kafka_grants": [
            {"user": "app", "role": "producer", "topic": "u"},
            {"user": "next", "role": "producer", "topic": "v"},
        ],
    }
    topics = {
        name: [grant["topic"] for grant in module_grants(name, **variables)]
        for name in ("app", "next")
    }
    assert topics == {"app": ["t", "u"], "next": ["t", "u", "v"]}


def test_a_grant_may_be_in_two_entries() -> None:
    shared = [dict(READ)]  # as an anchor of YAML gives it
    variables = {"kafka_users": [{"name": name, "grants": shared} for name in ("app", "other")]}
    assert module_grants("app", **variables) == module_grants("other", **variables)
    assert module_grants("app", **variables) == [READ]


def test_users_of_files_join_those_of_the_inventory() -> None:
    files = file(
        ("users", {"name": "orders.app", "grants": [READ]}),
        ("grants", {"user": "app", "role": "producer", "topic": "orders.x"}),
    )
    settings = {**defaults(), "kafka_users": [{"name": "app"}]}
    joined = merged.with_files(settings, files)
    users = {user["name"]: merged.user_grants(user, user) for user in joined["kafka_users"]}
    assert [grant["topic"] for grant in users["app"]] == ["orders.x"]
    assert users["orders.app"] == [READ]
    assert merged.places(files) == {"kafka_users[orders.app]": ["orders.yml:1"]}
    listed = merged.entries(joined, files)
    assert [(entry.name, entry.owner) for entry in listed if entry.kind == "users"] == [
        ("app", "platform"),
        ("orders.app", "orders"),
    ]
    assert [entry.where for entry in merged.entries({}, files)] == ["orders.yml:1", "orders.yml:2"]


def test_others_have_acls_and_exact_users_none() -> None:
    listed = [
        Entry("grants", {**principal, "role": "producer", "topic": f"{number}"}, "here")
        for number, principal in enumerate(
            (
                {"user": "app"},
                {"principal": "User:app"},
                {"principal": "Group:app"},
                {"user": "other"},
                {"user": "gone", "state": "absent"},
            )
        )
    ]
    acls = merged.resources(listed, {"app": {"name": "app"}})["acls"]
    assert [(acl["principal"], acl["state"]) for acl in acls] == [
        ("Group:app", "present"),
        ("User:other", "present"),
        ("User:gone", "absent"),
    ]


def test_without_passwords_users_are_acls() -> None:
    listed = [
        Entry("users", {"name": "app", "grants": [READ]}, "here"),
        Entry("users", {"name": "next", "same_grants_as": "app"}, "here"),
    ]
    resources = merged.resources(listed, {})
    assert resources["users"] == []
    assert [(acl["principal"], acl["name"]) for acl in resources["acls"]] == [
        ("User:app", "t"),
        ("User:next", "t"),
    ]


def test_exact_users_are_those_of_the_module_with_their_owner() -> None:
    entry = Entry("users", {"name": "orders.app", "grants": [READ]}, "orders.yml:1", ORDERS)
    option = {"name": "orders.app", "grants": [READ], "state": "present"}
    [user] = merged.resources([entry], {"orders.app": option})["users"]
    assert user == {**option, "owner": "orders", "where": "orders.yml:1"}


def test_quotas_name_their_entity() -> None:
    listed = [
        Entry("quotas", {"user": "<default>", "client_id": "c", "request_percentage": 5}, "a"),
        Entry("quotas", {"ip": "10.0.0.1", "connection_creation_rate": 2.5}, "b"),
        Entry("users", {"name": "app", "quotas": {"producer_byte_rate": 7}}, "c"),
        Entry("quotas", {"user": "app", "state": "absent"}, "d"),
    ]
    quotas = merged.resources(listed, {})["quotas"]
    assert [(quota["entity"], quota["values"], quota["state"]) for quota in quotas] == [
        ({"user": None, "client_id": "c"}, {"request_percentage": 5.0}, "present"),
        ({"ip": "10.0.0.1"}, {"connection_creation_rate": 2.5}, "present"),
        ({"user": "app"}, {"producer_byte_rate": 7.0}, "present"),
        ({"user": "app"}, {}, "absent"),
    ]


def test_properties_are_texts_as_kafka_reads_them() -> None:
    config = {"cleanup.policy": ["compact", "delete"], "preallocate": False, "retention.ms": -1}
    kinds = ("topics", "groups", "client_metrics")
    listed = [Entry(kind, {"name": "x", "config": config}, "here") for kind in kinds]
    resources = merged.resources(listed, {})
    for kind in kinds:
        [record] = resources[kind]
        assert record["config"] == {
            "cleanup.policy": "compact,delete",
            "preallocate": "false",
            "retention.ms": "-1",
        }
