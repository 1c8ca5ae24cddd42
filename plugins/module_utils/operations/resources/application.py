"""Applying a plan: the requests of its items, in an order in which nobody loses access meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...kafka import acls, quotas, resource_configs, topics
from ...kafka.answers import RefusedError, UnsupportedError
from ..cluster_users import Users
from .acls import AclItem
from .configs import ConfigItem
from .items import DELETE, Item
from .quotas import QuotaItem
from .reading import RESOURCE_TYPES, Ask
from .topics import TopicItem
from .users import UserItem

Refused = Mapping[Any, str]
"""Key -> why Kafka refuses."""


@dataclass(frozen=True)
class Request:
    """A request about some items, which the adapter sends in batches."""

    send: Callable[[Any, Mapping[Any, Any]], Refused]
    """Takes an admin client and values."""
    values: Mapping[Any, Any]
    """What is sent, by the adapter's keys."""
    items: Mapping[Any, Item]
    """The item of each key."""


class Application:
    """The application of a plan."""

    def __init__(self, ask: Ask) -> None:
        """Keep how to ask the cluster."""
        self._ask = ask
        self.problems: list[str] = []
        """What Kafka refuses, and what was left undone therefore."""
        self.changed = False
        self.refused: set[tuple[str, str]] = set()
        """Kind and name of the items that Kafka refuses."""

    def validate(self, items: Sequence[Item]) -> list[str]:
        """Return what Kafka would refuse of items, without changing anything.

        ACLs, users and deletions of topics have no such request.

        Raises:
            UnavailableError: no broker answers.

        """
        return [
            request.items[key].message(reason)
            for request in _requests(items, validate_only=True)
            for key, reason in self._refused(request).items()
        ]

    def apply(self, items: Sequence[Item], users: Users | None = None) -> None:
        """Make the changes of items; `users` makes those of users.

        One that is refused does not stop the others, but nothing is deleted after it.

        Raises:
            FailedError: Kafka refuses to show users.
            UnavailableError: no broker answers.

        """
        kept = [item for item in items if item.action != DELETE]
        deleted = [item for item in items if item.action == DELETE]
        for request in (*_requests(kept, validate_only=False), _acls(kept, acls.create)):
            self._make(request)
        self._make_users(users, kept)
        if self.problems:
            text = "it is not deleted, since not all changes before that were made"
            self.problems += [item.message(text) for item in deleted]
            self.refused |= {(item.kind, item.name) for item in deleted}
            return
        self._make_users(users, deleted)
        self._make(_acls(deleted, acls.delete))
        for request in (*_requests(deleted, validate_only=False), _topic_deletions(deleted)):
            self._make(request)

    def _make_users(self, users: Users | None, items: Sequence[Item]) -> None:
        changes = {
            item.name: (item, item.change)
            for item in items
            if isinstance(item, UserItem) and item.change is not None
        }
        if users is None or not changes:
            return
        try:
            users.apply([change for _, change in changes.values()])
        finally:
            self.changed |= users.changed
            for name, (item, _) in changes.items():
                for reason in users.problems.get(name, ()):
                    self._refuse(item, reason)

    def _make(self, request: Request) -> None:
        refused = self._refused(request)
        self.changed |= len(refused) < len(request.values)
        for key, reason in refused.items():
            self._refuse(request.items[key], reason)

    def _refuse(self, item: Item, reason: str) -> None:
        self.refused.add((item.kind, item.name))
        self.problems.append(item.message(reason))

    def _refused(self, request: Request) -> Refused:
        if not request.values:
            return {}
        try:
            return self._ask(lambda admin: request.send(admin, request.values))
        except (RefusedError, UnsupportedError) as error:
            return dict.fromkeys(request.values, str(error))


def _requests(items: Sequence[Item], *, validate_only: bool) -> list[Request]:
    """Return the requests of items which Kafka can validate."""
    named = {item.name: item for item in items if isinstance(item, TopicItem)}
    requests = [
        Request(
            lambda admin, values: topics.create(admin, values, validate_only=validate_only),
            {name: item.new for name, item in named.items() if item.new},
            named,
        ),
        Request(
            lambda admin, values: topics.grow(admin, values, validate_only=validate_only),
            {name: item.partitions for name, item in named.items() if item.partitions},
            named,
        ),
        _altering(
            resource_configs.TOPIC,
            {name: item.config for name, item in named.items() if item.config},
            named,
            validate_only=validate_only,
        ),
    ]
    for kind, resource_type in RESOURCE_TYPES.items():
        configs = {
            item.name: item for item in items if isinstance(item, ConfigItem) and item.kind == kind
        }
        changes = {name: item.config for name, item in configs.items()}
        requests.append(_altering(resource_type, changes, configs, validate_only=validate_only))
    entities = {item.entity: item for item in items if isinstance(item, QuotaItem)}
    limits = {entity: item.values for entity, item in entities.items()}
    requests.append(
        Request(
            lambda admin, values: quotas.alter(admin, values, validate_only=validate_only),
            limits,
            entities,
        )
    )
    return requests


def _altering(
    resource_type: int,
    changes: Mapping[str, Mapping[str, str | None]],
    items: Mapping[str, Item],
    *,
    validate_only: bool,
) -> Request:
    def send(admin: Any, values: Mapping[Any, Any]) -> Refused:
        return resource_configs.alter(admin, resource_type, values, validate_only=validate_only)

    return Request(send, changes, items)


def _acls(items: Sequence[Item], send: Callable[[Any, Sequence[Any]], Refused]) -> Request:
    described = {item.acl: item for item in items if isinstance(item, AclItem)}
    return Request(lambda admin, values: send(admin, [*values]), described, described)


def _topic_deletions(items: Sequence[Item]) -> Request:
    named = {item.name: item for item in items if isinstance(item, TopicItem)}
    return Request(lambda admin, values: topics.delete(admin, [*values]), named, named)
