"""What has to be changed so that users have their SCRAM credentials and ACLs.

Pure: the caller reads what the cluster has, and tries passwords, which Kafka shows to nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..host.files import shown_diff
from ..kafka.acls import ANY_HOST, CLUSTER_NAME, Acl
from ..kafka.users import ITERATIONS

RESOURCES = ("topic", "group", "transactional_id", "cluster")


@dataclass(frozen=True)
class User:
    """A user as it should be."""

    name: str
    password: str | None = field(default=None, repr=False)
    """Without it the user's credentials are none of ours."""
    absent: bool = False
    may_replace: bool = True
    """Whether its password may replace another one that the cluster has."""
    acls: frozenset[Acl] = frozenset()

    @property
    def principal(self) -> str:
        """Return the principal that Kafka makes of the name."""
        return f"User:{self.name}"


@dataclass(frozen=True)
class Scram:
    """The credential that every user with a password should have, and no other."""

    mechanism: str
    iterations: int


@dataclass(frozen=True)
class Change:
    """What to change of a user."""

    user: User
    credentials: Mapping[str, int] = field(default_factory=dict)
    """What the user has: mechanism -> iterations."""
    set: bool = False
    """Whether to set the credential."""
    deleted: tuple[str, ...] = ()
    """Mechanisms whose credential goes."""
    granted: tuple[Acl, ...] = ()
    revoked: tuple[Acl, ...] = ()
    refused: bool = False
    """Whether the user has another password, which may not be replaced.

    Then nothing else of it is changed.
    """

    def __bool__(self) -> bool:
        """Return whether there is anything to change."""
        return bool(self.set or self.deleted or self.granted or self.revoked)


def users_of(settings: Iterable[Mapping[str, Any]]) -> list[User]:
    """Return the users that a module's options describe."""
    return [
        User(user["name"], absent=True)
        if user["state"] == "absent"
        else User(
            user["name"],
            user["password"],
            may_replace=user["replace"],
            acls=frozenset(_acls(user)),
        )
        for user in settings
    ]


def problems(
    settings: Sequence[Mapping[str, Any]], scram: Scram, login: Sequence[str]
) -> list[str]:
    """Say what of the users' options Kafka would refuse, or would not do as meant."""
    names = [user["name"] for user in settings]
    messages = [
        f"user {name} is there more than once: describe it once"
        for name in dict.fromkeys(names)
        if names.count(name) > 1
    ]
    for user in settings:
        messages += [
            f"user {user['name'] or '(without a name)'}: {text}" for text in _problems(user)
        ]
    if any(user["password"] is not None and user["state"] == "present" for user in settings):
        if scram.iterations not in ITERATIONS:
            messages.append(
                f"iterations is {scram.iterations}: Kafka takes {ITERATIONS[0]} to {ITERATIONS[-1]}"
            )
        if not login:
            messages.append(
                "login_bootstrap is empty: whether a password is current can only be seen by "
                "logging in; set host:port of the clients' listener"
            )
    return messages


def without_authorizer(users: Iterable[User]) -> str:
    """Say which users cannot have their grants where the cluster has no authorizer."""
    names = ", ".join(user.name for user in users if user.acls)
    return names and (
        "the cluster has no authorizer and keeps no ACLs: set authorizer.class.name, or remove "
        f"the grants of {names}"
    )


def needs_login(user: User, credentials: Mapping[str, int], scram: Scram) -> bool:
    """Return whether only a login shows if the user's credential is as it should be."""
    return user.password is not None and credentials.get(scram.mechanism) == scram.iterations


def is_kept(user: User, credentials: Mapping[str, int], scram: Scram) -> bool:
    """Return whether the user has a credential that no other password may replace.

    Nobody can log in with one of a mechanism that users should not have.
    """
    return not user.may_replace and user.password is not None and scram.mechanism in credentials


def change(
    user: User,
    credentials: Mapping[str, int],
    acls: Iterable[Acl],
    scram: Scram,
    *,
    accepted: bool,
) -> Change:
    """Return what makes a user as it should be.

    `credentials` is what the user has, mechanism -> iterations; `acls` those of all users;
    `accepted` says whether its password was accepted.
    """
    if is_kept(user, credentials, scram) and not accepted:
        return Change(user, credentials, refused=True)
    current = {acl for acl in acls if acl.principal == user.principal}
    deleted: Iterable[str] = ()
    if user.absent:
        deleted = credentials
    elif user.password is not None:
        # A credential of another mechanism would keep a former password valid.
        deleted = set(credentials) - {scram.mechanism}
    return Change(
        user,
        credentials,
        set=user.password is not None and not (needs_login(user, credentials, scram) and accepted),
        deleted=tuple(sorted(deleted)),
        granted=tuple(sorted(user.acls - current)),
        revoked=tuple(sorted(current - user.acls)),
    )


