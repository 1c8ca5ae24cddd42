"""An admin client of a cluster with users: takes kafka-python's requests, answers as Kafka does."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
NUMBERS = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}
OK, NOT_FOUND, DUPLICATE = 0, 91, 92
ANY = 1

AclKey = tuple[int, str, int, str, str, int, int]
"""Resource type, name, pattern, principal, host, operation, permission: numbers of Kafka's."""


@dataclass
class Stored:
    """What Kafka keeps of a credential."""

    iterations: int
    salt: bytes
    salted_password: bytes


@dataclass
class FakeAdmin:
    """A cluster with credentials and ACLs."""

    credentials: dict[tuple[str, int], Stored] = field(default_factory=dict)
    """User and mechanism -> credential."""
    acls: set[AclKey] = field(default_factory=set)
    codes: dict[str, int] = field(default_factory=dict)
    """User or principal -> the error code of its changes."""
    whole: int = OK
    """The error code of every question."""
    acls_whole: int = OK
    message: str | None = "not today"
    """What Kafka says with the error codes."""
    requests: list[Any] = field(default_factory=list)
    """The requests that were sent."""
    writes: list[str] = field(default_factory=list)
    """Those requests that change something."""

    @property
    def _manager(self) -> FakeAdmin:
        return self

    def run(self, send: Callable[[Any], Any], request: Any) -> Any:
        return send(request)

    def send(self, request: Any) -> Any:
        """Answer a request that any broker takes."""
        self.requests.append(request)
        name = type(request).__name__
        if not name.startswith("Describe"):
            self.writes.append(name)
        return getattr(self, f"_{name}")(request)

    def _send_request_to_controller(self, request: Any) -> Any:
        self.requests.append(request)
        self.writes.append(type(request).__name__)
        return SimpleNamespace(results=[*self._altered(request)])

    def set(
        self, user: str, password: str, mechanism: str = "SCRAM-SHA-512", i: int = 8192
    ) -> None:
        """Give a user a credential."""
        salted = hashlib.pbkdf2_hmac(HASHES[mechanism], password.encode(), b"salt", i)
        self.credentials[user, NUMBERS[mechanism]] = Stored(i, b"salt", salted)

    def accepts(self, user: str, password: str, mechanism: str) -> bool:
        """Return whether a user can log in."""
        credential = self.credentials.get((user, NUMBERS[mechanism]))
        if credential is None:
            return False
        salted = hashlib.pbkdf2_hmac(
            HASHES[mechanism], password.encode(), credential.salt, credential.iterations
        )
        return salted == credential.salted_password

    def has(self, user: str) -> dict[int, int]:
        """Return mechanism -> iterations."""
        return {
            number: credential.iterations
            for (name, number), credential in self.credentials.items()
            if name == user
        }

    def part(self, code: int, **fields: Any) -> Any:
        """Return a part of an answer with an error code."""
        return SimpleNamespace(
            error_code=code, error_message=self.message if code else None, **fields
        )

    def _altered(self, request: Any) -> Iterator[Any]:
        names = [change[0] for change in (*request.deletions, *request.upsertions)]
        for name in dict.fromkeys(names):
            code = DUPLICATE if names.count(name) > 1 else self.codes.get(name, OK)
            deleted = [deletion[1] for deletion in request.deletions if deletion[0] == name]
            if not code and any((name, number) not in self.credentials for number in deleted):
                code = NOT_FOUND
            if not code:
                for number in deleted:
                    del self.credentials[name, number]
                for user, number, iterations, salt, salted in request.upsertions:
                    if user == name:
                        self.credentials[user, number] = Stored(iterations, salt, salted)
            yield self.part(code, user=name)

    def _DescribeUserScramCredentialsRequest(self, request: Any) -> Any:
        def described(name: str) -> Any:
            infos = [
                SimpleNamespace(mechanism=number, iterations=i)
                for number, i in self.has(name).items()
            ]
            return self.part(OK if infos else NOT_FOUND, user=name, credential_infos=infos)

        names = [name for (name,) in request.users] or sorted(
            {name for name, _ in self.credentials}
        )
        results = [] if self.whole else [described(name) for name in names]
        return self.part(self.whole, results=results)

    def _DescribeAclsRequest(self, request: Any) -> Any:
        matching = [acl for acl in self.acls if request.principal_filter in (None, acl[3])]
        resources = [
            SimpleNamespace(
                resource_type=kind,
                resource_name=name,
                pattern_type=pattern,
                acls=[
                    SimpleNamespace(
                        principal=principal,
                        host=host,
                        operation=operation,
                        permission_type=permission,
                    )
                ],
            )
            for kind, name, pattern, principal, host, operation, permission in sorted(matching)
        ]
        code = self.whole or self.acls_whole
        return self.part(code, resources=[] if code else resources)

    def _CreateAclsRequest(self, request: Any) -> Any:
        results = []
        for creation in request.creations:
            code = self.codes.get(creation.principal, OK)
            results.append(self.part(code))
            if not code:
                self.acls.add(
                    (
                        creation.resource_type,
                        creation.resource_name,
                        creation.resource_pattern_type,
                        creation.principal,
                        creation.host,
                        creation.operation,
                        creation.permission_type,
                    )
                )
        return SimpleNamespace(results=results)

    def _DeleteAclsRequest(self, request: Any) -> Any:
        results = []
        for acl_filter in request.filters:
            code = self.codes.get(acl_filter.principal_filter, OK)
            key = (
                acl_filter.resource_type_filter,
                acl_filter.resource_name_filter,
                acl_filter.pattern_type_filter,
                acl_filter.principal_filter,
                acl_filter.host_filter,
                acl_filter.operation,
                acl_filter.permission_type,
            )
            # A filter is taken, and each ACL that it finds may be refused.
            matching = [self.part(code)] if key in self.acls else []
            results.append(self.part(OK, matching_acls=matching))
            if not code:
                self.acls.discard(key)
        return SimpleNamespace(filter_results=results)
