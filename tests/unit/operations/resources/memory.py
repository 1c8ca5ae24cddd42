"""A cluster in memory that takes the place of the adapter, and runs of a plan on it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import (
    acls,
    quotas,
    resource_configs,
    topics,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.acls import Acl
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.answers import (
    RefusedError,
    UnsupportedError,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.quotas import Entity
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.topics import (
    Contents,
    NewTopic,
    Topic,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations.resources import (
    plan as planning,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations.resources import (
    reading,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations.resources.application import (
    Application,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations.resources.items import (
    Policy,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations.resources.plan import (
    Desired,
    Plan,
)

T = TypeVar("T")
NOW_MS = 1_800_000_000_000
DAY_MS = 86_400_000
DEFAULTS = {
    "cleanup.policy": "delete",
    "min.insync.replicas": "1",
    "retention.bytes": "-1",
    "retention.ms": str(7 * DAY_MS),
}
KINDS = ("topics", "acls", "quotas", "groups", "client_metrics")


@dataclass
class Log:
    """A topic of the cluster, with what it holds."""

    partitions: int = 1
    replication: int = 3
    config: dict[str, str] | None = field(default_factory=dict)
    oldest_ms: int | None = None
    """The time of its oldest record, None without records."""
    keys: bool = False
    internal: bool = False
    uneven: bool = False
    shown: bool = True
    """Whether this login may read its records."""


@dataclass
class Memory:
    """A cluster; `refusals` has why it refuses a resource, by its key."""

    topics: dict[str, Log] = field(default_factory=dict)
    acls: set[Acl] | None = field(default_factory=set)
    quotas: dict[Entity, dict[str, float]] = field(default_factory=dict)
    groups: dict[str, dict[str, str]] = field(default_factory=dict)
    metrics: dict[str, dict[str, str]] = field(default_factory=dict)
    refusals: dict[Any, str] = field(default_factory=dict)
    hidden: dict[str, str] = field(default_factory=dict)
    """Kind -> why Kafka refuses to show it."""
    unsupported: set[str] = field(default_factory=set)
    listed: bool = True
    """Whether names of groups and subscriptions can be listed."""
    writes: list[str] = field(default_factory=list)
    validations: list[str] = field(default_factory=list)

    def state(self) -> Any:
        """What it has, to compare later."""
        return copy.deepcopy((self.topics, self.acls, self.quotas, self.groups, self.metrics))

    def configs(self, kind: int) -> dict[str, dict[str, str]]:
        return self.groups if kind == resource_configs.GROUP else self.metrics

    def show(self, kind: str) -> None:
        if kind in self.hidden:
            raise RefusedError(self.hidden[kind])
        if kind in self.unsupported:
            text = f"this version has no {kind}"
            raise UnsupportedError(text)

    def taken(self, word: str, keys: Iterable[Any], *, validate_only: bool = False) -> list[Any]:
        """The keys that are not refused; one request is noted."""
        (self.validations if validate_only else self.writes).append(word)
        accepted = [key for key in keys if key not in self.refusals]
        return [] if validate_only else accepted

    def reasons(self, keys: Iterable[Any]) -> dict[Any, str]:
        return {key: self.refusals[key] for key in keys if key in self.refusals}


def _kind(kind: int) -> str:
    return "groups" if kind == resource_configs.GROUP else "client_metrics"


def read_topics(memory: Memory) -> dict[str, Topic]:
    memory.show("topics")
    return {
        name: Topic(
            name=name,
            partitions=log.partitions,
            replication=log.replication,
            uneven=log.uneven,
            internal=log.internal,
            config=None if log.config is None else dict(log.config),
            effective={key: (log.config or {}).get(key, text) for key, text in DEFAULTS.items()},
            below=DEFAULTS,
        )
        for name, log in memory.topics.items()
    }


def create_topics(
    memory: Memory, new: Mapping[str, NewTopic], *, validate_only: bool
) -> dict[str, str]:
    for name in memory.taken("create topics", new, validate_only=validate_only):
        topic = new[name]
        memory.topics[name] = Log(topic.partitions or 1, topic.replication or 3, {**topic.config})
    return memory.reasons(new)


def grow(memory: Memory, counts: Mapping[str, int], *, validate_only: bool) -> dict[str, str]:
    for name in memory.taken("grow topics", counts, validate_only=validate_only):
        assert counts[name] > memory.topics[name].partitions
        memory.topics[name].partitions = counts[name]
    return memory.reasons(counts)


def delete_topics(memory: Memory, names: Sequence[str]) -> dict[str, str]:
    for name in memory.taken("delete topics", names):
        del memory.topics[name]
    return memory.reasons(names)


def contents(memory: Memory, name: str, *, older_than_ms: int | None, keys: bool) -> Contents:
    log = memory.topics[name]
    if not log.shown:
        return Contents(None, None, None)
    oldest = log.oldest_ms
    older = None
    if older_than_ms is not None:
        older = oldest is not None and oldest < older_than_ms
    return Contents(oldest is not None, log.keys if keys else None, older)


def names(memory: Memory, kind: int) -> list[str] | None:
    if not memory.listed or _kind(kind) in memory.unsupported:
        return None
    memory.show(f"names of {_kind(kind)}")
    return [name for name, config in memory.configs(kind).items() if config]


def read_configs(memory: Memory, kind: int, resources: Iterable[str]) -> dict[str, dict[str, str]]:
    resources = list(resources)
    if resources:
        memory.show(_kind(kind))
    return {name: dict(memory.configs(kind).get(name, {})) for name in resources}


def alter(
    memory: Memory,
    kind: int,
    changes: Mapping[str, Mapping[str, str | None]],
    *,
    validate_only: bool,
) -> dict[str, str]:
    word = "topics" if kind == resource_configs.TOPIC else _kind(kind)
    for name in memory.taken(f"alter {word}", changes, validate_only=validate_only):
        if kind == resource_configs.TOPIC:
            config = memory.topics[name].config
            assert config is not None
        else:
            config = memory.configs(kind).setdefault(name, {})
        for key, value in changes[name].items():
            if value is None:
                del config[key]
            else:
                config[key] = value
    return memory.reasons(changes)


def read_acls(memory: Memory) -> frozenset[Acl] | None:
    memory.show("acls")
    return None if memory.acls is None else frozenset(memory.acls)


def create_acls(memory: Memory, new: Sequence[Acl]) -> dict[Acl, str]:
    assert memory.acls is not None
    memory.acls |= {*memory.taken("create acls", new)}
    return memory.reasons(new)


def delete_acls(memory: Memory, old: Sequence[Acl]) -> dict[Acl, str]:
    assert memory.acls is not None
    memory.acls -= {*memory.taken("delete acls", old)}
    return memory.reasons(old)


def read_quotas(memory: Memory) -> dict[Entity, dict[str, float]]:
    memory.show("quotas")
    return {entity: dict(values) for entity, values in memory.quotas.items() if values}


def alter_quotas(
    memory: Memory, changes: Mapping[Entity, Mapping[str, float | None]], *, validate_only: bool
) -> dict[Entity, str]:
    for entity in memory.taken("alter quotas", changes, validate_only=validate_only):
        values = memory.quotas.setdefault(entity, {})
        for key, value in changes[entity].items():
            if value is None:
                del values[key]
            else:
                values[key] = value
    return memory.reasons(changes)


def use_memory(patch: pytest.MonkeyPatch) -> None:
    """Let the functions of the adapter work on a cluster in memory."""
    for module, functions in (
        (
            topics,
            {
                "read": read_topics,
                "create": create_topics,
                "grow": grow,
                "delete": delete_topics,
                "contents": contents,
            },
        ),
        (resource_configs, {"names": names, "read": read_configs, "alter": alter}),
        (acls, {"read_all": read_acls, "create": create_acls, "delete": delete_acls}),
        (quotas, {"read": read_quotas, "alter": alter_quotas}),
    ):
        for name, function in functions.items():
            patch.setattr(module, name, function)


@dataclass
class Asking:
    """Asks the cluster in memory."""

    memory: Memory

    def __call__(self, question: Callable[[Any], T]) -> T:
        return question(self.memory)


def plan_of(memory: Memory, desired: Desired, policy: Policy, kinds: Iterable[str] = KINDS) -> Plan:
    """The plan of a run, as the module makes it."""
    ask, kinds = Asking(memory), [*kinds]
    cluster = reading.read(ask, kinds, desired)
    answers = reading.contents(ask, planning.questions(desired, cluster, policy))
    return planning.plan(desired, cluster, answers, policy, kinds)


def apply(memory: Memory, plan: Plan) -> Application:
    application = Application(Asking(memory))
    application.apply(plan.changes)
    return application
