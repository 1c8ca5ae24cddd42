"""ACLs of a cluster's authorizer: those of principals, creating and deleting some.

The admin client's own methods drop the messages of refusals and which ACL they are about, and know
no operation that is newer than they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import library
from .answers import check, refusal
from .requests import batches, send

ANY_HOST = "*"
CLUSTER_NAME = "kafka-cluster"
_ANY = 1
_ONE_BY_ONE = 20
"""How many principals are asked about in a request each: a broker compares each with all ACLs."""
_SECURITY_DISABLED = 54
_RESOURCES = {
    "topic": 2,
    "group": 3,
    "cluster": 4,
    "transactional_id": 5,
    "delegation_token": 6,
    "user": 7,
}
_PATTERNS = {"literal": 3, "prefixed": 4}
_OPERATIONS = {
    "all": 2,
    "read": 3,
    "write": 4,
    "create": 5,
    "delete": 6,
    "alter": 7,
    "describe": 8,
    "cluster_action": 9,
    "describe_configs": 10,
    "alter_configs": 11,
    "idempotent_write": 12,
    "create_tokens": 13,
    "describe_tokens": 14,
    "two_phase_commit": 15,
}
_PERMISSIONS = {"deny": 2, "allow": 3}


@dataclass(frozen=True, order=True)
class Acl:
    """An ACL, in the words of Kafka's tool in lower case; what these do not have is a number."""

    principal: str
    resource: str
    name: str
    pattern: str
    operation: str
    permission: str = "allow"
    host: str = ANY_HOST


def unknown_words(acl: Acl) -> list[str]:
    """Return the words of an ACL that Kafka does not have."""
    words = (
        (_RESOURCES, acl.resource),
        (_PATTERNS, acl.pattern),
        (_OPERATIONS, acl.operation),
        (_PERMISSIONS, acl.permission),
    )
    return [word for numbers, word in words if word not in numbers and not word.isdecimal()]


def read(admin: Any, principals: Iterable[str]) -> frozenset[Acl] | None:
    """Return the ACLs of principals, None if the cluster has no authorizer.

    Raises:
        RefusedError: Kafka refuses to show them.

    """
    principals = list(principals)
    if len(principals) > _ONE_BY_ONE:
        everybodys = read_all(admin)
        named = frozenset(principals)
        return everybodys and frozenset(acl for acl in everybodys if acl.principal in named)
    acls: set[Acl] = set()
    for principal in principals:
        described = _described(admin, principal)
        if described is None:
            return None
        acls |= described
    return frozenset(acls)


def read_all(admin: Any) -> frozenset[Acl] | None:
    """Return the ACLs of all principals; as `read`."""
    described = _described(admin, None)
    return None if described is None else frozenset(described)


def _described(admin: Any, principal: str | None) -> set[Acl] | None:
    """Return the ACLs of a principal, or of all, None if the cluster has no authorizer."""
    request = library.DescribeAclsRequest(
        resource_type_filter=_ANY,
        resource_name_filter=None,
        pattern_type_filter=_ANY,
        principal_filter=principal,
        host_filter=None,
        operation=_ANY,
        permission_type=_ANY,
    )
    response = send(admin, request)
    if response.error_code == _SECURITY_DISABLED:
        return None
    check(response)
    return {
        Acl(
            acl.principal,
            _word(_RESOURCES, resource.resource_type),
            resource.resource_name,
            _word(_PATTERNS, resource.pattern_type),
            _word(_OPERATIONS, acl.operation),
            _word(_PERMISSIONS, acl.permission_type),
            acl.host,
        )
        for resource in response.resources
        for acl in resource.acls
    }


def create(admin: Any, acls: Sequence[Acl]) -> dict[Acl, str]:
    """Create ACLs; return ACL -> why Kafka refuses, of those that it does."""
    refused: dict[Acl, str] = {}
    for batch in batches(acls):
        request = library.CreateAclsRequest(creations=[_creation(acl) for acl in batch])
        results = send(admin, request).results
        refused.update(_refused(batch, [[result] for result in results]))
    return refused


def _creation(acl: Acl) -> Any:
    return library.CreateAclsRequest.AclCreation(
        resource_type=_code(_RESOURCES, acl.resource),
        resource_name=acl.name,
        resource_pattern_type=_code(_PATTERNS, acl.pattern),
        principal=acl.principal,
        host=acl.host,
        operation=_code(_OPERATIONS, acl.operation),
        permission_type=_code(_PERMISSIONS, acl.permission),
    )


def delete(admin: Any, acls: Sequence[Acl]) -> dict[Acl, str]:
    """Delete ACLs, and no others; return ACL -> why Kafka refuses, of those that it does."""
    refused: dict[Acl, str] = {}
    for batch in batches(acls):
        request = library.DeleteAclsRequest(filters=[_filter(acl) for acl in batch])
        results = send(admin, request).filter_results
        parts = [[result, *result.matching_acls] for result in results]
        refused.update(_refused(batch, parts))
    return refused


def _filter(acl: Acl) -> Any:
    return library.DeleteAclsRequest.DeleteAclsFilter(
        resource_type_filter=_code(_RESOURCES, acl.resource),
        resource_name_filter=acl.name,
        pattern_type_filter=_code(_PATTERNS, acl.pattern),
        principal_filter=acl.principal,
        host_filter=acl.host,
        operation=_code(_OPERATIONS, acl.operation),
        permission_type=_code(_PERMISSIONS, acl.permission),
    )


def _refused(acls: Sequence[Acl], answers: Sequence[Sequence[Any]]) -> dict[Acl, str]:
    """Return ACL -> reason; `answers` has the parts of the answer about each, in their order."""
    if len(answers) != len(acls):
        text = f"{len(answers)} answers about {len(acls)} ACLs"
        raise LookupError(text)
    reasons = {
        acl: next(filter(None, map(refusal, results)), "") for acl, results in zip(acls, answers)
    }
    return {acl: reason for acl, reason in reasons.items() if reason}


def _word(words: Mapping[str, int], code: int) -> str:
    return next((word for word, number in words.items() if number == code), str(code))


def _code(words: Mapping[str, int], word: str) -> int:
    return words[word] if word in words else int(word)
