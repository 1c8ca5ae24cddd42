"""Which ACLs are missing, superfluous or described by nobody.

Pure: the caller reads them. ACLs of the principals of users are those users' (`users.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ...kafka.acls import ANY_HOST, CLUSTER_NAME, Acl, unknown_words
from ..users import acl_line
from .items import (
    CREATE,
    DELETE,
    NOBODY,
    REFUSE,
    SAME,
    UNMANAGED,
    Difference,
    Item,
    Policy,
    Source,
    by_key,
    repeated,
)

KIND = "acls"
_PRUNED = ("topic", "group", "transactional_id")
"""Resources whose name can begin with the prefix of a team."""
_ANY_NAME = "*"


@dataclass(frozen=True)
class AclEntry:
    """An ACL as it is described."""

    acl: Acl
    absent: bool = False
    source: Source = NOBODY

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> AclEntry:
        """Return the ACL of an entry.

        Raises:
            ValueError: it has a word that Kafka does not have, or no name.

        """
        resource = settings["resource"]
        acl = Acl(
            settings["principal"],
            resource,
            CLUSTER_NAME if resource == "cluster" else settings.get("name") or "",
            settings.get("pattern") or "literal",
            settings["operation"],
            settings.get("permission") or "allow",
            settings.get("host") or ANY_HOST,
        )
        if words := unknown_words(acl):
            text = f"an ACL of {acl.principal} has {', '.join(words)}, which Kafka does not have"
            raise ValueError(text)
        if not acl.name:
            text = f"an ACL of {acl.principal} names no {resource}"
            raise ValueError(text)
        return cls(acl, settings.get("state") == "absent", Source.of(settings))


@dataclass(frozen=True)
class AclItem(Item):
    """What is done with an ACL."""

    acl: Acl | None = None


def plan(
    entries: Iterable[AclEntry],
    acls: Collection[Acl],
    policy: Policy,
    principals: Collection[str] = (),
) -> list[Item]:
    """Return the items of ACLs; `principals` are those of the users that have entries."""
    items: list[Item] = []
    described = by_key(entries, lambda entry: entry.acl)
    for acl, claims in described.items():
        # Two grants by role may contain the same ACL.
        claims.sort(key=lambda entry: (entry.source.where, entry.source.owner))
        name, source = acl_line(acl), claims[0].source
        if len({entry.absent for entry in claims}) > 1:
            items.append(repeated(KIND, name, (entry.source for entry in claims)))
        elif acl.principal in principals:
            text = (
                f"{acl.principal} has an entry among the users, whose grants are all ACLs of its "
                "principal: describe it there"
            )
            items.append(AclItem(KIND, name, REFUSE, source, reason=text))
        elif claims[0].absent:
            items.append(_item(acl, DELETE if acl in acls else SAME, source))
        else:
            items.append(_item(acl, SAME if acl in acls else CREATE, source))
    kept = {*principals, *(f"User:{name}" for name in policy.service_users)}
    for acl in acls:
        if acl in described or acl.principal in kept or not policy.is_unmanaged(KIND, acl):
            continue
        if policy.in_scope(acl.name):
            pruned = acl.resource in _PRUNED and acl.name != _ANY_NAME and policy.prunes(acl.name)
            items.append(_item(acl, DELETE if pruned else UNMANAGED))
    return items


def _item(acl: Acl, action: str, source: Source = NOBODY) -> AclItem:
    line = acl_line(acl)
    difference = {
        CREATE: Difference(after=(line,), changes=(f"+ {line}",)),
        DELETE: Difference(before=(line,), changes=(f"- {line}",)),
    }.get(action, Difference())
    return AclItem(KIND, line, action, source, difference, acl=acl)
