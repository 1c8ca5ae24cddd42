"""Plans over generated descriptions and clusters: applied once, nothing is left to do."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.acls import Acl
from ansible_collections.millrace.streaming.plugins.module_utils.operations.resources.acls import (
    AclEntry,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations.resources.configs import (
    ConfigEntry,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations.resources.items import (
    Policy,
    Source,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations.resources.plan import (
    Desired,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations.resources.quotas import (
    QuotaEntry,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations.resources.topics import (
    THROTTLE_KEYS,
    WORDS,
    TopicEntry,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.operations.resources.memory import (
    DAY_MS,
    NOW_MS,
    Log,
    Memory,
    apply,
    plan_of,
    use_memory,
)

MANY = settings(max_examples=60, deadline=None)
NAMES = ("a.x", "a.y", "a.z", "b.x", "b.y", "__consumer_offsets", "_schemas")
VALUES = {
    "retention.ms": ("-1", str(DAY_MS), str(30 * DAY_MS)),
    "retention.bytes": ("-1", "1000", "2000"),
    "cleanup.policy": ("delete", "compact", "compact,delete", "delete,compact"),
    "min.insync.replicas": ("1", "2"),
    "compression.type": ("lz4", "zstd"),
}
PRINCIPALS = ("User:etl", "User:app", "User:*")
LIMITS = ("producer_byte_rate", "consumer_byte_rate")
sources = st.builds(Source, st.sampled_from(["", "team"]), st.sampled_from(["a:1", "b:2", "c:3"]))
names = st.sampled_from(NAMES)
configs = st.fixed_dictionaries({}, optional={key: st.sampled_from(v) for key, v in VALUES.items()})
throttles = st.fixed_dictionaries({}, optional={key: st.just("0:1") for key in THROTTLE_KEYS})
words = st.one_of(st.just(frozenset(WORDS)), st.frozensets(st.sampled_from(WORDS)))
absence = st.sampled_from([False, False, False, True])
acls = st.builds(
    Acl,
    st.sampled_from(PRINCIPALS),
    st.sampled_from(["topic", "group"]),
    st.sampled_from([*NAMES[:4], "*"]),
    st.sampled_from(["literal", "prefixed"]),
    st.sampled_from(["read", "write"]),
    st.sampled_from(["allow", "deny"]),
    st.sampled_from(["*", "10.0.0.1"]),
)
entities = st.one_of(
    st.tuples(st.tuples(st.just("user"), st.sampled_from([None, "a.etl", "b.app"]))),
    st.tuples(st.tuples(st.just("ip"), st.sampled_from([None, "10.0.0.1"]))),
    st.tuples(
        st.tuples(st.just("client-id"), st.sampled_from([None, "a.c"])),
        st.tuples(st.just("user"), st.sampled_from([None, "a.etl"])),
    ),
)
limits = st.dictionaries(st.sampled_from(LIMITS), st.sampled_from([1024.0, 2048.5]), min_size=1)
group_configs = st.dictionaries(
    st.sampled_from(["share.auto.offset.reset", "consumer.session.timeout.ms"]),
    st.sampled_from(["45000", "50000"]),
    min_size=1,
)
topic_entries = st.builds(
    TopicEntry,
    names,
    st.sampled_from([None, 1, 2, 6]),
    st.sampled_from([None, 3, 3, 3, 1]),
    configs,
    absence,
    words,
    sources,
)
config_entries = st.builds(ConfigEntry, names, group_configs, absence, sources)


def distinct(entries: st.SearchStrategy[Any], key: str) -> st.SearchStrategy[Any]:
    """Lists in which hardly anything is described twice, which refuses a plan."""
    once = st.lists(entries, max_size=6, unique_by=lambda entry: getattr(entry, key))
    return st.one_of(once, once, once, st.lists(entries, max_size=6))


descriptions = st.builds(
    Desired,
    distinct(topic_entries, "name"),
    distinct(st.builds(AclEntry, acls, absence, sources), "acl"),
    distinct(st.builds(QuotaEntry, entities, limits, absence, sources), "entity"),
    distinct(config_entries, "name"),
    distinct(config_entries, "name"),
    st.dictionaries(st.sampled_from(["app"]), sources, max_size=1),
)
logs = st.builds(
    Log,
    partitions=st.sampled_from([1, 1, 2, 3]),
    replication=st.sampled_from([3, 3, 3, 2]),
    config=st.builds(lambda config, kept: {**config, **kept}, configs, throttles),
    oldest_ms=st.sampled_from([None, NOW_MS - DAY_MS // 2, NOW_MS - 20 * DAY_MS]),
    keys=st.booleans(),
    uneven=st.booleans(),
    shown=st.sampled_from([True, True, False]),
)
clusters = st.builds(
    Memory,
    topics=st.dictionaries(names, logs, max_size=5),
    acls=st.sets(acls, max_size=6),
    quotas=st.dictionaries(entities, limits, max_size=4),
    groups=st.dictionaries(names, group_configs, max_size=4),
    metrics=st.dictionaries(names, group_configs, max_size=4),
)
policies = st.builds(
    Policy,
    replication_floor=st.sampled_from([None, 3]),
    min_isr_floor=st.sampled_from([None, 2]),
    scope=st.sampled_from([(), (), ("a.",), ("a.", "b.")]),
    prune=st.sampled_from(["", "", "a.", "b."]),
    confirm_prune=st.sampled_from([frozenset(), frozenset({"delete-records"})]),
    service_topics=st.just(frozenset({"_schemas"})),
    service_users=st.sampled_from([frozenset(), frozenset({"etl"})]),
    now_ms=st.just(NOW_MS),
)


@pytest.fixture(autouse=True, scope="module")
def _memory() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        use_memory(patch)
        yield


def feasible(memory: Memory, desired: Desired, policy: Policy) -> Desired:
    """The description without what a plan refuses."""
    refused = {
        (item.kind, item.name) for item in plan_of(memory, desired, policy).items if item.stops
    }
    kept_acls = {
        entry.acl: entry
        for entry in desired.acls
        if entry.acl.principal.removeprefix("User:") not in desired.users
    }
    return dataclasses.replace(
        desired,
        topics=[entry for entry in desired.topics if ("topics", entry.name) not in refused],
        acls=[*kept_acls.values()],
        quotas=[*{entry.entity: entry for entry in desired.quotas}.values()],
        groups=[*{entry.name: entry for entry in desired.groups}.values()],
        client_metrics=[*{entry.name: entry for entry in desired.client_metrics}.values()],
    )


@given(clusters, descriptions, policies)
@MANY
def test_after_a_plan_nothing_is_left_to_do(
    memory: Memory, desired: Desired, policy: Policy
) -> None:
    policy = dataclasses.replace(policy, confirm_prune=frozenset({"delete-records"}))
    if policy.problems():
        policy = dataclasses.replace(policy, prune="")
    desired = feasible(memory, desired, policy)
    plan = plan_of(memory, desired, policy)
    assert not plan.refusals()
    before = memory.state()
    application = apply(memory, plan)
    assert not application.problems
    assert application.changed is (memory.state() != before) is bool(plan.changes)
    again = plan_of(memory, desired, policy)
    assert not again.changes
    assert not again.refusals()


@given(clusters, descriptions, policies)
@MANY
def test_nothing_goes_that_no_entry_names(memory: Memory, desired: Desired, policy: Policy) -> None:
    policy = dataclasses.replace(policy, prune="")
    before: Memory = Memory(*memory.state())
    apply(memory, plan_of(memory, desired, policy))
    present = {entry.name for entry in desired.topics}
    absent = {entry.name for entry in desired.topics if entry.absent}
    assert before.topics.keys() - memory.topics.keys() <= absent
    untouched = before.topics.keys() - present
    assert {name: memory.topics[name] for name in untouched} == {
        name: before.topics[name] for name in untouched
    }
    for name in before.topics.keys() & memory.topics.keys():
        old, new = before.topics[name], memory.topics[name]
        assert new.partitions >= old.partitions
        assert new.replication == old.replication
        assert old.config is not None
        assert new.config is not None
        assert [old.config.get(key) for key in THROTTLE_KEYS] == [
            new.config.get(key) for key in THROTTLE_KEYS
        ]
    assert before.acls is not None
    assert memory.acls is not None
    assert before.acls - memory.acls <= {entry.acl for entry in desired.acls if entry.absent}
    described = {entry.entity for entry in desired.quotas}
    assert {key: value for key, value in before.quotas.items() if key not in described} == {
        key: value for key, value in memory.quotas.items() if key not in described
    }
    for old_configs, new_configs, entries in (
        (before.groups, memory.groups, desired.groups),
        (before.metrics, memory.metrics, desired.client_metrics),
    ):
        touched = {entry.name for entry in entries}
        assert {key: value for key, value in old_configs.items() if key not in touched} == {
            key: value for key, value in new_configs.items() if key not in touched
        }


@given(clusters, descriptions, policies)
@MANY
def test_what_is_pruned_begins_with_the_prefix(
    memory: Memory, desired: Desired, policy: Policy
) -> None:
    described = {entry.name for entry in desired.topics}
    for item in plan_of(memory, desired, policy).items:
        if item.action == "delete" and item.source == Source():
            assert policy.prune
            name = item.name.split()[-1] if item.kind in ("topics", "groups") else item.name
            assert policy.prune in name
            assert item.kind != "client_metrics"
            assert item.kind != "topics" or item.name not in described
            assert not item.name.startswith("_")
            assert policy.in_scope(policy.prune)


@given(clusters, descriptions, policies, st.randoms(use_true_random=False))
@MANY
def test_the_order_of_entries_does_not_matter(
    memory: Memory, desired: Desired, policy: Policy, random: Random
) -> None:
    def shuffled(entries: Any) -> Any:
        return random.sample([*entries], len(entries))

    reordered = Desired(
        shuffled(desired.topics),
        shuffled(desired.acls),
        shuffled(desired.quotas),
        shuffled(desired.groups),
        shuffled(desired.client_metrics),
        dict(shuffled(desired.users.items())),
    )
    assert plan_of(memory, reordered, policy) == plan_of(memory, desired, policy)


@given(
    logs,
    st.builds(TopicEntry, st.just("a.x"), st.sampled_from([None, 1, 6]), config=configs),
    st.sampled_from([False, False, False, True]),
)
@settings(max_examples=200, deadline=None)
def test_records_go_only_with_a_word(log: Log, entry: TopicEntry, absent: bool) -> None:
    """Of a topic whose entry has no word, no record goes and no key moves."""
    memory = Memory(topics={"a.x": copy.deepcopy(log)})
    desired = Desired(topics=[dataclasses.replace(entry, absent=absent)])
    apply(memory, plan_of(memory, desired, Policy(now_ms=NOW_MS)))
    if log.oldest_ms is None:
        return
    now = memory.topics["a.x"]
    assert not log.keys or now.partitions == log.partitions
    assert _kept(now) or not _kept(log)


def _kept(log: Log) -> bool:
    """Whether a topic's oldest record is neither deleted by age or size nor compacted."""
    config = log.config or {}
    policy = config.get("cleanup.policy", "delete").split(",")
    limit = int(config.get("retention.ms", 7 * DAY_MS))
    assert log.oldest_ms is not None
    too_old = "delete" in policy and limit >= 0 and log.oldest_ms < NOW_MS - limit
    too_large = "delete" in policy and config.get("retention.bytes", "-1") != "-1"
    return not too_old and not too_large and "compact" not in policy