def lines(change: Change, scram: Scram) -> tuple[list[str], list[str]]:
    """Return what is changed of a user as lines before and after."""
    before = [_credential(change, mechanism) for mechanism in change.deleted]
    after = []
    if change.set:
        if scram.mechanism in change.credentials:
            before.append(_credential(change, scram.mechanism))
        new_password = needs_login(change.user, change.credentials, scram)
        after.append(
            f"user {change.user.name}: {scram.mechanism}, {scram.iterations} iterations"
            + (", another password" if new_password else "")
        )
    before += map(acl_line, change.revoked)
    after += map(acl_line, change.granted)
    return before, after


def unusable(change: Change, scram: Scram) -> list[str]:
    """Say why a user cannot log in yet, after its credential was set."""
    if not change.set:
        return []
    refused = needs_login(change.user, change.credentials, scram)
    return ["a broker does not accept its password" if refused else f"it has no {scram.mechanism}"]


def missing(change: Change, scram: Scram) -> list[str]:
    """Say what of a user is not yet as it should be, after it was changed."""
    return [
        *unusable(change, scram),
        *(f"it still has {mechanism}" for mechanism in change.deleted),
        *(f"missing: {acl_line(acl)}" for acl in change.granted),
        *(f"still there: {acl_line(acl)}" for acl in change.revoked),
    ]


def diff(changes: Iterable[Change], scram: Scram) -> dict[str, str]:
    """Return changes as Ansible shows them."""
    shown = [lines(change, scram) for change in changes]
    before, after = (
        "".join(f"{line}\n" for pair in shown for line in pair[side]) for side in (0, 1)
    )
    return shown_diff("users of the cluster", before, after)


def summary(change: Change) -> dict[str, Any]:
    """Return what is changed of a user as part of a module's result."""
    credential = "set" if change.set else "deleted" if change.deleted else "unchanged"
    credential = "refused" if change.refused else credential
    return {
        "name": change.user.name,
        "changed": bool(change),
        "credential": credential,
        "deleted": list(change.deleted),
        "granted": [acl_line(acl) for acl in change.granted],
        "revoked": [acl_line(acl) for acl in change.revoked],
    }


def acl_line(acl: Acl) -> str:
    """Return an ACL as a line."""
    pattern = "" if acl.pattern == "literal" else f" {acl.pattern}"
    where = "" if acl.host == ANY_HOST else f" from {acl.host}"
    permission = f"{acl.permission} {acl.operation} of {acl.resource}{pattern} {acl.name}"
    return f"{acl.principal}: {permission}{where}"


def _credential(change: Change, mechanism: str) -> str:
    return f"user {change.user.name}: {mechanism}, {change.credentials[mechanism]} iterations"


def _acls(user: Mapping[str, Any]) -> Iterable[Acl]:
    for grant in user["grants"]:
        resource = next(name for name in RESOURCES if grant[name] is not None)
        name = CLUSTER_NAME if resource == "cluster" else grant[resource]
        for operation in grant["operations"]:
            yield Acl(
                f"User:{user['name']}",
                resource,
                name,
                grant["pattern"],
                operation,
                grant.get("permission", "allow"),
                grant.get("host", ANY_HOST),
            )


def _problems(user: Mapping[str, Any]) -> Iterable[str]:
    if not user["name"]:
        yield "a name is needed"
    if user["state"] == "absent":
        return
    if user["password"] is not None:
        if not user["password"]:
            yield "the password is empty: give one, or leave it out for a user of certificates"
        if not user["name"].isascii():
            yield "Kafka's SCRAM takes names in ASCII only: nobody could log in with it"
    for grant in user["grants"]:
        if not grant["operations"]:
            yield "a grant has no operations: name some, or remove it"
        if any(grant[name] == "" for name in RESOURCES):
            yield "a grant names an empty resource: Kafka refuses it"
        if not grant.get("host", ANY_HOST):
            yield "a grant names an empty host: leave it out for all hosts"
        if grant["cluster"] is False:
            yield "a grant has cluster: false; it is true, or left out"
        if grant["cluster"] and grant["pattern"] != "literal":
            yield "a grant of the cluster has a pattern: there is one cluster, leave it out"
