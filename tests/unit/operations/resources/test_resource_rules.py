"""Each rule of a plan: words, floors, refusals, what is unmanaged, prune and scope."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.acls import Acl
from ansible_collections.millrace.streaming.plugins.module_utils.operations.resources import (
    plan as planning,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations.resources import (
    reading,
    values,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations.resources.items import (
    Item,
    Policy,
    Source,
    diff,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations.resources.plan import (
    Desired,
    Plan,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations.resources.quotas import (
    entity_name,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations.resources.report import (
    lines,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations.resources.topics import (
    WORDS,
)

from tests.unit.operations.resources.memory import (
    DAY_MS,
    DEFAULTS,
    NOW_MS,
    Asking,
    Log,
    Memory,
    apply,
    plan_of,
    use_memory,
)

POLICY = Policy(
    replication_floor=3,
    min_isr_floor=2,
    service_topics=frozenset({"_schemas"}),
    now_ms=NOW_MS,
)
RECENT, OLD = NOW_MS - 1000, NOW_MS - 5 * DAY_MS


@pytest.fixture(autouse=True)
def _memory(monkeypatch: pytest.MonkeyPatch) -> None:
    use_memory(monkeypatch)


def planned(memory: Memory, policy: Policy = POLICY, **resources: Any) -> Plan:
    return plan_of(memory, Desired.of(resources), policy)


def topic_item(log: Log | None, policy: Policy = POLICY, **entry: Any) -> Item:
    """The item of topic t, which the cluster has as `log`."""
    memory = Memory(topics={} if log is None else {"t": log})
    (item,) = planned(memory, policy, topics=[{"name": "t", "where": "a.yml:1", **entry}]).items
    return item


def by_action(plan: Plan, kind: str) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for item in plan.items:
        if item.kind == kind:
            names.setdefault(item.action, []).append(item.name)
    return names


# Topics: words

GROWTH = {"partitions": 2}
SHORT = {"config": {"retention.ms": str(DAY_MS)}}
SMALL = {"config": {"retention.bytes": "1000"}}
COMPACT = {"config": {"cleanup.policy": "compact"}}


@pytest.mark.parametrize(
    ("log", "entry", "needs"),
    [
        (Log(), {"state": "absent"}, ()),
        (Log(oldest_ms=RECENT), {"state": "absent"}, ("delete-records",)),
        (Log(shown=False), {"state": "absent"}, ("delete-records",)),
        (Log(), GROWTH, ()),
        (Log(oldest_ms=RECENT), GROWTH, ()),
        (Log(oldest_ms=RECENT, keys=True), GROWTH, ("more-partitions",)),
        (Log(shown=False), GROWTH, ("more-partitions",)),
        (Log(config={"cleanup.policy": "compact"}), {**GROWTH, **COMPACT}, ("more-partitions",)),
        (Log(), SHORT, ()),
        (Log(oldest_ms=RECENT), SHORT, ()),
        (Log(oldest_ms=OLD), SHORT, ("lower-retention",)),
        (Log(oldest_ms=OLD), {"config": {"retention.ms": f" {DAY_MS} "}}, ("lower-retention",)),
        (Log(oldest_ms=OLD), {"config": {"retention.ms": "\u0661"}}, ("lower-retention",)),
        (Log(oldest_ms=RECENT), {"config": {"retention.bytes": " 1"}}, ("lower-retention",)),
        (Log(oldest_ms=OLD), {"config": {"retention.ms": "9" * 4000}}, ()),
        (Log(oldest_ms=OLD), {"config": {"retention.ms": str(9 * DAY_MS)}}, ()),
        (Log(oldest_ms=OLD), {"config": {"retention.ms": "-1"}}, ()),
        (
            Log(oldest_ms=NOW_MS - 8 * DAY_MS, config={"retention.ms": "-1"}),
            {},
            ("lower-retention",),
        ),
        (Log(oldest_ms=RECENT, config={"retention.ms": "-1"}), {}, ()),
        (Log(), SMALL, ()),
        (Log(oldest_ms=RECENT), SMALL, ("lower-retention",)),
        (Log(oldest_ms=RECENT, config=SMALL["config"]), {}, ()),
        (Log(oldest_ms=RECENT), COMPACT, ("lower-retention",)),
        (Log(), COMPACT, ()),
        (Log(oldest_ms=RECENT, config=COMPACT["config"]), {}, ()),
        (Log(oldest_ms=NOW_MS - 8 * DAY_MS, config=COMPACT["config"]), {}, ("lower-retention",)),
        (Log(shown=False), SHORT, ("lower-retention",)),
        (
            Log(oldest_ms=OLD, keys=True),
            {**GROWTH, **SHORT},
            ("more-partitions", "lower-retention"),
        ),
        (Log(config={"min.insync.replicas": "2"}), {}, ("lower-min-isr",)),
        (
            Log(config={"min.insync.replicas": "3"}),
            {"config": {"min.insync.replicas": "2"}},
            (),
        ),
        (Log(), {"config": {"min.insync.replicas": "1"}}, ()),
        (None, {"config": {"min.insync.replicas": "1"}}, ("lower-min-isr",)),
        (None, {"config": {"min.insync.replicas": " 1"}}, ("lower-min-isr",)),
        (None, {"config": {"min.insync.replicas": "2"}}, ()),
        (None, {"replication": 2}, ("lower-replication",)),
        (None, {"replication": 3}, ()),
        (None, {}, ()),
    ],
)
def test_a_change_that_may_cost_records_needs_a_word(
    log: Log | None, entry: Mapping[str, Any], needs: tuple[str, ...]
) -> None:
    item = topic_item(log, **entry)
    assert item.needs == needs
    assert bool(item.reason) is bool(needs)
    assert item.action != "refuse"
    for word in needs:
        confirmed = topic_item(log, **entry, confirm=[word])
        assert confirmed.needs == tuple(needed for needed in needs if needed != word)
    confirmed = topic_item(log, **entry, confirm=WORDS)
    assert confirmed.action == item.action
    assert not confirmed.stops


def test_without_a_floor_no_word_is_needed_for_it() -> None:
    policy = replace(POLICY, replication_floor=None, min_isr_floor=None)
    entry = {"replication": 1, "config": {"min.insync.replicas": "1"}}
    assert topic_item(None, policy, **entry).needs == ()


def test_contents_are_read_of_risky_changes_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from ansible_collections.millrace.streaming.plugins.module_utils.kafka import topics

    asked: list[str] = []
    read = topics.contents

    def contents(memory: Any, name: str, **question: Any) -> Any:
        asked.append(name)
        return read(memory, name, **question)

    monkeypatch.setattr(topics, "contents", contents)
    memory = Memory(topics={name: Log() for name in ("same", "change", "grow", "gone", "said")})
    planned(
        memory,
        topics=[
            {"name": "same"},
            {"name": "change", "config": {"compression.type": "zstd"}},
            {"name": "grow", "partitions": 2},
            {"name": "gone", "state": "absent"},
            {"name": "said", "state": "absent", "confirm": ["delete-records"]},
            {"name": "new"},
        ],
    )
    assert asked == ["grow", "gone"]


def test_the_message_names_the_word_and_the_reason() -> None:
    log = Log(oldest_ms=RECENT)
    plan = planned(
        Memory(topics={"t": log}), topics=[{"name": "t", "state": "absent", "where": "a.yml:1"}]
    )
    (message,) = plan.refusals()
    assert message.startswith("a.yml:1: topic t: delete needs confirm: [delete-records]")
    assert message.endswith("it has records")


# Topics: refusals


@pytest.mark.parametrize(
    ("log", "entry", "text"),
    [
        (Log(partitions=3), {"partitions": 2}, "Kafka takes none away"),
        (Log(replication=2), {"replication": 3}, "rebalance.yml"),
        (Log(config=None), {}, "DescribeConfigs"),
        (Log(internal=True), {"state": "absent"}, "keeps its state there"),
        (Log(), {"config": {"leader.replication.throttled.replicas": "*"}}, "reassignments"),
        (None, {"config": {"follower.replication.throttled.replicas": "*"}}, "reassignments"),
    ],
)
def test_what_no_request_can_change_is_refused(
    log: Log | None, entry: Mapping[str, Any], text: str
) -> None:
    item = topic_item(log, **entry, confirm=WORDS)
    assert item.action == "refuse"
    assert text in item.reason


def test_all_reasons_of_a_topic_are_named() -> None:
    item = topic_item(Log(partitions=3, replication=2), partitions=1, replication=3)
    assert "none away" in item.reason
    assert "rebalance.yml" in item.reason


@pytest.mark.parametrize("name", ["__consumer_offsets", "_schemas", "__new"])
def test_topics_of_kafka_and_of_services_are_left_alone(name: str) -> None:
    memory = Memory(topics={"__consumer_offsets": Log(), "_schemas": Log()})
    plan = planned(memory, topics=[{"name": name, "confirm": WORDS}])
    assert by_action(plan, "topics") == {"refuse": [name]}
    assert planned(memory, replace(POLICY, prune="_")).items == ()


def test_two_entries_of_a_topic_are_refused_with_both_places() -> None:
    plan = planned(
        Memory(),
        topics=[{"name": "t", "where": "b.yml:2"}, {"name": "t", "where": "a.yml:1"}],
    )
    (item,) = plan.items
    assert item.action == "refuse"
    assert "a.yml:1, b.yml:2" in item.reason


# Topics: configuration


def test_the_configuration_becomes_the_entrys_and_throttles_stay() -> None:
    throttle = {"leader.replication.throttled.replicas": "0:1"}
    memory = Memory(topics={"t": Log(config={"a": "1", "b": "2", "c": "true", **throttle})})
    entry = {"name": "t", "config": {"b": 3, "c": True, "d": "4"}}
    plan = planned(memory, topics=[entry])
    (item,) = plan.items
    assert item.difference.changes == ("- a: 1", "b: 2 -> 3", "+ d: 4")
    apply(memory, plan)
    assert memory.topics["t"].config == {"b": "3", "c": "true", "d": "4", **throttle}
    shown = diff(plan.items)
    assert shown["before"] == "topic t: a: 1\ntopic t: b: 2\n"
    assert shown["after"] == "topic t: b: 3\ntopic t: d: 4\n"


def test_a_topic_grows_and_changes_at_once() -> None:
    memory = Memory(topics={"t": Log()})
    plan = planned(memory, topics=[{"name": "t", "partitions": 4, "config": {"a": "1"}}])
    assert by_action(plan, "topics") == {"grow": ["t"]}
    apply(memory, plan)
    assert memory.topics["t"] == Log(4, config={"a": "1"})


def test_an_uneven_topic_is_the_same_and_says_so() -> None:
    item = topic_item(Log(uneven=True), replication=3)
    assert (item.action, item.stops) == ("same", False)
    assert "not all of its partitions" in item.reason


@pytest.mark.parametrize(
    ("key", "text", "other", "is_same"),
    [
        ("k", "1048576", "1048576", True),
        ("k", "0.5", "0.50", True),
        ("k", "1", "1.0", True),
        ("k", "true", "True", True),
        ("k", "a, b", "a,b", True),
        ("k", "a,b", "b,a", False),
        ("cleanup.policy", "compact,delete", "delete, compact", True),
        ("k", "1", "2", False),
        ("k", "9007199254740993", "9007199254740992", False),
        ("k", "lz4", "zstd", False),
        ("k", "", "", True),
    ],
)
def test_values_are_compared_by_meaning(key: str, text: str, other: str, is_same: bool) -> None:
    assert values.same(key, text, other) is is_same
    assert values.same(key, other, text) is is_same


# ACLs

WRITE = Acl("User:etl", "topic", "a.x", "literal", "write")


def acl(**settings: Any) -> dict[str, Any]:
    fields = {"principal": "User:etl", "resource": "topic", "name": "a.x", "operation": "write"}
    return {**fields, **settings}


def test_acls_are_added_and_others_left_alone() -> None:
    other = replace(WRITE, operation="read")
    memory = Memory(acls={other})
    plan = planned(memory, acls=[acl()])
    assert plan.summary()["unmanaged"] == {"acls": ["User:etl: allow read of topic a.x"]}
    apply(memory, plan)
    assert memory.acls == {other, WRITE}
    apply(memory, planned(memory, acls=[acl(state="absent")]))
    assert memory.acls == {other}


def test_the_same_acl_of_two_grants_is_one() -> None:
    plan = planned(Memory(), acls=[acl(where="b:1"), acl(where="a:1")])
    (item,) = plan.items
    assert (item.action, item.source.where) == ("create", "a:1")
    plan = planned(Memory(), acls=[acl(where="b:1"), acl(where="a:1", state="absent")])
    (item,) = plan.items
    assert item.action == "refuse"


def test_acls_of_a_user_with_an_entry_are_that_users() -> None:
    plan = planned(Memory(acls={WRITE}), users=[{"name": "etl"}], acls=[acl(operation="read")])
    assert by_action(plan, "acls") == {"refuse": ["User:etl: allow read of topic a.x"]}
    assert planned(Memory(acls={WRITE}), users=[{"name": "etl"}]).items == ()
    kept = replace(POLICY, service_users=frozenset({"etl"}))
    assert planned(Memory(acls={WRITE}), kept).items == ()


# Unmanaged resources, prune and scope


def everything() -> Memory:
    return Memory(
        topics={"a.x": Log(), "b.x": Log()},
        acls={
            WRITE,
            replace(WRITE, name="b.x"),
            replace(WRITE, name="*"),
            replace(WRITE, resource="cluster", name="kafka-cluster"),
        },
        quotas={
            (("user", "a.u"),): {"k": 1.0},
            (("user", None),): {"k": 1.0},
            (("client-id", "a.c"),): {"k": 1.0},
            (("ip", "10.0.0.1"),): {"k": 1.0},
        },
        groups={"a.g": {"k": "v"}, "b.g": {"k": "v"}},
        metrics={"a.m": {"k": "v"}},
    )


def test_what_has_no_entry_is_reported_and_left_alone() -> None:
    memory = everything()
    plan = planned(memory)
    assert {item.action for item in plan.items} == {"unmanaged"}
    assert len(plan.items) == 13
    assert not plan.changes
    assert not plan.refusals()


def test_a_scope_reports_what_is_the_teams() -> None:
    plan = planned(everything(), replace(POLICY, scope=("a.",)))
    assert plan.summary()["unmanaged"] == {
        "topics": ["a.x"],
        "acls": ["User:etl: allow write of topic a.x"],
        "quotas": ["client-id a.c", "user a.u"],
        "groups": ["a.g"],
        "client_metrics": ["a.m"],
    }


@pytest.mark.parametrize("scope", [(), ("a.",), ("a",)])
def test_a_prune_deletes_what_begins_with_its_prefix(scope: tuple[str, ...]) -> None:
    memory, before = everything(), everything()
    plan = planned(memory, replace(POLICY, prune="a.", scope=scope))
    assert not plan.refusals()
    apply(memory, plan)
    assert before.acls is not None
    assert memory.topics == {"b.x": Log()}
    assert memory.acls == before.acls - {WRITE}
    assert [*filter(None, memory.quotas.values())] == [{"k": 1.0}] * 3
    assert memory.groups == {"a.g": {}, "b.g": {"k": "v"}}
    assert memory.metrics == before.metrics


@pytest.mark.parametrize("prune", ["k", "*", "kafka-cluster"])
def test_a_prune_deletes_no_acl_of_the_cluster_and_of_all_names(prune: str) -> None:
    assert not planned(everything(), replace(POLICY, prune=prune)).changes


def test_a_prune_deletes_nothing_that_has_an_entry() -> None:
    plan = planned(everything(), replace(POLICY, prune="a.x"), topics=[{"name": "a.x"}])
    assert by_action(plan, "topics") == {"same": ["a.x"], "unmanaged": ["b.x"]}


def test_a_default_that_is_not_shown_may_be_lower(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DEFAULTS, "retention.ms", "")
    kept = {"retention.ms": "-1"}
    item = topic_item(Log(oldest_ms=RECENT, config=kept))
    assert item.needs == ("lower-retention",)
    assert "not shown" in item.reason
    assert not topic_item(Log(oldest_ms=RECENT, config=kept), config=kept).needs
    assert not topic_item(Log(oldest_ms=RECENT)).needs
    assert not topic_item(Log(config=kept)).needs


def test_a_retention_of_ages_asks_for_no_time_before_1970() -> None:
    memory = Memory(topics={"t": Log(config={"retention.ms": "-1"})})
    desired = Desired.of({"topics": [{"name": "t", "config": {"retention.ms": 2**63 - 1}}]})
    cluster = reading.read(Asking(memory), ["topics"], desired)
    (question,) = planning.questions(desired, cluster, POLICY).values()
    assert question.older_than_ms == 0


def test_what_others_describe_is_neither_unmanaged_nor_pruned() -> None:
    others = Desired.of(
        {
            "topics": [{"name": "a.x"}],
            "acls": [
                {"principal": "User:etl", "resource": "topic", "name": "a.x", "operation": "write"}
            ],
            "quotas": [{"entity": {"user": "a.u"}}, {"entity": {"client_id": "a.c"}}],
            "groups": [{"name": "a.g"}],
            "client_metrics": [{"name": "a.m"}],
        }
    )
    policy = replace(POLICY, scope=("a.",), prune="a.", elsewhere=frozenset(others.keys()))
    memory = everything()
    memory.topics["a.y"] = Log()
    plan = planned(memory, policy)
    assert [(item.name, item.action) for item in plan.items] == [("a.y", "delete")]


def test_a_prune_outside_the_scope_is_refused() -> None:
    plan = planned(everything(), replace(POLICY, prune="b.", scope=("a.",)))
    assert not plan.changes
    (problem,) = plan.refusals()
    assert "b." in problem
    plan = planned(everything(), replace(POLICY, prune="a", scope=("a.",)))
    assert plan.refusals()


def test_a_pruned_topic_with_records_needs_the_word() -> None:
    memory = Memory(topics={"a.x": Log(oldest_ms=RECENT)})
    policy = replace(POLICY, prune="a.")
    (item,) = planned(memory, policy).items
    assert item.needs == ("delete-records",)
    confirmed = planned(memory, replace(policy, confirm_prune=frozenset({"delete-records"})))
    assert by_action(confirmed, "topics") == {"delete": ["a.x"]}
    assert not confirmed.refusals()


# Quotas and configurations


def quota(**settings: Any) -> dict[str, Any]:
    return {"entity": {"user": "u"}, "values": {"a": 1, "b": "1048576"}, **settings}


def test_quotas_become_those_of_the_entry() -> None:
    entity = (("user", "u"),)
    memory = Memory(quotas={entity: {"a": 2.0, "c": 1.0}})
    plan = planned(memory, quotas=[quota()])
    (item,) = plan.items
    assert (item.action, item.name) == ("change", "user u")
    assert item.difference.changes == ("a: 2 -> 1", "+ b: 1048576", "- c: 1")
    apply(memory, plan)
    assert memory.quotas == {entity: {"a": 1.0, "b": 1048576.0}}
    assert by_action(planned(memory, quotas=[quota()]), "quotas") == {"same": ["user u"]}
    plan = planned(memory, quotas=[quota(state="absent")])
    assert by_action(plan, "quotas") == {"delete": ["user u"]}
    apply(memory, plan)
    assert memory.quotas == {entity: {}}


def test_quotas_of_defaults_and_of_pairs_have_names() -> None:
    entry = {"entity": {"user": "u", "client_id": None}, "values": {"a": 1}}
    (item,) = planned(Memory(), quotas=[entry]).items
    assert item.name == "client-id (default), user u"
    assert entity_name((("ip", "10.0.0.1"),)) == "ip 10.0.0.1"


def test_the_configuration_of_a_group_becomes_that_of_its_entry() -> None:
    memory = Memory(groups={"g": {"a": "1", "b": "2"}})
    entry = {"name": "g", "config": {"a": 1, "c": 3}}
    plan = planned(memory, groups=[entry])
    (item,) = plan.items
    assert item.difference.changes == ("- b: 2", "+ c: 3")
    apply(memory, plan)
    assert memory.groups == {"g": {"a": "1", "c": "3"}}
    apply(memory, planned(memory, groups=[{**entry, "state": "absent"}]))
    assert memory.groups == {"g": {}}
    assert planned(memory).items == ()


@pytest.mark.parametrize("kind", ["topics", "acls", "quotas", "groups", "client_metrics"])
def test_what_is_absent_already_is_the_same(kind: str) -> None:
    entries = {
        "acls": acl(state="absent"),
        "quotas": quota(state="absent"),
    }
    entry = entries.get(kind, {"name": "x", "state": "absent"})
    (item,) = planned(Memory(), POLICY, **{kind: [entry]}).items
    assert item.action == "same"


def test_what_others_have_named_neither_ends_a_line_nor_controls_a_terminal() -> None:
    name = "a.\x1b[31m\nunmanaged: topic b\u202e"
    memory = Memory(groups={name: {"k": "v"}, f"b{name}": {"k": "v"}})
    plan = planned(memory, replace(POLICY, prune="a."))
    shown = [*lines(plan.summary()), *diff(plan.items)["before"].splitlines()]
    shown.append(Item("groups", name, "delete", Source(where=name)).message("gone"))
    assert len(shown) == 6
    assert all(line.isprintable() for line in shown)
    assert sum("a.\\x1b[31m\\nunmanaged: topic b\\u202e" in line for line in shown) == 4
    assert plan.summary()["unmanaged"] == {"groups": [f"b{name}"]}
