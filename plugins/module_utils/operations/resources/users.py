"""The items of users with their credentials and ACLs, of changes as `operations/users.py` has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..cluster_users import REFUSED
from ..users import Change, Scram, lines
from .items import CHANGE, CREATE, DELETE, NOBODY, REFUSE, SAME, Difference, Item, Source

KIND = "users"


@dataclass(frozen=True)
class UserItem(Item):
    """What is done with a user."""

    change: Change | None = None


def plan(changes: Iterable[Change], scram: Scram, sources: Mapping[str, Source]) -> list[Item]:
    """Return the items of users; `sources` has the source of each by its name."""
    return [_item(change, scram, sources.get(change.user.name, NOBODY)) for change in changes]


def _item(change: Change, scram: Scram, source: Source) -> UserItem:
    name = change.user.name
    if change.refused:
        return UserItem(KIND, name, REFUSE, source, reason=REFUSED, change=change)
    before, after = lines(change, scram)
    difference = Difference(
        tuple(before),
        tuple(after),
        (*(f"- {line}" for line in before), *(f"+ {line}" for line in after)),
    )
    reason = ""
    if not change:
        action = SAME
    elif change.user.absent:
        action = DELETE
        count = len(change.revoked)
        reason = f"its ACLs are deleted with it: {count}" if count else ""
    else:
        action = CREATE if change.set and not change.credentials else CHANGE
    return UserItem(KIND, name, action, source, difference, reason=reason, change=change)
