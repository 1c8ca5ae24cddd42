"""The users of a cluster: comparing them with those of the inventory, and changing what differs."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, TypeVar

from ..host.retry import retried
from ..kafka import acls
from ..kafka import users as adapter
from ..kafka.acls import Acl
from ..kafka.answers import RefusedError
from ..kafka.client import Cluster, UnavailableError
from ..kafka.users import Credential, Logins
from . import users
from .options import FailedError
from .users import Change, Scram, User

POLL_SECONDS = 0.2
SHOWN_SECONDS = 30
LOGINS_AT_ONCE = 8
REFUSED = (
    "Kafka does not accept the password that Millrace has generated for it, and may have a newer "
    "one. Copy the directory of secrets from the control node that was used last, or make a new "
    "password by rotate_secrets.yml"
)

K = TypeVar("K")
T = TypeVar("T")


class UsersNotShownError(FailedError):
    """Kafka does not show users or their ACLs to this client."""

    def __init__(self, reason: str) -> None:
        """Keep Kafka's reason."""
        super().__init__(
            f"Kafka does not show its users to this client: {reason}. Whoever client_config "
            "connects as must be a super user, or be allowed to describe and alter the cluster"
        )
        self.reason = reason


class Users:
    """The users of a cluster; a request is retried for `wait` seconds while no broker answers."""

    def __init__(self, cluster: Cluster, logins: Logins | None, scram: Scram, wait: float) -> None:
        """Keep the cluster, how to log in, and the credential that users should have."""
        self._cluster, self._logins, self._scram, self._patience = cluster, logins, scram, wait
        self.problems: dict[str, list[str]] = {}
        self.changed = False

    def plan(self, desired: Sequence[User], *, everywhere: bool = False) -> list[Change]:
        """Return a change of each user; with `everywhere` every broker has to accept passwords.

        Raises:
            UsersNotShownError: Kafka refuses to show what there is.
            FailedError: it keeps no ACLs for grants.
            UnavailableError: no broker answers.

        """
        names = [user.name for user in desired]
        principals = [user.principal for user in desired]
        try:
            credentials = self._ask(lambda admin: adapter.read(admin, names))
            existing_acls = self._ask(lambda admin: acls.read(admin, principals))
        except RefusedError as error:
            raise UsersNotShownError(str(error)) from error
        if existing_acls is None and (problem := users.without_authorizer(desired)):
            raise FailedError(problem)

        def is_accepted(user: User) -> bool:
            return self._accepted(user, credentials[user.name], everywhere=everywhere)

        # A login is mostly waiting, for the network and for the broker's own computation.
        with ThreadPoolExecutor(max_workers=LOGINS_AT_ONCE) as pool:
            accepted = [*pool.map(is_accepted, desired)]
        by_principal: dict[str, list[Acl]] = {}
        for acl in existing_acls or ():
            by_principal.setdefault(acl.principal, []).append(acl)
        return [
            users.change(
                user,
                credentials[user.name],
                by_principal.get(user.principal, ()),
                self._scram,
                accepted=password_accepted,
            )
            for user, password_accepted in zip(desired, accepted)
        ]

    def apply(self, changes: Sequence[Change]) -> None:
        """Make changes, and wait until the cluster shows them.

        A user gets its grants before it can log in. It loses a credential of another mechanism only
        when it can log in with the new one, and grants last. `problems` gets what stands against a
        user, which then loses nothing and does not stop the others.

        Raises:
            FailedError: Kafka refuses to show what there is.
            UnavailableError: no broker answers.

        """
        scram = self._scram
        self._send(
            acls.create, _acls(change.granted for change in changes), _name, "no grant of {}: {}"
        )
        credentials = [
            Credential(
                change.user.name, scram.mechanism, scram.iterations, change.user.password or ""
            )
            for change in changes
            if change.set
        ]
        text = f"{scram.mechanism} cannot be set: {{1}}"
        self._send(adapter.set_credentials, credentials, str, text)
        self._wait([change for change in changes if change.set], users.unusable)
        good = self._good(changes)
        for mechanism in sorted({name for change in good for name in change.deleted}):
            self._send(
                functools.partial(adapter.delete_credentials, mechanism=mechanism),
                [change.user.name for change in good if mechanism in change.deleted],
                str,
                f"{mechanism} cannot be deleted: {{1}}",
            )
        revoked = _acls(change.revoked for change in self._good(changes))
        self._send(acls.delete, revoked, _name, "{} cannot be deleted: {}")
        self._wait(changes, users.missing)

    def _wait(
        self, changes: Sequence[Change], missing: Callable[[Change, Scram], list[str]]
    ) -> None:
        """Wait until the users without problems lack nothing; what they do is a problem."""
        deadline = time.monotonic() + SHOWN_SECONDS
        # Those whose password was set are to have it.
        pending = [replace(change.user, may_replace=True) for change in self._good(changes)]
        while pending:
            reasons: dict[str, list[str]] = {}
            try:
                for change in self.plan(pending, everywhere=True):
                    reasons[change.user.name] = missing(change, self._scram)
            except UnavailableError as error:
                reasons = {user.name: [f"no broker answers ({error})"] for user in pending}
            pending = [user for user in pending if reasons[user.name]]
            if time.monotonic() > deadline:
                for user in pending:
                    for text in reasons[user.name]:
                        self._problem(user.name, f"after {SHOWN_SECONDS} s: {text}")
                return
            if pending:
                time.sleep(POLL_SECONDS)

    def _good(self, changes: Iterable[Change]) -> list[Change]:
        return [change for change in changes if change.user.name not in self.problems]

    def _problem(self, name: str, text: str) -> None:
        self.problems.setdefault(name, []).append(text)

    def _accepted(self, user: User, credentials: Mapping[str, int], *, everywhere: bool) -> bool:
        logins, password = self._logins, user.password
        if logins is None or password is None:
            return False
        if not any(
            ask(user, credentials, self._scram) for ask in (users.needs_login, users.is_kept)
        ):
            return False
        return self._retry(lambda: logins.accepted(user.name, password, everywhere=everywhere))

    def _send(
        self,
        send: Callable[[Any, list[T]], Mapping[K, str]],
        items: list[T],
        user: Callable[[K], str],
        problem: str,
    ) -> None:
        """Send items, if there are any; `send` returns key -> why it is refused.

        `user` gives the name of a key's user, `problem` is a format of the key and the reason.
        """
        if not items:
            return
        refused = self._ask(lambda admin: send(admin, items))
        self.changed |= len(refused) < len(items)
        for key, reason in refused.items():
            shown = users.acl_line(key) if isinstance(key, Acl) else key
            self._problem(user(key), problem.format(shown, reason))

    def _ask(self, question: Callable[[Any], T]) -> T:
        return self._retry(lambda: self._cluster.ask(question))

    def _retry(self, work: Callable[[], T]) -> T:
        return retried(work, UnavailableError, self._patience, POLL_SECONDS)


def _acls(groups: Iterable[Iterable[Acl]]) -> list[Acl]:
    return [acl for group in groups for acl in group]


def _name(acl: Acl) -> str:
    return acl.principal.partition(":")[2]
