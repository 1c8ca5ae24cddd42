"""The items of a plan, each of one resource, and the policy by which they are planned."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from ...formats.values import visible
from ...host.files import shown_diff

KINDS = ("topics", "acls", "users", "quotas", "groups", "client_metrics")
NOUNS: Mapping[str, str] = {
    "topics": "topic",
    "acls": "ACL",
    "users": "user",
    "quotas": "quota of",
    "groups": "configuration of group",
    "client_metrics": "client metrics subscription",
}
CREATE, CHANGE, GROW, DELETE = "create", "change", "grow", "delete"
REFUSE, UNMANAGED, SAME = "refuse", "unmanaged", "same"
MADE = (CREATE, CHANGE, GROW, DELETE)
ACTIONS = (*MADE, REFUSE, UNMANAGED, SAME)

E = TypeVar("E")
K = TypeVar("K")


@dataclass(frozen=True)
class Source:
    """Who describes a resource."""

    owner: str = ""
    """The team, or empty."""
    where: str = ""
    """File and line."""

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Source:
        """Return the source of an entry."""
        return cls(str(settings.get("owner") or ""), str(settings.get("where") or ""))


NOBODY = Source()


@dataclass(frozen=True)
class Difference:
    """What is changed of a resource."""

    before: tuple[str, ...] = ()
    """Lines that go."""
    after: tuple[str, ...] = ()
    """Lines that come."""
    changes: tuple[str, ...] = ()
    """Before and after in one: `+ key: value`, `- key: value` or `key: value -> value`."""


@dataclass(frozen=True)
class Item:
    """What is done with a resource, or why it is not."""

    kind: str
    """One of `KINDS`."""
    name: str
    action: str
    """One of `ACTIONS`."""
    source: Source = NOBODY
    difference: Difference = Difference()
    needs: tuple[str, ...] = ()
    """The words that its entry lacks for this action."""
    reason: str = ""

    @property
    def label(self) -> str:
        """Return the resource as messages name it."""
        return label(self.kind, self.name)

    @property
    def stops(self) -> bool:
        """Return whether the run is refused because of it."""
        return self.action == REFUSE or bool(self.needs)

    @property
    def is_change(self) -> bool:
        """Return whether something is to be sent to Kafka."""
        return self.is_pending and not self.stops

    @property
    def is_pending(self) -> bool:
        """Return whether the cluster is not yet so, whether or not it may be changed."""
        return self.action in MADE

    def message(self, text: str) -> str:
        """Return a text about the resource, with file and line."""
        return visible(f"{self.source.where}: {self.label}: {text}".removeprefix(": "))

    def as_json(self) -> dict[str, Any]:
        """Return the item as a part of a module's result."""
        return {
            "kind": self.kind,
            "name": self.name,
            "action": self.action,
            "owner": self.source.owner,
            "where": self.source.where,
            "changes": [*self.difference.changes],
            "needs": [*self.needs],
            "reason": self.reason,
        }


@dataclass(frozen=True)
class Policy:
    """By which rules a plan is made."""

    replication_floor: int | None = None
    """The replication factor below which a new topic needs a word."""
    min_isr_floor: int | None = None
    """The `min.insync.replicas` below which a topic needs a word."""
    scope: tuple[str, ...] = ()
    """The prefixes of a team: what else is unmanaged is not reported; empty for all."""
    prune: str = ""
    """The prefix of unmanaged resources that are deleted; empty for none."""
    confirm_prune: frozenset[str] = frozenset()
    """The words for the topics among them."""
    service_topics: frozenset[str] = frozenset()
    """Topics that services of the inventory keep."""
    service_users: frozenset[str] = frozenset()
    """Users whose ACLs and quotas are kept elsewhere."""
    now_ms: int = 0
    """The time, in milliseconds since the epoch."""
    elsewhere: frozenset[tuple[str, object]] = frozenset()
    """Kind and key of the resources that entries outside this run describe: those of other teams.

    The key is the name, of an ACL the ACL, of a quota its entity.
    """

    def is_unmanaged(self, kind: str, key: object) -> bool:
        """Return whether a resource without an entry in this run has none at all."""
        return (kind, key) not in self.elsewhere

    def in_scope(self, name: str) -> bool:
        """Return whether an unmanaged resource is this run's to report."""
        return not self.scope or name.startswith(self.scope)

    def prunes(self, name: str) -> bool:
        """Return whether an unmanaged resource is deleted."""
        return bool(self.prune) and name.startswith(self.prune) and self.in_scope(name)

    def problems(self) -> list[str]:
        """Say what of the policy contradicts itself."""
        if not self.prune or self.in_scope(self.prune):
            return []
        prefixes = ", ".join(self.scope)
        return [f"prune: {self.prune} is not within the prefixes of the team ({prefixes})"]


def label(kind: str, name: str) -> str:
    """Return a resource as messages name it."""
    return f"{NOUNS[kind]} {name}"


def differences(header: str, before: Mapping[str, str], after: Mapping[str, str]) -> Difference:
    """Return how two mappings differ; `header` is the resource as its lines name it."""
    keys = sorted(key for key in {*before, *after} if before.get(key) != after.get(key))
    return Difference(
        tuple(f"{header}: {key}: {before[key]}" for key in keys if key in before),
        tuple(f"{header}: {key}: {after[key]}" for key in keys if key in after),
        tuple(_change(key, before.get(key), after.get(key)) for key in keys),
    )


def _change(key: str, before: str | None, after: str | None) -> str:
    if before is None:
        return f"+ {key}: {after}"
    return f"- {key}: {before}" if after is None else f"{key}: {before} -> {after}"


def by_key(entries: Iterable[E], key: Callable[[E], K]) -> dict[K, list[E]]:
    """Return the entries of each key."""
    groups: dict[K, list[E]] = {}
    for entry in entries:
        groups.setdefault(key(entry), []).append(entry)
    return groups


def repeated(kind: str, name: str, sources: Iterable[Source]) -> Item:
    """Refuse a resource that several entries describe."""
    places = sorted(source.where for source in sources)
    text = f"more than one entry describes it ({', '.join(filter(None, places))})"
    return Item(
        kind,
        name,
        REFUSE,
        Source(where=places[0]),
        reason=text.replace(" ()", "") + ": keep one of them",
    )


def diff(items: Iterable[Item]) -> dict[str, str]:
    """Return items as Ansible shows them."""
    shown = [item.difference for item in items if item.action in MADE]
    before = "".join(f"{visible(line)}\n" for difference in shown for line in difference.before)
    after = "".join(f"{visible(line)}\n" for difference in shown for line in difference.after)
    return shown_diff("resources of the cluster", before, after)
