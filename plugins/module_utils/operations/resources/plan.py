"""The plan of a run: what makes a cluster as its files have it, and why that is refused.

Pure: the caller reads the cluster (`reading.py`) and applies the plan (`application.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from ...kafka.acls import Acl
from ...kafka.quotas import Entity
from ...kafka.topics import Contents, Topic
from . import acls, configs, quotas, topics
from .acls import AclEntry
from .configs import CLIENT_METRICS, GROUPS, ConfigEntry
from .items import ACTIONS, KINDS, MADE, UNMANAGED, Item, Policy, Source
from .quotas import QuotaEntry
from .topics import TopicEntry

E = TypeVar("E")
OPERATIONS: Mapping[str, str] = {
    "topics": "Describe and DescribeConfigs of the topics",
    "acls": "Describe of the cluster",
    "users": "Describe of the cluster",
    "quotas": "DescribeConfigs of the cluster",
    "groups": "DescribeConfigs of the groups",
    "client_metrics": "DescribeConfigs of the cluster",
}
"""Kind -> the operation that a login needs to see its resources."""


class EntriesError(ValueError):
    """Entries mean nothing to Kafka."""

    def __init__(self, problems: Sequence[str]) -> None:
        """Keep what is wrong of each."""
        super().__init__("; ".join(problems))
        self.problems = [*problems]


@dataclass(frozen=True)
class Desired:
    """The resources as they are described."""

    topics: Sequence[TopicEntry] = ()
    acls: Sequence[AclEntry] = ()
    quotas: Sequence[QuotaEntry] = ()
    groups: Sequence[ConfigEntry] = ()
    client_metrics: Sequence[ConfigEntry] = ()
    users: Mapping[str, Source] = field(default_factory=dict)
    """User -> who describes it."""

    @classmethod
    def of(cls, resources: Mapping[str, Any]) -> Desired:
        """Return the resources of a module's option.

        Raises:
            EntriesError: entries mean nothing to Kafka.

        """
        problems: list[str] = []

        def entries(kind: str, of: Callable[[Mapping[str, Any]], E]) -> list[E]:
            described = []
            for settings in resources.get(kind) or ():
                try:
                    described.append(of(settings))
                except ValueError as error:
                    where = Source.of(settings).where
                    problems.append(f"{where}: {error}".removeprefix(": "))
            return described

        desired = cls(
            entries("topics", TopicEntry.of),
            entries("acls", AclEntry.of),
            entries("quotas", QuotaEntry.of),
            entries("groups", ConfigEntry.of),
            entries("client_metrics", ConfigEntry.of),
            {settings["name"]: Source.of(settings) for settings in resources.get("users") or ()},
        )
        if problems:
            raise EntriesError(problems)
        return desired

    def keys(self) -> Iterator[tuple[str, object]]:
        """Yield kind and key of each resource but users: its name, ACL or entity."""
        yield from (("acls", entry.acl) for entry in self.acls)
        yield from (("quotas", entry.entity) for entry in self.quotas)
        yield from (("topics", entry.name) for entry in self.topics)
        yield from ((GROUPS, entry.name) for entry in self.groups)
        yield from ((CLIENT_METRICS, entry.name) for entry in self.client_metrics)

    def sources(self, kind: str) -> list[Source]:
        """Return who describes resources of a kind."""
        if kind == "users":
            return [*self.users.values()]
        return [entry.source for entry in getattr(self, kind)]


@dataclass(frozen=True)
class ClusterResources:
    """The resources as the cluster has them; None of a kind that was not read."""

    topics: Mapping[str, Topic] | None = None
    acls: Collection[Acl] | None = None
    quotas: Mapping[Entity, Mapping[str, float]] | None = None
    groups: Mapping[str, Mapping[str, str]] | None = None
    client_metrics: Mapping[str, Mapping[str, str]] | None = None
    hidden: Mapping[str, str] = field(default_factory=dict)
    """Kind -> why this login is not shown all of its resources."""
    unsupported: Mapping[str, str] = field(default_factory=dict)
    """Kind -> why the cluster has no such resources."""

    def hiding(self, kind: str, reason: str) -> ClusterResources:
        """Return the same, of a kind that this login is not shown either."""
        return replace(self, hidden={**self.hidden, kind: reason})


@dataclass(frozen=True)
class Plan:
    """What is to be done, and why it may be refused."""

    items: tuple[Item, ...] = ()
    """By kind and name."""
    problems: tuple[str, ...] = ()
    """What stands against the run besides the items."""
    hidden: Mapping[str, str] = field(default_factory=dict)
    """Kind -> why this login is not shown all of its resources."""

    @property
    def changes(self) -> list[Item]:
        """Return the items for which something is sent to Kafka."""
        return [item for item in self.items if item.is_change]

    def refusals(self) -> list[str]:
        """Say why nothing may be changed, all at once."""
        return [*self.problems, *(_refusal(item) for item in self.items if item.stops)]

    def summary(self) -> dict[str, Any]:
        """Return the plan as a module's result.

        `plan` has the items that are changed or refused, `counts` the number of all by action,
        `unmanaged` kind -> names, `hidden` kind -> reason.
        """
        counts = Counter(item.action for item in self.items)
        unmanaged: dict[str, list[str]] = {}
        for item in self.items:
            if item.action == UNMANAGED:
                unmanaged.setdefault(item.kind, []).append(item.name)
        return {
            "plan": [item.as_json() for item in self.items if item.stops or item.action in MADE],
            "counts": {action: counts[action] for action in ACTIONS},
            "unmanaged": unmanaged,
            "hidden": dict(self.hidden),
        }


def plan(
    desired: Desired,
    cluster: ClusterResources,
    contents: Mapping[str, Contents],
    policy: Policy,
    kinds: Collection[str] = KINDS,
    users: Iterable[Item] = (),
) -> Plan:
    """Return the plan of some kinds; it is refused where entries are of one that was not read.

    `contents` has the answers to `questions`, of topics; `users` the items of users.
    """
    items = [*users]
    principals = {f"User:{name}" for name in desired.users}
    if cluster.topics is not None:
        items += topics.plan(desired.topics, cluster.topics, contents, policy)
    if cluster.acls is not None:
        items += acls.plan(desired.acls, cluster.acls, policy, principals)
    if cluster.quotas is not None:
        items += quotas.plan(desired.quotas, cluster.quotas, policy)
    if cluster.groups is not None:
        items += configs.plan(GROUPS, desired.groups, cluster.groups, policy)
    if cluster.client_metrics is not None:
        items += configs.plan(
            CLIENT_METRICS, desired.client_metrics, cluster.client_metrics, policy
        )
    items.sort(key=lambda item: (KINDS.index(item.kind), item.name))
    problems = [*policy.problems(), *_unreadable(desired, cluster, kinds)]
    return Plan(tuple(items), tuple(problems), cluster.hidden)


def questions(
    desired: Desired, cluster: ClusterResources, policy: Policy
) -> dict[str, topics.Question]:
    """Return topic -> what has to be read of its records before `plan`."""
    return topics.questions(desired.topics, cluster.topics or {}, policy)


def _unreadable(
    desired: Desired, cluster: ClusterResources, kinds: Collection[str]
) -> Iterable[str]:
    """Say which kinds have entries, and are not shown or not there."""
    for kind in kinds:
        sources = desired.sources(kind)
        if not sources or (kind != "users" and getattr(cluster, kind) is not None):
            continue
        places = sorted({source.where for source in sources if source.where})
        header = f"{kind} ({_few(places)})" if places else kind
        if kind in cluster.unsupported:
            yield f"{header}: {cluster.unsupported[kind]}"
        elif kind in cluster.hidden:
            yield (
                f"{header}: Kafka does not show them to this login ({cluster.hidden[kind]}), "
                f"which needs the operation {OPERATIONS[kind]}"
            )


def _few(places: Sequence[str]) -> str:
    shown = ", ".join(places[:3])
    return shown if len(places) <= 3 else f"{shown} and {len(places) - 3} more"


def _refusal(item: Item) -> str:
    if not item.needs:
        return item.message(item.reason)
    words = ", ".join(item.needs)
    option = "confirm" if item.source.where or item.source.owner else "confirm or confirm_prune"
    return item.message(f"{item.action} needs {option}: [{words}], since {item.reason}")
